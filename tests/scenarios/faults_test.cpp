// Every kind of event on a ring and a tree of eight hosts: what it does, when it ends, with which
// lines, and that every byte asked for has arrived or is reported as lost.
//
// Eight hosts with a GPU and an HCA of 400 Gb/s each, on two leaf switches under two spines. A ring
// of one GPU a host sends 2 x 7/8 S over every cable, S = 64 MiB: 2.4 ms at 49 GB/s.
#include "scenarios/faults.h"

#include <gtest/gtest.h>

#include "scenarios/spec/load.h"
#include "sim/core/errors.h"
#include "tests/scenarios/library.h"

namespace busbw::scenarios {
namespace {

constexpr const char* kHead = R"(schema: busbw.scenario/1
name: faults
nccl: 2.28.9
)";

constexpr const char* kCluster = R"(cluster:
  hosts: 8
  machine:
    name: one
    gpus: {model: H100-SXM5-80GB, count: 1, attach: [pcie0]}
    cpus: {model: Xeon Platinum 8480C}
    pcie: {generation: 5, switches: [{name: pcie0, attach: cpu0}]}
    nics:
      - {name: eth0, model: 10GbE, attach: cpu0}
      - {name: mlx5_0, model: ConnectX-7, link_layer: LAYER, attach: pcie0}
  networks:
    - {name: management, nics: [eth0]}
    - {name: rdma, nics: [mlx5_0], leaf_switches: 2, placement: by host, spine_switches: 2,
       trunk: 1.6 Tb/sKEYS}
)";

struct Case {
  std::string algorithm = "Ring";
  std::string events;  // of the list
  std::string layer = "infiniband";
  std::string network;  // further keys of the network, ", pfc: false"
  std::string more;     // further lines
  std::string size = "64 MiB";
};

std::string replaced(std::string text, const std::string& mark, const std::string& by) {
  return text.replace(text.find(mark), mark.size(), by);
}

VariantResult run(const Case& setup, engine::Kind engine = engine::Kind::kFluid) {
  std::string cluster = replaced(kCluster, "LAYER", setup.layer);
  cluster = replaced(cluster, "KEYS", setup.network);
  const std::string text = kHead + cluster +
                           "workload: {collective: all_reduce, algorithm: " + setup.algorithm +
                           ", sizes: [" + setup.size + "]}\n" + setup.more +
                           (setup.events.empty() ? "" : "events: [" + setup.events + "]\n");
  Problems problems;
  const Scenario scenario = parse_scenario(text, "faults.yaml", library(), problems);
  problems.throw_if_any();
  SimulateOptions options;
  options.engine = {engine, Level::kPlayed};
  const Result result = simulate(scenario, context(), options);
  return result.variants.front();
}

/// The one size, whether it came to its end or not.
const Run& call(const VariantResult& variant) {
  return variant.results.empty() ? variant.failed.front().chosen : variant.results.front().chosen;
}

const FaultOutcome& outcome(const VariantResult& variant) {
  const FaultOutcome& found = *call(variant).faults;
  EXPECT_EQ(found.asked, found.arrived + found.lost);
  EXPECT_GT(found.asked, Bytes());
  return found;
}

/// Whether a rank printed a line with these words, and when.
std::optional<Duration> told(const FaultOutcome& faults, const std::string& words) {
  for (const TimedLine& line : faults.lines) {
    if (line.text.find(words) != std::string::npos) {
      return line.at;
    }
  }
  return std::nullopt;
}

/// The call of that algorithm with an event that does nothing, so that times compare.
Duration healthy(const std::string& algorithm, const std::string& layer = "infiniband") {
  Case setup;
  setup.algorithm = algorithm;
  setup.layer = layer;
  setup.events = "{fault: slow gpu, at: 0, host: 1, gpu: 0, share: 1}";
  const VariantResult result = run(setup);
  EXPECT_EQ(result.outcome, "runs");
  return call(result).time;
}

