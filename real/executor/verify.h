// Input values whose result is known exactly, and the comparison element by element.
//
// Values are whole numbers chosen per type and reduction so that every partial result, in whatever
// order it is made, is exact in the type: sums stay within exact_limit(), products are at most 6,
// averages divide without a rest. So one wrong, missing or doubled contribution shows.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "models/collectives/schedule.h"
#include "real/executor/element.h"

namespace busbw::real {

struct CheckedCollective {
  collectives::Collective collective = collectives::Collective::kAllReduce;
  std::int32_t ranks = 1;
  RankId root;  // reduce, broadcast, gather, scatter
  ElementType type = ElementType::kFloat;
  Reduction reduction = Reduction::kSum;
  std::uint64_t salt = 0;  // varies the values from run to run
};

/// Input element `index` of `rank`.
std::int64_t input_value(const CheckedCollective& checked, RankId rank, std::int64_t index);
/// What output element `index` of `rank` must be; nothing where the collective leaves it open (the
/// output of other ranks than the root). `count`: elements of one rank's share, as in nccl-tests'
/// in-place layout (all_gather: input elements; reduce_scatter, scatter: output elements; alltoall:
/// elements per pair).
std::optional<std::int64_t> expected_value(const CheckedCollective& checked, RankId rank,
                                           std::int64_t index, std::int64_t count);

/// Fills `input` for `rank`.
void fill_input(const CheckedCollective& checked, RankId rank, std::span<std::byte> input);

/// Elements of an output that are not what they must be; the text names the first.
struct Difference {
  std::int64_t wrong = 0;
  std::string text;  // "rank 2 element 17 of 1024 is 5, expected 9"; empty when all are exact
};
Difference compare_output(const CheckedCollective& checked, RankId rank,
                          std::span<const std::byte> output);

/// "rank 2 element 17 of 1024 is 5, expected 9 (3 elements differ)"; nothing when all are exact.
std::optional<std::string> find_difference(const CheckedCollective& checked, RankId rank,
                                           std::span<const std::byte> output);

}  // namespace busbw::real
