// Fuzzers of models/collectives: any request either says what is wrong with it or makes a schedule
// that ends with the collective's result in any order of lanes.
#include <array>

#include "models/collectives/shapes.h"
#include "tests/fuzz/registry.h"
#include "tests/models/collectives/collective_check.h"

namespace busbw::collectives {
namespace {

constexpr std::array kCollectives = {
    Collective::kAllReduce, Collective::kReduce,        Collective::kBroadcast,
    Collective::kAllGather, Collective::kReduceScatter, Collective::kAllToAll,
    Collective::kSendRecv,  Collective::kGather,        Collective::kScatter};
constexpr std::array kAlgorithms = {
    Algorithm::kRing,          Algorithm::kTree,         Algorithm::kHierarchical,
    Algorithm::kDirect,        Algorithm::kNvls,         Algorithm::kNvlsTree,
    Algorithm::kCollNetDirect, Algorithm::kCollNetChain, Algorithm::kPat};

std::int32_t small(Random& random, std::int64_t low, std::int64_t high) {
  return static_cast<std::int32_t>(random.between(low, high));
}

/// Ranks in a random order.
RingOrder shuffled(Random& random, std::int32_t ranks) {
  RingOrder order;
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    order.emplace_back(rank);
  }
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[random.below(i)]);
  }
  return order;
}

/// Any tree: each rank of a random order hangs on one before it.
TreeParents any_tree(Random& random, std::int32_t ranks) {
  const RingOrder order = shuffled(random, ranks);
  TreeParents parents(order.size());
  for (std::size_t i = 1; i < order.size(); ++i) {
    parents[order[i].index()] = order[random.below(i)];
  }
  return parents;
}

/// Rings, trees and hosts that have nothing to do with each other, or those of equal hosts.
Shape any_shape(Random& random) {
  const std::int32_t hosts = small(random, 1, 5);
  const std::int32_t locals = small(random, 1, 4);
  Shape shape = shape_of(hosts, locals);
  if (random.chance(1, 2)) {
    for (RingOrder& ring : shape.rings) {
      ring = shuffled(random, shape.ranks);
    }
    for (TreeParents& tree : shape.trees) {
      tree = any_tree(random, shape.ranks);
    }
  }
  if (random.chance(1, 3)) {  // hosts by any rank order, at times of unequal size
    const RingOrder order = shuffled(random, shape.ranks);
    for (std::int32_t rank = 0; rank < shape.ranks; ++rank) {
      shape.host_of[order[static_cast<std::size_t>(rank)].index()] =
          random.chance(1, 8) ? 0 : rank / locals;
    }
  }
  if (random.chance(1, 8)) {
    shape.rings.clear();
    shape.trees.clear();
  }
  return shape;
}

Request any_request(Random& random) {
  Request request;
  request.collective = kCollectives.at(random.below(kCollectives.size()));
  request.algorithm = kAlgorithms.at(random.below(kAlgorithms.size()));
  request.shape = any_shape(random);
  Options& options = request.options;
  options.element = Bytes(std::array{1, 2, 4, 8, 12, 16}.at(random.below(6)));
  options.bytes = Bytes(random.between(0, 3000));
  options.chunk = options.element * random.between(1, 60);
  options.slices = small(random, 1, 2);
  options.slots = small(random, 2, 5);
  options.root = RankId(small(random, 0, request.shape.ranks - (random.chance(1, 8) ? 0 : 1)));
  options.channels = small(random, 1, 4);
  options.channels_per_peer = small(random, 1, 2);
  return request;
}

void schedules(Random& random) {
  const Request request = any_request(random);
  Schedule schedule;
  try {
    schedule = make_schedule(request);
  } catch (const InputError& error) {
    fuzz::require(!error.problems().empty(), "an error says what is wrong", error.what());
    return;
  }
  ExecuteOptions options;
  options.slots = small(random, request.options.slices, request.options.slots);
  options.in_place = allows_in_place(schedule.collective) && random.chance(1, 2);
  options.reduction = std::array{Reduction::kSum, Reduction::kProd, Reduction::kMin,
                                 Reduction::kMax, Reduction::kAvg}
                          .at(random.below(5));
  options.order_seed = random.next();
  const std::vector<Numbers> inputs = random_inputs(schedule);
  const Execution execution = execute(schedule, inputs, options);
  for (std::int32_t rank = 0; rank < schedule.ranks; ++rank) {
    fuzz::require(execution.output[static_cast<std::size_t>(rank)] ==
                      expected_output(schedule, inputs, rank, options.reduction),
                  "the result is the collective's", name_of(schedule));
  }
}

}  // namespace
}  // namespace busbw::collectives

namespace busbw::fuzz {

std::vector<Fuzzer> collectives_fuzzers() {
  return {{"schedules", "any request is refused with reasons or makes a schedule that is right",
           2000, collectives::schedules}};
}

}  // namespace busbw::fuzz
