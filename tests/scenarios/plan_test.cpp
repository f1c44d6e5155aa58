// From a decision to NIC ports and orders of ranks: fused devices, the kernel's route, the GPU next
// to the NIC, and every machine of the catalogue.
#include "scenarios/plan.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/scenarios/library.h"

namespace busbw::scenarios {
namespace {

Scenario scenario_of(const std::string& text) {
  Problems problems;
  Scenario scenario = parse_scenario("schema: busbw.scenario/1\nname: s\nnccl: 2.28.9\n" + text +
                                         "workload: {collective: all_reduce, sizes: [4 MiB]}\n",
                                     "s.yaml", library(), problems);
  problems.throw_if_any();
  return scenario;
}

Plan plan_of(const Variant& variant) {
  return make_plan(variant, decide(variant, library().catalog));
}

std::vector<std::string> devices_of(const Plan& plan) {
  std::vector<std::string> names;
  for (const transport::NetPort& port : plan.ring_ports.front()) {
    names.push_back(port.device + ":" + std::to_string(port.port));
  }
  return names;
}

constexpr const char* kDgx = R"(cluster:
  hosts: 2
  machine: dgx-a100
  networks: [{name: r, nics: [mlx5_0, mlx5_1, mlx5_2, mlx5_3, mlx5_4, mlx5_5, mlx5_6, mlx5_7]}]
)";

TEST(Plan, ChannelsEnterAndLeaveNextToTheirNics) {
  // Two GPUs and two NICs under each PCIe switch: GPU and NIC i / 2 hang together. A ring passes
  // each host once, so that one GPU receives from the network and one sends to it.
  const Variant variant = scenario_of(kDgx).variants.front();
  const Plan plan = plan_of(variant);
  const topologies::Machine& machine = variant.cluster.hosts.front();
  ASSERT_GE(plan.shape.rings.size(), 8U);
  std::vector<int> uses(machine.nics.size());
  for (std::size_t channel = 0; channel < plan.shape.rings.size(); ++channel) {
    const collectives::RingOrder& ring = plan.shape.rings[channel];
    ASSERT_EQ(ring.size(), 16U);
    int crossings = 0;
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const RankId from = ring[i];
      const RankId to = ring[(i + 1) % ring.size()];
      if (from.value() / 8 == to.value() / 8) {
        continue;
      }
      ++crossings;
      for (const RankId rank : {from, to}) {
        const transport::NetPort& port = plan.ring_ports[rank.index()][channel];
        const auto gpu = static_cast<std::size_t>(rank.value() % 8);
        EXPECT_EQ(machine.nics[port.nic].attach, machine.gpus[gpu].attach)
            << "channel " << channel << " rank " << rank.value();
        EXPECT_TRUE(port.gdr_send && port.gdr_receive);
        EXPECT_EQ(port.relay, std::nullopt);
        ++uses[port.nic];
      }
    }
    EXPECT_EQ(crossings, 2) << "channel " << channel;
  }
  // Every HCA carries the same number of channels, in or out; eth0 none.
  EXPECT_EQ(uses.front(), 0);
  uses.erase(uses.begin());
  EXPECT_EQ(*std::min_element(uses.begin(), uses.end()),
            *std::max_element(uses.begin(), uses.end()));
}

// 16 KiB to a peer a channel: on eight GPUs 128 KiB of an alltoall; the network has no LL buffers.
TEST(Plan, SmallMessagesBetweenPeersGoByLlInsideANode) {
  Variant inside = scenario_of("cluster: {hosts: 1, machine: dgx-a100}\n").variants.front();
  inside.workload.collective = collectives::Collective::kAllToAll;
  const auto protocol = [](const Variant& variant, Bytes bytes) {
    const Candidate candidate = candidates_of(plan_of(variant), variant, bytes).list.front();
    EXPECT_EQ(candidate.algorithm, collectives::Algorithm::kDirect);
    return candidate.protocol;
  };
  EXPECT_EQ(protocol(inside, Bytes::kib(64)), params::Protocol::kLowLatency);
  EXPECT_EQ(protocol(inside, Bytes::mib(64)), params::Protocol::kSimple);
  inside.environment["NCCL_P2P_LL_THRESHOLD"] = "0";
  EXPECT_EQ(protocol(inside, Bytes::kib(64)), params::Protocol::kSimple);
  Variant between = scenario_of(kDgx).variants.front();
  between.workload.collective = collectives::Collective::kAllToAll;
  EXPECT_EQ(protocol(between, Bytes::kib(64)), params::Protocol::kSimple);
}

