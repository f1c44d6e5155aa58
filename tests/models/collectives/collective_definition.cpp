// Shapes, inputs and results by definition, without a test framework: the fuzzers use them too. See
// collective_check.h.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "models/collectives/shapes.h"
#include "sim/core/check.h"
#include "sim/core/random.h"
#include "tests/models/collectives/collective_check.h"

namespace busbw::collectives {
namespace {

Numbers combined(const std::vector<Numbers>& inputs, Reduction reduction) {
  Numbers result = inputs[0];
  for (std::size_t rank = 1; rank < inputs.size(); ++rank) {
    for (std::size_t i = 0; i < result.size(); ++i) {
      result[i] = combine(reduction, result[i], inputs[rank][i]);
    }
  }
  for (std::int64_t& value : result) {
    value = finish(reduction, value, static_cast<std::int32_t>(inputs.size()));
  }
  return result;
}

/// Part `index` of `parts` equal ones.
Numbers part_of(const Numbers& numbers, std::size_t index, std::size_t parts) {
  const std::size_t size = numbers.size() / parts;
  const auto begin = numbers.begin() + static_cast<std::ptrdiff_t>(index * size);
  return {begin, begin + static_cast<std::ptrdiff_t>(size)};
}

Numbers joined(const std::vector<Numbers>& parts) {
  Numbers result;
  for (const Numbers& part : parts) {
    result.insert(result.end(), part.begin(), part.end());
  }
  return result;
}

}  // namespace

std::vector<std::int32_t> rank_counts() {
  std::vector<std::int32_t> counts(17);
  std::iota(counts.begin(), counts.end(), 1);
  counts.push_back(24);
  counts.push_back(64);
  return counts;
}

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

Options options_of(std::int64_t elements, std::int64_t chunk_elements) {
  Options options;
  options.element = Bytes(4);
  options.bytes = elements * options.element;
  options.chunk = chunk_elements * options.element;
  options.slots = 3;
  options.channels = 2;
  return options;
}

std::vector<Numbers> random_inputs(const Schedule& schedule) {
  Random random(7);
  std::vector<Numbers> inputs(static_cast<std::size_t>(schedule.ranks));
  for (std::int32_t rank = 0; rank < schedule.ranks; ++rank) {
    const Extent extent = extent_of(schedule, RankId(rank), Buffer::kInput);
    for (std::int64_t i = 0; i < extent.size / schedule.element; ++i) {
      inputs[static_cast<std::size_t>(rank)].push_back(random.between(-1'000'000, 1'000'000));
    }
  }
  return inputs;
}

Numbers expected_output(const Schedule& schedule, const std::vector<Numbers>& inputs,
                        std::int32_t rank, Reduction reduction) {
  const auto self = static_cast<std::size_t>(rank);
  const std::size_t root = schedule.root.index();
  const std::size_t ranks = inputs.size();
  switch (schedule.collective) {
    case Collective::kAllReduce:
      return combined(inputs, reduction);
    case Collective::kReduce:
      return self == root ? combined(inputs, reduction) : Numbers();
    case Collective::kReduceScatter:
      return part_of(combined(inputs, reduction), self, ranks);
    case Collective::kBroadcast:
      return inputs[root];
    case Collective::kAllGather:
      return joined(inputs);
    case Collective::kGather:
      return self == root ? joined(inputs) : Numbers();
    case Collective::kScatter:
      return part_of(inputs[root], self, ranks);
    case Collective::kSendRecv:
      return inputs[(self + ranks - 1) % ranks];
    case Collective::kAllToAll: {
      std::vector<Numbers> parts;
      for (const Numbers& input : inputs) {
        parts.push_back(part_of(input, self, ranks));
      }
      return joined(parts);
    }
  }
  CHECK(false, "collective {}", static_cast<int>(schedule.collective));
}

std::string name_of(const Schedule& schedule) {
  return fmt::format("{} by {}, {} ranks, {} channels, {} bytes", to_string(schedule.collective),
                     to_string(schedule.algorithm), schedule.ranks, schedule.channels,
                     schedule.bytes.count());
}

}  // namespace busbw::collectives
