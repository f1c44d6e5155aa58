// What a record measured, size by size: bus bandwidth recomputed from bytes and time where the time
// is given, rows of one size together, and what is left out counted.
#pragma once
#include <cstdint>
#include <vector>

#include "scenarios/accuracy/record.h"
#include "sim/core/units.h"

namespace busbw::scenarios::accuracy {

/// One size, in place and out of place together: the mean of their times.
struct MeasuredSize {
  Bytes bytes;
  double busbw_GBps = 0;
  bool noisy = false;  // shown, not judged; also rows that contradict themselves
};

struct Measured {
  std::vector<MeasuredSize> sizes;  // ascending
  std::int32_t rounding_only = 0;   // rows left out: the printed figure is mostly rounding
  std::int32_t without_size = 0;    // rows left out: no size, or no figure
};

/// `factor` is busbw over algbw. A bandwidth printed with two decimals is mostly rounding below 0.1
/// GB/s (half a unit is more than 5 %), as is a time computed from it: one that gives back the
/// printed bandwidths on every row.
Measured measured_sizes(const Record& record, Ratio factor);

}  // namespace busbw::scenarios::accuracy
