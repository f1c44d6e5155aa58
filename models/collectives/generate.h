// Generators of schedules. Each takes the shape that the NCCL model decided (ring orders, trees,
// channels) and cuts the data into chunks; none knows links, time or transports.
#pragma once
#include <vector>

#include "models/collectives/schedule.h"

namespace busbw::collectives {

/// One ring: ranks in the order in which data travels; the last sends to the first.
using RingOrder = std::vector<RankId>;

/// One tree over all ranks: parent of each rank, nothing for the root.
using TreeParents = std::vector<std::optional<RankId>>;

struct Shape {
  std::int32_t ranks = 1;
  std::vector<RingOrder> rings;      // per channel
  std::vector<TreeParents> trees;    // per channel
  std::vector<std::int32_t> host_of; // host index of each rank; hierarchical only
};

struct Options {
  Bytes bytes;              // per nccl-tests' S
  Bytes element = Bytes(4); // element size: chunks are whole elements
  Bytes chunk;              // largest chunk of one step, > 0
};

/// Ring all-reduce: per loop of (ranks x chunk) bytes of a channel, n-1 reduce-scatter and n-1 all-gather steps.
Schedule ring_all_reduce(const Shape& shape, const Options& options);
/// Double binary tree all-reduce: channel c reduces up and broadcasts down tree c, chunks pipelined.
Schedule tree_all_reduce(const Shape& shape, const Options& options);
/// Hierarchical all-reduce: reduce-scatter inside the host, all-reduce (ring) across hosts among ranks of
/// equal local index, all-gather inside the host. All hosts must have the same number of ranks.
Schedule hierarchical_all_reduce(const Shape& shape, const Options& options);

/// Chain tree within hosts + binary tree over hosts as NCCL builds it (behaviour of ncclGetDtree):
/// see the two functions' contracts.
/// Double binary tree over `nodes`: parent of each node in tree 0 and in tree 1.
/// Source: NCCL graph/trees.cc; Sanders, Speck, Traeff, "Two-tree algorithms for full bandwidth broadcast,
/// reduction and scan", Parallel Computing 35 (2009).
struct DoubleBinaryTree {
  std::vector<std::int32_t> parent0;  // -1 root
  std::vector<std::int32_t> parent1;
};
DoubleBinaryTree double_binary_tree(std::int32_t nodes);

}  // namespace busbw::collectives
