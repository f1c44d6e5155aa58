// Rings and trees over hosts from the order of GPUs inside a host, as NCCL connects them.
//
// Assumes hosts of equal size, ranks numbered host by host. Source: NCCL src/graph/connect.cc and
// src/graph/trees.cc (2.18 to 2.30); Sanders, Speck, Traeff, "Two-tree algorithms for full
// bandwidth broadcast, reduction and scan", Parallel Computing 35 (2009). Left out: hosts whose
// orders differ.
#pragma once
#include <cstdint>
#include <vector>

#include "models/collectives/generate.h"

namespace busbw::collectives {

/// Double binary tree over `nodes` >= 1: parent of each node in tree 0 and in tree 1, -1 for the
/// root.
struct DoubleBinaryTree {
  std::vector<std::int32_t> parent0;
  std::vector<std::int32_t> parent1;
};
DoubleBinaryTree double_binary_tree(std::int32_t nodes);

/// Local GPU indices in searched order, one list per channel; each a permutation of 0..L-1.
using LocalOrders = std::vector<std::vector<std::int32_t>>;

/// Ring c over all hosts: local order c on host 0, then host 1, ...; the last GPU of a host sends
/// to the first of the next.
std::vector<RingOrder> rings_over_hosts(const LocalOrders& local_orders, std::int32_t hosts);

/// Where the links of the tree between hosts attach inside a host (NCCL_TOPO_PATTERN_*).
enum class TreePattern {
  kBalanced,  // parent and second child on the first GPU, first child on the second GPU
  kSplit,     // parent on the first GPU, both children on the second
  kSimple     // all on the first GPU
};

/// Trees over all hosts: twice as many as local orders, tree 0 of the double binary tree over
/// each order and then tree 1 over each. Inside a host a chain in the local order, its first GPU on
/// top. One GPU a host makes every pattern kSimple.
std::vector<TreeParents> trees_over_hosts(const LocalOrders& local_orders, std::int32_t hosts,
                                          TreePattern pattern);

/// Trees for a broadcast from `root` or a reduce to it: as trees_over_hosts, with the hosts renamed
/// in a circle so that root's host has one link in each of the two trees, and every tree turned to
/// root. The root's host then sends (receives) S and no other more than S. NCCL has no such trees.
std::vector<TreeParents> trees_over_hosts_from(const LocalOrders& local_orders, std::int32_t hosts,
                                               TreePattern pattern, RankId root);

}  // namespace busbw::collectives
