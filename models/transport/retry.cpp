// See retry.h.
#include "models/transport/retry.h"

#include <algorithm>

#include "sim/core/check.h"

namespace busbw::transport {

RetryRule queue_pair_retries(int timeout, int retry_count) {
  constexpr std::int64_t kUnitPs = 4'096'000;  // 4.096 us
  CHECK(timeout >= 0 && timeout < 32 && retry_count >= 0, "time-out {}, retry count {}", timeout,
        retry_count);
  RetryRule rule;
  if (timeout == 0) {
    return rule;
  }
  const Duration once = Duration::picoseconds(kUnitPs << timeout);
  for (int retry = 1; retry <= retry_count; ++retry) {
    rule.tries.push_back(once * retry);
  }
  rule.gives_up = once * (retry_count + 1);
  return rule;
}

RetryRule tcp_retries(const params::Retransmission& tcp) {
  RetryRule rule;
  Duration timer = tcp.first;
  Duration after = tcp.first;
  for (std::int64_t retry = 0; retry < tcp.retries; ++retry) {
    rule.tries.push_back(after);
    timer = std::min(timer * 2, tcp.longest);
    after += timer;
  }
  rule.gives_up = after;
  return rule;
}

std::optional<Duration> standstill(const RetryRule& rule, Duration outage) {
  const auto next = std::lower_bound(rule.tries.begin(), rule.tries.end(), outage);
  return next == rule.tries.end() ? std::nullopt : std::optional(*next);
}

}  // namespace busbw::transport
