// All three all-reduce generators, executed on real numbers: every rank ends with the exact sum,
// and the bytes moved equal the formulas. Sizes include none, one element, fewer elements than
// ranks and odd ones.
#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "models/collectives/execute.h"
#include "models/collectives/generate.h"
#include "models/collectives/shapes.h"
#include "sim/core/check.h"
#include "sim/core/random.h"

namespace busbw::collectives {
namespace {

constexpr std::int64_t kElement = 4;

std::vector<std::int32_t> rank_counts() {
  std::vector<std::int32_t> counts(17);
  std::iota(counts.begin(), counts.end(), 1);
  counts.push_back(24);
  counts.push_back(64);
  return counts;
}

/// `hosts` hosts of `locals` ranks with two channels' orders: ascending and descending.
Shape shape_of(std::int32_t hosts, std::int32_t locals) {
  std::vector<std::int32_t> up(static_cast<std::size_t>(locals));
  std::iota(up.begin(), up.end(), 0);
  const std::vector<std::int32_t> down(up.rbegin(), up.rend());
  Shape shape;
  shape.ranks = hosts * locals;
  shape.rings = rings_over_hosts({up, down}, hosts);
  shape.trees = trees_over_hosts({up}, hosts, TreePattern::kBalanced);
  for (std::int32_t rank = 0; rank < shape.ranks; ++rank) {
    shape.host_of.push_back(rank / locals);
  }
  return shape;
}

Options options_of(std::int64_t elements, std::int64_t chunk_elements, std::int32_t slices = 1) {
  Options options;
  options.bytes = Bytes(elements * kElement);
  options.element = Bytes(kElement);
  options.chunk = Bytes(chunk_elements * kElement);
  options.slices = slices;
  options.slots = 3;
  return options;
}

std::vector<Numbers> random_inputs(const Schedule& schedule, Random* random) {
  std::vector<Numbers> inputs(static_cast<std::size_t>(schedule.ranks));
  for (Numbers& input : inputs) {
    for (std::int64_t i = 0; i < schedule.bytes / schedule.element; ++i) {
      input.push_back(random->between(-1'000'000'000, 1'000'000'000));
    }
  }
  return inputs;
}

Numbers sum_of(const std::vector<Numbers>& inputs) {
  Numbers sum(inputs[0].size(), 0);
  for (const Numbers& input : inputs) {
    for (std::size_t i = 0; i < sum.size(); ++i) {
      sum[i] += input[i];
    }
  }
  return sum;
}

/// Executes and checks every rank's result; returns what was sent.
Execution check_sum(const Schedule& schedule, const ExecuteOptions& options = {}) {
  Random random(7);
  const std::vector<Numbers> inputs = random_inputs(schedule, &random);
  Execution execution = execute(schedule, inputs, options);
  const Numbers expected = sum_of(inputs);
  for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
    EXPECT_EQ(execution.output[rank], expected)
        << to_string(schedule.algorithm) << " rank " << rank << " of " << schedule.ranks << ", "
        << expected.size() << " elements";
  }
  return execution;
}

Bytes total(const Execution& execution) {
  Bytes sum;
  for (const std::vector<Bytes>& row : execution.sent) {
    sum = std::accumulate(row.begin(), row.end(), sum);
  }
  return sum;
}

/// Sizes in elements that try every edge for n ranks: divisible, ragged, tiny, empty.
std::vector<std::int64_t> sizes_for(std::int64_t n) {
  return {0, 1, n - 1, n, n + 1, 64 * n, 100 * n + 3, 1001};
}

TEST(RingAllReduce, EveryRankEndsWithTheSum) {
  for (const std::int32_t n : rank_counts()) {
    for (const std::int64_t elements : sizes_for(n)) {
      for (const std::int32_t slices : {1, 2}) {
        check_sum(ring_all_reduce(shape_of(1, n), options_of(elements, 16, slices)));
      }
    }
  }
}

TEST(RingAllReduce, EachRankSendsTwoTimesNMinusOneOverN) {
  for (const std::int32_t n : rank_counts()) {
    // Two channels, two loops each of n chunks of 16 elements: S = 2 * 2 * n * 16 elements, so that
    // every rank sends exactly 2(n-1)/n S, all of it to its right neighbour of each channel.
    const Schedule schedule = ring_all_reduce(shape_of(1, n), options_of(64 * n, 16));
    const Execution execution = check_sum(schedule);
    const std::int64_t expected = 2 * (n - 1) * 64 * kElement;
    for (std::int32_t rank = 0; rank < n; ++rank) {
      EXPECT_EQ(sent_bytes(schedule, RankId(rank)).count(), expected) << n;
      if (n > 2) {
        const auto from = static_cast<std::size_t>(rank);
        EXPECT_EQ(execution.sent[from][static_cast<std::size_t>((rank + 1) % n)].count(),
                  expected / 2);
        EXPECT_EQ(execution.sent[from][static_cast<std::size_t>((rank + n - 1) % n)].count(),
                  expected / 2);
      }
    }
  }
}

TEST(RingAllReduce, AllRanksTogetherSendTwoTimesNMinusOneTimesSWhateverTheSize) {
  for (const std::int32_t n : rank_counts()) {
    for (const std::int64_t elements : sizes_for(n)) {
      const Execution execution =
          check_sum(ring_all_reduce(shape_of(1, n), options_of(elements, 16, 2)));
      EXPECT_EQ(total(execution).count(), 2 * (n - 1) * elements * kElement)
          << n << " " << elements;
    }
  }
}

TEST(RingAllReduce, MessagesAreSlices) {
  // One loop: 4 ranks x 32 elements, each chunk in two slices of 16: 2(n-1) = 6 chunk sends, 12
  // messages.
  Shape shape = shape_of(1, 4);
  shape.rings.resize(1);
  const Schedule schedule = ring_all_reduce(shape, options_of(128, 32, 2));
  for (const Lane& lane : schedule.lanes) {
    std::int64_t messages = 0;
    for (const Step& step : lane.steps) {
      if (step.op == Op::kSend) {
        EXPECT_EQ(step.bytes.count(), 16 * kElement);
        ++messages;
      }
    }
    EXPECT_EQ(messages, 12);
  }
}

TEST(TreeAllReduce, EveryRankEndsWithTheSum) {
  for (const std::int32_t n : rank_counts()) {
    for (const std::int64_t elements : sizes_for(n)) {
      check_sum(tree_all_reduce(shape_of(n, 1), options_of(elements, 16)));
      check_sum(tree_all_reduce(shape_of(1, n), options_of(elements, 16)));
    }
  }
}

TEST(TreeAllReduce, EachEdgeCarriesItsPartOnceEachWay) {
  for (const std::int32_t n : rank_counts()) {
    // Two channels of 320 elements. Edges: n-1 a tree, once up and once down: 2(n-1) S in all.
    const Shape shape = shape_of(n, 1);
    const Execution execution = check_sum(tree_all_reduce(shape, options_of(640, 16)));
    EXPECT_EQ(total(execution).count(), 2 * (n - 1) * 640 * kElement) << n;
    std::vector<std::vector<Bytes>> expected(static_cast<std::size_t>(n),
                                             std::vector<Bytes>(static_cast<std::size_t>(n)));
    for (const TreeParents& tree : shape.trees) {
      for (std::size_t rank = 0; rank < tree.size(); ++rank) {
        if (tree[rank]) {
          expected[rank][tree[rank]->index()] += Bytes(320 * kElement);
          expected[tree[rank]->index()][rank] += Bytes(320 * kElement);
        }
      }
    }
    EXPECT_EQ(execution.sent, expected) << n;
  }
}

TEST(TreeAllReduce, TwoHostsExchangeTheDataOnceInEachDirection) {
  // Two hosts of four: what makes a tree beat a ring there. Tree: S each way. Ring: 2(n-1)/n S
  // = 1.75 S.
  const Shape shape = shape_of(2, 4);
  const auto crossing = [](const Execution& execution) {
    Bytes out;
    for (std::size_t from = 0; from < 4; ++from) {
      for (std::size_t to = 4; to < 8; ++to) {
        out += execution.sent[from][to];
      }
    }
    return out.count();
  };
  const std::int64_t elements = 2 * 8 * 16 * 5;
  EXPECT_EQ(crossing(check_sum(tree_all_reduce(shape, options_of(elements, 16)))),
            elements * kElement);
  EXPECT_EQ(crossing(check_sum(ring_all_reduce(shape, options_of(elements, 16)))),
            elements * kElement * 14 / 8);
}

TEST(HierarchicalAllReduce, EveryRankEndsWithTheSum) {
  for (const std::int32_t n : rank_counts()) {
    for (std::int32_t hosts = 1; hosts <= n; ++hosts) {
      if (n % hosts == 0) {
        for (const std::int64_t elements : sizes_for(n)) {
          check_sum(hierarchical_all_reduce(shape_of(hosts, n / hosts), options_of(elements, 16)));
        }
        check_sum(hierarchical_all_reduce(shape_of(hosts, n / hosts), options_of(1001, 32, 2)));
      }
    }
  }
}

TEST(HierarchicalAllReduce, CrossesHostsAsLittleAsPossible) {
  for (const std::int32_t n : rank_counts()) {
    for (std::int32_t hosts = 1; hosts <= n; ++hosts) {
      if (n % hosts != 0) {
        continue;
      }
      // Channels 2, loops 2, n chunks of 16 elements a loop. A host that holds one of H shares of
      // the sum must send 2(H-1)/H S; inside, each rank passes on 2(L-1)/L S.
      const std::int32_t locals = n / hosts;
      const Shape shape = shape_of(hosts, locals);
      const std::int64_t size = 64 * n * kElement;
      const Execution execution = check_sum(hierarchical_all_reduce(shape, options_of(64 * n, 16)));
      for (std::int32_t rank = 0; rank < n; ++rank) {
        std::int64_t across = 0;
        std::int64_t inside = 0;
        for (std::int32_t to = 0; to < n; ++to) {
          const std::int64_t sent =
              execution.sent[static_cast<std::size_t>(rank)][static_cast<std::size_t>(to)].count();
          (rank / locals == to / locals ? inside : across) += sent;
        }
        EXPECT_EQ(across * hosts * locals, 2 * (hosts - 1) * size) << hosts << "x" << locals;
        EXPECT_EQ(inside * locals, 2 * (locals - 1) * size) << hosts << "x" << locals;
      }
    }
  }
}

TEST(HierarchicalAllReduce, AcceptsHostsInAnyRankOrder) {
  Shape shape = shape_of(2, 3);
  shape.host_of = {0, 1, 0, 1, 1, 0};
  check_sum(hierarchical_all_reduce(shape, options_of(1001, 16)));
}

TEST(AllReduce, HoldsInPlaceInAnyOrderAndWithFewSlots) {
  Random random(2026);
  for (int round = 0; round < 60; ++round) {
    const auto hosts = static_cast<std::int32_t>(random.between(1, 4));
    const auto locals = static_cast<std::int32_t>(random.between(1, 4));
    const auto slices = static_cast<std::int32_t>(random.between(1, 2));
    const std::int64_t elements = random.between(0, 700);
    Options options = options_of(elements, random.between(1, 40), slices);
    options.slots = static_cast<std::int32_t>(random.between(1, 4));
    const Shape shape = shape_of(hosts, locals);
    ExecuteOptions execute_options;
    execute_options.slots = static_cast<std::int32_t>(random.between(slices, 4));
    execute_options.in_place = random.chance(1, 2);
    execute_options.order_seed = random.next() | 1;
    check_sum(ring_all_reduce(shape, options), execute_options);
    check_sum(hierarchical_all_reduce(shape, options), execute_options);
    options.slices = 1;
    check_sum(tree_all_reduce(shape, options), execute_options);
  }
}

TEST(AllReduce, ElementsOfEverySizeStayWhole) {
  for (const std::int64_t element : {1, 2, 3, 4, 8, 12, 16}) {
    Options options;
    options.element = Bytes(element);
    options.bytes = Bytes(element * 1001);
    options.chunk = Bytes(100);
    check_sum(ring_all_reduce(shape_of(2, 3), options));
    check_sum(tree_all_reduce(shape_of(2, 3), options));
    check_sum(hierarchical_all_reduce(shape_of(2, 3), options));
  }
}

TEST(AllReduce, ChannelsTakeWhatTheyAreGiven) {
  const Shape shape = shape_of(2, 4);
  Options options = options_of(1001, 16);
  options.channel_bytes = {Bytes(900 * kElement), Bytes(101 * kElement)};
  check_sum(ring_all_reduce(shape, options));
  check_sum(hierarchical_all_reduce(shape, options));
  const Schedule schedule = tree_all_reduce(shape, options);
  check_sum(schedule);
  std::vector<Bytes> up(2);  // what rank 1 sends to its parent
  for (const Lane& lane : schedule.lanes) {
    for (const Step& step : lane.steps) {
      if (lane.role == "reduce" && step.op == Op::kSend && lane.rank == RankId(1)) {
        up[lane.channel.index()] += step.bytes;
      }
    }
  }
  EXPECT_EQ(up, options.channel_bytes);
  options.channel_bytes = {Bytes(4), Bytes(4)};
  EXPECT_THROW(ring_all_reduce(shape, options), CheckFailure);
}

TEST(AllReduce, ScratchDoesNotGrowWithTheData) {
  const Shape shape = shape_of(2, 4);
  for (const auto generate : {ring_all_reduce, tree_all_reduce, hierarchical_all_reduce}) {
    const Schedule small = generate(shape, options_of(10'000, 16));
    const Schedule large = generate(shape, options_of(40'000, 16));
    EXPECT_EQ(small.scratch_bytes, large.scratch_bytes);
    EXPECT_GT(small.scratch_bytes, Bytes());
  }
}

TEST(AllReduce, RelabelledRanksSendTheSame) {
  // A ring with renamed ranks is the same schedule: bytes per rank follow the names.
  Shape shape = shape_of(1, 5);
  shape.rings = {{RankId(3), RankId(0), RankId(4), RankId(1), RankId(2)}};
  const Execution execution = check_sum(ring_all_reduce(shape, options_of(5 * 16, 16)));
  EXPECT_EQ(execution.sent[3][0].count(), 2 * 4 * 16 * kElement);
  EXPECT_EQ(execution.sent[2][3].count(), 2 * 4 * 16 * kElement);
  EXPECT_EQ(execution.sent[0][1].count(), 0);
}

}  // namespace
}  // namespace busbw::collectives
