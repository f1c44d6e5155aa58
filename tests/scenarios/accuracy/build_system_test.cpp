// From texts to machines: one kind of system each, with its shape worked out by hand.
#include "scenarios/accuracy/build_system.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "scenarios/accuracy/describe.h"
#include "tests/scenarios/accuracy/built.h"

namespace busbw::scenarios::accuracy {
namespace {

using topologies::Machine;
using topologies::MachineNic;
using topologies::NvLinkWiring;

std::vector<const MachineNic*> data_nics(const Machine& machine) {
  std::vector<const MachineNic*> nics;
  for (const MachineNic& nic : machine.nics) {
    if (nic.rdma) {
      nics.push_back(&nic);
    }
  }
  return nics;
}

TEST(BuildSystem, AWholeDgx) {
  const BuiltSystem built = build(hopper(8, 2, kEight));
  EXPECT_EQ(host(built).name, "dgx-h100");
  EXPECT_EQ(built.machine, "8 x H100-SXM5-80GB, 8 x ConnectX-7 400 Gb/s");
  EXPECT_EQ(built.variant.cluster.hosts.size(), 2U);
  EXPECT_EQ(data_nics(host(built)).size(), 8U);
  EXPECT_EQ(built.variant.version, (nccl::Version{2, 27, 7}));
  EXPECT_EQ(built.assumptions, (Texts{"NCCL 2.27.7: none is given"}));
}

// nccl-tests on one host is one process, between hosts and by a framework one a GPU.
TEST(BuildSystem, WhoDrivesTheGpus) {
  const BuiltSystem alone = build(hopper(8, 1, "null"));
  EXPECT_EQ(alone.variant.workload.gpus_per_process, 8);
  EXPECT_EQ(alone.assumptions.back(), "one process drives all 8 GPUs");
  EXPECT_EQ(build(hopper(8, 2, kEight)).variant.workload.gpus_per_process, 1);
  Record record = record_of(hopper(8, 1, "null"));
  record.source = "github.com/somebody/tests:nccl-tests/aws-batch/README.md (lines 3-9)";
  const BuiltSystem started = build_system(record, library());
  EXPECT_EQ(started.variant.workload.gpus_per_process, 1);
  EXPECT_EQ(started.assumptions.back(), "one process a GPU: the source is of 'batch'");
  record.source = "github.com/somebody/mpich-batches:README.md";  // other words
  EXPECT_EQ(build_system(record, library()).variant.workload.gpus_per_process, 8);
  record.kind = "torch all_reduce_bench.py";
  const Workload framework = build_system(record, library()).variant.workload;
  EXPECT_EQ(framework.gpus_per_process, 1);
  EXPECT_TRUE(framework.timed_alone);
  EXPECT_FALSE(alone.variant.workload.timed_alone);
}

// Fewer GPUs, a NIC for each: those that share no switch.
TEST(BuildSystem, FewerGpusWithANicEach) {
  const BuiltSystem built = build(fmt::format(
      R"j({{"gpu": "V100-SXM3 (DGX-2)", "gpus_per_node": 4, "nodes": 2, "ranks": 8,
          "intra": {{"nvlink": "NVLink2", "switch": "NVSwitch"}}, "nic": {}}})j",
      nic_of("ConnectX-5", 4, 100, "InfiniBand EDR")));
  const Texts used = places(host(built));
  EXPECT_EQ(std::set<std::string>(used.begin(), used.end()).size(), 4U);
  const std::vector<const MachineNic*> nics = data_nics(host(built));
  ASSERT_EQ(nics.size(), 4U);
  for (std::size_t i = 0; i < nics.size(); ++i) {
    EXPECT_EQ(nics[i]->attach, used[i]) << i;
  }
}

// Two tiers of switches: four GPUs go below the four upper ones, as far apart as they can.
TEST(BuildSystem, FewGpusShareNoUplink) {
  const BuiltSystem built = build(fmt::format(
      R"j({{"gpu": "V100-SXM3 (DGX-2)", "gpus_per_node": 4, "nodes": 2,
          "intra": {{"nvlink": "NVLink2", "switch": "NVSwitch"}}, "nic": {}}})j",
      nic_of("ConnectX-5", 4, 100, "InfiniBand EDR")));
  EXPECT_EQ(places(host(built)), (Texts{"leaf0", "leaf2", "leaf4", "leaf6"}));
}

