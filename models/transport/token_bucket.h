// The bucket of a traffic shaper on a link: tokens come in at the link's rate up to the size of the
// bucket, each byte that passes takes one, and bytes that find tokens pass at once. A link that was
// idle, or that carried less than its rate, so lets the start of the next message through.
// Source of the mechanism: tc-tbf(8) of iproute2; J. Turner, "New Directions in Communications",
// IEEE Communications Magazine 24(10), 1986. Left out: the rate at which the bucket itself empties.
#pragma once
#include "sim/core/units.h"
#include "sim/engine/engine.h"

namespace busbw::transport {

class TokenBucket {
 public:
  /// Full. `link` carries what finds no token, at `rate`.
  TokenBucket(engine::LinkId link, Bandwidth rate, Bytes size);

  /// Tokens that are there now. The engine's time must not go back between calls.
  Bytes available(const engine::Engine& engine);
  /// Takes tokens, at most available() of this moment.
  void take(Bytes bytes);

 private:
  engine::LinkId link_;
  Bandwidth rate_;
  Bytes size_;
  Bytes level_;
  SimTime seen_;   // when level_ was brought up to date
  Bytes carried_;  // by the link until then
};

}  // namespace busbw::transport
