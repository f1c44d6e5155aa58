// The log of a small machine, worked by hand: two sm80 GPUs (12 links of 20 GB/s each) on an
// NVSwitch and a 200 Gb/s NIC (25 GB/s) behind one PCIe Gen4 x16 switch (24 GB/s), two hosts.
#include "models/nccl/log/start_up.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/models/nccl/log/log_text.h"

namespace busbw::nccl::log {
namespace {

using Texts = std::vector<std::string>;

Job two_hosts(Version version, int rank = 0) {
  return {graph::parsed(graph::two_gpus_one_nic()), 2, version, {}, rank, std::nullopt};
}

/// From the switch (bus 01) hang NIC a0 and GPUs 10 and 20. 12 links x 20 GB/s = 240 GB/s; the
/// way to the NIC is as wide as PCIe.
TEST(StartUp, TreeOfTheSystemBeforeHostNumbers) {
  const Texts texts = log_texts(two_hosts({2, 20, 5}), "GRAPH");
  const auto first =
      std::find(texts.begin(), texts.end(), "=== System : maxBw 24.0 totalBw 240.0 ===");
  ASSERT_NE(first, texts.end());
  const Texts want = {"CPU/0 (1/1/2)",
                      "+ PCI[24.0] - PCI/1000 (10b5874700000000)",
                      "              + PCI[24.0] - GPU/10000 (0)",
                      "                            + NVL[240.0] - NVS/0",
                      "              + PCI[24.0] - GPU/20000 (1)",
                      "                            + NVL[240.0] - NVS/0",
                      "              + PCI[24.0] - NIC/A0000",
                      "                            + NET[25.0] - NET/0 (1/1/25.000000)",
                      "==========================================",
                      "GPU/10000 :GPU/10000 (0/5000.000000/LOC) GPU/20000 (2/240.000000/NVL) NVS/0 "
                      "(1/240.000000/NVL) CPU/0 (2/24.000000/PHB) NET/0 (3/24.000000/PIX) "};
  ASSERT_GE(texts.end() - first, static_cast<std::ptrdiff_t>(want.size()) + 1);
  EXPECT_EQ(Texts(first + 1, first + 1 + static_cast<std::ptrdiff_t>(want.size())), want);
}

/// Names carry the host's number from 2.21.5 on, at first only where a node is introduced.
TEST(StartUp, NamesOfNodesByRelease) {
  const auto has = [](Version version, const std::string& line) {
    const Texts texts = log_texts(two_hosts(version), "GRAPH");
    return std::find(texts.begin(), texts.end(), line) != texts.end();
  };
  const std::string blank14(14, ' ');
  const std::string blank28(28, ' ');
  EXPECT_TRUE(has({2, 21, 5}, "CPU/0-0 (1/1/2)"));
  EXPECT_TRUE(has({2, 21, 5}, blank28 + "+ NET[25.0] - NET/0 (1/1/25.000000)"));
  EXPECT_TRUE(has({2, 26, 2}, blank28 + "+ NET[25.0] - NET/0-0 (0/1/1/25.000000)"));
  EXPECT_TRUE(has({2, 26, 2}, blank28 + "+ NVL[240.0] - NVS/0-0"));
  // From 2.30.3 on the links belong to the device, the GPU hangs on it.
  EXPECT_TRUE(has({2, 30, 7}, blank14 + "+ PCI[24.0] - DEV/0-10000 (0)"));
  EXPECT_TRUE(has({2, 30, 7}, blank28 + "+ LOC[5000.0] - GPU/0-10000"));
  EXPECT_FALSE(has({2, 30, 7}, blank14 + "+ PCI[24.0] - GPU/0-10000 (0)"));
}

/// One ring of 24 GB/s per NIC, doubled: both GPUs in file order, in and out by NIC 0. The tree
/// has 24 GB/s over the NIC.
TEST(StartUp, GraphsByRelease) {
  const Texts old_texts =
      starting(log_texts(two_hosts({2, 20, 5}), "GRAPH"), {"Pattern 4", " 0 :"});
  ASSERT_GE(old_texts.size(), 2U);
  EXPECT_EQ(old_texts[0],
            "Pattern 4, crossNic 0, nChannels 1, bw 24.000000/24.000000, type NVL/PIX, "
            "sameChannels 1");
  EXPECT_EQ(old_texts[1], " 0 : NET/0 GPU/0 GPU/1 NET/0");
  EXPECT_EQ(starting(log_texts(two_hosts({2, 26, 2}), "GRAPH"), {" 0 :"}).front(),
            " 0 : NET/0-0 GPU/0 GPU/1 NET/0-0");
  EXPECT_EQ(starting(log_texts(two_hosts({2, 28, 9}), "GRAPH"), {" 0 :"}).front(),
            " 0 : NET/0-0 GPU/0-10000 GPU/0-20000 NET/0-0");
  // On host 2 the ranks are 2 and 3.
  EXPECT_EQ(starting(log_texts(two_hosts({2, 20, 5}, 2), "GRAPH"), {" 0 :"}).front(),
            " 0 : NET/0 GPU/2 GPU/3 NET/0");
}

/// One ring found, doubled to two channels: 0 1 2 3, in and out at the ends of each host. Double
/// tree over two nodes: tree 0 has node 0 on top, tree 1 node 1. In a balanced tree a first child
/// (side 0) hangs on the second GPU of its parent's node, a second child on the first; with two
/// nodes both trees have a second child, so 2 hangs on 0 and 0 hangs on 2.
TEST(StartUp, RingsTreesAndConnectionsOfEachRank) {
  const std::vector<std::string> words = {"Channel 0", "Trees", "Ring", "Connected"};
  EXPECT_EQ(
      starting(log_texts(two_hosts({2, 20, 5}), "INIT,GRAPH"), words),
      (Texts{"Channel 00/02 :    0   1   2   3", "Channel 01/02 :    0   1   2   3",
             "Ring 00 : 3 -> 0 -> 1", "Ring 01 : 3 -> 0 -> 1",
             "Trees [0] 1/2/-1->0->-1 [1] 1/-1/-1->0->2",
             // the distance of the peers decides the order; reads, since both are sm80
             "Channel 00/0 : 3[1] -> 0[0] [receive] via NET/IB/0/GDRDMA",
             "Channel 01/0 : 3[1] -> 0[0] [receive] via NET/IB/0/GDRDMA",
             "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read",
             "Channel 01/0 : 0[0] -> 1[1] via P2P/CUMEM/read", "Connected all rings",
             // 0 and 2 meet in both trees; 1 sends to 0 itself
             "Channel 00/0 : 2[0] -> 0[0] [receive] via NET/IB/0/GDRDMA",
             "Channel 01/0 : 2[0] -> 0[0] [receive] via NET/IB/0/GDRDMA",
             "Channel 00/0 : 0[0] -> 2[0] [send] via NET/IB/0/GDRDMA",
             "Channel 01/0 : 0[0] -> 2[0] [send] via NET/IB/0/GDRDMA", "Connected all trees"}));
  EXPECT_EQ(starting(log_texts(two_hosts({2, 20, 5}, 1), "INIT,GRAPH"), words),
            (Texts{"Ring 00 : 0 -> 1 -> 2", "Ring 01 : 0 -> 1 -> 2",
                   "Trees [0] -1/-1/-1->1->0 [1] -1/-1/-1->1->0",
                   "Channel 00/0 : 1[1] -> 2[0] [send] via NET/IB/0/GDRDMA",
                   "Channel 01/0 : 1[1] -> 2[0] [send] via NET/IB/0/GDRDMA", "Connected all rings",
                   "Channel 00/0 : 1[1] -> 0[0] via P2P/CUMEM/read",
                   "Channel 01/0 : 1[1] -> 0[0] via P2P/CUMEM/read", "Connected all trees"}));
}

TEST(StartUp, WaysOfConnectingFollowTheEnvironment) {
  const auto first = [](Job job, const Environment& environment, const std::string& word) {
    job.environment = environment;
    const Texts texts = starting(log_texts(job, "ALL"), {"Channel 00/0 : 0", "Channel 00 : 0"});
    const auto found = std::find_if(texts.begin(), texts.end(), [&](const std::string& text) {
      return text.find(word) != std::string::npos;
    });
    return found == texts.end() ? std::string() : *found;
  };
  Job one{graph::parsed(graph::two_gpus_one_nic()), 1, {2, 20, 5}, {}, 0, std::nullopt};
  EXPECT_EQ(first(one, {}, "via"), "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read");
  EXPECT_EQ(first(one, {{"NCCL_CUMEM_ENABLE", "0"}}, "via"),
            "Channel 00/0 : 0[0] -> 1[1] via P2P/IPC/read");
  EXPECT_EQ(first(one, {{"NCCL_P2P_READ_ENABLE", "0"}}, "via"),
            "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM");
  EXPECT_EQ(first(one, {{"NCCL_P2P_DISABLE", "1"}}, "via"),
            "Channel 00 : 0[0] -> 1[1] via SHM/direct/direct");
  EXPECT_EQ(first(one, {{"NCCL_P2P_DISABLE", "1"}, {"NCCL_SHM_DISABLE", "1"}}, "via"),
            "Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/0/GDRDMA");
  one.version = {2, 18, 1};
  EXPECT_EQ(first(one, {}, "via"), "Channel 00/0 : 0[0] -> 1[1] via P2P/IPC/read");
  EXPECT_EQ(first(two_hosts({2, 20, 5}), {{"NCCL_NET_GDR_LEVEL", "LOC"}}, "[send]"),
            "Channel 00/0 : 0[0] -> 2[0] [send] via NET/IB/0");
}

/// From 2.22.3 on nothing connects while the communicator starts, unless cuMem is off or the
/// environment says so.
TEST(StartUp, LateConnections) {
  Job job = two_hosts({2, 28, 9});
  const graph::Decision decision = decide(job);
  const auto connected = [](const graph::Decision& of, bool first_collectives) {
    const std::vector<RankLine> lines = start_up_log(of, {0, nullptr, first_collectives});
    const auto at = std::find_if(lines.begin(), lines.end(), [](const RankLine& line) {
      return line.line.text.rfind("Connected all rings", 0) == 0;
    });
    if (at == lines.end())
      return std::string("never");
    const auto complete = std::find_if(lines.begin(), lines.end(), [](const RankLine& line) {
      return line.line.text.find("Init COMPLETE") != std::string::npos;
    });
    return (at < complete ? "early: " : "late: ") + at->line.text;
  };
  EXPECT_EQ(connected(decision, false), "never");
  EXPECT_EQ(connected(decision, true), "late: Connected all rings, use ring PXN 0 GDR 1");
  job.environment = {{"NCCL_RUNTIME_CONNECT", "0"}};
  EXPECT_EQ(connected(decide(job), false), "early: Connected all rings, use ring PXN 0 GDR 1");
  job.environment = {{"NCCL_CUMEM_ENABLE", "0"}};
  EXPECT_EQ(connected(decide(job), false), "early: Connected all rings, use ring PXN 0 GDR 1");
}

TEST(StartUp, EndsOfTheStart) {
  EXPECT_EQ(starting(log_texts(two_hosts({2, 18, 1}), "INIT"), {"thread", "2 coll", "comm"}),
            (Texts{"comm 0x55d0c0000000 rank 0 nranks 4 cudaDev 0 nvmlDev 0 busId 10000 commId 0x1 "
                   "- Init START",
                   "threadThresholds 8/8/64 | 32/8/64 | 512 | 512",
                   "2 coll channels, 0 nvls channels, 2 p2p channels, 2 p2p channels per peer",
                   "comm 0x55d0c0000000 rank 0 nranks 4 cudaDev 0 nvmlDev 0 busId 10000 commId 0x1 "
                   "- Init COMPLETE"}));
  Job job = two_hosts({2, 30, 7}, 3);
  job.environment = {{"NCCL_THREAD_THRESHOLDS", "1 2 3 4"}};
  const Texts texts = log_texts(job, "INIT");
  EXPECT_EQ(starting(texts, {"thread"}), Texts{"threadThresholds 1/2/3 | 4/8/64 | 512 | 512"});
  EXPECT_EQ(starting(texts, {"comm"}), Texts{"comm 0x55d0c0000000 rank 3 nRanks 4 nNodes 2 "
                                             "localRanks 2 localRank 1 MNNVL 0"});
  EXPECT_EQ(starting(texts, {"[Rank 3]"}).front(),
            "[Rank 3] ncclCommInitRank comm 0x55d0c0000000 rank 3 nranks 4 cudaDev 1 nvmlDev 1 "
            "busId 20000 commId 0x1 - Init START");
  EXPECT_EQ(starting(texts, {"Rank 3: 1 Net"}).size(), 1U);
}

/// The network of the topology, and where each release speaks of it.
TEST(StartUp, NetworkLines) {
  const Texts texts = starting(log_texts(two_hosts({2, 21, 5}), "INIT"),
                               {"NET/IB", "Using", "Bootstrap", "NCCL version"});
  EXPECT_EQ(texts, (Texts{"Bootstrap : Using eth0:10.0.0.1<0>", "NCCL version 2.21.5+cuda12.4",
                          "Using internal network plugin.",
                          "NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.1<0>",
                          "Using non-device net plugin version 0", "Using network IB"}));
  Job excluded = two_hosts({2, 28, 9}, 2);
  excluded.environment = {{"NCCL_IB_DISABLE", "1"}};
  EXPECT_EQ(starting(log_texts(excluded, "INIT,ENV"), {"NET/Socket", "Using network", "NCCL_IB"}),
            (Texts{"NCCL_IB_DISABLE set by environment to 1.",
                   "NET/Socket : Using [0]eth0:10.0.0.2<0>", "Using network Socket"}));
}

/// When no network is left the log ends with NCCL's warning.
TEST(StartUp, EndsWithTheError) {
  Job job = two_hosts({2, 28, 9});
  job.environment = {{"NCCL_IB_DISABLE", "1"}, {"NCCL_NET", "IB"}};
  const Texts texts = log_texts(job, "ALL");
  ASSERT_FALSE(texts.empty());
  EXPECT_EQ(texts.back(), "Failed to initialize any NET plugin");
}

TEST(StartUp, EnvironmentLines) {
  Job job = two_hosts({2, 28, 9});
  job.environment = {{"NCCL_ALGO", "Ring"},         {"NCCL_CROSS_NIC", "0x1"},
                     {"NCCL_P2P_LEVEL", "sys"},     {"NCCL_NET_GDR_LEVEL", "SYS"},
                     {"NCCL_P2P_DISABLE", "yes"},   {"NCCL_NTHREADS", ""},
                     {"NCCL_NO_SUCH_THING", "1"},   {"NCCL_NET_MERGE_POLICY", "RAIL"},
                     {"NCCL_IB_TIMEOUT", "22"},     {"NCCL_SOCKET_IFNAME", "eth0"},
                     {"NCCL_DEBUG_FILE", "/x.log"}, {"NCCL_MIN_NCHANNELS", "junk"}};
  const Texts texts = starting(log_texts(job, "ALL"), {"NCCL_"});
  // Each search for interfaces tells of its filter: bootstrap, then IB.
  EXPECT_EQ(texts, (Texts{"NCCL_SOCKET_IFNAME set by environment to eth0",
                          "NCCL_SOCKET_IFNAME set by environment to eth0",
                          "NCCL_IB_TIMEOUT set by environment to 22.",
                          "NCCL_CROSS_NIC set by environment to 1.",
                          "NCCL_MIN_NCHANNELS set by environment to 0.",
                          "NCCL_NET_GDR_LEVEL set by environment to SYS",
                          "NCCL_ALGO set by environment to Ring"}));
  job.environment = {{"NCCL_P2P_DISABLE", "1"}};
  EXPECT_EQ(starting(log_texts(job, "ALL"), {"NCCL_"}),
            Texts{"NCCL_P2P_DISABLE set by environment to 1"});
  job.version = {2, 18, 6};
  EXPECT_EQ(starting(log_texts(job, "ALL"), {"NCCL_P2P"}),
            Texts{"NCCL_P2P_LEVEL set by environment to LOC"});
}

/// 40 ranks: the old line ends after 20, the new one at 127 characters; Trees at 1022.
TEST(StartUp, LongLinesAreCutAsNcclCutsThem) {
  Job job = two_hosts({2, 20, 5});
  job.hosts = 20;
  job.environment = {{"NCCL_MIN_NCHANNELS", "32"}};
  const std::string old_line = starting(log_texts(job, "INIT"), {"Channel 00/"}).front();
  EXPECT_EQ(old_line.substr(old_line.size() - 4), "  19");
  EXPECT_EQ(old_line.size(), std::string("Channel 00/32 : ").size() + 20 * 4);
  job.hosts = 60;
  job.version = {2, 28, 9};
  const std::string line = starting(log_texts(job, "INIT"), {"Channel 00/"}).front();
  EXPECT_EQ(line.size(), 127U);
  EXPECT_EQ(line.substr(0, 23), "Channel 00/32 :   0   1");
  EXPECT_EQ(line.substr(124), "...");
  const RankLine trees{7, 1, {"INIT", false, std::string(2000, 'x')}, false};
  EXPECT_EQ(framed(trees, "node1", kNewest).size(), 1022U);
  EXPECT_EQ(framed(trees, "node1", kNewest).substr(0, 32), "node1:1007:1007 [1] NCCL INFO xx");
}

}  // namespace
}  // namespace busbw::nccl::log