// A pod's GPU and NIC share a PCIe switch by accident only, unless the record says aligned. A node
// whose GPUs all take part has no choice.
TEST(BuildSystem, PodsGetTheirDevicesApart) {
  const auto paths = [](int gpus, int nics, const std::string& notes) {
    const BuiltSystem built = build(hopper(gpus, 2, nic_of("ConnectX-7", nics, 400, "RoCEv2")),
                                    R"j("notes": ")j" + notes + R"j(")j");
    const bool apart = std::count(built.assumptions.begin(), built.assumptions.end(),
                                  "a pod gets its GPUs and its NICs apart: no PCIe switch in "
                                  "common (PHB)") == 1;
    return data_nics(host(built)).front()->attach.value_or("") + (apart ? " apart" : "");
  };
  EXPECT_EQ(paths(1, 1, "1 GPU + 1 NIC per pod."), "cpu0 apart");
  EXPECT_EQ(paths(4, 4, "Two hosts in four pods, GPUs and NICs not aligned"), "cpu0 apart");
  EXPECT_EQ(paths(1, 1, "one GPU of an aligned pod"), "pcie0");
  EXPECT_EQ(paths(1, 1, "one GPU of a SuperPOD"), "pcie0");
  EXPECT_EQ(paths(1, 1, ""), "pcie0");
  EXPECT_EQ(paths(8, 8, "one pod a node"), "pcie0");
}

// Sixteen ports of eight cards: NCCL takes the ports of a card for one device.
TEST(BuildSystem, PortsOfACardCountEach) {
  const BuiltSystem built = build(fmt::format(
      R"j({{"gpu": "A100-SXM4-40GB", "gpus_per_node": 8, "nodes": 2,
          "intra": {{"nvlink": "NVLink3", "switch": "NVSwitch"}}, "nic": {}}})j",
      nic_of("ConnectX-5", 16, 100, "RoCEv2")));
  const std::vector<const MachineNic*> nics = data_nics(host(built));
  ASSERT_EQ(nics.size(), 8U);
  EXPECT_EQ(nics.front()->ports, 2);
  EXPECT_EQ(nics.front()->model, "ConnectX-5 Ex");
}

TEST(BuildSystem, VisibleGpusAreThose) {
  const BuiltSystem built = build(hopper(4, 2, nic_of("ConnectX-7", 4, 400, "RoCEv2")),
                                  R"j("env": {"CUDA_VISIBLE_DEVICES": "1,3,5,7"})j");
  EXPECT_EQ(places(host(built)), (Texts{"pcie1", "pcie3", "pcie5", "pcie7"}));
}

// 32 cards of 100 Gb/s beside 8 GPUs: the plugin joins four to one device of 400 Gb/s.
TEST(BuildSystem, EfaCardsAreJoined) {
  const BuiltSystem built = build(hopper(8, 2, nic_of("AWS EFA v2 (SRD)", 32, 100, "EFA")));
  const std::vector<const MachineNic*> nics = data_nics(host(built));
  ASSERT_EQ(nics.size(), 8U);
  EXPECT_EQ(nics.front()->rate, Bandwidth::gigabits_per_second(400));
  EXPECT_EQ(host(built).name, "aws-p5");
  EXPECT_EQ(built.variant.inventories.front().external_plugins, Texts{"Libfabric"});
  EXPECT_EQ(built.machine, "8 x H100-SXM5-80GB, 32 x EFA v2 100 Gb/s");
}