class EachAlgorithm : public ::testing::TestWithParam<std::string> {
 protected:
  Case with(const std::string& events) const {
    Case setup;
    setup.algorithm = GetParam();
    setup.events = events;
    return setup;
  }
  /// Completes with nothing lost; the time that it takes more.
  Duration delay(const Case& setup) {
    const VariantResult result = run(setup);
    const FaultOutcome& faults = outcome(result);
    EXPECT_EQ(result.outcome, "runs") << result.error.value_or("");
    EXPECT_TRUE(faults.completed);
    EXPECT_EQ(faults.lost, Bytes());
    return call(result).time - healthy(GetParam(), setup.layer);
  }
};
INSTANTIATE_TEST_SUITE_P(Algorithms, EachAlgorithm, ::testing::Values("Ring", "Tree"),
                         [](const auto& parameter) { return parameter.param; });

constexpr std::int64_t kTimerNs = 4'294'967'296;  // 4.096 us x 2^20, of NCCL 2.23 and later

TEST_P(EachAlgorithm, AFlapShorterThanTheTimerCostsOneTimer) {
  // Down at 1 ms for 500 ms: the next try is 4.295 s after the loss.
  const Duration more =
      delay(with("{fault: link down, at: 1 ms, host: 3, nic: mlx5_0, duration: 500 ms}"));
  EXPECT_NEAR(more.as_ms(), static_cast<double>(kTimerNs) / 1e6, 1.5);
}

TEST_P(EachAlgorithm, APortThatComesBackIsInitUntilTheManagerHasSwept) {
  const VariantResult result =
      run(with("{fault: link down, at: 1 ms, host: 3, nic: mlx5_0, duration: 500 ms}"));
  const FaultOutcome& faults = outcome(result);
  std::vector<std::pair<Duration, std::string>> states;
  for (const Happening& happening : faults.happenings) {
    if (happening.text.find("ports") != std::string::npos) {
      states.emplace_back(happening.at, happening.text);
    }
  }
  EXPECT_EQ(
      states,
      (std::vector<std::pair<Duration, std::string>>{
          {Duration::milliseconds(501), "cable well again, its ports are in INIT: host 3 mlx5_0"},
          {Duration::milliseconds(1501),
           "the subnet manager has swept, ports ARMED, then ACTIVE: host 3 mlx5_0"}}));
  EXPECT_EQ(told(faults, "mlx5_0:1 Got non-fatal async event: port active(9)"),
            Duration::milliseconds(1501));
}

TEST_P(EachAlgorithm, ALongerFlapCostsAsManyTimersAsItTakes) {
  // 10 s: the third try.
  const Duration more =
      delay(with("{fault: link down, at: 1 ms, host: 3, nic: mlx5_0, duration: 10 s}"));
  EXPECT_NEAR(more.as_ms(), 3 * static_cast<double>(kTimerNs) / 1e6, 1.5);
}

TEST_P(EachAlgorithm, AShortTimerNeedsShortFlaps) {
  // NCCL_IB_TIMEOUT=14: 67.1 ms, the last try after 470 ms, given up after 537 ms. 440 ms and 10 ms
  // of the subnet manager are waited out; 500 ms are not, although the link is back by then.
  Case setup = with("{fault: link down, at: 1 ms, host: 3, nic: mlx5_0, duration: 440 ms}");
  setup.network = ", reroute: 10 ms";
  setup.more = "environment: {NCCL_IB_TIMEOUT: \"14\"}\n";
  EXPECT_NEAR(delay(setup).as_ms(), 7 * 67.108864, 1.5);
  // With the second that a sweep takes by default the cable is well again too late.
  setup.network = "";
  EXPECT_EQ(run(setup).outcome, "error");
  setup = with("{fault: link down, at: 1 ms, host: 3, nic: mlx5_0, duration: 500 ms}");
  setup.more = "environment: {NCCL_IB_TIMEOUT: \"14\"}\n";
  const VariantResult failed = run(setup);
  EXPECT_EQ(failed.outcome, "error");
  EXPECT_NEAR(outcome(failed).end.as_ms(), 1 + 8 * 67.108864 + 100, 2.5);
}

