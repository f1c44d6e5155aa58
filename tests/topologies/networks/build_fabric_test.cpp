// Builders by hand: counts, cables, bisection, oversubscription, latencies, and bad files.
#include "topologies/networks/build_fabric.h"

#include <filesystem>
#include <map>

#include "tests/topologies/networks/small_fabric.h"
#include "topologies/networks/bill.h"

namespace busbw::networks {
namespace {

std::map<std::int32_t, int> switches_by_tier(const Subnet& subnet) {
  std::map<std::int32_t, int> count;
  for (const Switch& node : subnet.switches) {
    count[node.tier]++;
  }
  return count;
}

std::map<std::int32_t, int> cables_by_tier(const Subnet& subnet) {
  std::map<std::int32_t, int> count;
  for (const Cable& cable : subnet.cables) {
    count[cable.tier]++;
  }
  return count;
}

using Counts = std::map<std::int32_t, int>;

TEST(BuildFabric, SingleSwitch) {
  // 8 hosts x 400 Gb/s on one switch: half to half 4 x 400 = 1.6 Tb/s.
  const BuiltFabric built =
      fabric_of("topology: single switch\nhosts: [{count: 8}]\nswitches: QM9700\n");
  ASSERT_EQ(built.subnets.size(), 1U);
  EXPECT_EQ(built.subnets[0].switches.size(), 1U);
  EXPECT_EQ(built.subnets[0].cables.size(), 8U);
  EXPECT_EQ(bisection_of(built), gbits(1600));
  EXPECT_EQ(built.engine, Engine::kMinHop);
}

TEST(BuildFabric, FatTreeOfTwoTiersIsNonBlocking) {
  // 8 leaves with 16 ports down and 16 up; 4 spines, 4 cables from leaf to spine.
  const BuiltFabric built = shipped_fabric("fat-tree-2tier-128");
  const Subnet& subnet = built.subnets.at(0);
  EXPECT_EQ(switches_by_tier(subnet), (Counts{{0, 8}, {1, 4}}));
  EXPECT_EQ(cables_by_tier(subnet), (Counts{{0, 128}, {1, 128}}));
  EXPECT_EQ(bisection_of(built), gbits(64 * 200));
  EXPECT_EQ(bisect(subnet, built.hosts).edge, gbits(64 * 200));
  const std::vector<TierRates> tiers = tier_rates(subnet, PortMap(subnet));
  EXPECT_EQ(tiers.at(0).worst, 1.0);
  EXPECT_EQ(tiers.at(1).up, Bandwidth());
}

TEST(BuildFabric, FatTreeOfThreeTiersIsNonBlocking) {
  // 4 pods of 16 leaves and 16 spines, 32 cores; each spine has 8 cables to each of 2 cores.
  const BuiltFabric built = shipped_fabric("fat-tree-3tier-1024");
  const Subnet& subnet = built.subnets.at(0);
  EXPECT_EQ(switches_by_tier(subnet), (Counts{{0, 64}, {1, 64}, {2, 32}}));
  EXPECT_EQ(cables_by_tier(subnet), (Counts{{0, 1024}, {1, 1024}, {2, 1024}}));
  EXPECT_EQ(bisection_of(built), gbits(512 * 200));
}

TEST(BuildFabric, OversubscriptionIsWhatCrosses) {
  // 40 ports at 3:1 are 30 down and 10 up: 4 leaves for 120 hosts. Half to half: two leaves with 10
  // cables of 200 Gb/s each = 4 Tb/s, a third of what 60 hosts send.
  const BuiltFabric built = fabric_of(
      "topology: fat-tree\ntiers: 2\noversubscription: 3:1\nhosts: [{count: 120}]\n"
      "switches: QM8700\n");
  const Subnet& subnet = built.subnets.at(0);
  EXPECT_EQ(switches_by_tier(subnet)[0], 4);
  EXPECT_EQ(bisection_of(built), gbits(20 * 200));
  EXPECT_EQ(bisect(subnet, built.hosts).edge, gbits(60 * 200));
  EXPECT_EQ(bisect(subnet, built.hosts).cut.size(), 20U);
  EXPECT_EQ(tier_rates(subnet, PortMap(subnet)).at(0).worst, 3.0);
}

TEST(BuildFabric, SlowerHostsNeedFewerPortsUp) {
  // 32 hosts at 200 Gb/s on a 400 Gb/s leaf: 16 ports up do. Half to half 32 x 200 Gb/s.
  const BuiltFabric built = fabric_of(
      "topology: fat-tree\ntiers: 2\nleaf_ports: 32\nhosts: [{count: 64, rate: 200 Gb/s}]\n"
      "switches: QM9700\n");
  EXPECT_EQ(cables_by_tier(built.subnets.at(0)), (Counts{{0, 64}, {1, 32}}));
  EXPECT_EQ(bisection_of(built), gbits(32 * 200));
}

TEST(BuildFabric, RailOptimised) {
  const BuiltFabric built = shipped_fabric("rail-optimised-64");
  const Subnet& subnet = built.subnets.at(0);
  EXPECT_EQ(switches_by_tier(subnet), (Counts{{0, 16}, {1, 8}}));
  EXPECT_EQ(cables_by_tier(subnet), (Counts{{0, 512}, {1, 512}}));
  EXPECT_EQ(bisection_of(built), gbits(32 * 8 * 400));
  // Port k of hosts 0 to 31 is on leaf k, of hosts 32 to 63 on leaf 8 + k.
  const PortMap map(subnet);
  for (std::size_t i = 0; i < subnet.endpoints.size(); i++) {
    const Endpoint& endpoint = subnet.endpoints[i];
    EXPECT_EQ(map.of(EndpointId(static_cast<std::int32_t>(i)))->there.node,
              endpoint.host_index / 32 * 8 + endpoint.nic_index);
  }
}

TEST(BuildFabric, RailOnlyHasFewerPortsAndNoWayAcross) {
  const BuiltFabric rails = shipped_fabric("rail-only-64");
  ASSERT_EQ(rails.subnets.size(), 8U);
  EXPECT_EQ(rails.subnets[3].name, "rail3");
  EXPECT_EQ(bisection_of(rails), gbits(8 * 32 * 400));
  // 512 switch ports against 512 + 2 x 512 with a tier above.
  const Bill bill = bill_of(rails, "", {}, {});
  EXPECT_EQ(bill.switch_ports, 512);
  EXPECT_EQ(bill_of(shipped_fabric("rail-optimised-64"), "", {}, {}).switch_ports, 1536);
}

TEST(BuildFabric, RailsOfSeveralTiersWhenTheyDoNotFit) {
  // 100 hosts a rail on 64 ports: two tiers, 4 leaves of 32 places.
  const BuiltFabric built =
      fabric_of("topology: rail-only\nhosts: [{count: 100, nics: 2}]\nswitches: QM9700\n");
  ASSERT_EQ(built.subnets.size(), 2U);
  EXPECT_EQ(switches_by_tier(built.subnets[0])[0], 4);
  EXPECT_EQ(built.engine, Engine::kFtree);
}

TEST(BuildFabric, PlanesAreSubnets) {
  const BuiltFabric built = fabric_of(
      "topology: fat-tree\nplanes: 2\ntiers: 2\nhosts: [{count: 16, nics: 4}]\nswitches: QM8700\n");
  ASSERT_EQ(built.subnets.size(), 2U);
  EXPECT_EQ(built.subnets[0].endpoints.size(), 32U);
  EXPECT_EQ(built.subnets[1].endpoints.front().nic_index, 1);
  EXPECT_EQ(bisection_of(built), gbits(8 * 4 * 200));
}

TEST(BuildFabric, DragonflyPlus) {
  // 4 groups of 2 leaves and 2 spines, 4 hosts a leaf, a cable between each two groups. Half to
  // half: 2 x 2 pairs of groups x 200 Gb/s = 0.8 Tb/s; the hosts could send 16 x 200.
  const BuiltFabric built = fabric_of(
      "topology: dragonfly+\ngroups: 4\nleaves: 2\nspines: 2\nleaf_ports: 4\n"
      "hosts: [{count: 32}]\nswitches: QM8700\n");
  const Subnet& subnet = built.subnets.at(0);
  EXPECT_EQ(switches_by_tier(subnet), (Counts{{0, 8}, {1, 8}}));
  EXPECT_EQ(cables_by_tier(subnet), (Counts{{0, 32}, {1, 16}, {2, 6}}));
  EXPECT_EQ(bisection_of(built), gbits(4 * 200));
  EXPECT_EQ(bisect(subnet, built.hosts).edge, gbits(16 * 200));
}

TEST(BuildFabric, MixedHosts) {
  const BuiltFabric built = fabric_of(
      "topology: rail-optimised\nleaf_ports: 4\nhosts: [{count: 4, nics: 2}, "
      "{count: 4, nics: 1, name: old, rate: 200 Gb/s}]\nswitches: QM9700\n");
  const Subnet& subnet = built.subnets.at(0);
  EXPECT_EQ(subnet.endpoints.size(), 12U);
  EXPECT_EQ(subnet.endpoints.back().name(), "old3/mlx5_0");
  EXPECT_EQ(subnet.endpoints.back().host_index, 7);
  EXPECT_EQ(subnet.cables[11].rate, gbits(200));
  EXPECT_EQ(subnet.cables[11].speed, "HDR");
}

TEST(BuildFabric, LengthBecomesLatency) {
  // 20 m of active optical cable: 10 + 20 x 4.9 = 108 ns; 2 m of copper: 9.6 ns.
  const Subnet subnet = shipped_fabric("fat-tree-2tier-128").subnets.at(0);
  EXPECT_EQ(subnet.cables.front().latency, Duration::picoseconds(9600));
  EXPECT_EQ(subnet.cables.back().latency, Duration::nanoseconds(108));
}

TEST(BuildFabric, MissingAndDegradedCables) {
  const BuiltFabric built = fabric_of(
      "topology: fat-tree\ntiers: 2\nleaf_ports: 4\nspines: 2\nhosts: [{count: 8}]\n"
      "switches: QM8700\nmissing: [{from: leaf0, to: spine1, number: 2}, {from: node3}]\n"
      "degraded: [{from: leaf1, port: 5, width: 1x}, {from: leaf1, port: 6, rate: 100 Gb/s}]\n");
  const Subnet& subnet = built.subnets.at(0);
  std::vector<std::string> down;
  for (const Cable& cable : subnet.cables) {
    if (!cable.up) {
      EXPECT_EQ(subnet.state_of(cable), PortState::kDown);
      down.push_back(subnet.name_of(cable.a) + " " + subnet.name_of(cable.b));
    }
  }
  EXPECT_EQ(down, (std::vector<std::string>{"node3/mlx5_0 leaf0", "leaf0 spine1"}));
  const PortMap map(subnet);
  const Cable& narrow = subnet.at(map.at(SwitchId(1), 5)->cable);
  EXPECT_EQ(narrow.rate, gbits(50));
  EXPECT_EQ(narrow.lanes, 1);
  EXPECT_EQ(subnet.at(map.at(SwitchId(1), 6)->cable).speed, "EDR");
  // By spine 0 leaf 1 takes 50 + 100 Gb/s, by spine 1 leaf 0 sends 200: it has one cable there.
  EXPECT_EQ(bisection_of(built), gbits(350));
}

TEST(BuildFabric, StatesOfPorts) {
  const std::string body = "topology: single switch\nhosts: [{count: 2}]\nswitches: QM9700\n";
  const Subnet running = fabric_of(body).subnets.at(0);
  EXPECT_EQ(to_string(running.state_of(running.cables[0])), "ACTIVE");
  const Subnet absent = fabric_of(body + "subnet_manager: {state: absent}\n").subnets.at(0);
  EXPECT_EQ(to_string(absent.state_of(absent.cables[0])), "INIT");
  EXPECT_EQ(absent.top_lid(), Lid(0));
  EXPECT_TRUE(route(absent, PortMap(absent), Engine::kMinHop).lfts.empty());
  // It went down and left tables and LIDs; ports that come up after that get no further than INIT.
  const Subnet down = fabric_of(body + "subnet_manager: {state: down}\n").subnets.at(0);
  EXPECT_EQ(endpoint_states(down), (std::vector<PortState>{PortState::kInit, PortState::kInit}));
  EXPECT_GT(down.top_lid(), Lid(0));
  const PortMap map(down);
  EXPECT_EQ(check_pairs(down, map, min_hop(down, map)).unreachable, 2);
  const Subnet before =
      fabric_of(body + "subnet_manager: {state: down, ports: active}\n").subnets.at(0);
  EXPECT_EQ(endpoint_states(before),
            (std::vector<PortState>{PortState::kActive, PortState::kActive}));
  EXPECT_EQ(check_pairs(before, PortMap(before), min_hop(before, PortMap(before))).unreachable, 0);
  EXPECT_EQ(problems_of(body + "subnet_manager: {ports: init}\n"),
            "f.yaml:6:25: error: 'ports' goes with 'state: down'; this one is running\n");
  // Without its cable a port is down, whatever the manager does.
  const Subnet loose = fabric_of(body + "missing: [{from: node1}]\n").subnets.at(0);
  EXPECT_EQ(endpoint_states(loose), (std::vector<PortState>{PortState::kActive, PortState::kDown}));
}

TEST(BuildFabric, Partitions) {
  const Subnet subnet =
      fabric_of(
          "topology: single switch\nhosts: [{count: 4}]\nswitches: QM9700\nsubnet_manager: "
          "{partitions: [{pkey: 1, hosts: [node0, node1]}, {pkey: 2, members: limited, hosts: "
          "[node1, node2]}, {pkey: 2, hosts: node3}]}\n")
          .subnets.at(0);
  const auto share = [&](std::size_t a, std::size_t b) {
    return share_partition(subnet.endpoints[a], subnet.endpoints[b]);
  };
  EXPECT_TRUE(share(0, 1));
  EXPECT_FALSE(share(0, 2));
  EXPECT_FALSE(share(1, 2));  // two limited members
  EXPECT_TRUE(share(2, 3));   // one of them full
  const PortMap map(subnet);
  const PairReport report = check_pairs(subnet, map, min_hop(subnet, map));
  EXPECT_EQ(report.pairs, 6);  // 0-1, 1-3 and 2-3, both ways
  EXPECT_EQ(report.unreachable, 0);
}

TEST(BuildFabric, BillOfMaterial) {
  Problems problems;
  const YamlNode node = parse_yaml(
      "schema: busbw.fabric/1\nname: t\ntopology: fat-tree\ntiers: 2\nleaf_ports: 16\nspines: 4\n"
      "hosts: [{count: 32}]\nswitches: QM8700\ncables: [{cable: DAC QSFP56, length_m: 1.5}, "
      "{cable: AOC, length_m: 20}]\nprices: {currency: EUR, switches: {QM8700: 10000}, cables: "
      "{AOC QSFP56: 500, DAC QSFP56: 100}, nic: 700}\npower_W: {switches: {QM8700: 400}}\n",
      "f.yaml", problems);
  const FabricSpec spec = read_fabric(node, problems);
  const BuiltFabric built = build_fabric(spec, shipped_catalog(), problems);
  problems.throw_if_any();
  const Bill bill = bill_of(built, spec.currency, spec.prices, spec.power);
  // 2 leaves, 4 spines; 32 + 32 cables; 32 x 1.5 + 32 x 20 m.
  EXPECT_EQ(bill.switches, 6);
  EXPECT_EQ(bill.cables, 64);
  EXPECT_EQ(bill.cable_mm, 688'000);
  EXPECT_EQ(bill.nic_ports, 32);
  EXPECT_EQ(bill.switch_ports, 96);
  EXPECT_EQ(bill.free_ports, 6 * 40 - 96);
  EXPECT_EQ(bill.price, 6 * 10000 + 32 * 500 + 32 * 100 + 32 * 700);
  EXPECT_EQ(bill.power_W, 6 * 400);
  EXPECT_EQ(bill.lines.size(), 5U);
}

TEST(BuildFabric, EveryFabricOfTheCatalogue) {
  int found = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(BUSBW_SOURCE_DIR) + "/topologies/catalog")) {
    Problems problems;
    if (!entry.is_regular_file()) {
      continue;
    }
    const YamlNode node = load_yaml(entry.path().string(), problems);
    if (!node.is_mapping() || node.find("schema") == nullptr ||
        node.find("schema")->text() != "busbw.fabric/1") {
      continue;
    }
    found++;
    const BuiltFabric built = shipped_fabric(entry.path().stem().string());
    EXPECT_EQ(built.name, entry.path().stem().string());
    for (const Subnet& subnet : built.subnets) {
      const PortMap map(subnet);
      const Routes routes = route(subnet, map, built.engine);
      EXPECT_EQ(routes.why, "") << built.name;
      EXPECT_EQ(check_pairs(subnet, map, routes.lfts).unreachable, 0) << built.name;
      EXPECT_TRUE(credit_loops(subnet, map, routes.lfts).empty()) << built.name;
    }
  }
  EXPECT_EQ(found, 5);
}

TEST(BadFabric, Values) {
  EXPECT_EQ(problems_of("topology: fat-tre\nhosts: [{count: 0}]\nswitches: QM9700\n"),
            "f.yaml:3:11: error: 'topology' in the fabric file must be 'single switch', "
            "'fat-tree', 'rail-optimised', 'rail-only' or 'dragonfly+', found 'fat-tre'; did you "
            "mean 'fat-tree'?\n"
            "f.yaml:4:17: error: 'count' in a group of hosts must be a whole number from 1 to "
            "65536, found '0'\n");
  EXPECT_EQ(problems_of("topology: fat-tree\noversubscription: 2\nhosts: []\nswitches: QM9700\n"
                        "cables: [{cable: DAC}]\n"),
            "f.yaml:4:19: error: 'oversubscription' must be ratios such as 2:1, found '2'\n"
            "f.yaml:5:8: error: 'hosts' needs a group of hosts at least\n"
            "f.yaml:7:10: error: missing key 'length_m' in a cable\n");
}

TEST(BadFabric, WhatDoesNotFit) {
  const std::string place = "f.yaml:1:1: error: ";
  EXPECT_EQ(problems_of("topology: single switch\nhosts: [{count: 65}]\nswitches: QM9700\n"),
            place +
                "the fabric 'test' does not fit: 65 ports of hosts do not fit on the 64 of one "
                "'QM9700'\n");
  EXPECT_EQ(problems_of("topology: single switch\nhosts: [{count: 2}]\nswitches: QM970\n"),
            place + "unknown switch model 'QM970' of fabric 'test'; did you mean 'QM9700'?\n");
  EXPECT_EQ(problems_of("topology: fat-tree\ntiers: 2\nleaf_ports: 40\nhosts: [{count: 80}]\n"
                        "switches: QM8700\n"),
            place + "'leaf0' needs 80 ports, but 'QM8700' has 40\n");
  EXPECT_EQ(problems_of("topology: single switch\nhosts: [{count: 2}]\nswitches: QM9700\ncables: "
                        "[{cable: DAC OSFP, length_m: 4}]\n"),
            place + "a cable of 4 m: 'DAC OSFP' reaches 3 m\n");
  EXPECT_EQ(problems_of("topology: single switch\nhosts: [{count: 2}]\nswitches: QM9700\nmissing: "
                        "[{from: leaf0, to: node7}]\n"),
            "f.yaml:6:11: error: no switch or host port 'node7'; did you mean 'node0'?\n");
  EXPECT_EQ(problems_of("topology: single switch\nhosts: [{count: 2}]\nswitches: QM9700\n"
                        "subnet_manager: {lmc: 1, partitions: [{pkey: 1, hosts: nod0}]}\n"),
            "f.yaml:6:39: error: no host 'nod0'; did you mean 'node0'?\n");
}

}  // namespace
}  // namespace busbw::networks
