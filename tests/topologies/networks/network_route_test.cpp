// The seam to the simulator: links of a message over a fabric file, by hand; what is refused.
#include "topologies/network_route.h"

#include "tests/topologies/networks/small_fabric.h"
#include "topologies/build.h"
#include "topologies/machine.h"

namespace busbw::topologies {
namespace {

const Machine& dgx() {
  static const Machine kMachine = [] {
    Problems problems;
    for (Machine& machine : load_machines(networks::shipped_catalog().directory + "/machines",
                                          networks::shipped_catalog(), problems)) {
      if (machine.name == "dgx-h100") {
        return machine;
      }
    }
    return Machine();
  }();
  return kMachine;
}

Cluster cluster_on(const std::string& body, std::size_t hosts,
                   const std::vector<std::string>& nics = {"mlx5_0", "mlx5_1"}) {
  Problems problems;
  const YamlNode node =
      parse_yaml("schema: busbw.fabric/1\nname: test\n" + body, "f.yaml", problems);
  Network network;
  network.name = "ib";
  network.nics = nics;
  network.fabric = networks::read_fabric(node, problems);
  problems.throw_if_any();
  Cluster cluster;
  cluster.hosts.assign(hosts, dgx());
  cluster.networks = {network};
  return cluster;
}

const std::string kRails =
    "topology: rail-optimised\ntiers: 2\nleaf_ports: 2\nspines: 2\nhosts: [{count: 4, nics: 2}]\n"
    "switches: QM9700\ncables: [{cable: DAC, length_m: 2}, {cable: SMF, length_m: 10}]\n";

// NIC 0 of a DGX H100 is eth0: wires[host][1] and [2] are mlx5_0 and mlx5_1.
std::vector<std::string> names(const BuiltCluster& built, const NetworkWay& way) {
  std::vector<std::string> result;
  for (const LinkId link : way.links) {
    result.push_back(built.fabric.link(link).name);
  }
  return result;
}

TEST(NetworkRoute, FollowsTheTables) {
  const BuiltCluster built = build(cluster_on(kRails, 4), networks::shipped_catalog());
  ASSERT_EQ(built.routed.size(), 1U);
  // Host 0 to host 1 on rail 0: both on leaf 0.
  const NetworkWay near = network_way(built, *built.wires[0][1][0], *built.wires[1][1][0], 0);
  EXPECT_EQ(names(built, near),
            (std::vector<std::string>{"node0/mlx5_0->ib/leaf0", "ib/leaf0->node1/mlx5_0"}));
  // Host 0 to host 3: leaf 0 to leaf 2 over one of the spines. The cables take 9.6 ns at the hosts
  // and 120 + 10 x 4.9 = 169 ns between switches; a ConnectX-7 400 ns at each end; three switches
  // 150 ns each.
  const NetworkWay far = network_way(built, *built.wires[0][1][0], *built.wires[3][1][0], 0);
  ASSERT_EQ(far.links.size(), 4U);
  EXPECT_EQ(built.fabric.link(far.links[1]).from, built.wires[0][1][0]->leaf);
  EXPECT_EQ(built.fabric.link(far.links[2]).to, built.wires[3][1][0]->leaf);
  const Duration nic = networks::shipped_catalog().nic("ConnectX-7")->latency;
  EXPECT_EQ(summarize(built.fabric, far.links).latency,
            nic * 2 + Duration::picoseconds(2 * 9'600 + 2 * 169'000 + 3 * 150'000));
  EXPECT_EQ(summarize(built.fabric, far.links).capacity, Bandwidth::gigabits_per_second(400));
}

TEST(NetworkRoute, HostsOutsideTheClusterLeaveTheirPlacesEmpty) {
  const BuiltCluster built = build(cluster_on(kRails, 2), networks::shipped_catalog());
  EXPECT_TRUE(built.fabric.find_node("ib/leaf3"));
  EXPECT_FALSE(built.routed[0].subnets[0].links.back() == std::nullopt);
  EXPECT_EQ(network_way(built, *built.wires[0][1][0], *built.wires[1][2][0], 0).links.size(), 4U);
}

TEST(NetworkRoute, RailsAreSubnets) {
  const BuiltCluster built =
      build(cluster_on("topology: rail-only\nhosts: [{count: 2, nics: 2}]\nswitches: QM9700\n", 2),
            networks::shipped_catalog());
  EXPECT_EQ(network_way(built, *built.wires[0][2][0], *built.wires[1][2][0], 0).links.size(), 2U);
  EXPECT_EQ(network_way(built, *built.wires[0][1][0], *built.wires[1][2][0], 0).refused,
            "they are in different subnets of the network");
}

TEST(NetworkRoute, PartitionsOfTheFileAreTablesOfThePorts) {
  const BuiltCluster parted =
      build(cluster_on(kRails + "subnet_manager: {partitions: [{pkey: 1, hosts: [node0, node1]}, "
                                "{pkey: 2, members: limited, hosts: [node1, node2]}, "
                                "{pkey: 2, hosts: node3}]}\n",
                       4),
            networks::shipped_catalog());
  const auto share = [&](std::size_t a, std::size_t b, int index) {
    return share_partition(*parted.wires[a][1][0], *parted.wires[b][1][0], index);
  };
  EXPECT_TRUE(share(0, 1, 0));
  EXPECT_FALSE(share(0, 2, 0));  // 1 and 2
  EXPECT_TRUE(share(2, 3, 0));   // a limited and a full member
  EXPECT_FALSE(
      share(1, 3, 0));  // 2 is entry 1 of host 1 and entry 0 of host 3: NCCL takes one index
  EXPECT_FALSE(share(1, 2, 1));  // host 2 has no such entry
  EXPECT_FALSE(share(0, 1, -1));
}

TEST(NetworkRoute, PartitionsOfAScenarioAreTheSame) {
  Cluster cluster = cluster_on(kRails, 4);
  cluster.networks[0].partitions = {{5, {0}, {1, 2}}, {6, {2, 3}, {}}};
  const BuiltCluster parted = build(cluster, networks::shipped_catalog());
  const auto share = [&](std::size_t a, std::size_t b, int index) {
    return share_partition(*parted.wires[a][1][0], *parted.wires[b][1][0], index);
  };
  EXPECT_TRUE(share(0, 1, 0));
  EXPECT_FALSE(share(1, 2, 0));  // two limited members
  EXPECT_FALSE(share(0, 3, 0));  // 5 and 6
  EXPECT_FALSE(share(2, 3, 1));  // host 3 has one entry
  EXPECT_EQ(parted.wires[2][1][0]->pkeys, (std::vector<networks::Pkey>{5, 0x8006}));
  // Who is in none of them has no key at all.
  cluster.networks[0].partitions = {{5, {0, 1}, {}}};
  const BuiltCluster alone = build(cluster, networks::shipped_catalog());
  EXPECT_TRUE(alone.wires[3][1][0]->pkeys.empty());
}

TEST(NetworkRoute, WithoutASubnetManagerOnlyPortsThatWereUpAreReached) {
  const auto way = [](const std::string& manager) {
    const BuiltCluster built = build(cluster_on(kRails + "subnet_manager: {" + manager + "}\n", 4),
                                     networks::shipped_catalog());
    return network_way(built, *built.wires[0][1][0], *built.wires[1][1][0], 0);
  };
  EXPECT_EQ(way("state: down, ports: active").links.size(), 2U);
  EXPECT_EQ(way("state: down").lost, "their ports came up after the subnet manager had gone: INIT");
  EXPECT_EQ(way("state: absent").lost,
            "no subnet manager has set up the subnet: its ports are INIT");
}

// Host 0 to host 3 goes by one of two spines. The sweep after the loss of a cable of leaf 0 takes
// the other one; without either there is no way; and back.
TEST(NetworkRoute, ANewSweepGoesAroundWhatIsLost) {
  const BuiltCluster built = build(cluster_on(kRails, 4), networks::shipped_catalog());
  const Wire& from = *built.wires[0][1][0];
  const Wire& to = *built.wires[3][1][0];
  PresentRoutes routes(built);
  const NetworkWay first = routes.way(from, to, 0);
  ASSERT_EQ(first.links.size(), 4U);
  const auto cables = [&](NodeId a, NodeId b, bool lost) {
    for (const auto& [x, y] : {std::pair(a, b), std::pair(b, a)}) {
      for (const LinkId link : built.fabric.links_between(x, y)) {
        routes.avoid(link, lost);
      }
    }
  };
  const NodeId spine = built.fabric.link(first.links[1]).to;
  cables(from.leaf, spine, true);
  const NetworkWay second = routes.way(from, to, 0);
  ASSERT_EQ(second.links.size(), 4U);
  const NodeId other = built.fabric.link(second.links[1]).to;
  EXPECT_NE(other, spine);
  EXPECT_EQ(second.links.front(), from.out);
  EXPECT_EQ(second.links.back(), to.in);
  cables(from.leaf, other, true);
  EXPECT_NE(routes.way(from, to, 0).lost, "");
  cables(from.leaf, spine, false);
  cables(from.leaf, other, false);
  EXPECT_EQ(routes.way(from, to, 0).links, first.links);
}

TEST(NetworkRoute, EthernetKeepsToTablesWhereTheFileNamesSome) {
  const std::string body =
      "topology: fat-tree\ntiers: 2\nleaf_ports: 2\nspines: 2\nhosts: [{count: 4, nics: 2}]\n"
      "switches: Tomahawk 5\n";
  const auto built = [&](const std::string& more) {
    Problems problems;
    const YamlNode node =
        parse_yaml("schema: busbw.fabric/1\nname: test\n" + body + more, "f.yaml", problems);
    Cluster cluster;
    cluster.hosts.assign(2, dgx());
    Network network;
    network.name = "roce";
    network.nics = {"mlx5_0"};
    for (Machine& host : cluster.hosts) {
      for (MachineNic& nic : host.nics) {
        nic.link_layer = NicLinkLayer::kEthernet;
      }
    }
    network.fabric = networks::read_fabric(node, problems);
    problems.throw_if_any();
    cluster.networks = {network};
    return build(cluster, networks::shipped_catalog()).routed.front().by_tables;
  };
  EXPECT_FALSE(built(""));
  EXPECT_TRUE(built("subnet_manager: {routing: d-mod-k}\n"));
}

TEST(NetworkRoute, FlowsTakeTheLidsOfTheTarget) {
  const BuiltCluster built =
      build(cluster_on(kRails + "subnet_manager: {lmc: 1, routing: minhop}\n", 4),
            networks::shipped_catalog());
  const auto way = [&](std::uint64_t flow) {
    return network_way(built, *built.wires[0][1][0], *built.wires[3][1][0], flow).links;
  };
  EXPECT_NE(built.fabric.link(way(0)[1]).to, built.fabric.link(way(1)[1]).to);  // two spines
  EXPECT_EQ(way(0), way(2));
}

TEST(NetworkRoute, MoreHostsThanPlaces) {
  EXPECT_THROW(
      {
        try {
          build(cluster_on(kRails, 5), networks::shipped_catalog());
        } catch (const InputError& error) {
          EXPECT_STREQ(
              error.what(),
              "error: the fabric 'test' of network 'ib' has no place for port 1 of host 5");
          throw;
        }
      },
      InputError);
}

}  // namespace
}  // namespace busbw::topologies