TEST_P(EachAlgorithm, ALinkThatStaysDownFailsAfterAllTries) {
  const VariantResult result = run(with("{fault: link down, at: 1 ms, host: 3, nic: mlx5_0}"));
  const FaultOutcome& faults = outcome(result);
  EXPECT_EQ(result.outcome, "error");
  EXPECT_FALSE(faults.completed);
  EXPECT_GT(faults.lost, Bytes());
  EXPECT_GT(faults.arrived, Bytes());
  // 8 timers after the last byte, which is at most a message before or after the loss.
  const std::optional<Duration> line =
      told(faults, "NCCL WARN NET/IB : Got completion from peer 10.0.0.");
  ASSERT_TRUE(line.has_value());
  EXPECT_NEAR(line->as_seconds(), 8 * static_cast<double>(kTimerNs) / 1e9, 0.005);
  EXPECT_TRUE(told(faults, "with status=12 opcode=0 len=0 vendor err 129 (Send) hca mlx5_0"));
  EXPECT_EQ(told(faults, "mlx5_0:1 Got non-fatal async event: port error(10)"),
            Duration::milliseconds(1));
  // PyTorch looks every 100 ms.
  const std::optional<Duration> torch = told(faults, "NCCL watchdog thread terminated");
  ASSERT_TRUE(torch.has_value());
  EXPECT_EQ(*torch - *line, Duration::milliseconds(100));
  EXPECT_EQ(faults.end, *torch);
  EXPECT_NE(result.error->find("status=12"), std::string::npos);
}

TEST_P(EachAlgorithm, HalfTheWidthDoublesTheTimeOfLongMessages) {
  const Duration base = healthy(GetParam());
  const Duration more =
      delay(with("{fault: link degraded, at: 0, host: 3, nic: mlx5_0, width: 2x}"));
  if (GetParam() == "Ring") {
    // 112 MiB at half of 50 GB/s x 4096/4122 x 0.981: 4.82 ms.
    EXPECT_NEAR((base + more).as_ms(), 112 * 1.048576 / (25 * 4096.0 / 4122 * 0.981), 0.25);
  } else {
    EXPECT_GT(more.as_us() / base.as_us(), 0.2);
  }
}

TEST_P(EachAlgorithm, ALowerSpeedIsAShareOfTheRate) {
  const Duration quarter =
      delay(with("{fault: link degraded, at: 0, host: 3, nic: mlx5_0, rate: 100 Gb/s}"));
  const Duration width =
      delay(with("{fault: link degraded, at: 0, host: 3, nic: mlx5_0, width: 1x}"));
  EXPECT_EQ(quarter, width);
  EXPECT_GT(quarter, Duration());
}

TEST_P(EachAlgorithm, ALostSpineIsGoneAround) {
  // Each leaf has two; the subnet manager takes 1 s, the queue pairs try after 4.3 s. Which of the
  // spines carry the algorithm depends on its edges: one of them does.
  Duration worst;
  for (const char* spine : {"rdma/spine0", "rdma/spine1"}) {
    const Duration more =
        delay(with(std::string("{fault: switch down, at: 1 ms, switch: ") + spine + "}"));
    worst = std::max(worst, more);
  }
  EXPECT_NEAR(worst.as_ms(), static_cast<double>(kTimerNs) / 1e6, 3);
}

TEST_P(EachAlgorithm, ALostLeafFails) {
  const VariantResult result = run(with("{fault: switch down, at: 1 ms, switch: rdma/leaf0}"));
  EXPECT_EQ(result.outcome, "error");
  EXPECT_GT(outcome(result).lost, Bytes());
  EXPECT_TRUE(told(outcome(result), "status=12"));
}