TEST(BuildSystem, PluginsOfGoogle) {
  const BuiltSystem fastrak =
      build(hopper(8, 2, nic_of("gVNIC with GPUDirect-TCPXO (FasTrak)", 8, 200, "Ethernet/TCPXO")));
  EXPECT_EQ(host(fastrak).name, "gcp-a3-mega");
  EXPECT_EQ(fastrak.variant.inventories.front().external_plugins, Texts{"FasTrak"});
  EXPECT_TRUE(fastrak.variant.inventories.front().hcas.empty());
  const BuiltSystem gib = build(fmt::format(
      R"j({{"gpu": "B200-SXM-180GB", "gpus_per_node": 8, "nodes": 2,
          "intra": {{"nvlink": "NVLink5", "switch": "NVSwitch4"}}, "nic": {}}})j",
      nic_of("ConnectX-7 (gIB plugin)", 8, 400, "RoCEv2")));
  EXPECT_EQ(host(gib).name, "gcp-a4");
  EXPECT_EQ(gib.variant.inventories.front().external_plugins, Texts{"gIB"});
}

TEST(BuildSystem, SlingshotByPluginOrBySockets) {
  const auto quad = [](const char* link) {
    return fmt::format(R"j({{"gpu": "GH200-120GB", "gpus_per_node": 4, "nodes": 2,
      "intra": {{"nvlink": "NVLink4 all-to-all between 4 GH200", "switch": "none"}},
      "nic": {}}})j",
                       nic_of("HPE Slingshot-11 Cassini (CXI)", 4, 200, link));
  };
  const BuiltSystem plugin = build(quad("Slingshot (libfabric/aws-ofi-nccl)"));
  EXPECT_EQ(host(plugin).name, "alps-gh200");
  EXPECT_EQ(host(plugin).nvlink_matrix[0][1], 6);
  EXPECT_EQ(data_nics(host(plugin)).size(), 4U);
  const BuiltSystem sockets = build(quad("TCP socket over the same Slingshot interface"));
  EXPECT_TRUE(data_nics(host(sockets)).empty());
  EXPECT_EQ(host(sockets).nics.size(), 4U);
  EXPECT_TRUE(sockets.variant.inventories.front().external_plugins.empty());
}

TEST(BuildSystem, MeshesSayTheirLinks) {
  const BuiltSystem pair = build(R"j({"gpu": "A100-SXM-64GB", "gpus_per_node": 2, "nodes": 1,
      "intra": {"nvlink": "NVLink3 mesh, 4 links per pair (NV4)", "switch": "none"}})j");
  EXPECT_EQ(host(pair).nvlink_matrix, (topologies::LinkMatrix{{0, 4}, {4, 0}}));
  const BuiltSystem volta = build(R"j({"gpu": "V100-SXM2-16GB", "gpus_per_node": 4, "nodes": 1,
      "intra": {"nvlink": "NVLink2, 4 GPUs fully meshed (NV2 pairs)", "switch": "none"}})j");
  EXPECT_EQ(host(volta).wiring, NvLinkWiring::kMesh);
  EXPECT_EQ(host(volta).nvlink_matrix[0][3], 2);
  const BuiltSystem cube = build(R"j({"gpu": "V100-SXM2-32GB", "gpus_per_node": 8, "nodes": 1,
      "intra": {"nvlink": "NVLink2 hybrid cube mesh (NV1/NV2)", "switch": "none"}})j");
  EXPECT_EQ(host(cube).name, "dgx-1v");
}

TEST(BuildSystem, ARackIsOneNvLinkDomain) {
  const BuiltSystem built =
      build(fmt::format(R"j({{"gpu": "GB200", "gpus_per_node": 4, "nodes": 36, "ranks": 144,
      "intra": {{"nvlink": "NVLink5", "switch": "NVL72 rack (MNNVL)"}}, "nic": {}}})j",
                        nic_of("ConnectX-7", 4, 400, "InfiniBand NDR")));
  EXPECT_EQ(host(built).name, "gb200-tray");
  EXPECT_EQ(built.variant.cluster.hosts_per_nvlink_domain, 18);
}

std::string geforce(const std::string& intra, const std::string& more = "") {
  return R"j({"gpu": "RTX 4090", "gpus_per_node": 4, "nodes": 1, "intra": )j" + intra + more + "}";
}

