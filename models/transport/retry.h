// How a connection takes packets that are not acknowledged: when it sends again, and when it gives
// up.
//
// RC queue pairs (InfiniBand, RoCE): a timer of T = 4.096 us x 2^timeout runs from the last
// progress; each time it runs out the sender goes back to the first packet that is not
// acknowledged, retry_count times, and then completes the request with status 12. Source:
// InfiniBand Architecture Specification 1.4, volume 1, 9.7.6.1.3; the specification allows timers
// between T and 4 T, taken here is T. Time-out 0 means that the timer never runs.
// TCP: the retransmission timer doubles with each try from `first` up to `longest`; after `retries`
// tries and one more wait the socket fails with ETIMEDOUT. Source: RFC 6298; Linux, ip-sysctl
// (tcp_retries2).
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "models/params/conditions.h"
#include "sim/core/units.h"

namespace busbw::transport {

struct RetryRule {
  std::vector<Duration> tries;       // after the last progress, ascending
  std::optional<Duration> gives_up;  // after the last progress; nothing: never
};

/// `timeout`: the exponent, 0 to 31; `retry_count`: 0 to 7.
RetryRule queue_pair_retries(int timeout, int retry_count);

RetryRule tcp_retries(const params::Retransmission& tcp);

/// How long data stands still that was cut off `outage` ago when the way is there again: until the
/// next try. Nothing: the connection had given up by then.
std::optional<Duration> standstill(const RetryRule& rule, Duration outage);

}  // namespace busbw::transport