TEST_P(EachAlgorithm, ALostAdapterEndsItsHostAtOnce) {
  const VariantResult result = run(with("{fault: hca gone, at: 1 ms, host: 3, nic: mlx5_0}"));
  const FaultOutcome& faults = outcome(result);
  EXPECT_EQ(result.outcome, "error");
  EXPECT_EQ(told(faults, "mlx5_0:1 async fatal event: local catastrophic error"),
            Duration::milliseconds(1));
  EXPECT_EQ(told(faults, "communicator encountered a fatal error (detected in ncclIbTest)"),
            Duration::milliseconds(1));
  EXPECT_EQ(faults.end, Duration::milliseconds(101));
}

TEST_P(EachAlgorithm, BeforeFatalEventsEndedCommunicatorsThePeersTimeOut) {
  Case setup = with("{fault: hca gone, at: 1 ms, host: 3, nic: mlx5_0}");
  setup.more = "environment: {NCCL_IB_RETURN_ASYNC_EVENTS: \"0\"}\n";
  const VariantResult result = run(setup);
  EXPECT_NEAR(outcome(result).end.as_seconds(), 34.36 + 0.1, 0.01);
  EXPECT_FALSE(told(outcome(result), "communicator encountered"));
}

TEST_P(EachAlgorithm, ASlowGpuAndASlowHostSlowAllOfThem) {
  const Duration gpu = delay(with("{fault: slow gpu, at: 0, host: 3, gpu: 0, share: 1/10}"));
  EXPECT_GT(gpu, healthy(GetParam()) * 2 / 10);
  EXPECT_EQ(delay(with("{fault: slow host, at: 0, host: 3, share: 1/10}")), gpu);
  // Over before the end: less of it.
  EXPECT_LT(delay(with("{fault: slow host, at: 0, host: 3, share: 1/10, duration: 500 us}")), gpu);
}

TEST_P(EachAlgorithm, LostPacketsAreSentAgain) {
  // 1 % of the packets: go back N leaves 0.99 / (0.99 + 98.66 x 0.01) = 50 % of the cable.
  const Duration lossy =
      delay(with("{fault: packet loss, at: 0, host: 3, nic: mlx5_0, share: 0.01}"));
  const Duration half =
      delay(with("{fault: link degraded, at: 0, host: 3, nic: mlx5_0, share: 0.500864}"));
  EXPECT_NEAR(lossy.as_us(), half.as_us(), half.as_us() * 0.01);
  EXPECT_LT(delay(with("{fault: packet loss, at: 0, host: 3, nic: mlx5_0, share: 0.0001}")), lossy);
}

TEST_P(EachAlgorithm, APauseStormStopsAllBehindTheSwitch) {
  Case storm = with("{fault: pause storm, at: 0, host: 3, nic: mlx5_0, share: 1/2}");
  storm.layer = "ethernet";
  EXPECT_GT(delay(storm).as_us(), healthy(GetParam(), "ethernet").as_us() * 0.3);
  // Without flow control nobody obeys: the same as without a storm.
  storm.network = ", pfc: false";
  const Duration stormy = call(run(storm)).time;
  storm.events = "{fault: slow gpu, at: 0, host: 1, gpu: 0, share: 1}";
  EXPECT_EQ(call(run(storm)).time, stormy);
}