TEST(BuildSystem, PcieHostsStandAsSaid) {
  const BuiltSystem one = build(geforce(R"j({"kind": "behind one switch (PIX)", "p2p": false})j"));
  EXPECT_EQ(places(host(one)), (Texts{"pcie0", "pcie0", "pcie0", "pcie0"}));
  const BuiltSystem two =
      build(geforce(R"j({"kind": "PCIe, two pairs behind switches"})j",
                    R"j(, "conditions": {"gpu_placement": "two per switch"})j"));
  EXPECT_EQ(places(host(two)), (Texts{"pcie0", "pcie0", "pcie1", "pcie1"}));
  const BuiltSystem apart = build(geforce(R"j({"kind": "PCIe, GPUs on different sockets"})j"));
  EXPECT_EQ(places(host(apart)), (Texts{"cpu0", "cpu0", "cpu1", "cpu1"}));
  const BuiltSystem near = build(geforce(R"j({"kind": "PHB"})j"));
  EXPECT_EQ(places(host(near)), (Texts{"cpu0", "cpu0", "cpu0", "cpu0"}));
}

// GeForce cards, and the switches they hang on, have eight lanes unless the record says more or
// names a server's CPU.
TEST(BuildSystem, LanesOfGeForce) {
  const std::string pairs = R"j({"kind": "PCIe, two pairs behind switches"})j";
  const BuiltSystem unsaid = build(geforce(pairs));
  EXPECT_EQ(host(unsaid).gpu_pcie_lanes, 8);
  EXPECT_EQ(host(unsaid).pcie_switches.front().uplink_lanes, 8);
  EXPECT_NE(std::find(unsaid.assumptions.begin(), unsaid.assumptions.end(),
                      "PCIe of a GeForce host is not said: 8 lanes"),
            unsaid.assumptions.end());
  const BuiltSystem server =
      build(geforce(pairs, R"j(, "cpu": "2x Intel(R) Xeon(R) Platinum 8480+")j"));
  EXPECT_EQ(host(server).gpu_pcie_lanes, 16);
  const BuiltSystem said = build(geforce(pairs, R"j(, "pcie": "Gen3 x16")j"));
  EXPECT_EQ(host(said).gpu_pcie_lanes, 16);
  EXPECT_EQ(host(said).pcie_switches.front().uplink_lanes, 16);
}

// Nobody says whether RDMA goes from GPU memory: yes from Ampere on, no before, never over adapters
// whose driver moves the data of verbs.
TEST(BuildSystem, GpuDirectWhereNobodySays) {
  const auto direct = [](const std::string& gpu, const std::string& nic) {
    const BuiltSystem built = build(fmt::format(R"j({{"gpu": "{}", "gpus_per_node": 4, "nodes": 2,
            "intra": {{"nvlink": "NVLink mesh", "switch": "none"}}, "nic": {}}})j",
                                                gpu, nic));
    return built.variant.inventories.at(0).exposure.peer_memory;
  };
  const std::string infiniband = nic_of("ConnectX-6", 4, 100, "InfiniBand EDR");
  EXPECT_TRUE(direct("A100-SXM4-80GB", infiniband));
  EXPECT_FALSE(direct("V100-SXM2-32GB", infiniband));
  EXPECT_FALSE(direct("A100-SXM4-80GB", nic_of("Omni-Path HFI1", 4, 100, "Omni-Path 100")));
}

TEST(BuildSystem, SeveralGpusPerSwitch) {
  const BuiltSystem built = build(fmt::format(
      R"j({{"gpu": "H100 PCIe", "gpus_per_node": 8, "nodes": 2, "nic": {},
          "intra": {{"kind": "PCIe Gen5, 4 per switch"}}}})j",
      nic_of("Broadcom BCM57608", 2, 400, "RoCEv2")));
  EXPECT_EQ(places(host(built)),
            (Texts{"pcie0", "pcie0", "pcie0", "pcie0", "pcie1", "pcie1", "pcie1", "pcie1"}));
  EXPECT_EQ(host(built).pcie_switches[1].attach, "cpu1");
  // A card that the catalogue knows as a plain one: the record says RoCE.
  ASSERT_EQ(data_nics(host(built)).size(), 2U);
  EXPECT_EQ(data_nics(host(built))[1]->attach, "pcie1");
}

