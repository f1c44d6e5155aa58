// See verify.h.
#include "real/executor/verify.h"

#include <algorithm>
#include <limits>

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

/// The values of a collective. What does not depend on the element is computed once, and the values
/// of all ranks follow from that of rank 0 without a division: real mode compares every element.
class Values {
 public:
  explicit Values(const CheckedCollective& checked) : checked_(checked) {
    const std::int64_t limit = exact_limit(checked.type);
    if (!reduces(checked.collective) || checked.reduction == Reduction::kMin ||
        checked.reduction == Reduction::kMax) {
      kind_ = Kind::kSeries;
      modulus_ = 101;
      step_ = 13;
      offset_ = is_signed(checked.type) ? -50 : 0;
      return;
    }
    switch (checked.reduction) {
      case Reduction::kSum:
        // 0 to `most`, so that all ranks together stay exact; with more ranks than the type can
        // count, the later ones add 0.
        kind_ = Kind::kSeries;
        modulus_ =
            1 + std::max<std::int64_t>(1, std::min<std::int64_t>(1000, limit / checked.ranks));
        step_ = 7 % modulus_;
        counted_ = limit;
        break;
      case Reduction::kAvg:
        // base(index) plus 1, less 1 in turns, so that the sum is ranks x base. Too many ranks for
        // the type to count: all zero but for nothing to add up.
        kind_ = Kind::kAverage;
        modulus_ = std::min<std::int64_t>(1000, limit / checked.ranks - 1);
        break;
      default:
        // 1 but for one rank with 3 and one with 2, which may be the same.
        kind_ = Kind::kProduct;
    }
  }

  /// Of `rank` at element `index`.
  [[nodiscard]] std::int64_t at(std::int64_t rank, std::int64_t index) const {
    const std::int64_t spread = mix(checked_.salt, index);
    if (kind_ == Kind::kSeries)
      return rank >= counted_ ? 0 : (spread + rank * step_) % modulus_ + offset_;
    if (kind_ == Kind::kAverage)
      return average(rank, spread);
    return product(rank, spread % checked_.ranks, spread / checked_.ranks % checked_.ranks);
  }

  /// Of all ranks at element `index`, reduced one after the other.
  [[nodiscard]] std::int64_t reduced(std::int64_t index) const {
    const std::int64_t spread = mix(checked_.salt, index);
    std::int64_t result = checked_.reduction == Reduction::kProd ? 1 : 0;
    if (kind_ == Kind::kSeries) {
      std::int64_t value = spread % modulus_;
      result = value + offset_;
      for (std::int64_t rank = 1; rank < std::min<std::int64_t>(checked_.ranks, counted_); ++rank) {
        value += step_;
        if (value >= modulus_)
          value -= modulus_;
        result = combine(result, value + offset_);
      }
      return result;
    }
    if (kind_ == Kind::kAverage) {
      for (std::int64_t rank = 0; rank < checked_.ranks; ++rank)
        result += average(rank, spread);
      return result / checked_.ranks;
    }
    const std::int64_t three = spread % checked_.ranks;
    const std::int64_t two = spread / checked_.ranks % checked_.ranks;
    for (std::int64_t rank = 0; rank < checked_.ranks; ++rank)
      result *= product(rank, three, two);
    return result;
  }

 private:
  enum class Kind { kSeries, kAverage, kProduct };

  [[nodiscard]] std::int64_t combine(std::int64_t a, std::int64_t b) const {
    if (checked_.reduction == Reduction::kMin)
      return std::min(a, b);
    return checked_.reduction == Reduction::kMax ? std::max(a, b) : a + b;
  }
  [[nodiscard]] std::int64_t average(std::int64_t rank, std::int64_t spread) const {
    if (modulus_ < 1)
      return 0;
    const std::int64_t base = 1 + spread % modulus_;
    const bool paired = rank / 2 * 2 + 1 < checked_.ranks;
    if (!paired)
      return base;
    return rank % 2 == 0 ? base + 1 : base - 1;
  }
  static std::int64_t product(std::int64_t rank, std::int64_t three, std::int64_t two) {
    const std::int64_t factor = rank == three ? 3 : 1;
    return rank == two ? factor * 2 : factor;
  }

  const CheckedCollective& checked_;
  Kind kind_ = Kind::kSeries;
  std::int64_t modulus_ = 1;
  std::int64_t step_ = 0;  // from rank to rank, less than the modulus
  std::int64_t offset_ = 0;
  std::int64_t counted_ = std::numeric_limits<std::int64_t>::max();  // ranks from here on have 0
};

/// See expected_value().
std::optional<std::int64_t> expected(const CheckedCollective& checked, const Values& values,
                                     std::int64_t rank, std::int64_t index, std::int64_t count) {
  const std::int64_t root = checked.root.value();
  // Divisions only where a case asks for them.
  const auto part = [&] { return count > 0 ? index / count : 0; };
  const auto within = [&] { return count > 0 ? index % count : 0; };
  switch (checked.collective) {
    case Collective::kAllReduce:
      return values.reduced(index);
    case Collective::kReduce:
      return rank == root ? std::optional(values.reduced(index)) : std::nullopt;
    case Collective::kBroadcast:
      return values.at(root, index);
    case Collective::kAllGather:
      return values.at(part(), within());
    case Collective::kReduceScatter:
      return values.reduced(rank * count + index);
    case Collective::kAllToAll:
      return values.at(part(), rank * count + within());
    case Collective::kSendRecv:
      // nccl-tests: every rank sends to the next and receives from the one before.
      return values.at((rank + checked.ranks - 1) % checked.ranks, index);
    case Collective::kGather:
      return rank == root ? std::optional(values.at(part(), within())) : std::nullopt;
    case Collective::kScatter:
      return values.at(root, rank * count + index);
  }
  CHECK(false, "collective {}", static_cast<int>(checked.collective));
}

}  // namespace

std::int64_t input_value(const CheckedCollective& checked, RankId rank, std::int64_t index) {
  return Values(checked).at(rank.value(), index);
}

std::optional<std::int64_t> expected_value(const CheckedCollective& checked, RankId rank,
                                           std::int64_t index, std::int64_t count) {
  return expected(checked, Values(checked), rank.value(), index, count);
}

void fill_input(const CheckedCollective& checked, RankId rank, std::span<std::byte> input) {
  const Values values(checked);
  const std::size_t count = input.size() / static_cast<std::size_t>(size_of(checked.type).count());
  for (std::size_t i = 0; i < count; ++i) {
    set_element(checked.type, input.data(), i,
                values.at(rank.value(), static_cast<std::int64_t>(i)));
  }
}

Difference compare_output(const CheckedCollective& checked, RankId rank,
                          std::span<const std::byte> output) {
  const auto elements = static_cast<std::int64_t>(output.size()) / size_of(checked.type).count();
  const bool shared = checked.collective == Collective::kAllGather ||
                      checked.collective == Collective::kAllToAll ||
                      checked.collective == Collective::kGather;
  const std::int64_t count = shared ? elements / checked.ranks : elements;
  const Values values(checked);
  Difference difference;
  for (std::int64_t i = 0; i < elements; ++i) {
    const std::optional<std::int64_t> right = expected(checked, values, rank.value(), i, count);
    const double found = element_value(checked.type, output.data(), static_cast<std::size_t>(i));
    if (!right || found == static_cast<double>(*right))
      continue;
    if (++difference.wrong == 1) {
      difference.text = fmt::format("rank {} element {} of {} is {}, expected {}", rank.value(), i,
                                    elements, found, *right);
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