TEST_P(EachAlgorithm, WithoutASubnetManagerRoutesWorkButNothingComesBack) {
  EXPECT_EQ(delay(with("{fault: subnet manager down, at: 0, network: rdma}")), Duration());
  // A port that was down stays in INIT.
  const VariantResult flap =
      run(with("{fault: subnet manager down, at: 0, network: rdma}, "
               "{fault: link down, at: 1 ms, host: 3, nic: mlx5_0, duration: 500 ms}"));
  EXPECT_EQ(flap.outcome, "error");
  EXPECT_TRUE(told(outcome(flap), "status=12"));
  // It is back after 5 s: the second try.
  const Duration more =
      delay(with("{fault: subnet manager down, at: 0, network: rdma, duration: 5 s}, "
                 "{fault: link down, at: 1 ms, host: 3, nic: mlx5_0, duration: 500 ms}"));
  EXPECT_NEAR(more.as_ms(), 2 * static_cast<double>(kTimerNs) / 1e6, 1.5);
}

TEST_P(EachAlgorithm, WithoutASubnetManagerNothingGoesAround) {
  int failed = 0;
  for (const char* spine : {"rdma/spine0", "rdma/spine1"}) {
    const VariantResult result =
        run(with("{fault: subnet manager down, at: 0, network: rdma}, "
                 "{fault: switch down, at: 1 ms, switch: " +
                 std::string(spine) + "}"));
    static_cast<void>(outcome(result));
    failed += result.outcome == "error" ? 1 : 0;
  }
  EXPECT_GE(failed, 1);
}

TEST_P(EachAlgorithm, PartitionsThatShareNoKeyFailWithTheirFirstMessage) {
  Case setup = with("");
  setup.network = ", partitions: [{key: 1, full: [1, 2, 3, 4]}, {key: 2, full: [5, 6, 7, 8]}]";
  const VariantResult result = run(setup);
  EXPECT_EQ(result.outcome, "error");
  EXPECT_NEAR(outcome(result).end.as_seconds(), 34.36 + 0.1, 0.01);
  setup.network = ", partitions: [{key: 1, full: [1, 2, 3, 4, 5, 6, 7, 8]}]";
  const VariantResult together = run(setup);
  EXPECT_EQ(together.outcome, "runs");
  EXPECT_EQ(call(together).time, healthy(GetParam()));
}

TEST_P(EachAlgorithm, SwitchesWithASmallerMtuLetSmallMessagesPass) {
  // RoCE by interfaces of 9000: packets of 4096 + 44 bytes, of which the switches drop all.
  Case setup = with("");
  setup.layer = "ethernet";
  setup.network = ", mtu: 1500";
  setup.more = "inventory: {interfaces: {mlx5_0: {mtu: 9000}}}\n";
  setup.size = "8 MiB";
  const VariantResult large = run(setup);
  EXPECT_EQ(large.outcome, "error");
  EXPECT_TRUE(told(outcome(large), "status=12"));
  setup.size = "512 B";
  EXPECT_EQ(run(setup).outcome, "runs");
}

TEST_P(EachAlgorithm, OverSocketsTcpSendsAgainLaterAndLater) {
  // Down at 1 ms for 2 s: tries at 0.2, 0.6, 1.4 and 3.0 s.
  Case setup = with("{fault: link down, at: 1 ms, host: 3, nic: eth0, duration: 2 s}");
  setup.more = "environment: {NCCL_IB_DISABLE: \"1\", NCCL_SOCKET_IFNAME: eth0}\n";
  const VariantResult flap = run(setup);
  EXPECT_EQ(flap.outcome, "runs");
  setup.events = "{fault: slow gpu, at: 0, host: 1, gpu: 0, share: 1}";
  const Duration base = call(run(setup)).time;
  EXPECT_NEAR((call(flap).time - base).as_ms(), 3000, 15);
}

