// Reduction operators on 64-bit integers. See reduction.h.
#include "models/collectives/reduction.h"

#include <algorithm>
#include <array>

#include "sim/core/check.h"

namespace busbw::collectives {
namespace {

constexpr std::array kReductions = {Reduction::kSum, Reduction::kProd, Reduction::kMin,
                                    Reduction::kMax, Reduction::kAvg};

}  // namespace

std::string to_string(Reduction reduction) {
  static constexpr std::array<const char*, 5> kNames = {"sum", "prod", "min", "max", "avg"};
  return kNames.at(static_cast<std::size_t>(reduction));
}

std::optional<Reduction> parse_reduction(const std::string& name) {
  for (const Reduction reduction : kReductions) {
    if (to_string(reduction) == name) {
      return reduction;
    }
  }
  return std::nullopt;
}

bool reduces(Collective collective) {
  return collective == Collective::kAllReduce || collective == Collective::kReduce ||
         collective == Collective::kReduceScatter;
}

std::int64_t combine(Reduction reduction, std::int64_t a, std::int64_t b) {
  const auto left = static_cast<std::uint64_t>(a);
  const auto right = static_cast<std::uint64_t>(b);
  switch (reduction) {
    case Reduction::kSum:
    case Reduction::kAvg:
      return static_cast<std::int64_t>(left + right);
    case Reduction::kProd:
      return static_cast<std::int64_t>(left * right);
    case Reduction::kMin:
      return std::min(a, b);
    case Reduction::kMax:
      return std::max(a, b);
  }
  CHECK(false, "reduction {}", static_cast<int>(reduction));
}

std::int64_t finish(Reduction reduction, std::int64_t value, std::int32_t ranks) {
  CHECK(ranks > 0, "ranks {}", ranks);
  return reduction == Reduction::kAvg ? value / ranks : value;
}

}  // namespace busbw::collectives