// Over sockets NCCL takes every interface: none but the record's may be there.
TEST(BuildSystem, SocketsHaveTheRecordsInterfacesAlone) {
  const BuiltSystem built = build(hopper(8, 2, nic_of("AWS ENA", 1, 100, "TCP")));
  ASSERT_EQ(host(built).nics.size(), 1U);
  EXPECT_FALSE(host(built).nics.front().rdma);
  EXPECT_EQ(built.variant.inventories.front().interfaces.back().pci_vendor, 0x1d0f);
}

TEST(BuildSystem, PeerToPeerAsSaidElseByTheGpu) {
  const BuiltSystem off = build(geforce(R"j({"kind": "PCIe", "p2p": false})j"));
  EXPECT_FALSE(host(off).peer_to_peer);
  const BuiltSystem on = build(geforce(R"j({"kind": "PCIe", "p2p": true})j"));
  EXPECT_TRUE(host(on).peer_to_peer);
  // What such a record measures: NCCL of itself stops at PCIe switches.
  EXPECT_EQ(on.variant.environment.at("NCCL_P2P_LEVEL"), "SYS");
  EXPECT_EQ(on.assumptions.back(), "P2P is on: NCCL_P2P_LEVEL=SYS");
  EXPECT_EQ(off.variant.environment.count("NCCL_P2P_LEVEL"), 0U);
  const BuiltSystem unsaid = build(geforce(R"j({"kind": "PCIe"})j"));
  EXPECT_FALSE(host(unsaid).peer_to_peer);  // a GeForce
}

TEST(BuildSystem, ConditionsAreInputs) {
  const BuiltSystem built = build(
      hopper(8, 2, kEight,
             R"j(, "conditions": {"acs": "redirect", "iommu": "translated", "gdr": false})j"));
  EXPECT_TRUE(host(built).acs_redirect);
  EXPECT_TRUE(host(built).dma_translation);
  EXPECT_FALSE(built.variant.inventories.front().exposure.peer_memory);
  const BuiltSystem mtu = build(
      hopper(8, 2, nic_of("ConnectX-7", 8, 400, "RoCEv2"), R"j(, "conditions": {"mtu": 1500})j"));
  for (const nccl::Interface& interface : mtu.variant.inventories.front().interfaces) {
    EXPECT_TRUE(interface.loopback || interface.mtu == 1500) << interface.name;
  }
}

// The GPU on socket 0, the NIC on socket 1; four NUMA nodes a socket: the first of socket 1 is 4.
TEST(BuildSystem, NicOnTheOtherSocket) {
  const BuiltSystem built = build(fmt::format(
      R"j({{"gpu": "A100-PCIE-40GB", "gpus_per_node": 1, "nodes": 2, "nic": {},
      "pcie": "Gen4; GPU-NIC distance SYS", "cpu": "2x EPYC 7352 (Dell R7525), NPS=4",
      "conditions": {{"gpu_nic_path": "SYS", "nps": 4}}}})j",
      nic_of("ConnectX-6", 1, 200, "InfiniBand HDR")));
  EXPECT_EQ(host(built).numa_nodes, 8);
  EXPECT_EQ(host(built).cpu_model, "AMD Rome");
  EXPECT_EQ(host(built).gpus.front().attach, "cpu0");
  EXPECT_EQ(data_nics(host(built)).front()->attach, "cpu4");
}

// Known to cost bandwidth, not by how much: the report says so.
TEST(BuildSystem, OneNumaNodeASocketOnAmdIsSaidNotToBeModelled) {
  const auto assumed = [](const char* cpu, const char* conditions) {
    const BuiltSystem built = build(fmt::format(
        R"j({{"gpu": "A100-PCIE-40GB", "gpus_per_node": 1, "nodes": 2, "nic": {}, "cpu": "{}",
        "conditions": {{{}}}}})j",
        nic_of("ConnectX-6", 1, 200, "InfiniBand HDR"), cpu, conditions));
    const std::string text =
        "what NPS=1 costs GPUs that use host memory of AMD hosts is not modelled";
    return std::count(built.assumptions.begin(), built.assumptions.end(), text);
  };
  EXPECT_EQ(assumed("2x EPYC 7352", R"j("nps": 1, "gdr": false)j"), 1);
  EXPECT_EQ(assumed("2x EPYC 7352", R"j("nps": 4, "gdr": false)j"), 0);
  EXPECT_EQ(assumed("2x EPYC 7352", R"j("nps": 1)j"), 0);
  EXPECT_EQ(assumed("2x EPYC 7352", R"j("gdr": false)j"), 0);
  EXPECT_EQ(assumed("Xeon Platinum 8480", R"j("nps": 1, "gdr": false)j"), 0);
}

