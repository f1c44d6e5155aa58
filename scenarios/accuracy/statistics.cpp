// See statistics.h.
#include "scenarios/accuracy/statistics.h"

#include <algorithm>
#include <cmath>

#include "sim/core/check.h"

namespace busbw::scenarios::accuracy {

Band band_of(Bytes bytes) {
  if (bytes >= Bytes::mib(16)) {
    return Band::kLarge;
  }
  return bytes >= Bytes::mib(1) ? Band::kMedium : Band::kSmall;
}

std::string to_string(Band band) {
  return band == Band::kLarge ? "large" : band == Band::kMedium ? "medium" : "small";
}

std::string range_text(Band band) {
  return band == Band::kLarge ? ">= 16 MiB" : band == Band::kMedium ? "1 - 16 MiB" : "< 1 MiB";
}

double quantile(std::vector<double> values, double share) {
  CHECK(!values.empty() && share >= 0 && share <= 1, "{} values, share {}", values.size(), share);
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(place));
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (place - static_cast<double>(below));
}

ErrorFigures figures_of(const std::vector<double>& errors) {
  constexpr double kMedian = 0.5;
  constexpr double kNinety = 0.9;
  ErrorFigures figures;
  figures.points = errors.size();
  if (!errors.empty()) {
    figures.median = quantile(errors, kMedian);
    figures.p90 = quantile(errors, kNinety);
  }
  return figures;
}

}  // namespace busbw::scenarios::accuracy
