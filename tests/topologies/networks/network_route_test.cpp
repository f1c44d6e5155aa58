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

TEST(NetworkRoute, PartitionsAndADeadSubnetManager) {
  const BuiltCluster parted =
      build(cluster_on(kRails + "subnet_manager: {partitions: [{pkey: 1, hosts: [node0, node1]}, "
                                "{pkey: 2, hosts: [node2, node3]}]}\n",
                       4),
            networks::shipped_catalog());
  EXPECT_EQ(network_way(parted, *parted.wires[0][1][0], *parted.wires[1][1][0], 0).refused, "");
  EXPECT_EQ(network_way(parted, *parted.wires[0][1][0], *parted.wires[2][1][0], 0).refused,
            "they share no P_Key with a full member");
  const BuiltCluster down =
      build(cluster_on(kRails + "subnet_manager: {state: down}\n", 4), networks::shipped_catalog());
  EXPECT_EQ(network_way(down, *down.wires[0][1][0], *down.wires[1][1][0], 0).refused,
            "the subnet manager does not answer: no path record for a new connection");
  // What is connected stays so.
  EXPECT_EQ(known_way(down, *down.wires[0][1][0], *down.wires[1][1][0], 0).links.size(), 2U);
  const BuiltCluster absent = build(cluster_on(kRails + "subnet_manager: {state: absent}\n", 4),
                                    networks::shipped_catalog());
  EXPECT_EQ(known_way(absent, *absent.wires[0][1][0], *absent.wires[1][1][0], 0).refused,
            "no subnet manager has set up the subnet: its ports are INIT");
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
