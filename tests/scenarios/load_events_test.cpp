// Events and the treatment of packets in scenario files: what is read, and every problem with its
// place.
#include <gtest/gtest.h>

#include "scenarios/spec/load.h"
#include "sim/core/errors.h"
#include "tests/scenarios/library.h"

namespace busbw::scenarios {
namespace {

std::string file_with(const std::string& events, const std::string& keys = "") {
  return "schema: busbw.scenario/1\nname: s\nnccl: 2.28.9\ncluster: {hosts: 2, machine: "
         "a100-40gb-x4, networks: [{name: m, nics: [eth0]}, {name: r, nics: [mlx5_0]" +
         keys + "}]}\nworkload: {collective: all_reduce, sizes: [1 MiB]}\n" + events;
}

std::vector<std::string> problems_of(const std::string& text) {
  Problems problems;
  parse_scenario(text, "s.yaml", library(), problems);
  std::vector<std::string> lines;
  try {
    problems.throw_if_any();
  } catch (const InputError& error) {
    for (const InputProblem& problem : error.problems()) {
      lines.push_back(to_string(problem));
    }
  }
  return lines;
}

Variant read(const std::string& text) {
  Problems problems;
  const Scenario scenario = parse_scenario(text, "s.yaml", library(), problems);
  problems.throw_if_any();
  return scenario.variants.front();
}

TEST(LoadEvents, EveryKindIsRead) {
  const Variant variant = read(file_with(R"(events:
  - {fault: link down, at: 1 ms, host: 2, nic: mlx5_0, duration: 3 s}
  - {fault: link degraded, at: 0, between: [r/leaf0, r/spine], width: 2x}
  - {fault: link degraded, at: 0, host: 1, nic: "mlx5_0:1", rate: 25 Gb/s}
  - {fault: packet loss, at: 0, host: 1, nic: mlx5_0, share: 0.01}
  - {fault: pause storm, at: 0, host: 1, nic: mlx5_0, share: 1/2}
  - {fault: switch down, at: 2 s, switch: r/leaf0}
  - {fault: hca gone, at: 0, host: 1, nic: mlx5_0}
  - {fault: slow gpu, at: 0, host: 1, gpu: 3, share: 0.25}
  - {fault: slow host, at: 0, host: 2, share: 1/4}
  - {fault: subnet manager down, at: 0, network: r}
watchdog: 30 min
)"));
  ASSERT_EQ(variant.events.size(), 10U);
  const std::vector<Fault>& events = variant.events;
  EXPECT_EQ(events[0].kind, FaultKind::kLinkDown);
  EXPECT_EQ(events[0].at, Duration::milliseconds(1));
  EXPECT_EQ(events[0].duration, Duration::seconds(3));
  EXPECT_EQ(events[0].host, 1U);
  EXPECT_EQ(events[1].share, (Ratio{2, 4}));
  EXPECT_EQ(events[1].to, "r/spine");
  EXPECT_EQ(events[2].rate, Bandwidth::gigabits_per_second(25));
  EXPECT_EQ(events[3].share, (Ratio{10'000, 1'000'000}));
  EXPECT_EQ(events[5].node, "r/leaf0");
  EXPECT_EQ(events[7].gpu, 3U);
  EXPECT_EQ(events[9].ports, nccl::PortState::kActive);
  EXPECT_EQ(variant.watchdog, Duration::seconds(1800));
}

TEST(LoadEvents, PortsThatNeverBecameActiveStayWhereTheyWere) {
  for (const auto& [word, state] :
       {std::pair("init", nccl::PortState::kInit), std::pair("armed", nccl::PortState::kArmed),
        std::pair("active", nccl::PortState::kActive)}) {
    const Variant variant =
        read(file_with("events: [{fault: subnet manager down, at: 0, network: r, ports: " +
                       std::string(word) + "}]\n"));
    for (const nccl::Inventory& inventory : variant.inventories) {
      EXPECT_EQ(inventory.hcas.front().ports.front().state, state) << word;
    }
  }
}

TEST(LoadEvents, AVariantReplacesThem) {
  Problems problems;
  const Scenario scenario = parse_scenario(
      file_with(
          "events: [{fault: hca gone, at: 0, host: 1, nic: mlx5_0}]\nvariants:\n  - {name: a}\n"
          "  - {name: b, events: []}\n"),
      "s.yaml", library(), problems);
  ASSERT_TRUE(problems.empty());
  EXPECT_EQ(scenario.variants[0].events.size(), 1U);
  EXPECT_TRUE(scenario.variants[1].events.empty());
}

TEST(LoadEvents, AllProblemsAtOnceWithTheirPlaces) {
  EXPECT_EQ(problems_of(file_with(R"(events:
  - {fault: link dwon, at: 0, host: 1, nic: mlx5_0}
  - {fault: link down, at: 0, host: 3, nic: mlx5_0}
  - {fault: link down, at: 0, host: 1, nic: mlx5_1}
  - {fault: link down, at: 0, host: 1, between: [a, b]}
  - {fault: link degraded, at: 0, host: 1, nic: mlx5_0}
  - {fault: packet loss, at: 0, host: 1, nic: mlx5_0, share: 2}
  - {fault: slow gpu, at: 0, host: 1, gpu: 4, share: 1/2}
  - {fault: subnet manager down, at: 0, network: x}
  - {fault: switch down, at: 0, duration: 0, switch: r/leaf0}
)")),
            (std::vector<std::string>{
                "s.yaml:7:13: error: 'fault' in an event must be 'link down', 'link degraded', "
                "'packet loss', "
                "'pause storm', 'switch down', 'hca gone', 'slow gpu', 'slow host' or 'subnet "
                "manager down', found 'link dwon'; did you mean 'link down'?",
                "s.yaml:8:5: error: no host 3; there are 2",
                "s.yaml:9:5: error: machine 'a100-40gb-x4' has no NIC 'mlx5_1'; did you mean "
                "'mlx5_0'?",
                "s.yaml:10:37: error: give either 'between' or 'host' and 'nic'",
                "s.yaml:11:5: error: give one of 'width', 'rate' and 'share' in an event",
                "s.yaml:12:62: error: 'share' must be a share above 0 and not above 1 such as 0.01 "
                "or 1/2, not '2'",
                "s.yaml:13:5: error: no GPU 4; machine 'a100-40gb-x4' has 4",
                "s.yaml:14:5: error: no network 'x'; allowed: 'm' or 'r'",
                "s.yaml:15:43: error: 'duration' must be above 0"}));
}

TEST(LoadTraffic, KeysOfANetwork) {
  const Variant variant = read(file_with(
      "",
      ", adaptive_routing: true, reroute: 300 ms, spine_switches: 2, leaf_switches: 2, trunk: "
      "1 Tb/s, partitions: [{key: 3, full: [1], limited: [2]}]"));
  ASSERT_EQ(variant.traffic.size(), 2U);
  const params::Traffic& traffic = variant.traffic[1];
  EXPECT_EQ(traffic.balance, params::Balance::kPacket);
  EXPECT_EQ(traffic.reroute, Duration::milliseconds(300));
  ASSERT_EQ(variant.cluster.networks[1].partitions.size(), 1U);
  EXPECT_EQ(variant.cluster.networks[1].partitions[0].limited, std::vector<std::size_t>{1});
  EXPECT_EQ(variant.cluster.networks[1].spine_switches, 2);
  EXPECT_FALSE(variant.traffic[0].unfair());
}

TEST(LoadTraffic, WhatTheNicsRuleOut) {
  EXPECT_EQ(problems_of(file_with("", ", ecmp: {hash: 5-tuple, seed: 7}, pfc: false, mtu: 1500")),
            (std::vector<std::string>{
                "s.yaml:4:80: error: 'ecmp' of network 'r' is a matter of Ethernet, and its NICs "
                "speak InfiniBand",
                "s.yaml:4:80: error: 'pfc' of network 'r' is a matter of Ethernet, and its NICs "
                "speak InfiniBand",
                "s.yaml:4:80: error: 'mtu' of network 'r' is a matter of Ethernet, and its NICs "
                "speak InfiniBand"}));
  EXPECT_EQ(problems_of(file_with("", ", partitions: [{key: 1, full: [1, 1, x, 9]}]")),
            (std::vector<std::string>{
                "s.yaml:4:80: error: partition 1 of network 'r' names host 9; there are 2",
                "s.yaml:4:134: error: host 1 is listed twice in a partition",
                "s.yaml:4:134: error: no number of a host: 'x'; hosts count from 1"}));
}

}  // namespace
}  // namespace busbw::scenarios
