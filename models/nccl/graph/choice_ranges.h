// Ranges of message sizes over which NCCL's choice for a collective stays the same.
//
// Between the sizes where the cost model has a step (powers of two: correction of trees; the size
// where Ring Simple leaves its plateau) every time is a straight line over the bytes, so the
// fastest combination follows the lower envelope of lines: it changes at single sizes, found here
// by bisection. Source of the model: NCCL 2.18 to 2.30.7, src/graph/tuning.cc.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "models/nccl/graph/tuning.h"

namespace busbw::nccl::graph {

constexpr std::int64_t kSmallestCall = 8;                     // bytes
constexpr std::int64_t kLargestCall = std::int64_t{1} << 33;  // 8 GiB

struct ChoiceRange {
  std::int64_t from = 0;  // bytes, both included, multiples of 4
  std::int64_t to = 0;
  std::vector<Choice> first;   // at `from`, fastest first; empty: NCCL finds no combination
  std::vector<Choice> last;    // at `to`
  std::vector<Choice> middle;  // at the power of two nearest to the middle, or at `from`
};

/// From kSmallestCall to kLargestCall without gaps; neighbours differ in algorithm or protocol.
std::vector<ChoiceRange> choice_ranges(const Tuning& tuning, const Communicator& comm,
                                       const Switches& switches, Collective collective);

}  // namespace busbw::nccl::graph
