// Where the ring overtakes the tree, on made-up times.
#include "scenarios/crossover.h"

#include <gtest/gtest.h>

namespace busbw::scenarios {
namespace {

SizeResult size(std::int64_t bytes, std::int64_t tree_us, std::int64_t ring_us) {
  SizeResult result;
  result.bytes = Bytes(bytes);
  for (const auto& [algorithm, us] :
       {std::pair{collectives::Algorithm::kTree, tree_us},
        std::pair{collectives::Algorithm::kTree, tree_us + 5},  // a slower protocol
        std::pair{collectives::Algorithm::kRing, ring_us}}) {
    Run run;
    run.algorithm = algorithm;
    run.time = Duration::microseconds(us);
    result.runs.push_back(run);
  }
  return result;
}

TEST(Crossover, IsLinearBetweenTwoSizes) {
  // Tree ahead by 30 us at 1000 bytes, behind by 10 us at 5000: 1000 + 4000 x 30/40.
  EXPECT_EQ(tree_to_ring({size(1000, 10, 40), size(5000, 60, 50)}), Bytes(4000));
}

TEST(Crossover, IsTheLastOfSeveral) {
  EXPECT_EQ(
      tree_to_ring({size(100, 10, 20), size(200, 20, 10), size(300, 10, 20), size(400, 20, 20)}),
      Bytes(400));
}

TEST(Crossover, NeedsBothAndTheTreeFirst) {
  EXPECT_EQ(tree_to_ring({size(1000, 40, 10), size(5000, 50, 60)}), std::nullopt);
  SizeResult ring_only = size(1000, 10, 40);
  ring_only.runs.erase(ring_only.runs.begin(), ring_only.runs.begin() + 2);
  EXPECT_EQ(tree_to_ring({ring_only, size(5000, 60, 50)}), std::nullopt);
  EXPECT_EQ(tree_to_ring({}), std::nullopt);
}

}  // namespace
}  // namespace busbw::scenarios