TEST(BuildSystem, ATrainedDownLink) {
  const BuiltSystem built = build(hopper(8, 2, kEight, R"j(, "pcie": "Gen3 x8")j"));
  EXPECT_EQ(host(built).gpu_pcie_lanes, 8);
  EXPECT_EQ(host(built).pcie_generation, 3);
  EXPECT_EQ(data_nics(host(built)).front()->pcie_generation, 3);
  EXPECT_EQ(data_nics(host(built)).front()->pcie_lanes, 8);
}

TEST(BuildSystem, ShapedInterfacesKeepTheirNames) {
  const BuiltSystem built = build(
      R"j({"gpu": "H200-SXM5-141GB", "gpus_per_node": 2, "nodes": 2,
          "intra": {"nvlink": "NVLink4", "switch": "NVSwitch3"},
          "nic": {"type": "veth shaped by tc tbf on the sending side", "link": "Ethernet/TCP",
                  "interfaces": [{"name": "eth0", "shaped_gbit": 1},
                                 {"name": "rdma0", "shaped_gbit": 10}],
                  "mtu": 1500, "reported_speed_mbit": 10000}})j",
      R"j("env": {"NCCL_SOCKET_IFNAME": "rdma0"},
         "slow_link": {"host": 2, "nic": "eth0", "Gbps": 0.25, "direction": "sending"})j");
  const Machine& machine = host(built);
  ASSERT_EQ(machine.nics.size(), 2U);
  EXPECT_EQ(machine.nics[1].netdev, "rdma0");
  EXPECT_EQ(machine.nics[1].send_rate, Bandwidth::gigabits_per_second(10));
  EXPECT_EQ(machine.nics[1].reported_speed, Bandwidth::gigabits_per_second(10));
  EXPECT_EQ(built.variant.cluster.hosts[1].nics[0].send_rate, Bandwidth::megabits_per_second(250));
  EXPECT_EQ(machine.nics[0].send_rate, Bandwidth::gigabits_per_second(1));
  EXPECT_EQ(built.variant.environment.at("NCCL_SOCKET_IFNAME"), "rdma0");
}

// Filters name cards of that host. Those in use are counted by the record.
TEST(BuildSystem, FiltersOfOtherNames) {
  const BuiltSystem all = build(hopper(8, 2, kEight),
                                R"j("env": {"NCCL_IB_HCA": "mlx5_0,3,4,5,6,9,10,11",
                                            "NCCL_SOCKET_IFNAME": "bond"})j");
  EXPECT_EQ(all.variant.environment.count("NCCL_IB_HCA"), 0U);
  EXPECT_EQ(all.variant.environment.count("NCCL_SOCKET_IFNAME"), 0U);
  EXPECT_EQ(all.assumptions.size(), 3U);
  const BuiltSystem one = build(hopper(8, 2, kEight), R"j("env": {"NCCL_IB_HCA": "mlx5_0"})j");
  EXPECT_EQ(one.variant.environment.at("NCCL_IB_HCA"), "mlx5_0");
}

TEST(BuildSystem, WhyNot) {
  EXPECT_EQ(build(R"j({"gpu": "MI300X", "gpus_per_node": 8, "nodes": 2,
                       "intra": {"xgmi": "Infinity Fabric mesh"}})j")
                .reason,
            "'MI300X' runs RCCL over Infinity Fabric mesh: this is a model of NCCL on NVIDIA GPUs");
  EXPECT_EQ(build(R"j({"gpu": "unnamed", "gpus_per_node": 8, "nodes": 1})j").reason,
            "GPU 'unnamed' is not in the catalogue");
  EXPECT_EQ(build(R"j({"gpu": "H100", "gpus_per_node": 8, "nodes": 2, "ranks": 32})j").reason,
            "32 ranks contradict 2 nodes with 8 GPUs each");
  EXPECT_EQ(build(R"j({"gpu": "H100", "gpus_per_node": 8})j").reason,
            "the number of nodes is not given");
  EXPECT_EQ(build(hopper(8, 2, R"j({"type": "none (single node)", "count": 0})j")).reason,
            "2 hosts without a NIC");
  EXPECT_EQ(build(R"j({"gpu": "H100 NVL", "gpus_per_node": 3, "nodes": 1,
                       "intra": {"nvlink": "NVLink4 bridge"}})j")
                .reason,
            "3 GPUs in pairs");
  EXPECT_EQ(build(R"j({"gpu": "L40S", "gpus_per_node": 2, "nodes": 1,
                       "intra": {"switch": "NVSwitch"}})j")
                .reason,
            "'L40S' has no NVLink, but 'NVSwitch' is said to join them");
}

