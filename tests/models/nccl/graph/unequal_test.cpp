// Nodes that differ: the odd one drags the others. Worked out by hand.
#include <gtest/gtest.h>

#include "models/nccl/graph/decide.h"
#include "tests/models/nccl/graph/topologies.h"

namespace busbw::nccl::graph {
namespace {

constexpr const char* kLinks = "<nvlink target=\"0000:c1:00.0\" count=\"12\" tclass=\"0x068000\"/>";

/// GPUs on an NVSwitch (12 x 20 = 240 GB/s) and 200 Gb/s NICs (24 GB/s through PCIe), all behind
/// one switch.
std::string node_xml(int gpus, int nics) {
  std::string inside =
      "<pci busid=\"0000:f1:00.0\" class=\"0x060400\" link_speed=\"16.0 GT/s PCIe\" "
      "link_width=\"16\">";
  for (int gpu = 0; gpu < gpus; gpu++)
    inside += gpu_xml(gpu, 80, kLinks);
  for (int nic = 0; nic < nics; nic++)
    inside += nic_xml(nic, 200'000);
  return system_xml(inside + "</pci>");
}

Decision decided(const std::vector<std::string>& topologies, std::vector<int> hosts) {
  DecideInput input;
  for (const std::string& text : topologies)
    input.topologies.push_back(parsed(text));
  input.hosts = std::move(hosts);
  return decide(input);
}

TEST(Unequal, FewerNicsOnOneNodeHalveTheChannelsOfAll) {
  // Two NICs carry two rings of 24 GB/s, one NIC one. The fewest count, then they are doubled.
  EXPECT_EQ(decided({node_xml(2, 2)}, {0, 0, 0}).comm.search_channels, 2);
  EXPECT_EQ(decided({node_xml(2, 2)}, {0, 0, 0}).comm.channels, 4);
  const Decision decision = decided({node_xml(2, 2), node_xml(2, 1)}, {0, 0, 1});
  EXPECT_EQ(decision.groups[0].ring.channels, 2);
  EXPECT_EQ(decision.groups[1].ring.channels, 1);
  EXPECT_EQ(decision.comm.search_channels, 1);
  EXPECT_EQ(decision.comm.channels, 2);
  // One ring of 24 GB/s for 6 ranks: 24 x 6 / 10.
  EXPECT_NEAR(
      decision.tuning.cost(Collective::kAllReduce, Algorithm::kRing, Protocol::kSimple).bandwidth,
      14.4, 1e-5);
}

TEST(Unequal, WhereTheOddNodeStandsDoesNotMatterForTheSpeed) {
  for (const std::vector<int>& hosts :
       {std::vector<int>{1, 0, 0}, std::vector<int>{0, 1, 0}, std::vector<int>{0, 0, 1}}) {
    const Decision decision = decided({node_xml(2, 2), node_xml(2, 1)}, hosts);
    EXPECT_EQ(decision.comm.channels, 2);
    EXPECT_NEAR(
        decision.tuning.cost(Collective::kAllReduce, Algorithm::kRing, Protocol::kSimple).bandwidth,
        14.4, 1e-5);
  }
}

TEST(Unequal, FewerGpusOnOneNode) {
  // Ranks: 0 1 | 2 | 3 4. One GPU has no balanced tree, so the largest pattern, 3, counts for all.
  const Decision decision = decided({node_xml(2, 1), node_xml(1, 1)}, {0, 1, 0});
  EXPECT_EQ(decision.comm.ranks, 5);
  EXPECT_EQ(decision.comm.nodes, 3);
  EXPECT_EQ(decision.comm.most_local_gpus, 2);
  EXPECT_EQ(decision.groups[0].tree.pattern, Pattern::kBalancedTree);
  EXPECT_EQ(decision.groups[1].tree.pattern, Pattern::kTree);
  EXPECT_EQ(decision.comm.tree.pattern, Pattern::kTree);
  ASSERT_EQ(decision.rings.orders.size(), 1U);
  EXPECT_EQ(decision.rings.orders[0], (std::vector<int>{0, 1, 2, 3, 4}));
  // Tree 0 over three nodes: node 2 below node 0 (second child: first GPU), node 1 below node 2
  // (first child: second GPU, rank 4). Each node keeps its own pattern.
  // Tree 1 is shifted by one: node 1 is the root, node 0 its second child, node 2 below node 0 as
  // its first child: second GPU, rank 1.
  ASSERT_EQ(decision.trees.parents.size(), 2U);
  EXPECT_EQ(decision.trees.parents[0], (std::vector<int>{-1, 0, 4, 0, 3}));
  EXPECT_EQ(decision.trees.parents[1], (std::vector<int>{2, 0, -1, 1, 3}));
  EXPECT_EQ(decision.trees.depth, 1);  // 5 / 3 - 1 + log2 3
}

TEST(Unequal, EqualFilesUnderTwoNamesAreOneKind) {
  const Decision twice = decided({node_xml(2, 2), node_xml(2, 2)}, {0, 1, 0});
  const Decision once = decided({node_xml(2, 2)}, {0, 0, 0});
  EXPECT_EQ(twice.comm.channels, once.comm.channels);
  EXPECT_EQ(twice.rings.orders, once.rings.orders);
  EXPECT_EQ(twice.trees.parents, once.trees.parents);
}

}  // namespace
}  // namespace busbw::nccl::graph
