// See congestion.h.
#include "models/transport/congestion.h"

#include <algorithm>
#include <cmath>

#include "sim/core/check.h"

namespace busbw::transport {

double window_packets(Bandwidth rate, Duration round_trip, Bytes packet) {
  CHECK(packet > Bytes(), "packets of {} bytes", packet.count());
  return 1 + static_cast<double>(rate.bps()) / 8 * round_trip.as_seconds() /
                 static_cast<double>(packet.count());
}

double go_back_n_share(double loss, double window) {
  CHECK(loss >= 0 && loss <= 1 && window >= 1, "loss {}, window {}", loss, window);
  return (1 - loss) / (1 - loss + window * loss);
}

Bandwidth mathis_rate(Bytes segment, Duration round_trip, double loss) {
  CHECK(loss > 0 && round_trip > Duration(), "loss {}, round trip {} ps", loss, round_trip.ps());
  const double bits = static_cast<double>(segment.count()) * 8;
  return Bandwidth::bits_per_second(std::max<std::int64_t>(
      1, std::llround(bits / round_trip.as_seconds() * std::sqrt(1.5 / loss))));
}

double lossy_incast_share(std::int64_t senders, double window) {
  CHECK(senders >= 1, "{} senders", senders);
  const auto n = static_cast<double>(senders);
  return std::min(1.0, n * go_back_n_share(1 - 1 / n, window));
}

bool marks_in_time(std::int64_t senders, Bandwidth rate, const params::Congestion& congestion) {
  constexpr Duration kBetweenNotifications = Duration::microseconds(50);
  const Duration blind = congestion.rdma_round_trip + kBetweenNotifications;
  const double excess =
      static_cast<double>(senders - 1) * static_cast<double>(rate.bps()) / 8 * blind.as_seconds();
  return excess <= static_cast<double>(congestion.port_buffer.count());
}

double tcp_incast_share(const TcpIncast& incast, const params::Congestion& congestion) {
  if (incast.segment * congestion.least_window * incast.senders <= congestion.port_buffer) {
    return 1;
  }
  const double busy = (incast.block * incast.senders / incast.rate).as_seconds();
  return busy / (busy + incast.timeout.as_seconds());
}

Ratio share_of(double value) {
  constexpr std::int64_t kParts = 1'000'000;
  const auto parts = static_cast<std::int64_t>(std::llround(value * static_cast<double>(kParts)));
  return {std::clamp<std::int64_t>(parts, 1, kParts), kParts};
}

}  // namespace busbw::transport
