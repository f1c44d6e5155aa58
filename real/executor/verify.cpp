// See verify.h.
#include "real/executor/verify.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/core/check.h"

namespace busbw::real {
namespace {

using collectives::Collective;

/// Spreads neighbouring elements and salts over the small range of values.
std::int64_t mix(std::uint64_t salt, std::int64_t index) {
  std::uint64_t value = static_cast<std::uint64_t>(index) + salt * 0x9e3779b97f4a7c15U;
  value = (value ^ value >> 30U) * 0xbf58476d1ce4e5b9U;
  return static_cast<std::int64_t>(value >> 34U);
}

/// Sum: 0 to `most`, so that all ranks together stay exact; with more ranks than the type can
/// count, the later ones add 0.
std::int64_t sum_value(const CheckedCollective& checked, std::int64_t rank, std::int64_t spread) {
  const std::int64_t limit = exact_limit(checked.type);
  if (rank >= limit)
    return 0;
  const std::int64_t most =
      std::max<std::int64_t>(1, std::min<std::int64_t>(1000, limit / checked.ranks));
  return (spread + rank * 7) % (most + 1);
}

/// Average: base(index) plus 1, less 1 in turns, so that the sum is ranks x base.
std::int64_t average_value(const CheckedCollective& checked, std::int64_t rank,
                           std::int64_t spread) {
  const std::int64_t most =
      std::min<std::int64_t>(1000, exact_limit(checked.type) / checked.ranks - 1);
  // Too many ranks for the type to count: all zero but for nothing to add up.
  if (most < 1)
    return 0;
  const std::int64_t base = 1 + spread % most;
  const bool paired = rank / 2 * 2 + 1 < checked.ranks;
  return !paired ? base : base + (rank % 2 == 0 ? 1 : -1);
}

/// Product: 1 but for one rank with 3 and one with 2, which may be the same.
std::int64_t product_value(const CheckedCollective& checked, std::int64_t rank,
                           std::int64_t spread) {
  const std::int64_t three = spread % checked.ranks;
  const std::int64_t two = spread / checked.ranks % checked.ranks;
  const std::int64_t factor = rank == three ? 3 : 1;
  return rank == two ? factor * 2 : factor;
}

std::int64_t plain_value(const CheckedCollective& checked, std::int64_t rank, std::int64_t spread) {
  const std::int64_t value = (spread + rank * 13) % 101;
  return is_signed(checked.type) ? value - 50 : value;
}

/// Value of `rank` at an index that mix() has spread.
std::int64_t value_of(const CheckedCollective& checked, std::int64_t rank, std::int64_t spread) {
  if (!reduces(checked.collective))
    return plain_value(checked, rank, spread);
  switch (checked.reduction) {
    case Reduction::kSum:
      return sum_value(checked, rank, spread);
    case Reduction::kAvg:
      return average_value(checked, rank, spread);
    case Reduction::kProd:
      return product_value(checked, rank, spread);
    case Reduction::kMin:
    case Reduction::kMax:
      return plain_value(checked, rank, spread);
  }
  CHECK(false, "reduction {}", static_cast<int>(checked.reduction));
}

std::int64_t reduced(const CheckedCollective& checked, std::int64_t index) {
  const std::int64_t spread = mix(checked.salt, index);
  std::int64_t result = value_of(checked, 0, spread);
  for (std::int32_t rank = 1; rank < checked.ranks; ++rank) {
    const std::int64_t value = value_of(checked, rank, spread);
    switch (checked.reduction) {
      case Reduction::kSum:
      case Reduction::kAvg:
        result += value;
        break;
      case Reduction::kProd:
        result *= value;
        break;
      case Reduction::kMin:
        result = std::min(result, value);
        break;
      case Reduction::kMax:
        result = std::max(result, value);
        break;
    }
  }
  return checked.reduction == Reduction::kAvg ? result / checked.ranks : result;
}

}  // namespace

std::int64_t input_value(const CheckedCollective& checked, RankId rank, std::int64_t index) {
  return value_of(checked, rank.value(), mix(checked.salt, index));
}

std::optional<std::int64_t> expected_value(const CheckedCollective& checked, RankId rank,
                                           std::int64_t index, std::int64_t count) {
  const std::int64_t part = count > 0 ? index / count : 0;
  const std::int64_t within = count > 0 ? index % count : 0;
  const auto from = [&](std::int64_t source, std::int64_t element) {
    return input_value(checked, RankId(static_cast<std::int32_t>(source)), element);
  };
  const bool is_root = rank == checked.root;
  switch (checked.collective) {
    case Collective::kAllReduce:
      return reduced(checked, index);
    case Collective::kReduce:
      return is_root ? std::optional(reduced(checked, index)) : std::nullopt;
    case Collective::kBroadcast:
      return from(checked.root.value(), index);
    case Collective::kAllGather:
      return from(part, within);
    case Collective::kReduceScatter:
      return reduced(checked, rank.value() * count + index);
    case Collective::kAllToAll:
      return from(part, rank.value() * count + within);
    case Collective::kSendRecv:
      // nccl-tests: every rank sends to the next and receives from the one before.
      return from((rank.value() + checked.ranks - 1) % checked.ranks, index);
    case Collective::kGather:
      return is_root ? std::optional(from(part, within)) : std::nullopt;
    case Collective::kScatter:
      return from(checked.root.value(), rank.value() * count + index);
  }
  CHECK(false, "collective {}", static_cast<int>(checked.collective));
}

void fill_input(const CheckedCollective& checked, RankId rank, std::span<std::byte> input) {
  const std::size_t count = input.size() / static_cast<std::size_t>(size_of(checked.type).count());
  for (std::size_t i = 0; i < count; ++i) {
    set_element(checked.type, input.data(), i,
                input_value(checked, rank, static_cast<std::int64_t>(i)));
  }
}

Difference compare_output(const CheckedCollective& checked, RankId rank,
                          std::span<const std::byte> output) {
  const auto elements = static_cast<std::int64_t>(output.size()) / size_of(checked.type).count();
  const bool shared = checked.collective == Collective::kAllGather ||
                      checked.collective == Collective::kAllToAll ||
                      checked.collective == Collective::kGather;
  const std::int64_t count = shared ? elements / checked.ranks : elements;
  Difference difference;
  for (std::int64_t i = 0; i < elements; ++i) {
    const std::optional<std::int64_t> expected = expected_value(checked, rank, i, count);
    const double found = element_value(checked.type, output.data(), static_cast<std::size_t>(i));
    if (!expected || found == static_cast<double>(*expected))
      continue;
    if (++difference.wrong == 1) {
      difference.text = fmt::format("rank {} element {} of {} is {}, expected {}", rank.value(), i,
                                    elements, found, *expected);
    }
  }
  return difference;
}

std::optional<std::string> find_difference(const CheckedCollective& checked, RankId rank,
                                           std::span<const std::byte> output) {
  const Difference difference = compare_output(checked, rank, output);
  if (difference.wrong == 0)
    return std::nullopt;
  return fmt::format("{} ({} element{} differ{})", difference.text, difference.wrong,
                     difference.wrong == 1 ? "" : "s", difference.wrong == 1 ? "s" : "");
}

}  // namespace busbw::real
