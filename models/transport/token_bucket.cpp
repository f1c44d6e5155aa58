// See token_bucket.h.
#include "models/transport/token_bucket.h"

#include <algorithm>

#include "sim/core/check.h"

namespace busbw::transport {

TokenBucket::TokenBucket(engine::LinkId link, Bandwidth rate, Bytes size)
    : link_(link), rate_(rate), size_(size), level_(size) {
  CHECK(rate > Bandwidth() && size > Bytes(), "rate {}, size {}", rate.bps(), size.count());
}

Bytes TokenBucket::available(const engine::Engine& engine) {
  const SimTime now = engine.now();
  const Bytes carried = engine.usage(link_).carried;
  CHECK(seen_ <= now, "{} ps after {} ps", now.ps(), seen_.ps());
  const Int128 bits = static_cast<Int128>((now - seen_).ps()) * rate_.bps();
  const Int128 came = bits / (static_cast<Int128>(8) * 1'000'000'000'000);
  // More than a bucket is no more than a bucket; the cut also keeps the sum within 64 bits.
  const Bytes room = size_ + (carried - carried_);
  const Bytes tokens = came < room.count() ? Bytes(static_cast<std::int64_t>(came)) : room;
  level_ = std::clamp(level_ + tokens - (carried - carried_), Bytes(0), size_);
  seen_ = now;
  carried_ = carried;
  return level_;
}

void TokenBucket::take(Bytes bytes) {
  CHECK(Bytes(0) <= bytes && bytes <= level_, "{} of {} tokens", bytes.count(), level_.count());
  level_ -= bytes;
}

}  // namespace busbw::transport
