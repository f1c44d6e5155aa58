// The builder: what becomes of a host and of a network, by hand on the small catalogue; the seed's
// ratio of NVLink to PCIe and the reachability of everything on the catalogue of the product.
//
// Rates of the small catalogue: PCIe Gen3 x16 8 GT/s x 16 x 128/130 = 126.03 Gb/s = 15.754 GB/s,
// Gen4 twice, Gen5 four times that; one hop 150 ns. NVLink 25 GB/s a link and 300 ns a hop.
#include "topologies/build.h"

#include <set>

#include <gtest/gtest.h>

#include "tests/topologies/small_catalog.h"

namespace busbw::topologies {
namespace {

using Path = std::vector<LinkId>;

Bandwidth gbs(std::int64_t value) {
  return Bandwidth::gigabytes_per_second(value);
}
Bandwidth gbits(std::int64_t value) {
  return Bandwidth::gigabits_per_second(value);
}
Duration ns(std::int64_t value) {
  return Duration::nanoseconds(value);
}

Machine machine_of(const std::string& text) {
  Problems problems;
  const YamlNode node = parse_yaml(text, "m.yaml", problems);
  Machine machine = read_machine(node, small_catalog(), problems);
  problems.throw_if_any();
  return machine;
}

/// `gpus` and `nvlink` are flow mappings; two sockets with a PCIe switch each; NICs as given.
Machine box(const std::string& gpus, const std::string& nvlink, const std::string& nics = "[]",
            const std::string& cpus = "{model: Xeon, sockets: 2}") {
  return machine_of("name: box\ngpus: " + gpus + "\nnvlink: " + nvlink + "\ncpus: " + cpus +
                    "\npcie: {generation: 5, switches: [{name: pcie0, attach: cpu0}, "
                    "{name: pcie1, attach: cpu1}]}\nnics: " +
                    nics + "\n");
}

BuiltCluster build_one(const Machine& machine) {
  Cluster cluster;
  cluster.hosts = {machine};
  return build(cluster, small_catalog());
}

Path must_route(const BuiltCluster& built, NodeId from, NodeId to, const RouteFilter& filter) {
  const std::optional<Path> path = built.fabric.route(from, to, filter);
  EXPECT_TRUE(path) << built.fabric.node(from).name << " to " << built.fabric.node(to).name;
  return path.value_or(Path{});
}

std::vector<std::string> hops(const BuiltCluster& built, const Path& path) {
  std::vector<std::string> names;
  for (const LinkId link : path) {
    names.push_back(built.fabric.node(built.fabric.link(link).to).name);
  }
  return names;
}

/// Each GPU sends to the k-th after it, all at once: no link has two of the flows, each has 18 x 25
/// GB/s.
TEST(BuildHost, NvSwitchPairsDoNotShareLinks) {
  const BuiltCluster built = build_one(box("{model: Hub, count: 8}", "{wiring: nvswitch}"));
  for (std::size_t k = 1; k < 8; k++) {
    std::set<LinkId> used;
    for (std::size_t a = 0; a < 8; a++) {
      const Path path =
          must_route(built, built.gpus[0][a], built.gpus[0][(a + k) % 8], nvlink_only());
      EXPECT_EQ(path.size(), 2U);
      EXPECT_EQ(summarize(built.fabric, path).capacity, gbs(450));
      EXPECT_EQ(summarize(built.fabric, path).latency, ns(600));
      for (const LinkId link : path) {
        EXPECT_TRUE(used.insert(link).second) << built.fabric.link(link).name << ", k = " << k;
      }
    }
  }
}

/// GPU 0 and 5 of DGX-1V have no NVLink. Over a neighbour: 0-1-5 (25, 50 GB/s) or 0-4-5 (50, 25),
/// equally wide, so the lower link ids: 0-1-5. Without relays: PCIe over both CPUs.
TEST(BuildHost, HybridCubeMeshWithoutADirectLink) {
  const BuiltCluster built =
      build_one(box("{model: Cube, count: 8}", "{wiring: hybrid cube mesh}"));
  const NodeId from = built.gpus[0][0];
  const NodeId to = built.gpus[0][5];
  EXPECT_EQ(built.fabric.route(from, to, nvlink_only()), std::nullopt);
  const Path relayed = must_route(built, from, to, nvlink_only(true));
  EXPECT_EQ(hops(built, relayed), (std::vector<std::string>{"node0/gpu1", "node0/gpu5"}));
  EXPECT_EQ(summarize(built.fabric, relayed).capacity, gbs(25));
  const Path pcie = must_route(built, from, to, host_only());
  EXPECT_EQ(hops(built, pcie), (std::vector<std::string>{"node0/pcie0", "node0/cpu0", "node0/cpu1",
                                                         "node0/pcie1", "node0/gpu5"}));
  // The GPUs are Gen3, all else Gen5 or 60 GB/s: 8e9 x 16 x 128/130 bit/s. Latency: 4 x 150 + 70.
  EXPECT_EQ(summarize(built.fabric, pcie).capacity, Bandwidth::bits_per_second(126'030'769'231));
  EXPECT_EQ(summarize(built.fabric, pcie).latency, ns(670));
  const Path twice = must_route(built, from, built.gpus[0][3], nvlink_only());
  EXPECT_EQ(summarize(built.fabric, twice).capacity, gbs(50));
  EXPECT_EQ(summarize(built.fabric, twice).latency, ns(300));
}

TEST(BuildHost, DirectNvLinkPairsHaveTheirLinksTogether) {
  const BuiltCluster mesh =
      build_one(box("{model: Mesh, count: 4}", "{wiring: mesh, links_per_pair: 4}"));
  const BuiltCluster pairs =
      build_one(box("{model: Mesh, count: 4}", "{wiring: pairs, links_per_pair: 12}"));
  for (std::size_t a = 0; a < 4; a++) {
    for (std::size_t b = 0; b < 4; b++) {
      if (a == b) {
        continue;
      }
      const Path path = must_route(mesh, mesh.gpus[0][a], mesh.gpus[0][b], nvlink_only());
      EXPECT_EQ(path.size(), 1U);
      EXPECT_EQ(summarize(mesh.fabric, path).capacity, gbs(100));
      const auto bridged =
          pairs.fabric.route(pairs.gpus[0][a], pairs.gpus[0][b], nvlink_only(true));
      EXPECT_EQ(bridged.has_value(), a / 2 == b / 2);
    }
  }
}

/// GPU to host memory to NIC: the write and the read link of memory have half of 200 GB/s each; GPU
/// Gen5 x16 504.1 Gb/s, the HCA Gen4 x16 252.06 Gb/s.
TEST(BuildHost, StagingPaysMemory) {
  const BuiltCluster built =
      build_one(box("{model: Hub, count: 2}", "{wiring: nvswitch}",
                    "[{name: mlx5_0, model: HCA, link_layer: infiniband, attach: pcie1}]"));
  const NodeId memory = built.memories[0][0];
  const Path write = must_route(built, built.gpus[0][0], memory, host_only());
  EXPECT_EQ(hops(built, write),
            (std::vector<std::string>{"node0/pcie0", "node0/cpu0", "node0/memory0"}));
  EXPECT_EQ(built.fabric.link(write.back()).kind, LinkKind::kMemory);
  EXPECT_EQ(built.fabric.link(write.back()).capacity, gbs(100));
  EXPECT_EQ(summarize(built.fabric, write).capacity, Bandwidth::bits_per_second(504'123'076'923));
  const Path read = must_route(built, memory, built.nics[0][0], host_only());
  EXPECT_EQ(hops(built, read),
            (std::vector<std::string>{"node0/cpu0", "node0/cpu1", "node0/pcie1", "node0/mlx5_0"}));
  EXPECT_NE(built.fabric.link(read.front()).name, built.fabric.link(write.back()).name);
  EXPECT_EQ(summarize(built.fabric, read).capacity, Bandwidth::bits_per_second(252'061'538'462));
  EXPECT_EQ(built.gpu_numa[0], (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(built.nic_numa[0], (std::vector<std::int32_t>{1}));
}

/// Eight NUMA nodes on two sockets: each has 2 x 200 / 8 = 50 GB/s of memory, half of it one way.
TEST(BuildHost, NumaNodesMeetInTheirSocket) {
  const BuiltCluster built = build_one(box("{model: Plain, count: 2}", "{wiring: none}", "[]",
                                           "{model: Xeon, sockets: 2, numa_nodes: 8}"));
  ASSERT_EQ(built.cpus[0].size(), 8U);
  const Path near = must_route(built, built.cpus[0][0], built.cpus[0][3], host_only());
  EXPECT_EQ(hops(built, near), (std::vector<std::string>{"node0/socket0", "node0/cpu3"}));
  const Path far = must_route(built, built.cpus[0][0], built.memories[0][7], host_only());
  EXPECT_EQ(hops(built, far), (std::vector<std::string>{"node0/socket0", "node0/socket1",
                                                        "node0/cpu7", "node0/memory7"}));
  EXPECT_EQ(summarize(built.fabric, far).capacity, gbs(25));
  EXPECT_EQ(summarize(built.fabric, far).latency, ns(70));
}

TEST(BuildHost, ChipToChipGoesBesidePcie) {
  const BuiltCluster built = build_one(box("{model: Tray, count: 4}", "{wiring: nvswitch}"));
  const Path path = must_route(built, built.gpus[0][2], built.memories[0][1], host_only());
  EXPECT_EQ(hops(built, path), (std::vector<std::string>{"node0/cpu1", "node0/memory1"}));
  EXPECT_EQ(built.fabric.link(path.front()).kind, LinkKind::kChipToChip);
  EXPECT_EQ(built.fabric.link(path.front()).capacity, gbs(225));
  EXPECT_TRUE(built.fabric.find_link(built.gpus[0][2], *built.fabric.find_node("node0/pcie1")));
}

/// A link runs at the lower generation of its ends and with the lanes of the device.
TEST(BuildHost, PcieLinksTakeTheLowerEnd) {
  const Machine machine = machine_of(
      "name: box\ngpus: {model: Plain, count: 1, pcie_lanes: 8}\ncpus: {model: Xeon}\n"
      "pcie: {generation: 5, switches: [{name: sw, attach: cpu0, generation: 3, uplink_lanes: "
      "4}]}\n");
  const BuiltCluster built = build_one(machine);
  const NodeId port = *built.fabric.find_node("node0/sw");
  const Link& gpu = built.fabric.link(*built.fabric.find_link(built.gpus[0][0], port));
  EXPECT_EQ(gpu.capacity, Bandwidth::bits_per_second(63'015'384'615));  // Gen3 x8
  const Link& uplink = built.fabric.link(*built.fabric.find_link(port, built.cpus[0][0]));
  EXPECT_EQ(uplink.capacity, Bandwidth::bits_per_second(31'507'692'308));  // Gen3 x4
}

/// With ACS redirection two devices of one switch meet at the CPU: up its uplink and down again, so
/// that the uplink carries each byte once in each direction. Without: three nodes, no uplink.
TEST(BuildHost, AcsRedirectionGoesByTheCpu) {
  const auto host = [](const char* redirect) {
    return machine_of(
        std::string("name: box\ngpus: {model: Plain, count: 2, attach: sw}\ncpus: {model: Xeon}\n"
                    "pcie: {generation: 5, acs_redirect: ") +
        redirect + ", switches: [{name: sw, attach: cpu0}]}\n");
  };
  const BuiltCluster straight = build_one(host("false"));
  EXPECT_EQ(
      hops(straight, must_route(straight, straight.gpus[0][0], straight.gpus[0][1], host_only())),
      (std::vector<std::string>{"node0/sw", "node0/gpu1"}));
  const BuiltCluster turned = build_one(host("true"));
  EXPECT_EQ(hops(turned, must_route(turned, turned.gpus[0][0], turned.gpus[0][1], host_only())),
            (std::vector<std::string>{"node0/sw", "node0/cpu0", "node0/sw:down", "node0/gpu1"}));
  // To and from memory nothing changes: one link more than a device on the CPU itself.
  EXPECT_EQ(hops(turned, must_route(turned, turned.gpus[0][1], turned.cpus[0][0], host_only())),
            (std::vector<std::string>{"node0/sw", "node0/cpu0"}));
  EXPECT_EQ(hops(turned, must_route(turned, turned.cpus[0][0], turned.gpus[0][1], host_only())),
            (std::vector<std::string>{"node0/sw:down", "node0/gpu1"}));
}

/// Four hosts in NVLink domains of two: GPUs of one domain reach each other over its NVSwitch alone
/// at the rate of all links, GPUs of two domains do not.
TEST(BuildHost, NvLinkDomainsSpanHosts) {
  Cluster cluster;
  cluster.hosts.assign(4, box("{model: Hub, count: 2}", "{wiring: nvswitch}"));
  cluster.hosts_per_nvlink_domain = 2;
  const BuiltCluster built = build(cluster, small_catalog());
  const Path path = must_route(built, built.gpus[2][0], built.gpus[3][1], nvlink_only());
  EXPECT_EQ(hops(built, path), (std::vector<std::string>{"node2/nvswitch", "node3/gpu1"}));
  EXPECT_EQ(summarize(built.fabric, path).capacity, gbs(450));
  EXPECT_EQ(built.fabric.route(built.gpus[1][0], built.gpus[2][0], nvlink_only()), std::nullopt);
}

constexpr const char* kTwoNics =
    "[{name: eth0, model: Ether, attach: cpu0}, {name: mlx5_0, netdev: rdma0, model: HCA, "
    "link_layer: infiniband, attach: pcie0, ports: 2}]";

Cluster two_hosts() {
  Cluster cluster;
  const Machine host = box("{model: Mesh, count: 2}", "{wiring: none}", kTwoNics);
  cluster.hosts = {host, host};
  Network management;
  management.name = "management";
  management.nics = {"eth0"};
  management.switch_model = "Eth4";
  management.cable_latency = ns(10);
  Network rdma;
  rdma.name = "rdma";
  rdma.nics = {"rdma0"};
  rdma.switch_model = "IB40";
  rdma.cable_latency = ns(20);
  cluster.networks = {management, rdma};
  return cluster;
}

/// eth0 to eth0: NIC 1000, cable 10, switch 500, cable 10, NIC 1000 ns.
TEST(BuildNetwork, TwoHostsOnASwitch) {
  const BuiltCluster built = build(two_hosts(), small_catalog());
  const Path eth = must_route(built, built.nics[0][0], built.nics[1][0], network_only());
  EXPECT_EQ(hops(built, eth), (std::vector<std::string>{"management/leaf0", "node1/eth0"}));
  EXPECT_EQ(summarize(built.fabric, eth).capacity, gbits(10));
  EXPECT_EQ(summarize(built.fabric, eth).latency, ns(2520));
  EXPECT_EQ(eth, (Path{built.wires[0][0][0]->out, built.wires[1][0][0]->in}));
  ASSERT_EQ(built.wires[0][1].size(), 2U);
  EXPECT_EQ(built.fabric.link(built.wires[0][1][1]->out).name,
            "node0/mlx5_0->rdma/leaf0#2");  // the second port
  // No way from one network to the other but through a host.
  EXPECT_EQ(built.fabric.route(built.nics[0][0], built.nics[1][1], network_only()), std::nullopt);
}

/// GPU 0 of host 0 to GPU 0 of host 1 with GPUDirect: PCIe, the fast network, PCIe.
TEST(BuildNetwork, GpuToGpuAcrossHosts) {
  const BuiltCluster built = build(two_hosts(), small_catalog());
  const Path path = must_route(built, built.gpus[0][0], built.gpus[1][0], {});
  EXPECT_EQ(hops(built, path),
            (std::vector<std::string>{"node0/pcie0", "node0/mlx5_0", "rdma/leaf0", "node1/mlx5_0",
                                      "node1/pcie0", "node1/gpu0"}));
  EXPECT_EQ(summarize(built.fabric, path).capacity, gbits(200));
}

/// A veth shaped on its sending side: 1 Gb/s out, nothing lost on the way in.
TEST(BuildNetwork, ShapedNicsSendSlowerThanTheyReceive) {
  Cluster cluster;
  const Machine host = machine_of(
      "name: ns\ngpus: {model: Hub, count: 1}\ncpus: {model: Xeon}\npcie: {generation: 5}\n"
      "nics: [{name: eth0, attach: virtual, rate: 100 Gb/s, send_rate: 1 Gb/s}]\n");
  cluster.hosts = {host, host};
  Network bridge;
  bridge.name = "bridge";
  bridge.nics = {"eth0"};
  cluster.networks = {bridge};
  const BuiltCluster built = build(cluster, small_catalog());
  const Wire& wire = *built.wires[0][0][0];
  EXPECT_EQ(built.fabric.link(wire.out).capacity, gbits(1));
  EXPECT_EQ(built.fabric.link(wire.in).capacity, gbits(100));
  EXPECT_EQ(built.fabric.link(wire.out).latency, ns(0));
  const Path path = must_route(built, built.gpus[0][0], built.nics[0][0], host_only());
  EXPECT_EQ(built.fabric.link(path.back()).kind, LinkKind::kVirtual);
  EXPECT_EQ(built.fabric.link(path.back()).capacity, gbs(200));
  EXPECT_EQ(built.nic_numa[0].front(), 0);
}

TEST(BuildNetwork, SlowSwitchLimitsTheCable) {
  Cluster cluster = two_hosts();
  cluster.networks.pop_back();
  cluster.hosts[0].nics[0].rate = gbits(25);
  const BuiltCluster built = build(cluster, small_catalog());
  EXPECT_EQ(built.fabric.link(built.wires[0][0][0]->out).capacity, gbits(10));
  EXPECT_EQ(built.wires[0][1][0], std::nullopt);  // not cabled
}

Cluster four_hosts(LeafPlacement placement, Bandwidth trunk) {
  Cluster cluster;
  const Machine host = box("{model: Hub, count: 2}", "{wiring: nvswitch}",
                           "[{name: a, model: HCA, link_layer: infiniband, attach: pcie0}, "
                           "{name: b, model: HCA, link_layer: infiniband, attach: pcie1}]");
  cluster.hosts = {host, host, host, host};
  Network network;
  network.name = "ib";
  network.nics = {"a", "b"};
  network.switch_model = "IB40";
  network.leaf_switches = 2;
  network.placement = placement;
  network.trunk = trunk;
  network.cable_latency = ns(20);
  cluster.networks = {network};
  return cluster;
}

/// Rails: NIC a of every host on leaf 0, NIC b on leaf 1; between the rails only over the spine.
/// a to b: NIC 600, cable 20; leaf 130, cable 20; spine 130, cable 20; leaf 130, cable 20, NIC 600
/// ns.
TEST(BuildNetwork, LeavesByNic) {
  const BuiltCluster built = build(four_hosts(LeafPlacement::kByNic, gbits(400)), small_catalog());
  const Path rail = must_route(built, built.nics[0][1], built.nics[3][1], network_only());
  EXPECT_EQ(hops(built, rail), (std::vector<std::string>{"ib/leaf1", "node3/b"}));
  const Path across = must_route(built, built.nics[0][0], built.nics[3][1], network_only());
  EXPECT_EQ(hops(built, across),
            (std::vector<std::string>{"ib/leaf0", "ib/spine", "ib/leaf1", "node3/b"}));
  EXPECT_EQ(summarize(built.fabric, across).latency, ns(1670));
  const BuiltCluster rails_only =
      build(four_hosts(LeafPlacement::kByNic, Bandwidth()), small_catalog());
  EXPECT_EQ(rails_only.fabric.route(rails_only.nics[0][0], rails_only.nics[3][1], network_only()),
            std::nullopt);
}

TEST(BuildNetwork, LeavesByHost) {
  const BuiltCluster built = build(four_hosts(LeafPlacement::kByHost, gbits(400)), small_catalog());
  for (std::size_t host = 0; host < 4; host++) {
    for (std::size_t nic = 0; nic < 2; nic++) {
      const std::string leaf = built.fabric.node(built.wires[host][nic][0]->leaf).name;
      EXPECT_EQ(leaf, host < 2 ? "ib/leaf0" : "ib/leaf1");
    }
  }
}

std::string problems_of(const Cluster& cluster) {
  try {
    build(cluster, small_catalog());
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(BuildProblems, AllAtOnce) {
  Cluster cluster = two_hosts();
  cluster.networks[0].where = {"s.yaml", 3, 5};
  cluster.networks[1].where = {"s.yaml", 8, 5};
  cluster.networks[0].nics = {"eth1", "mlx5_0:3"};
  cluster.networks[1].switch_model = "IB41";
  EXPECT_EQ(
      problems_of(cluster),
      "s.yaml:3:5: error: no host has the NIC 'eth1' of network 'management'; did you mean "
      "'eth0'?\n"
      "s.yaml:3:5: error: no host has the NIC 'mlx5_0:3' of network 'management'; did you mean "
      "'mlx5_0'?\n"
      "s.yaml:8:5: error: unknown switch model 'IB41' of network 'rdma'; did you mean 'IB40'?");
}

TEST(BuildProblems, NetworksHaveNamesOfTheirOwn) {
  Cluster cluster = two_hosts();
  cluster.networks[1].name = "management";
  EXPECT_EQ(problems_of(cluster), "error: second network of the name 'management'");
  for (const char* name : {"", "node0", "a/b"}) {
    cluster.networks[1].name = name;
    EXPECT_EQ(problems_of(cluster), "error: a network has the name '" + std::string(name) +
                                        "'; allowed: any without '/', not 'node' and a number");
  }
  cluster.networks[1].name = "nodes";
  EXPECT_EQ(problems_of(cluster), "");
}

TEST(BuildProblems, OneCableAPort) {
  Cluster cluster = two_hosts();
  cluster.networks[1].nics = {"mlx5_0:1", "rdma0"};
  EXPECT_EQ(problems_of(cluster),
            "error: NIC 'mlx5_0' of host 0 hangs on network 'rdma' and on 'rdma'\n"
            "error: NIC 'mlx5_0' of host 1 hangs on network 'rdma' and on 'rdma'");
}

TEST(BuildProblems, SwitchesHavePortsAndSpeakOneLanguage) {
  Cluster cluster = two_hosts();
  cluster.networks[1].switch_model = "Eth4";
  EXPECT_EQ(
      problems_of(cluster),
      "error: NIC 'mlx5_0' of network 'rdma' speaks InfiniBand, but its switch 'Eth4' is Ethernet");
  // 39 hosts with one port each and a trunk of 400 Gb/s, two ports of 200 Gb/s: 41 ports.
  cluster = two_hosts();
  cluster.hosts.resize(39, cluster.hosts.front());
  cluster.networks.erase(cluster.networks.begin());
  cluster.networks[0].nics = {"rdma0:1", "rdma0:2"};
  cluster.networks[0].leaf_switches = 2;
  EXPECT_EQ(problems_of(cluster), "");
  cluster.networks[0].trunk = gbits(400);
  EXPECT_EQ(problems_of(cluster),
            "error: leaf switch 0 of network 'rdma' needs 41 ports, but 'IB40' has 40\n"
            "error: leaf switch 1 of network 'rdma' needs 41 ports, but 'IB40' has 40");
}

Catalog product_catalog() {
  Problems problems;
  Catalog catalog = load_catalog(BUSBW_SOURCE_DIR "/topologies/catalog", problems);
  problems.throw_if_any();
  return catalog;
}

/// 900 GB/s both ways together over NVLink 4 against 64 GB/s one way over PCIe Gen5 x16 before line
/// coding: 32 GT/s x 16 = 512 Gb/s. One way against one way after line coding: 450 / 63.02 = 7.14.
TEST(BuildCatalogue, NvLinkAgainstPcie) {
  const Catalog catalog = product_catalog();
  Problems problems;
  Cluster cluster;
  for (const Machine& machine :
       load_machines(BUSBW_SOURCE_DIR "/topologies/catalog/machines", catalog, problems)) {
    if (machine.name == "dgx-h100") {
      cluster.hosts = {machine};
    }
  }
  ASSERT_EQ(cluster.hosts.size(), 1U);
  const BuiltCluster built = build(cluster, catalog);
  const NodeId a = built.gpus[0][0];
  const NodeId b = built.gpus[0][1];
  const Bandwidth nvlink =
      *summarize(built.fabric, must_route(built, a, b, nvlink_only())).capacity;
  const Bandwidth pcie =
      *summarize(built.fabric, must_route(built, a, built.cpus[0][0], host_only())).capacity;
  EXPECT_EQ(nvlink * 2, gbs(900));
  EXPECT_EQ(catalog.pcie_generation(5)->megatransfers * 16, 512'000);
  EXPECT_EQ(pcie, Bandwidth::bits_per_second(504'123'076'923));
  EXPECT_NEAR(nvlink.as_gigabytes_per_second() / pcie.as_gigabytes_per_second(), 7.14, 0.01);
}

/// On every machine of the catalogue every GPU reaches every other GPU, NIC and memory inside the
/// host, both ways, and building twice gives the same links.
TEST(BuildCatalogue, EverythingIsReached) {
  const Catalog catalog = product_catalog();
  Problems problems;
  const std::vector<Machine> machines =
      load_machines(BUSBW_SOURCE_DIR "/topologies/catalog/machines", catalog, problems);
  problems.throw_if_any();
  EXPECT_GE(machines.size(), 10U);
  for (const Machine& machine : machines) {
    Cluster cluster;
    cluster.hosts = {machine};
    const BuiltCluster built = build(cluster, catalog);
    std::vector<NodeId> targets = built.gpus[0];
    targets.insert(targets.end(), built.nics[0].begin(), built.nics[0].end());
    targets.insert(targets.end(), built.memories[0].begin(), built.memories[0].end());
    for (const NodeId gpu : built.gpus[0]) {
      for (const NodeId target : targets) {
        must_route(built, gpu, target, host_only());
        must_route(built, target, gpu, host_only());
      }
    }
    const BuiltCluster again = build(cluster, catalog);
    ASSERT_EQ(again.fabric.link_count(), built.fabric.link_count());
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(built.fabric.link_count()); i++) {
      const Link& link = built.fabric.link(LinkId(i));
      EXPECT_EQ(again.fabric.link(LinkId(i)).name, link.name);
      EXPECT_GT(link.capacity, Bandwidth()) << machine.name << ": " << link.name;
    }
  }
}

}  // namespace
}  // namespace busbw::topologies
