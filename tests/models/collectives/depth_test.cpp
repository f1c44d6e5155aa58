// Latency of schedules in messages: a ring's grows with n, a tree's with log n, the hierarchical
// one's with L + H.
#include "models/collectives/depth.h"

#include <numeric>

#include <gtest/gtest.h>

#include "models/collectives/generate.h"
#include "models/collectives/shapes.h"

namespace busbw::collectives {
namespace {

Shape shape_of(std::int32_t hosts, std::int32_t locals) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(locals));
  std::iota(order.begin(), order.end(), 0);
  Shape shape;
  shape.ranks = hosts * locals;
  shape.rings = rings_over_hosts({order}, hosts);
  shape.trees = trees_over_hosts({order}, hosts, TreePattern::kBalanced);
  for (std::int32_t rank = 0; rank < shape.ranks; ++rank) {
    shape.host_of.push_back(rank / locals);
  }
  return shape;
}

/// One loop: every chunk is full.
Options one_loop(std::int64_t chunks) {
  Options options;
  options.chunk = Bytes(64);
  options.bytes = Bytes(64 * chunks);
  return options;
}

TEST(MessageDepth, RingIsLinear) {
  EXPECT_EQ(message_depth(ring_all_reduce(shape_of(1, 1), one_loop(1))), 0);
  for (std::int32_t n = 2; n <= 64; ++n) {
    EXPECT_EQ(message_depth(ring_all_reduce(shape_of(1, n), one_loop(n))), 2 * (n - 1)) << n;
  }
}

TEST(MessageDepth, TreeIsLogarithmic) {
  // Tree 0 over N nodes has height floor(log2 (N - 1)) + 1: root 0, its child the highest power of
  // two below N, then halving.
  for (std::int32_t nodes = 2; nodes <= 256; ++nodes) {
    std::int32_t height = 1;
    for (std::int32_t power = 2; power < nodes; power *= 2) {
      ++height;
    }
    Shape shape = shape_of(nodes, 1);
    shape.trees.resize(1);
    EXPECT_EQ(message_depth(tree_all_reduce(shape, one_loop(1))), 2 * height) << nodes;
  }
}

TEST(MessageDepth, TreeChainsInsideHosts) {
  // Two hosts of four, tree 0: rank 7 - 6 - 5 - 4 - 0, and down again: 8 messages.
  Shape shape = shape_of(2, 4);
  shape.trees.resize(1);
  EXPECT_EQ(message_depth(tree_all_reduce(shape, one_loop(1))), 8);
}

TEST(MessageDepth, HierarchicalAddsUpItsPhases) {
  for (const std::int32_t locals : {2, 4, 8}) {
    for (const std::int32_t hosts : {2, 3, 4}) {
      // Rounds are walked in the order in which they are needed, but a lane ends round j before j +
      // 1: the first host-ring message starts after L - 1, the last round of sums needs L - 1 after
      // the last.
      const std::int64_t depth =
          message_depth(hierarchical_all_reduce(shape_of(hosts, locals), one_loop(locals * hosts)));
      EXPECT_GE(depth, 2 * (locals - 1) + 2 * (hosts - 1)) << locals << "x" << hosts;
      // Never more than all messages of the three phases one after the other.
      EXPECT_LE(depth, 2 * hosts * (locals - 1) + 2 * (hosts - 1)) << locals << "x" << hosts;
      // Fewer than a ring over all ranks.
      EXPECT_LT(depth, 2 * (locals * hosts - 1)) << locals << "x" << hosts;
    }
  }
}

TEST(MessageDepth, ChunksDoNotWaitForEachOther) {
  // A chain of n ranks and k chunks without bandwidth limits: chunks follow each other freely, so
  // the depth is one chunk's.
  Shape shape = shape_of(1, 4);
  shape.trees.resize(1);
  EXPECT_EQ(message_depth(tree_all_reduce(shape, one_loop(1))), 6);
  EXPECT_EQ(message_depth(tree_all_reduce(shape, one_loop(10))), 6);
}

}  // namespace
}  // namespace busbw::collectives
