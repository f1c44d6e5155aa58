// Median and 90th percentile of prediction errors, in three bands of size.
#pragma once
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/units.h"

namespace busbw::scenarios::accuracy {

/// Bands of size: from 16 MiB on, from 1 MiB on, below.
enum class Band { kLarge, kMedium, kSmall };
constexpr std::size_t kBands = 3;
Band band_of(Bytes bytes);
/// "large", "medium", "small"; ">= 16 MiB", "1 - 16 MiB", "< 1 MiB".
std::string to_string(Band band);
std::string range_text(Band band);

/// The value below which `share` (0 to 1) of the values lie, linear between neighbours in order:
/// the median of {1, 2, 4} is 2, of {1, 2} 1.5. `values` must not be empty (CHECKed).
double quantile(std::vector<double> values, double share);

/// Of |predicted / measured - 1| over points.
struct ErrorFigures {
  std::size_t points = 0;
  std::optional<double> median;  // nothing without points
  std::optional<double> p90;
};
ErrorFigures figures_of(const std::vector<double>& errors);

/// Errors by band.
struct Errors {
  std::array<std::vector<double>, kBands> by_band;

  void add(Bytes bytes, double error) {
    by_band.at(static_cast<std::size_t>(band_of(bytes))).push_back(error);
  }
  [[nodiscard]] ErrorFigures figures(Band band) const {
    return figures_of(by_band.at(static_cast<std::size_t>(band)));
  }
};

}  // namespace busbw::scenarios::accuracy
