// Decisions worked out by hand on small machines, and rules that hold for all.
#include "models/nccl/graph/decide.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "models/nccl/graph/algorithm_filter.h"
#include "tests/models/nccl/graph/topologies.h"

namespace busbw::nccl::graph {
namespace {

Decision decided(const std::string& text, int hosts, const Environment& environment = {},
                 Version version = kNewest) {
  DecideInput input = equal_hosts(parsed(text), hosts);
  input.environment = environment;
  input.version = version;
  return decide(input);
}

TEST(Decide, PathsOfTwoGpusOnOneSwitch) {
  // NVLink 12 x 20 = 240 GB/s over GPU, DEV, NVS, DEV, GPU: 4 hops. NIC 200 Gb/s = 25 GB/s, but the
  // PCIe link (16 lanes of 120 / 80) carries 24; one switch between: PIX.
  const Decision decision = decided(two_gpus_one_nic(), 2);
  const System& system = decision.groups.front().system;
  const Path& gpus = system.path(NodeType::kGpu, 0, NodeType::kGpu, 1);
  EXPECT_EQ(gpus.type, PathType::kNvl);
  EXPECT_FLOAT_EQ(gpus.bandwidth, 240.0F);
  EXPECT_EQ(gpus.hops.size(), 4U);
  const Path& net = system.path(NodeType::kGpu, 0, NodeType::kNet, 0);
  EXPECT_EQ(net.type, PathType::kPix);
  EXPECT_FLOAT_EQ(net.bandwidth, 24.0F);
  EXPECT_EQ(decided(two_gpus_one_nic(), 2, {}, {2, 28, 9})
                .groups.front()
                .system.path(NodeType::kGpu, 0, NodeType::kGpu, 1)
                .hops.size(),
            2U);  // no DEV before 2.30.3
}

TEST(Decide, GraphsAndChannelsOfTwoHosts) {
  // maxBw 24: the first speed not above it is 24, one channel takes all of the NIC. bwIntra is
  // below 25, so no doubling in the search; the communicator doubles to 2 channels. The tree may
  // raise its intra speed while it is below 2 x 24: 28, 30, 48.
  const Decision decision = decided(two_gpus_one_nic(), 2);
  const Group& group = decision.groups.front();
  EXPECT_EQ(group.ring.channels, 1);
  EXPECT_FLOAT_EQ(group.ring.bw_inter, 24.0F);
  EXPECT_FLOAT_EQ(group.tree.bw_intra, 48.0F);
  EXPECT_EQ(decision.comm.nodes, 2);
  EXPECT_EQ(decision.comm.channels, 2);
  ASSERT_EQ(decision.rings.orders.size(), 1U);
  EXPECT_EQ(decision.rings.orders[0], (std::vector<int>{0, 1, 2, 3}));
  // Ring AllReduce Simple: 24 GB/s x 4 / 6 = 16; 8.4 + (6 - 2) x 3.4 + 2 x 14 = 50 us.
  const Cost& cost =
      decision.tuning.cost(Collective::kAllReduce, Algorithm::kRing, Protocol::kSimple);
  EXPECT_NEAR(cost.bandwidth, 16.0, 1e-5);
  EXPECT_NEAR(cost.latency_us, 50.0, 1e-4);
}

TEST(Decide, ChannelVariables) {
  EXPECT_EQ(decided(two_gpus_one_nic(), 2, {{"NCCL_MAX_NCHANNELS", "1"}}).comm.channels, 1);
  EXPECT_EQ(decided(two_gpus_one_nic(), 2, {{"NCCL_MIN_NCHANNELS", "8"}}).comm.channels, 8);
  // MIN wins over MAX.
  EXPECT_EQ(
      decided(two_gpus_one_nic(), 2, {{"NCCL_MIN_NCHANNELS", "4"}, {"NCCL_MAX_NCHANNELS", "1"}})
          .comm.channels,
      4);
}

TEST(Decide, WithoutP2pAndShmEachGpuIsANode) {
  const Decision decision =
      decided(two_gpus_one_nic(), 1, {{"NCCL_P2P_DISABLE", "1"}, {"NCCL_SHM_DISABLE", "1"}});
  EXPECT_EQ(decision.comm.nodes, 2);
  EXPECT_EQ(decision.comm.ranks, 2);
  EXPECT_TRUE(decision.groups.front().system.inter);
  // A word is the number 0 and disables nothing.
  EXPECT_EQ(decided(two_gpus_one_nic(), 1, {{"NCCL_P2P_DISABLE", "yes"}}).comm.nodes, 1);
}

TEST(Decide, SeveralHostsNeedANic) {
  try {
    decided(system_xml(gpu_xml(0, 80, "")), 2);
    FAIL() << "hosts without a network were joined";
  } catch (const InputError& error) {
    EXPECT_STREQ(
        error.what(),
        "test.xml:1:2: error: ranks that only the network joins, and the topology has no NIC "
        "('net')");
  }
  EXPECT_EQ(decided(system_xml(gpu_xml(0, 80, "")), 1).comm.ranks, 1);
}

TEST(Decide, OneOddHostDragsTheOthersDown) {
  // 100 Gb/s on the second host: 12.5 GB/s, speed 12 of the list, for everyone.
  std::string slow = two_gpus_one_nic();
  const std::string fast = "speed=\"200000\"";
  slow.replace(slow.find(fast), fast.size(), "speed=\"100000\"");
  DecideInput input;
  input.topologies = {parsed(two_gpus_one_nic()), parsed(slow)};
  input.hosts = {0, 1, 0};
  const Decision decision = decide(input);
  EXPECT_EQ(decision.groups.size(), 2U);
  EXPECT_FLOAT_EQ(decision.groups[0].ring.bw_inter, 24.0F);
  EXPECT_FLOAT_EQ(decision.comm.ring.bw_inter, 12.0F);
  EXPECT_EQ(decision.comm.ranks, 6);
}

TEST(Decide, EmptyChoiceFollowsTheRelease) {
  const Environment tree{{"NCCL_ALGO", "Tree"}};
  const auto found = [&](Version version) {
    const Decision d = decided(two_gpus_one_nic(), 2, tree, version);
    return choices(d.tuning, d.comm, d.switches, Collective::kAllGather, 1 << 20);
  };
  EXPECT_TRUE(found({2, 24, 3}).empty());  // NCCL fails: no algorithm for AllGather
  ASSERT_FALSE(found({2, 21, 5}).empty());
  EXPECT_EQ(found({2, 21, 5}).front().algorithm, Algorithm::kRing);
}

TEST(Decide, RingsAndTreesHoldEveryRankOnce) {
  for (const int hosts : {1, 2, 3, 5, 16, 33}) {
    const Decision decision = decided(two_gpus_one_nic(), hosts);
    for (const std::vector<int>& order : decision.rings.orders) {
      EXPECT_EQ(std::set<int>(order.begin(), order.end()).size(),
                static_cast<std::size_t>(hosts) * 2);
      EXPECT_EQ(order.front(), 0);
    }
    for (const std::vector<int>& parents : decision.trees.parents) {
      EXPECT_EQ(std::count(parents.begin(), parents.end(), -1), 1) << hosts;
      for (std::size_t rank = 0; rank < parents.size(); rank++) {
        int at = static_cast<int>(rank);
        std::size_t steps = 0;
        while (parents[static_cast<std::size_t>(at)] >= 0 && steps++ <= parents.size())
          at = parents[static_cast<std::size_t>(at)];
        EXPECT_LE(steps, parents.size()) << "a circle at rank " << rank;
      }
    }
  }
}

TEST(Trees, ParentsOfEightNodes) {
  // Tree 0: 4 below 0; 2 and 6 below 4; odd ones below their neighbours. Tree 1 is its mirror.
  const std::vector<int> first{-1, 2, 4, 2, 0, 6, 4, 6};
  for (int node = 0; node < 8; node++) {
    EXPECT_EQ(tree_parent(8, node, 0).parent, first[static_cast<std::size_t>(node)]) << node;
    const int mirrored = first[static_cast<std::size_t>(7 - node)];
    EXPECT_EQ(tree_parent(8, node, 1).parent, mirrored < 0 ? -1 : 7 - mirrored) << node;
  }
  EXPECT_EQ(tree_parent(8, 1, 0).side, 0);
  EXPECT_EQ(tree_parent(8, 3, 0).side, 1);
}

TEST(Trees, NoNodeHasTwoChildrenInBothTreesOfAnEvenCount) {
  for (int nodes = 2; nodes <= 64; nodes += 2) {
    std::vector<int> children(static_cast<std::size_t>(nodes), 0);
    for (int tree = 0; tree < 2; tree++) {
      std::vector<int> own(static_cast<std::size_t>(nodes), 0);
      for (int node = 0; node < nodes; node++) {
        const int parent = tree_parent(nodes, node, tree).parent;
        if (parent >= 0)
          own[static_cast<std::size_t>(parent)]++;
      }
      for (std::size_t node = 0; node < own.size(); node++) {
        EXPECT_LE(own[node], 2);
        children[node] += own[node] == 2 ? 1 : 0;
      }
    }
    EXPECT_LE(*std::max_element(children.begin(), children.end()), 1) << nodes;
  }
}

TEST(AlgorithmFilter, OldAndNewSyntax) {
  const std::size_t all_reduce = 4;
  const Filter both = algorithm_filter({{"NCCL_ALGO", "ring;allreduce:tree,nvls"}}, kNewest);
  EXPECT_TRUE(both.algorithm[0][1]);
  EXPECT_FALSE(both.algorithm[0][0]);
  EXPECT_TRUE(both.algorithm[all_reduce][0]);
  EXPECT_FALSE(both.algorithm[all_reduce][1]);
  const Filter inverted = algorithm_filter({{"NCCL_PROTO", "^LL128"}}, kNewest);
  EXPECT_TRUE(inverted.protocol[all_reduce][0]);
  EXPECT_FALSE(inverted.protocol[all_reduce][1]);
  EXPECT_TRUE(inverted.protocol_given[all_reduce]);
  EXPECT_NO_THROW(algorithm_filter({{"NCCL_ALGO", "Rnig"}}, {2, 23, 4}));
  try {
    algorithm_filter({{"NCCL_ALGO", "Rnig"}}, kNewest);
    FAIL() << "an unknown word was accepted";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "error: NCCL_ALGO: unknown word 'Rnig', expected 'Tree', 'Ring', "
                 "'CollNetDirect', 'CollNetChain', 'NVLS', 'NVLSTree' or 'PAT'; did you mean "
                 "'Ring'?");
  }
}

TEST(PathTypes, LevelsAreReadAsNcclReadsThem) {
  const Switches now = switches_of(kNewest);
  EXPECT_EQ(level({{"L", "PXB"}}, "L", now), PathType::kPxb);
  EXPECT_EQ(level({{"L", "pxb"}}, "L", now), std::nullopt);
  EXPECT_EQ(level({{"L", "3"}}, "L", now), PathType::kPhb);
  EXPECT_EQ(level({{"L", "9"}}, "L", now), PathType::kSys);
  EXPECT_EQ(level({{"L", "C2C"}}, "L", switches_of({2, 25, 1})), std::nullopt);
  EXPECT_EQ(next(PathType::kPxb, switches_of({2, 26, 2})), PathType::kPxn);
}

}  // namespace
}  // namespace busbw::nccl::graph