nccl::Version release(const std::string& text, const std::string& gpu = "H100-SXM5-80GB") {
  Texts assumptions;
  return release_of(text, gpu, assumptions);
}

TEST(Release, SuffixRangeNearestAndNone) {
  EXPECT_EQ(release("2.26.6+cuda12.8"), (nccl::Version{2, 26, 6}));
  EXPECT_EQ(release("2.25-2.27"), *nccl::parse_version("2.25"));
  EXPECT_EQ(release("2.31.2+cuda13.3"), nccl::kNewest);
  EXPECT_EQ(release("2.7.8+cuda10.2"), nccl::kOldest);
  EXPECT_EQ(release(""), *nccl::parse_version("2.27"));
  EXPECT_EQ(release("", "V100-SXM2-32GB"), *nccl::parse_version("2.18"));
  EXPECT_EQ(release("", "A100-PCIE-40GB"), *nccl::parse_version("2.18"));
  EXPECT_EQ(release("", "RTX 2080 Ti"), *nccl::parse_version("2.18"));
}

TEST(Names, TheLongestThatStandsInTheText) {
  const topologies::Catalog& catalog = library().catalog;
  EXPECT_EQ(gpu_in("A100-SXM4-80GB", catalog)->name, "A100-SXM4-80GB");
  EXPECT_EQ(gpu_in("NVIDIA A100-SXM4 (DGX A100)", catalog)->name, "A100-SXM4-40GB");
  EXPECT_EQ(gpu_in("Tesla T4", catalog)->name, "T4");
  EXPECT_EQ(gpu_in("H100 PCIe", catalog)->name, "H100-PCIE-80GB");
  EXPECT_EQ(gpu_in("L400", catalog), nullptr);
  EXPECT_EQ(nic_in("ConnectX-6/7 VF (SR-IOV)", catalog)->name, "ConnectX-6");
  EXPECT_EQ(nic_in("ConnectX-6 (2x dual-port 100G)", catalog)->name, "ConnectX-6");
  EXPECT_EQ(nic_in("ConnectX-7 (GB10 on-board)", catalog)->name, "ConnectX-7 GB10");
  EXPECT_EQ(cpu_in("2x EPYC 7352 (Dell R7525)", catalog)->name, "AMD Rome");
}

TEST(BuildSystem, TakesTheAlgorithmThatTheRecordSays) {
  const std::string two = hopper(8, 2, nic_of("ConnectX-7", 8, 400, "InfiniBand NDR"));
  const auto algorithm = [&](const std::string& more) {
    const nccl::Environment environment = build(two, more).variant.environment;
    const auto found = environment.find("NCCL_ALGO");
    return found == environment.end() ? "" : found->second;
  };
  EXPECT_EQ(algorithm(R"("algo": "ring")"), "Ring");
  EXPECT_EQ(algorithm(R"("algo": "NVLSTree")"), "NVLSTree");
  // Several, or a remark that may hold for some sizes alone; and what the job itself asks for.
  EXPECT_EQ(algorithm(R"("algo": "Ring/LL to 1 MiB, NVLS above")"), "");
  EXPECT_EQ(algorithm(R"j("algo": "NVLS (default)")j"), "");
  EXPECT_EQ(algorithm(R"("algo": "Ring", "env": {"NCCL_ALGO": "Tree"})"), "Tree");
}

}  // namespace
}  // namespace busbw::scenarios::accuracy
