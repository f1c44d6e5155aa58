// See measured.h.
#include "scenarios/accuracy/measured.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace busbw::scenarios::accuracy {
namespace {

// nccl-tests print bandwidths in GB/s with two decimals.
constexpr double kLeastPrinted = 0.1;
// A time that was computed from a printed bandwidth gives it back to the digits of the time.
constexpr double kSame = 2e-4;

double algbw_of(const RecordPoint& point) {
  return static_cast<double>(point.bytes->count()) / *point.time_us / 1e3;
}

bool close(double a, double b) {
  return b > 0 && std::abs(a / b - 1) <= kSame;
}

/// Whether each time follows from the bandwidth printed beside it.
bool times_are_derived(const Record& record, double factor) {
  bool any = false;
  for (const RecordPoint& point : record.points) {
    if (!point.bytes || !point.time_us) {
      continue;
    }
    const bool from_busbw = point.busbw_GBps && close(algbw_of(point) * factor, *point.busbw_GBps);
    const bool from_algbw = point.algbw_GBps && close(algbw_of(point), *point.algbw_GBps);
    if (!from_busbw && !from_algbw) {
      return false;
    }
    any = true;
  }
  return any;
}

struct Sum {
  double seconds_per_byte = 0;  // of busbw, summed
  std::int32_t rows = 0;
  bool noisy = false;
};

}  // namespace

Measured measured_sizes(const Record& record, Ratio factor) {
  const double over = factor.as_double();
  const bool derived = times_are_derived(record, over);
  Measured result;
  std::map<Bytes, Sum> sums;
  for (const RecordPoint& point : record.points) {
    std::optional<double> busbw = point.busbw_GBps;
    if (!busbw && point.algbw_GBps) {
      busbw = *point.algbw_GBps * over;
    }
    if (!point.bytes || (!point.time_us && !busbw)) {
      ++result.without_size;
      continue;
    }
    const bool printed_alone = !point.time_us || derived;
    if (printed_alone && busbw && *busbw < kLeastPrinted) {
      ++result.rounding_only;
      continue;
    }
    const double value = point.time_us ? algbw_of(point) * over : *busbw;
    Sum& sum = sums[*point.bytes];
    sum.seconds_per_byte += 1 / value;
    ++sum.rows;
    sum.noisy = sum.noisy || point.noisy || point.inconsistent;
  }
  for (const auto& [bytes, sum] : sums) {
    result.sizes.push_back({bytes, sum.rows / sum.seconds_per_byte, sum.noisy});
  }
  return result;
}

}  // namespace busbw::scenarios::accuracy
