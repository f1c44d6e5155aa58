// The steady state against the same job played message by message, on every machine of the
// catalogue; and when which is taken.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "scenarios/equal_hosts.h"
#include "scenarios/job.h"
#include "scenarios/simulate.h"
#include "sim/core/errors.h"
#include "sim/core/quantity.h"
#include "tests/scenarios/library.h"

namespace busbw::scenarios {
namespace {

using collectives::Algorithm;
using collectives::Collective;

constexpr EngineChoice kPlayed{engine::Kind::kFluid, Level::kPlayed};
constexpr EngineChoice kSteady{engine::Kind::kFluid, Level::kSteady};
constexpr EngineChoice kAuto{engine::Kind::kFluid, Level::kAuto};

/// A job of equal hosts with its plan.
struct Prepared {
  Variant variant;
  Plan plan;

  Prepared(const topologies::Machine& machine, std::int32_t hosts, Collective collective) {
    variant.name = machine.name;
    variant.version = *nccl::parse_version("2.27");
    variant.workload.collective = collective;
    HostsOptions options;
    options.hosts = hosts;
    options.rdma_mtu = 9000;
    set_equal_hosts(machine, options, library().catalog, variant);
    plan = make_plan(variant, decide(variant, library().catalog));
  }
  [[nodiscard]] SizeResult run(Bytes bytes, EngineChoice engine) const {
    return ChoiceRuns(variant, plan, context(), engine)
        .run(rounded_bytes(variant.workload.collective, bytes, variant.workload.element,
                           plan.shape.ranks));
  }
};

std::vector<std::string> networked_machines() {
  std::vector<std::string> names;
  for (const topologies::Machine& each : library().machines) {
    if (!each.nics.empty()) {
      names.push_back(each.name);
    }
  }
  return names;
}

constexpr std::int32_t kRanks = 64;

class SteadyState : public testing::TestWithParam<std::string> {};

TEST_P(SteadyState, AgreesWithWhatIsPlayed) {
  const topologies::Machine& one = machine(GetParam());
  const auto hosts = std::max(7, kRanks / static_cast<std::int32_t>(one.gpus.size()));
  for (const Collective collective : {Collective::kAllReduce, Collective::kAllGather}) {
    const Prepared job(one, hosts, collective);
    // A ring of large all_gathers differs from one of all_reduces by nothing but its length.
    const std::vector<Bytes> sizes = collective == Collective::kAllReduce
                                         ? std::vector<Bytes>{Bytes::mib(2), Bytes::mib(32)}
                                         : std::vector<Bytes>{Bytes::mib(2)};
    for (const Bytes bytes : sizes) {
      const SizeResult played = job.run(bytes, kPlayed);
      const SizeResult steady = job.run(bytes, kSteady);
      EXPECT_TRUE(played.chosen.steady.empty());
      // What NCCL takes for hosts that differ (a host that falls into parts) is always played.
      EXPECT_EQ(steady.chosen.steady.empty(), !job.plan.equal_hosts);
      EXPECT_EQ(steady.chosen.algorithm, played.chosen.algorithm);
      EXPECT_EQ(steady.chosen.protocol, played.chosen.protocol);
      EXPECT_EQ(steady.chosen.channels, played.chosen.channels);
      EXPECT_NEAR(steady.busbw_GBps / played.busbw_GBps, 1, 0.03)
          << to_string(collective) << " " << to_string(bytes) << " "
          << to_string(played.chosen.algorithm) << "/" << to_string(played.chosen.protocol)
          << " from " << steady.chosen.steady;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, SteadyState, testing::ValuesIn(networked_machines()),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// Channels of the four GPUs drift apart through many sizes, and each is faster than the one before.
TEST(SteadyStateOfBytes, AgreesWithWhatIsPlayed) {
  struct Case {
    const char* machine;
    Bytes bytes;
    const char* from;
  };
  for (const Case& each : {Case{"dgx-h100", Bytes::gib(1), "256 MiB and 512 MiB"},
                           Case{"a100-40gb-x4", Bytes::gib(2), "512 MiB and 1 GiB"}}) {
    const Prepared job(machine(each.machine), 1, Collective::kAllReduce);
    const SizeResult steady = job.run(each.bytes, kSteady);
    EXPECT_EQ(steady.chosen.steady, each.from);
    const SizeResult played = job.run(each.bytes, kAuto);
    EXPECT_TRUE(played.chosen.steady.empty());
    EXPECT_NEAR(steady.busbw_GBps / played.busbw_GBps, 1, 0.03) << each.machine;
  }
}

TEST(SteadyStateOfBytes, IsTakenAboveTwoGibibytes) {
  const Prepared job(machine("h200-vm-x2"), 1, Collective::kBroadcast);
  EXPECT_EQ(job.run(Bytes::gib(4), kAuto).chosen.steady, "1 GiB and 2 GiB");
}

// NVLS on 20 GPUs: a loop is a chunk for each of 20 heads on 32 channels. Jobs of few loops say
// nothing of many, which overlap: they came out 16 % too slow.
TEST(SteadyStateOfBytes, TakesSeveralLoopsOfNvls) {
  Variant variant;
  variant.version = *nccl::parse_version("2.26.2");
  HostsOptions options;
  options.hosts = 5;
  options.hosts_per_nvlink_domain = 5;
  set_equal_hosts(machine("gb200-tray"), options, library().catalog, variant);
  const Plan plan = make_plan(variant, decide(variant, library().catalog));
  const auto chosen = [&](EngineChoice engine) {
    return ChoiceRuns(variant, plan, context(), engine).run(Bytes::gib(4)).chosen;
  };
  const busbw::scenarios::Run steady = chosen(kSteady);
  EXPECT_EQ(steady.algorithm, Algorithm::kNvls);
  EXPECT_FALSE(steady.steady.empty());
  EXPECT_NEAR(steady.time.as_us() / chosen(kPlayed).time.as_us(), 1, 0.03);
}

// 64 ranks of a ring: with 256 MiB latency rules and the NICs idle half of the time, with 2 GiB
// they are full. A line through the former would be far above what they carry.
TEST(SteadyStateOfBytes, IsNotTakenWhileLatencyRules) {
  const Prepared job(machine("aws-p5en"), 8, Collective::kAllReduce);
  const SizeResult played = job.run(Bytes::gib(2), kPlayed);
  const SizeResult steady = job.run(Bytes::gib(2), kSteady);
  EXPECT_EQ(played.chosen.algorithm, Algorithm::kRing);
  EXPECT_NEAR(steady.busbw_GBps / played.busbw_GBps, 1, 0.03) << steady.chosen.steady;
}

// Eight devices of 400 Gb/s a host carry 400 GB/s, and a ring sends what busbw counts; half a
// percent is left for the line through the hosts.
TEST(SteadyStateOfHosts, IsNotAboveTheNics) {
  for (const std::int32_t hosts : {12, 16, 24}) {
    const Prepared job(machine("aws-p5en"), hosts, Collective::kAllReduce);
    const SizeResult result = job.run(Bytes::gib(16), kAuto);
    EXPECT_EQ(result.chosen.algorithm, Algorithm::kRing);
    EXPECT_LE(result.busbw_GBps, 402) << hosts << " " << result.chosen.steady;
    EXPECT_GE(result.busbw_GBps, 380) << hosts << " " << result.chosen.steady;
    EXPECT_LE(result.chosen.bottleneck.utilization, 1.0 + 1e-9);
  }
}

TEST(SteadyStateOfPairs, AgreesWithWhatIsPlayed) {
  const Prepared job(machine("a100-40gb-x4"), 16, Collective::kAllToAll);
  const SizeResult steady = job.run(Bytes::mib(64), kSteady);
  EXPECT_EQ(steady.chosen.algorithm, Algorithm::kDirect);
  EXPECT_NEAR(steady.busbw_GBps / job.run(Bytes::mib(64), kPlayed).busbw_GBps, 1, 0.03);
}

// 64 ranks are played, 128 follow from 32 and 64.
TEST(SteadyStateOfHosts, IsTakenAboveSixtyFourRanks) {
  const Prepared small(machine("dgx-h100"), 8, Collective::kAllReduce);
  const Prepared large(machine("dgx-h100"), 16, Collective::kAllReduce);
  EXPECT_TRUE(small.run(Bytes::mib(1), kAuto).chosen.steady.empty());
  const SizeResult result = large.run(Bytes::mib(1), kAuto);
  EXPECT_EQ(result.chosen.steady, "4 and 8 hosts");
  EXPECT_EQ(steady_remarks({result, result}),
            std::vector<std::string>{"1 MiB, 1 MiB: steady state, from 4 and 8 hosts"});
}

// Four nodes have no smaller jobs to go by: 16 ranks are played whatever is asked for.
TEST(SteadyStateOfHosts, IsNotTakenForFewNodes) {
  const Prepared job(machine("a100-40gb-x4"), 4, Collective::kAllReduce);
  EXPECT_TRUE(job.run(Bytes::mib(1), kSteady).chosen.steady.empty());
  EXPECT_EQ(job.run(Bytes::mib(1), kSteady).chosen.time,
            job.run(Bytes::mib(1), kPlayed).chosen.time);
}

}  // namespace
}  // namespace busbw::scenarios