TEST(Plan, AFusedDeviceSpreadsItsChannels) {
  Scenario scenario = scenario_of(kDgx);
  scenario.variants[0].environment["NCCL_NET_FORCE_MERGE"] = "mlx5_0,mlx5_1";
  scenario.variants[0].environment["NCCL_IB_HCA"] = "=mlx5_0,mlx5_1";
  // One device of 400 Gb/s, one searched channel, doubled: one channel for each port.
  EXPECT_EQ(devices_of(plan_of(scenario.variants.front())),
            (std::vector<std::string>{"mlx5_0:0", "mlx5_1:0"}));
}

TEST(Plan, SocketsOfOneSubnetLeaveByItsFirstInterface) {
  const Scenario scenario = scenario_of(R"(cluster:
  hosts: 2
  machine:
    name: m
    gpus: {model: H200-SXM5-141GB, count: 1}
    cpus: {model: Intel Emerald Rapids}
    pcie: {generation: 5}
    nics:
      - {name: eth0, attach: virtual, rate: 1 Gb/s}
      - {name: eth1, attach: virtual, rate: 10 Gb/s}
  networks: [{name: a, nics: [eth0]}, {name: b, nics: [eth1]}]
inventory:
  interfaces:
    - {name: lo}
    - {name: eth0, addresses: "10.0.0.{host}/24"}
    - {name: eth1, addresses: "10.0.0.1{host}/24"}
environment: {NCCL_SOCKET_IFNAME: eth1}
)");
  const Variant& variant = scenario.variants.front();
  const nccl::Decision decision =
      nccl::select({variant.version, variant.environment, variant.inventories});
  EXPECT_EQ(decision.hosts[0].data_devices[0].name, "eth1");
  const std::vector<std::string> lines = [&] {
    std::vector<std::string> texts;
    for (const nccl::Reason& reason : decision.hosts[0].reasons) {
      if (reason.rule == "socket.kernel_route") {
        texts.push_back(reason.text);
      }
    }
    return texts;
  }();
  EXPECT_EQ(lines, std::vector<std::string>{"eth0 and eth1 are in one subnet: the kernel sends by "
                                            "eth0, whatever NCCL chose"});
  EXPECT_EQ(devices_of(plan_of(variant)), (std::vector<std::string>{"eth0:0", "eth0:0"}));
}

/// All NICs of a machine cabled, one network a link layer.
std::string cluster_of(const topologies::Machine& machine) {
  std::string infiniband;
  std::string ethernet;
  for (const topologies::MachineNic& nic : machine.nics) {
    const bool ib = nic.link_layer == topologies::NicLinkLayer::kInfiniBand;
    std::string& list = ib ? infiniband : ethernet;
    list += (list.empty() ? "" : ", ") + nic.name;
  }
  std::string text = "cluster:\n  hosts: 2\n  machine: " + machine.name + "\n  networks:\n";
  text += infiniband.empty() ? "" : "    - {name: ib, nics: [" + infiniband + "]}\n";
  text += ethernet.empty() ? "" : "    - {name: eth, nics: [" + ethernet + "]}\n";
  return text;
}

TEST(Plan, EveryMachineOfTheCatalogueRunsWithinItsNics) {
  // Two hosts: each byte crosses between them at least once, so algbw is at most the sum of the
  // NICs' rates.
  for (const topologies::Machine& machine : library().machines) {
    const Scenario scenario = scenario_of(cluster_of(machine));
    const Result result = simulate(scenario, context(), {});
    const VariantResult& variant = result.variants.front();
    ASSERT_EQ(variant.outcome, "runs") << machine.name << ": " << variant.error.value_or("");
    double sum = 0;
    for (const topologies::MachineNic& nic : machine.nics) {
      sum += nic.rate.as_gigabytes_per_second() * nic.ports;
    }
    ASSERT_EQ(variant.results.size(), 1U) << machine.name;
    EXPECT_LE(variant.results[0].algbw_GBps, sum) << machine.name;
    EXPECT_GT(variant.results[0].algbw_GBps, 0) << machine.name;
  }
}

}  // namespace
}  // namespace busbw::scenarios
