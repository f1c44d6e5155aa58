// See loggp.h. Whole picoseconds and bytes; every division is rounded to the nearest.
#include "models/params/loggp.h"

#include <algorithm>

#include "sim/core/check.h"

namespace busbw::params {
namespace {

/// Bytes a second when `size` more bytes take `longer` more; nothing when they take none.
std::optional<Bandwidth> rate_of(Bytes size, Duration longer) {
  if (longer <= Duration()) {
    return std::nullopt;
  }
  const Bandwidth rate = size / longer;
  return rate > Bandwidth() ? std::optional(rate) : std::nullopt;
}

/// `value` / parts, at least 0.
Duration part_of(Duration value, std::int64_t parts) {
  return std::max(Duration(), value / parts);
}

/// Bytes that move in `time` at `rate`.
Bytes bytes_in(Duration time, Bandwidth rate) {
  const Int128 bits = static_cast<Int128>(time.ps()) * rate.bps();
  return Bytes(detail::divide_rounded(bits, static_cast<Int128>(8) * 1'000'000'000'000));
}

}  // namespace

MeasuredLink fit_loggp(const LogGpFigures& figures) {
  CHECK(
      Bytes(0) < figures.small && figures.small < figures.medium && figures.medium < figures.large,
      "sizes {}, {}, {}", figures.small.count(), figures.medium.count(), figures.large.count());
  CHECK(figures.interval.large > Duration(), "a stream of {} without time", figures.large.count());
  MeasuredLink link;
  link.bandwidth = figures.large / figures.interval.large;
  link.gap = figures.interval.small;
  const std::int64_t parts = figures.shared_processor ? 2 : 1;
  const Bytes more = figures.medium - figures.small;
  link.send_overhead = part_of(figures.sender_load.small, parts);
  link.receive_overhead = part_of(figures.receiver_load.small, parts);
  link.send_rate =
      rate_of(more, part_of(figures.sender_load.medium - figures.sender_load.small, parts));
  link.receive_rate =
      rate_of(more, part_of(figures.receiver_load.medium - figures.receiver_load.small, parts));
  const Duration small = figures.half_round_trip.small;
  link.latency = std::max(Duration(), small - link.send_overhead - link.receive_overhead);
  const Duration longer = figures.half_round_trip.large - small;
  const Duration streamed = figures.large / link.bandwidth;
  if (longer < streamed) {
    link.burst = std::min(figures.large, bytes_in(streamed - longer, link.bandwidth));
  } else {
    link.staging = rate_of(figures.large, longer - streamed);
  }
  return link;
}

std::int32_t count_processors(std::int32_t ranks, Duration alone, Duration together) {
  CHECK(ranks > 0 && alone > Duration() && together > Duration(), "{} ranks, {} ps, {} ps", ranks,
        alone.ps(), together.ps());
  const std::int64_t count =
      detail::divide_rounded(static_cast<Int128>(ranks) * alone.ps(), together.ps());
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(count, 1, ranks));
}

}  // namespace busbw::params
