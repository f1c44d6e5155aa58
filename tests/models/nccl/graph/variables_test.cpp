// Every variable that is said to change paths, graphs, channels, algorithm, protocol, chunks or
// threads: set to a value on a machine where it counts, with the decision before and after worked
// out from the rules beside it.
#include "models/nccl/variables.h"

#include <functional>
#include <set>

#include <gtest/gtest.h>

#include "models/nccl/graph/decide.h"
#include "tests/models/nccl/graph/topologies.h"

namespace busbw::nccl::graph {
namespace {

const char* const kSwitchLinks =
    "<nvlink target=\"0000:c1:00.0\" count=\"12\" tclass=\"0x068000\"/>";

std::string numa(int id, const std::string& inside, const char* kind = "") {
  const std::string cpu = kind[0] != '\0' ? "arch=\"arm64\""
                                          : "arch=\"x86_64\" vendor=\"GenuineIntel\" "
                                            "familyid=\"6\" modelid=\"106\"";
  return fmt::format("<cpu numaid=\"{}\" {}>{}</cpu>", id, cpu, inside);
}
std::string machine(const std::string& inside) {
  return "<system version=\"1\">" + inside + "</system>";
}
std::string pcie_switch(int bus, const std::string& inside) {
  return fmt::format(
      "<pci busid=\"0000:f{}:00.0\" class=\"0x060400\" vendor=\"0x10b5\" device=\"0x8747\" "
      "link_speed=\"16.0 GT/s PCIe\" link_width=\"16\">{}</pci>",
      bus, inside);
}

/// Two GPUs and a NIC directly below one Intel CPU: GPUs at PHB, so no P2P between them.
std::string below_one_cpu() {
  return machine(numa(0, gpu_xml(0, 80, "") + gpu_xml(1, 80, "") + nic_xml(0, 200'000)));
}
/// A GPU and a NIC below a switch of each of two CPUs.
std::string one_pair_a_socket(int sm, const std::string& links) {
  return machine(numa(0, pcie_switch(0, gpu_xml(0, sm, links) + nic_xml(0, 200'000))) +
                 numa(1, pcie_switch(1, gpu_xml(1, sm, links) + nic_xml(1, 200'000))));
}
/// Three GPUs in a row of NVLinks: 0 - 1 - 2.
std::string row_of_gpus() {
  const auto to = [](int dev) {
    return fmt::format("<nvlink target=\"0000:{}0:00.0\" count=\"2\" tclass=\"0x030200\"/>",
                       dev + 1);
  };
  return machine(
      numa(0, gpu_xml(0, 80, to(1)) + gpu_xml(1, 80, to(0) + to(2)) + gpu_xml(2, 80, to(1))));
}
/// Two GPUs that reach their CPUs by C2C, each CPU with a NIC; GPUs on one NVSwitch.
std::string two_superchips(int sm) {
  const std::string links = std::string(kSwitchLinks) + "<c2c bw=\"44712\" count=\"10\"/>";
  return machine(numa(0, gpu_xml(0, sm, links) + nic_xml(0, 200'000), "arm") +
                 numa(1, gpu_xml(1, sm, links) + nic_xml(1, 200'000), "arm"));
}
/// Two GPUs and two NICs below one switch.
std::string two_pairs_on_one_switch() {
  return machine(
      numa(0, pcie_switch(0, gpu_xml(0, 80, kSwitchLinks) + gpu_xml(1, 80, kSwitchLinks) +
                                 nic_xml(0, 200'000) + nic_xml(1, 200'000))));
}

using Look = std::function<std::string(const Decision&)>;

std::string path_type(const Decision& d, NodeType a, int i, NodeType b, int j) {
  return to_string(d.groups.front().system.path(a, i, b, j).type);
}
Look gpu_path(int from, int to) {
  return [=](const Decision& d) { return path_type(d, NodeType::kGpu, from, NodeType::kGpu, to); };
}
Look nic_path(int gpu, int net) {
  return [=](const Decision& d) { return path_type(d, NodeType::kGpu, gpu, NodeType::kNet, net); };
}
Look number(int Communicator::*field) {
  return [=](const Decision& d) { return std::to_string(d.comm.*field); };
}
Choice best(const Decision& d, Collective collective, std::int64_t bytes) {
  return choices(d.tuning, d.comm, d.switches, collective, bytes).at(0);
}
Look choice(Collective collective, std::int64_t bytes) {
  return [=](const Decision& d) {
    const Choice found = best(d, collective, bytes);
    return fmt::format("{} {}", to_string(found.algorithm), to_string(found.protocol));
  };
}
Look channels_of(Collective collective, std::int64_t bytes) {
  return [=](const Decision& d) { return std::to_string(best(d, collective, bytes).channels); };
}
Look buffer(std::size_t protocol) {
  return [=](const Decision& d) { return std::to_string(d.comm.buffer_bytes[protocol]); };
}
std::string p2p_chunk(const Decision& d) {
  return std::to_string(d.comm.p2p_chunk_bytes);
}
std::string nics_of_first_gpu(const Decision& d) {
  return std::to_string(
      channel_nets(d.groups.front().system, 0, path_rules(d.environment, d.switches)).size());
}

struct Case {
  std::string name;
  std::string value;
  std::string topology;
  int hosts = 1;
  Look look;
  std::string before;
  std::string after;
  Environment environment;  // besides the variable
  int domain = 0;           // hosts of an NVLink domain
  bool collnet = false;
};

std::vector<Case> path_cases() {
  const std::string a = two_gpus_one_nic();
  const std::string split = one_pair_a_socket(80, kSwitchLinks);
  return {
      // NVLink, then over the CPU of the second GPU.
      {"NCCL_P2P_DISABLE", "1", a, 2, gpu_path(0, 1), "NVL", "PHB", {}},
      {"NCCL_P2P_LEVEL", "LOC", a, 2, gpu_path(0, 1), "NVL", "PHB", {}},
      // Neither P2P (PHB is farther than PXB) nor shared memory: each GPU is a node.
      {"NCCL_SHM_DISABLE", "1", below_one_cpu(), 1, number(&Communicator::nodes), "1", "2", {}},
      // Sockets 10 GB/s, NICs 24: the network is faster, and each GPU is a node.
      {"NCCL_NET_DISABLE_INTRA",
       "1",
       one_pair_a_socket(80, ""),
       2,
       number(&Communicator::nodes),
       "4",
       "2",
       {}},
      {"NCCL_NVB_DISABLE", "1", row_of_gpus(), 1, gpu_path(0, 2), "NVB", "PHB", {}},
      // The other socket's NIC: over that socket's GPU, if it may read by GPU Direct.
      {"NCCL_PXN_DISABLE", "1", split, 2, nic_path(0, 1), "PXN", "SYS", {}},
      {"NCCL_NET_GDR_READ", "0", split, 2, nic_path(0, 1), "PXN", "SYS", {}},
      {"NCCL_NET_GDR_LEVEL", "LOC", a, 2, nic_path(0, 0), "PIX", "PHB", {}},
      {"NCCL_PXN_C2C", "0", two_superchips(90), 2, nic_path(0, 1), "PXN", "SYS", {}},
      {"NCCL_NET_GDR_C2C", "0", two_superchips(90), 2, nic_path(0, 1), "PXN", "SYS", {}},
      {"NCCL_MNNVL_ENABLE", "0", a, 2, number(&Communicator::nodes), "1", "2", {}, 2},
  };
}

std::vector<Case> graph_cases() {
  const Environment on{{"NCCL_COLLNET_ENABLE", "1"}};
  const auto used = [](const Decision& d) { return std::string(d.comm.collnet ? "yes" : "no"); };
  const std::string hopper =
      system_xml(gpu_xml(0, 90, kSwitchLinks) + gpu_xml(1, 90, kSwitchLinks) + nic_xml(0, 200'000));
  return {
      {"NCCL_CROSS_NIC",
       "1",
       two_pairs_on_one_switch(),
       2,
       [](const Decision& d) { return std::to_string(d.comm.ring.cross_nic); },
       "0",
       "1",
       {}},
      // Two NICs for two GPUs: one each, or both.
      {"NCCL_NETDEVS_POLICY", "ALL", two_pairs_on_one_switch(), 2, nics_of_first_gpu, "1", "2", {}},
      {"NCCL_NVLS_ENABLE", "0", hopper, 1, number(&Communicator::nvls_channels), "16", "0", {}},
      {"NCCL_NVLS_NCHANNELS", "4", hopper, 1, number(&Communicator::nvls_channels), "16", "4", {}},
      {"NCCL_COLLNET_ENABLE", "1", two_gpus_one_nic(), 2, used, "no", "yes", {}, 0, true},
      {"NCCL_COLLNET_NODE_THRESHOLD", "3", two_gpus_one_nic(), 2, used, "yes", "no", on, 0, true},
  };
}

std::vector<Case> channel_cases() {
  const std::string a = two_gpus_one_nic();
  const Look all = number(&Communicator::channels);
  const Look p2p = number(&Communicator::p2p_channels);
  const Look peer = number(&Communicator::p2p_channels_per_peer);
  return {
      {"NCCL_MIN_NCHANNELS", "8", a, 2, all, "2", "8", {}},
      {"NCCL_MIN_NRINGS", "8", a, 2, all, "2", "8", {}},
      {"NCCL_MIN_CTAS", "8", a, 2, all, "2", "8", {}},
      {"NCCL_MAX_NCHANNELS", "1", a, 2, all, "2", "1", {}},
      {"NCCL_MAX_NRINGS", "1", a, 2, all, "2", "1", {}},
      {"NCCL_MAX_CTAS", "1", a, 2, all, "2", "1", {}},
      {"NCCL_MIN_P2P_NCHANNELS", "8", a, 2, p2p, "2", "8", {}},
      {"NCCL_MAX_P2P_NCHANNELS", "1", a, 2, p2p, "2", "1", {}},
      // 24 GB/s at 14 GB/s a channel: 2; at 24: 1.
      {"NCCL_NCHANNELS_PER_NET_PEER", "1", a, 2, peer, "2", "1", {}},
      {"NCCL_P2P_PER_CHANNEL_NET_BW", "24", a, 2, peer, "2", "1", {}},
  };
}

std::vector<Case> choice_cases() {
  const std::string a = two_gpus_one_nic();
  const Collective all_reduce = Collective::kAllReduce;
  const std::string single = system_xml(pcie_switch(0, gpu_xml(0, 80, "") + nic_xml(0, 200'000)));
  return {
      // 8 bytes: Ring LL 6.6 + 4 x 1 + 2 x 2.7 = 16 us, Tree LL 6.8 + 2 x (0.6 + 5) = 18.
      {"NCCL_ALGO", "Tree", a, 2, choice(all_reduce, 8), "Ring LL", "Tree LL", {}},
      // 50,000 ns in place of 1 us for each of 4 steps.
      {"NCCL_NET_OVERHEAD", "50000", a, 2, choice(all_reduce, 8), "Ring LL", "Tree LL", {}},
      // Tree Simple 8.4 + 2 x (4 + 14) = 44.4 us, Ring Simple 8.4 + 4 x 3.4 + 28 = 50.
      {"NCCL_PROTO", "Simple", a, 2, choice(all_reduce, 8), "Ring LL", "Tree Simple", {}},
      // 8 nodes, 512 KiB: PAT 8 + 3 x 4 + 2.8 x 8 = 42.4 us and 18 GB/s: 71.5; Ring LL 6.6 + 7 x 5
      // = 41.6 us and 12 x 8 / 7 GB/s: 79.8.
      {"NCCL_PAT_ENABLE",
       "0",
       single,
       8,
       choice(Collective::kAllGather, 512 << 10),
       "PAT Simple",
       "Ring LL",
       {}},
      // NICs at P2C: within PXN, beyond PXB.
      {"NCCL_LL128_C2C",
       "0",
       two_superchips(90),
       2,
       [](const Decision& d) {
         const bool on =
             d.tuning.cost(Collective::kAllReduce, Algorithm::kRing, Protocol::kLl128).bandwidth >
             0;
         return std::string(on ? "on" : "off");
       },
       "on",
       "off",
       {}},
  };
}

std::vector<Case> size_cases() {
  const std::string a = two_gpus_one_nic();
  const Look small = channels_of(Collective::kBroadcast, 20'000);
  return {
      {"NCCL_LL_BUFFSIZE", "1048576", a, 2, buffer(0), "524288", "1048576", {}},
      {"NCCL_LL128_BUFFSIZE", "9830400", a, 2, buffer(1), "4915200", "9830400", {}},
      {"NCCL_BUFFSIZE", "8388608", a, 2, buffer(2), "4194304", "8388608", {}},
      {"NCCL_P2P_NET_CHUNKSIZE", "65536", a, 2, p2p_chunk, "131072", "65536", {}},
      {"NCCL_P2P_NVL_CHUNKSIZE", "65536", a, 1, p2p_chunk, "524288", "65536", {}},
      {"NCCL_P2P_PCI_CHUNKSIZE", "65536", below_one_cpu(), 1, p2p_chunk, "131072", "65536", {}},
      // Ring LL: a channel is worth 512 threads x 8 bytes x 4 ranks = 16 KiB; 2 x 16 KiB > 20,000.
      {"NCCL_NTHREADS", "256", a, 2, small, "1", "2", {}},
      {"NCCL_THREAD_THRESHOLDS", "8 8 64 16", a, 2, small, "1", "2", {}},
      // LL128: 640 x 8 bytes, 2 x 5 KiB > 6,000; then 160 x 8.
      {"NCCL_LL128_NTHREADS",
       "160",
       a,
       2,
       channels_of(Collective::kBroadcast, 6000),
       "1",
       "2",
       {{"NCCL_PROTO", "LL128"}}},
  };
}

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (const auto& cases :
       {path_cases(), graph_cases(), channel_cases(), choice_cases(), size_cases()})
    all.insert(all.end(), cases.begin(), cases.end());
  return all;
}

std::string decided(const Case& item, const Environment& environment) {
  DecideInput input = equal_hosts(parsed(item.topology), item.hosts);
  input.environment = environment;
  input.hosts_per_nvlink_domain = item.domain;
  input.collnet = item.collnet;
  return item.look(decide(input));
}

TEST(VariableEffects, EachChangesItsDecision) {
  for (const Case& item : all_cases()) {
    SCOPED_TRACE(item.name);
    Environment environment = item.environment;
    EXPECT_EQ(decided(item, environment), item.before);
    environment[item.name] = item.value;
    EXPECT_EQ(decided(item, environment), item.after);
  }
}

TEST(VariableEffects, LevelsAndWordsInLowerCaseChangeNothing) {
  for (const Case& item : all_cases()) {
    const Variable* variable = find_variable(item.name);
    ASSERT_NE(variable, nullptr) << item.name;
    Environment environment = item.environment;
    const bool level = variable->kind == VariableKind::kPathLevel;
    if (!level && item.name != "NCCL_NETDEVS_POLICY")
      continue;
    environment[item.name] = level ? "loc" : "all";
    EXPECT_EQ(decided(item, environment), item.before) << item.name;
  }
}

TEST(VariableEffects, OtherTextIsTheNumberZero) {
  for (const Case& item : all_cases()) {
    if (find_variable(item.name)->kind != VariableKind::kNumber)
      continue;
    SCOPED_TRACE(item.name);
    Environment zero = item.environment;
    zero[item.name] = "0";
    Environment word = item.environment;
    word[item.name] = "yes";
    EXPECT_EQ(decided(item, word), decided(item, zero));
    Environment trailing = item.environment;
    trailing[item.name] = item.value + " # as advised";
    EXPECT_EQ(decided(item, trailing), item.after);
  }
}

TEST(VariableEffects, EveryVariableOfThisModelHasACase) {
  std::set<std::string> covered{"NCCL_GRAPH_FILE"};  // GraphXml.GraphOfAFileReplacesTheSearch
  for (const Case& item : all_cases())
    covered.insert(item.name);
  for (const Variable& variable : variables()) {
    switch (variable.changes) {
      case VariableChange::kNothing:
      case VariableChange::kLog:
        EXPECT_EQ(covered.count(variable.name), 0U) << variable.name << " does change something";
        break;
      case VariableChange::kBootstrap:
      case VariableChange::kNetwork:
      case VariableChange::kDevices:
        break;  // SelectionVariables.*
      default:
        EXPECT_EQ(covered.count(variable.name), 1U) << variable.name << " has no case";
    }
  }
}

}  // namespace
}  // namespace busbw::nccl::graph
