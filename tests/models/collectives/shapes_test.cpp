// Double binary trees, rings and trees over hosts: by hand, by property, and against what NCCL's
// own code decided (records in the reference folder, skipped where it is absent).
#include "models/collectives/shapes.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "sim/core/check.h"

namespace busbw::collectives {
namespace {

using Parents = std::vector<std::int32_t>;

TEST(DoubleBinaryTree, FourNodesByHand) {
  // Tree 0: 0 - 2 - {1, 3}. Even count: tree 1 is its mirror, 3 - 1 - {0, 2}.
  const DoubleBinaryTree trees = double_binary_tree(4);
  EXPECT_EQ(trees.parent0, (Parents{-1, 2, 0, 2}));
  EXPECT_EQ(trees.parent1, (Parents{1, 3, 1, -1}));
}

TEST(DoubleBinaryTree, FiveNodesByHand) {
  // Tree 0: node 1 -> 2, 3 -> 2 (bit 1 cleared, bit 2 set), 2 -> 4, 4 -> 0 (8 is outside). Odd:
  // shifted by one.
  const DoubleBinaryTree trees = double_binary_tree(5);
  EXPECT_EQ(trees.parent0, (Parents{-1, 2, 4, 2, 0}));
  EXPECT_EQ(trees.parent1, (Parents{1, -1, 3, 0, 3}));
}

TEST(DoubleBinaryTree, IsTwoTreesAndNoNodeHasChildrenInBoth) {
  for (std::int32_t nodes = 1; nodes <= 300; ++nodes) {
    const DoubleBinaryTree trees = double_binary_tree(nodes);
    std::vector<int> trees_with_children(static_cast<std::size_t>(nodes), 0);
    for (const Parents* parents : {&trees.parent0, &trees.parent1}) {
      std::vector<int> children(static_cast<std::size_t>(nodes), 0);
      for (std::int32_t node = 0; node < nodes; ++node) {
        std::int32_t at = node;
        std::int32_t steps = 0;
        while ((*parents)[static_cast<std::size_t>(at)] >= 0) {
          at = (*parents)[static_cast<std::size_t>(at)];
          ASSERT_LE(++steps, 10) << nodes << " nodes, node " << node;  // 2 + log2(300)
        }
        const std::int32_t parent = (*parents)[static_cast<std::size_t>(node)];
        if (parent >= 0) {
          ++children[static_cast<std::size_t>(parent)];
        }
      }
      for (std::size_t node = 0; node < children.size(); ++node) {
        EXPECT_LE(children[node], 2);
        trees_with_children[node] += children[node] > 0 ? 1 : 0;
      }
    }
    // The property that lets both trees use every link fully. With an even number of nodes it is
    // exact; with an odd one tree 1 is a shifted copy and the roots' neighbours may serve in both.
    int both = 0;
    for (const int count : trees_with_children) {
      both += count == 2 ? 1 : 0;
    }
    EXPECT_LE(both, nodes % 2 == 0 ? 0 : 1) << nodes << " nodes";
  }
}

TEST(TreesOverHosts, TwoHostsOfFourByHand) {
  // Chains 0-1-2-3 and 4-5-6-7. Tree 0: host 1 is the second child of host 0 (1 > 0), so it hangs
  // on the first GPU; tree 1 mirrored: host 0 under rank 4.
  const std::vector<TreeParents> trees =
      trees_over_hosts({{0, 1, 2, 3}}, 2, TreePattern::kBalanced);
  ASSERT_EQ(trees.size(), 2U);
  const TreeParents expected0 = {std::nullopt, RankId(0), RankId(1), RankId(2),
                                 RankId(0),    RankId(4), RankId(5), RankId(6)};
  const TreeParents expected1 = {RankId(4),    RankId(0), RankId(1), RankId(2),
                                 std::nullopt, RankId(4), RankId(5), RankId(6)};
  EXPECT_EQ(trees[0], expected0);
  EXPECT_EQ(trees[1], expected1);
}

TEST(TreesOverHosts, PatternPlacesTheChildren) {
  // Four hosts of two, tree 0: 0 - 2 - {1, 3}; host 2 is rank 4 (first GPU) and 5 (second).
  // Host 1 is the first child of host 2, host 3 the second; host 2 the second child of host 0.
  const auto parents = [](TreePattern pattern) {
    const TreeParents tree = trees_over_hosts({{0, 1}}, 4, pattern)[0];
    return Parents{tree[2]->value(), tree[6]->value(), tree[4]->value()};
  };
  EXPECT_EQ(parents(TreePattern::kBalanced), (Parents{5, 4, 0}));
  EXPECT_EQ(parents(TreePattern::kSplit), (Parents{5, 5, 1}));
  EXPECT_EQ(parents(TreePattern::kSimple), (Parents{4, 4, 0}));
}

TEST(RingsOverHosts, LastGpuOfAHostSendsToTheFirstOfTheNext) {
  const RingOrder expected = {RankId(0), RankId(3), RankId(2), RankId(1),
                              RankId(4), RankId(7), RankId(6), RankId(5)};
  EXPECT_EQ(rings_over_hosts({{0, 3, 2, 1}}, 2), std::vector<RingOrder>{expected});
}

TEST(RingsOverHosts, RejectsAnOrderThatIsNoPermutation) {
  EXPECT_THROW(rings_over_hosts({{0, 0}}, 2), CheckFailure);
  EXPECT_THROW(rings_over_hosts({{0, 1}, {0}}, 2), CheckFailure);
}

// Differential tests.

nlohmann::json read_json(const std::filesystem::path& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file);
}

std::vector<std::filesystem::path> json_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  if (std::filesystem::is_directory(folder)) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() == ".json") {
        files.push_back(entry.path());
      }
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