TEST_P(EachAlgorithm, OverSocketsTheWatchdogIsFirst) {
  Case setup = with("{fault: link down, at: 1 ms, host: 3, nic: eth0}");
  setup.more = "environment: {NCCL_IB_DISABLE: \"1\", NCCL_SOCKET_IFNAME: eth0}\n";
  const VariantResult result = run(setup);
  const FaultOutcome& faults = outcome(result);
  EXPECT_EQ(result.outcome, "error");
  EXPECT_EQ(faults.end, Duration::seconds(600));
  EXPECT_TRUE(told(faults,
                   "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, "
                   "OpType=ALLREDUCE, NumelIn=16777216, NumelOut=16777216, "
                   "Timeout(ms)=600000) ran for 600000 milliseconds"));
  // With half an hour, the default until PyTorch 2.1, TCP gives up before it: 924.6 s.
  setup.more += "watchdog: 30 min\n";
  const VariantResult later = run(setup);
  const std::optional<Duration> line =
      told(outcome(later), "socketProgressOpt: Call to send to 10.0.0.");
  ASSERT_TRUE(line.has_value());
  EXPECT_NEAR(line->as_seconds(), 924.6, 0.1);
}

TEST_P(EachAlgorithm, WithoutErrorHandlingItHangs) {
  Case setup = with("{fault: link down, at: 1 ms, host: 3, nic: mlx5_0}");
  setup.more = "environment: {TORCH_NCCL_ASYNC_ERROR_HANDLING: \"0\"}\n";
  const VariantResult result = run(setup);
  EXPECT_EQ(result.outcome, "hang");
  EXPECT_TRUE(outcome(result).hangs);
  EXPECT_TRUE(told(outcome(result), "status=12"));
  EXPECT_FALSE(told(outcome(result), "watchdog"));
}

TEST(Faults, PortsThatNeverBecameActiveAreNoDevices) {
  Case setup;
  setup.events = "{fault: subnet manager down, at: 0, network: rdma, ports: init}";
  const VariantResult result = run(setup);
  EXPECT_EQ(result.decision.hosts.front().network, "Socket");
  setup.more = "environment: {NCCL_NET: IB}\n";
  const VariantResult demanded = run(setup);
  EXPECT_EQ(demanded.outcome, "error");
  EXPECT_NE(demanded.error->find("Failed to initialize any NET plugin"), std::string::npos);
}

TEST(Faults, BothEnginesAgree) {
  Case setup;
  setup.events = "{fault: link down, at: 1 ms, host: 3, nic: mlx5_0, duration: 500 ms}";
  const VariantResult fluid = run(setup);
  const VariantResult reference = run(setup, engine::Kind::kReference);
  EXPECT_NEAR(call(fluid).time.as_us(), call(reference).time.as_us(),
              call(fluid).time.as_us() * 1e-6);
  EXPECT_EQ(outcome(fluid).asked, outcome(reference).asked);
}

TEST(Faults, NodesThatTheFabricHasNotAreNamedWithTheirPlace) {
  Case setup;
  setup.events =
      "{fault: switch down, at: 0, switch: rdma/spine2}, "
      "{fault: link down, at: 0, between: [rdma/leaf0, rdma/leaf1]}";
  try {
    static_cast<void>(run(setup));
    FAIL() << "no error";
  } catch (const InputError& error) {
    ASSERT_EQ(error.problems().size(), 2U);
    EXPECT_EQ(error.problems()[0].message,
              "the fabric has no node 'rdma/spine2'; switches: 'management/leaf0', 'rdma/leaf0', "
              "'rdma/leaf1', 'rdma/spine0' or 'rdma/spine1'; did you mean 'rdma/spine0'?");
    EXPECT_EQ(error.problems()[0].where.file, "faults.yaml");
    EXPECT_GT(error.problems()[0].where.line, 10);
    EXPECT_EQ(error.problems()[1].message, "no link between 'rdma/leaf0' and 'rdma/leaf1'");
  }
}

TEST(Faults, MeasuredParametersHaveNoEvents) {
  // The two cannot be mixed: there is no fabric behind measured links. Said by simulate().
  EXPECT_TRUE(is_calm(Variant()));
  Variant variant;
  variant.events.emplace_back();
  EXPECT_FALSE(is_calm(variant));
}

}  // namespace
}  // namespace busbw::scenarios
