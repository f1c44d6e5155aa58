// Routing engines: reachability, hops by hand, contention of shifts, balance, credit loops, what
// they refuse; and time and size of a fabric of 2,048 hosts.
#include "topologies/networks/routing.h"

#include <chrono>
#include <numeric>
#include <set>

#include "sim/core/random.h"
#include "tests/topologies/networks/small_fabric.h"

namespace busbw::networks {
namespace {

using Hops = std::map<std::int32_t, std::int64_t>;

struct Routed {
  Subnet subnet;
  PortMap map;
  Routes routes;
  PairReport pairs;
};

Routed routed(const BuiltFabric& built, Engine engine) {
  Subnet subnet = built.subnets.at(0);
  PortMap map(subnet);
  Routes routes = route(subnet, map, engine);
  PairReport pairs = check_pairs(subnet, map, routes.lfts);
  return {std::move(subnet), std::move(map), std::move(routes), std::move(pairs)};
}

/// Largest load of a channel that starts in tier `from` and ends in tier `to`.
std::int64_t most(const Routed& r, std::int32_t from, std::int32_t to) {
  std::int64_t result = 0;
  for (std::size_t i = 0; i < r.subnet.cables.size(); i++) {
    const Cable& cable = r.subnet.cables[i];
    if (!cable.a.at_switch) {
      continue;
    }
    const std::int32_t a = r.subnet.at(SwitchId(cable.a.node)).tier;
    const std::int32_t b = r.subnet.at(SwitchId(cable.b.node)).tier;
    if (a == from && b == to) {
      result = std::max(result, r.pairs.loads[2 * i]);
    }
    if (b == from && a == to) {
      result = std::max(result, r.pairs.loads[2 * i + 1]);
    }
  }
  return result;
}

constexpr Engine kAll[] = {Engine::kFtree, Engine::kUpDown, Engine::kMinHop, Engine::kDModK};

// 16 hosts, 4 leaves of 4, 4 spines: 16 x 3 pairs stay on a leaf, 16 x 12 go over one spine (two
// cables between switches). Each of the 16 cables up carries 16 x 12 / 16 = 12 pairs at best.
TEST(Routing, EveryEngineConnectsASmallTree) {
  const BuiltFabric built = fabric_of(xgft(16, "4, 4", "1, 4"));
  for (const Engine engine : kAll) {
    const Routed r = routed(built, engine);
    EXPECT_EQ(r.routes.why, "");
    EXPECT_EQ(r.pairs.pairs, 16 * 15);
    EXPECT_EQ(r.pairs.unreachable, 0);
    EXPECT_EQ(r.pairs.hops, (Hops{{0, 48}, {2, 192}})) << to_string(engine);
    EXPECT_EQ(most(r, 0, 1), 12) << to_string(engine);
    EXPECT_EQ(most(r, 1, 0), 12) << to_string(engine);
    EXPECT_TRUE(credit_loops(r.subnet, r.map, r.routes.lfts).empty());
  }
}

// XGFT(3; 4,4,4; 1,4,4): 64 hosts, 16 leaves in 4 pods, 16 spines, 16 cores. Of 63 targets 3 are on
// the leaf, 12 in the pod (2 cables), 48 beyond (4 cables).
TEST(Routing, HopsOfThreeTiers) {
  const BuiltFabric built = fabric_of(xgft(64, "4, 4, 4", "1, 4, 4"));
  for (const Engine engine : kAll) {
    const Routed r = routed(built, engine);
    EXPECT_EQ(r.pairs.hops, (Hops{{0, 64 * 3}, {2, 64 * 12}, {4, 64 * 48}})) << to_string(engine);
    EXPECT_EQ(r.pairs.unreachable, 0);
    EXPECT_TRUE(credit_loops(r.subnet, r.map, r.routes.lfts).empty()) << to_string(engine);
  }
}

// Zahavi: on a full non-blocking tree every shift is free of contention.
TEST(Routing, DModKIsFreeOfContentionInEveryShift) {
  for (const char* fabric : {"fat-tree-2tier-128", "fat-tree-3tier-1024", "rail-optimised-64"}) {
    const Routed r = routed(shipped_fabric(fabric), Engine::kDModK);
    const ShiftReport shifts = check_shifts(r.subnet, r.map, r.routes.lfts);
    EXPECT_EQ(shifts.worst_flows, 1) << fabric;
    EXPECT_EQ(shifts.free_of_contention, shifts.all_shifts) << fabric;
    EXPECT_EQ(shifts.mean_of_worst, 1.0);
  }
  const Routed tree = routed(fabric_of(xgft(64, "4, 4, 4", "1, 4, 4")), Engine::kDModK);
  EXPECT_EQ(check_shifts(tree.subnet, tree.map, tree.routes.lfts).worst_flows, 1);
}

TEST(Routing, FtreeIsFreeOfContentionToo) {
  for (const char* fabric : {"fat-tree-2tier-128", "fat-tree-3tier-1024"}) {
    const Routed r = routed(shipped_fabric(fabric), Engine::kFtree);
    EXPECT_EQ(r.routes.used, Engine::kFtree);
    EXPECT_EQ(check_shifts(r.subnet, r.map, r.routes.lfts).worst_flows, 1) << fabric;
  }
}

// 20 hosts a leaf over 10 cables up: when all send to the next leaf, two share each cable.
TEST(Routing, OversubscriptionIsSharedInAShift) {
  const Routed r =
      routed(fabric_of("topology: fat-tree\ntiers: 2\nleaf_ports: 20\noversubscription: "
                       "2:1\nhosts: [{count: 80}]\nswitches: QM8700\n"),
             Engine::kDModK);
  EXPECT_EQ(check_shifts(r.subnet, r.map, r.routes.lfts).worst_flows, 2);
}

Subnet ring_of(std::int32_t switches) {
  Subnet subnet;
  for (std::int32_t i = 0; i < switches; i++) {
    Switch node;
    node.name = "s" + std::to_string(i);
    node.guid = static_cast<std::uint64_t>(0x100 + i);
    node.ports = 3;
    subnet.switches.push_back(node);
    Endpoint endpoint;
    endpoint.host = "h" + std::to_string(i);
    endpoint.host_index = i;
    endpoint.nic_index = 0;
    endpoint.node_guid = static_cast<std::uint64_t>(0x10 + 2 * i);
    subnet.endpoints.push_back(endpoint);
    Cable host;
    host.a = {false, i, 1};
    host.b = {true, i, 1};
    host.rate = gbits(100);
    subnet.cables.push_back(host);
    Cable next = host;
    next.a = {true, i, 2};
    next.b = {true, (i + 1) % switches, 3};
    next.tier = 1;
    subnet.cables.push_back(next);
  }
  assign_lids(subnet);
  return subnet;
}

// Shortest ways round a ring of five block each other in both directions; up/down forbids one turn.
TEST(CreditLoops, ARingHasTwo) {
  const Subnet subnet = ring_of(5);
  const PortMap map(subnet);
  const auto loops = credit_loops(subnet, map, min_hop(subnet, map));
  ASSERT_EQ(loops.size(), 2U);
  EXPECT_EQ(loops[0].size(), 5U);
  EXPECT_EQ(channel_name(subnet, loops[0][0]), "s0:2 -> s1:3");
}

TEST(CreditLoops, UpDownTablesHaveNone) {
  const Subnet subnet = ring_of(5);
  const PortMap map(subnet);
  const Lfts lfts = spread(subnet, map, [&](SwitchId to, NextPorts& next) {
    up_down_ports(subnet, map, {0, 1, 3, 4, 2}, to, next);
  });
  EXPECT_TRUE(credit_loops(subnet, map, lfts).empty());
  EXPECT_EQ(check_pairs(subnet, map, lfts).unreachable, 0);
}

TEST(Routing, UpDownRefusesWhatHasNoRoot) {
  const Subnet subnet = ring_of(5);
  const PortMap map(subnet);
  const Routes routes = route(subnet, map, Engine::kUpDown);
  EXPECT_EQ(routes.used, Engine::kMinHop);
  EXPECT_EQ(routes.why, "no switch is equally far from nearly all hosts: there is no root");
}

TEST(Routing, FtreeRefusesWhatIsNoPureTree) {
  const std::string more = "missing: [{from: leaf1, to: spine2}]\n";
  const Routed cut = routed(fabric_of(xgft(16, "4, 4", "1, 4", more)), Engine::kFtree);
  EXPECT_EQ(cut.routes.used, Engine::kMinHop);
  EXPECT_EQ(cut.routes.why, "'leaf0' has cables up to 4 switches, 'leaf1' to 3");
  EXPECT_EQ(cut.pairs.unreachable, 0);
  const Routed one =
      routed(fabric_of("topology: single switch\nhosts: [{count: 4}]\nswitches: QM9700\n"),
             Engine::kFtree);
  EXPECT_EQ(one.routes.why, "fewer than two switches are no fat tree");
  const Routed lmc =
      routed(fabric_of(xgft(16, "4, 4", "1, 4", "subnet_manager: {lmc: 1}\n")), Engine::kFtree);
  EXPECT_EQ(lmc.routes.why, "several LIDs a port (LMC above 0) are not for fat-tree routing");
}

// A leaf with fewer hosts: ftree counts the empty places, so that shifts stay aligned.
TEST(Routing, FtreeWithMissingHosts) {
  const Routed r = routed(fabric_of(xgft(15, "4, 4", "1, 4")), Engine::kFtree);
  EXPECT_EQ(r.routes.used, Engine::kFtree);
  EXPECT_EQ(r.pairs.unreachable, 0);
  EXPECT_LE(most(r, 0, 1), 12);
}

TEST(Routing, SeveralLidsGoBySeveralSpines) {
  const Routed r =
      routed(fabric_of(xgft(16, "4, 4", "1, 4", "subnet_manager: {lmc: 2}\n")), Engine::kMinHop);
  const EndpointId target(15);
  std::set<std::uint8_t> ports;
  for (std::int32_t k = 0; k < 4; k++) {
    ports.insert(r.routes.lfts.port(SwitchId(0), Lid(r.subnet.at(target).lid.value() + k)));
  }
  EXPECT_EQ(ports.size(), 4U);
  EXPECT_EQ(r.pairs.unreachable, 0);
}

TEST(Routing, UnreachablePairsAreNamed) {
  const Routed r =
      routed(fabric_of("topology: single switch\nhosts: [{count: 3}]\nswitches: QM9700\nmissing: "
                       "[{from: node1}]\n"),
             Engine::kMinHop);
  EXPECT_EQ(r.pairs.pairs, 6);
  EXPECT_EQ(r.pairs.unreachable, 4);
  EXPECT_EQ(r.pairs.examples.front(), (std::pair{EndpointId(1), EndpointId(0)}));
}

TEST(Routing, WaysThatBreakSayWhere) {
  const Subnet subnet = fabric_of(xgft(16, "4, 4", "1, 4")).subnets.at(0);
  const PortMap map(subnet);
  Lfts lfts = min_hop(subnet, map);
  const Lid to = subnet.at(EndpointId(15)).lid;
  EXPECT_EQ(follow(subnet, map, lfts, EndpointId(0), {EndpointId(15), to}).hops.size(), 4U);
  lfts.set(SwitchId(0), to, Lfts::kNone);
  EXPECT_EQ(follow(subnet, map, lfts, EndpointId(0), {EndpointId(15), to}).broken,
            "'leaf0' has no entry for LID 16");
  lfts.set(SwitchId(0), to, 40);
  EXPECT_EQ(follow(subnet, map, lfts, EndpointId(0), {EndpointId(15), to}).broken,
            "'leaf0' sends LID 16 to port 40, where no cable is up");
  lfts.set(SwitchId(0), to, 1);
  EXPECT_EQ(follow(subnet, map, lfts, EndpointId(1), {EndpointId(15), to}).broken,
            "LID 16 arrives at 'node0/mlx5_0', not at 'node15/mlx5_0'");
  EXPECT_EQ(check_pairs(subnet, map, lfts).unreachable, 4);
}

// Trees with random cables missing: what every engine reaches, and that none makes a credit loop
// as long as ways go up and then down.
TEST(Routing, PropertiesOnDamagedTrees) {
  Random random(7);
  for (int round = 0; round < 40; round++) {
    Subnet subnet =
        fabric_of(round % 2 == 0 ? xgft(16, "4, 4", "1, 4") : xgft(27, "3, 3, 3", "1, 3, 3"))
            .subnets.at(0);
    for (Cable& cable : subnet.cables) {
      cable.up = cable.tier == 0 || !random.chance(1, 8);
    }
    const PortMap map(subnet);
    for (const Engine engine : kAll) {
      const Routes routes = route(subnet, map, engine);
      const PairReport pairs = check_pairs(subnet, map, routes.lfts);
      const std::int64_t counted =
          std::accumulate(pairs.hops.begin(), pairs.hops.end(), std::int64_t{0},
                          [](std::int64_t sum, const auto& bar) { return sum + bar.second; });
      EXPECT_EQ(counted + pairs.unreachable, pairs.pairs);
      if (routes.used == Engine::kMinHop) {
        EXPECT_EQ(pairs.unreachable, 0) << round;
      } else {
        EXPECT_TRUE(credit_loops(subnet, map, routes.lfts).empty()) << round;
      }
    }
  }
}

TEST(Routing, SameInputSameTables) {
  const BuiltFabric built = shipped_fabric("fat-tree-2tier-128");
  for (const Engine engine : kAll) {
    EXPECT_EQ(routed(built, engine).routes.lfts, routed(built, engine).routes.lfts);
  }
}

// 2,048 hosts x 8 ports, 512 leaves, 512 spines in 16 pods, 256 cores: built, routed and checked in
// less than 3 s by a release build (tests/tools/fabric_test.py holds time and memory); generous
// here for sanitizers and busy machines.
TEST(Routing, LargeRailFabric) {
  const auto start = std::chrono::steady_clock::now();
  const BuiltFabric built = fabric_of(
      "topology: rail-optimised\ntiers: 3\nhosts: [{count: 2048, nics: 8}]\nswitches: QM9700\n");
  const Routed r = routed(built, Engine::kFtree);
  EXPECT_EQ(r.subnet.switches.size(), 1280U);
  EXPECT_EQ(r.routes.why, "");
  EXPECT_EQ(r.pairs.unreachable, 0);
  EXPECT_TRUE(credit_loops(r.subnet, r.map, r.routes.lfts).empty());
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  EXPECT_LT(taken.count(), 60);
}

}  // namespace
}  // namespace busbw::networks