Parents plain(const TreeParents& tree) {
  Parents parents;
  for (const std::optional<RankId>& parent : tree) {
    parents.push_back(parent ? parent->value() : -1);
  }
  return parents;
}

TreePattern pattern_of(const std::string& name) {
  if (name == "BALANCED_TREE") {
    return TreePattern::kBalanced;
  }
  return name == "SPLIT_TREE" ? TreePattern::kSplit : TreePattern::kSimple;
}

/// Searched channel c's order over local ranks.
LocalOrders local_orders(const nlohmann::json& graph) {
  LocalOrders orders;
  for (const auto& channel : graph["channels"]) {
    orders.push_back(channel["gpus"].get<std::vector<std::int32_t>>());
  }
  return orders;
}

/// Compares one record; returns whether it has trees and rings of whole hosts to compare.
bool compare(const nlohmann::json& record) {
  if (!record.contains("trees") || !record.contains("rings") || record["nRanks"] == 1 ||
      record["nNodes"] != record["nNodesGiven"]) {
    return false;
  }
  const LocalOrders ring = local_orders(record["graphs"]["ring"]);
  const LocalOrders tree = local_orders(record["graphs"]["tree"]);
  const auto hosts = record["nNodes"].get<std::int32_t>();
  const std::size_t searched = std::min(ring.size(), tree.size());
  if (searched == 0) {
    return false;
  }
  const LocalOrders tree_orders(tree.begin(), tree.begin() + static_cast<std::ptrdiff_t>(searched));
  const std::vector<TreeParents> trees = trees_over_hosts(
      tree_orders, hosts, pattern_of(record["graphs"]["tree"]["pattern"].get<std::string>()));
  const std::vector<Parents> recorded_trees = record["trees"]["parents"];
  const std::vector<std::size_t> channel_to_tree = record["trees"]["channelToTree"];
  for (std::size_t channel = 0; channel < channel_to_tree.size(); ++channel) {
    EXPECT_EQ(plain(trees[channel % trees.size()]), recorded_trees[channel_to_tree[channel]])
        << "tree of channel " << channel;
  }
  if (record["graphs"]["ring"]["crossNic"] == 0) {
    const LocalOrders orders(ring.begin(), ring.begin() + static_cast<std::ptrdiff_t>(searched));
    const std::vector<RingOrder> rings = rings_over_hosts(orders, hosts);
    const std::vector<Parents> recorded_rings = record["rings"]["orders"];
    const std::vector<std::size_t> channel_to_order = record["rings"]["channelToOrder"];
    for (std::size_t channel = 0; channel < channel_to_order.size(); ++channel) {
      Parents ours;
      for (const RankId rank : rings[channel % rings.size()]) {
        ours.push_back(rank.value());
      }
      std::rotate(ours.begin(), std::find(ours.begin(), ours.end(), 0), ours.end());
      EXPECT_EQ(ours, recorded_rings[channel_to_order[channel]]) << "ring of channel " << channel;
    }
  }
  return true;
}

int compare_folder(const std::string& folder) {
  int compared = 0;
  for (const std::filesystem::path& file :
       json_files(std::filesystem::path(BUSBW_SHARED_DIR) / "oracle" / folder)) {
    SCOPED_TRACE(file.filename().string());
    compared += compare(read_json(file)) ? 1 : 0;
  }
  return compared;
}

TEST(ShapesAgainstNccl, CaseMachine) {
  const int compared = compare_folder("case-machine");
  if (compared == 0) {
    GTEST_SKIP() << "no records in the reference folder";
  }
  EXPECT_EQ(compared, 16);
}

TEST(ShapesAgainstNccl, TwelveMachines) {
  int compared = 0;
  for (const char* version : {"nccl-2.18.6", "nccl-2.21.5", "nccl-2.26.2", "nccl-2.30.7"}) {
    compared += compare_folder(version);
  }
  if (compared == 0) {
    GTEST_SKIP() << "no records in the reference folder";
  }
  EXPECT_GT(compared, 100);
}

}  // namespace
}  // namespace busbw::collectives
