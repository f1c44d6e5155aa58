// Points in real time by which something must have happened. Only real mode reads a clock.
#pragma once
#include <chrono>

namespace busbw::real {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

/// A moment; every wait of real mode has one.
class Deadline {
 public:
  /// `span` from now.
  static Deadline in(Milliseconds span) { return Deadline(Clock::now() + span, span); }
  [[nodiscard]] bool passed() const { return Clock::now() >= at_; }
  /// What is left, rounded up, never negative; for poll().
  [[nodiscard]] Milliseconds left() const {
    const auto rest = at_ - Clock::now();
    return rest <= Clock::duration::zero() ? Milliseconds(0)
                                           : std::chrono::ceil<Milliseconds>(rest);
  }
  /// The span that was granted, for messages: "nothing within 30 s".
  [[nodiscard]] Milliseconds span() const { return span_; }

 private:
  Deadline(Clock::time_point at, Milliseconds span) : at_(at), span_(span) {}
  Clock::time_point at_;
  Milliseconds span_;
};

}  // namespace busbw::real
