// Strong unit types for everything busbw measures.
//
// Representation: Bytes int64 bytes, Bandwidth int64 bit/s, Duration and SimTime int64 picoseconds
// (+-106 days; one byte at 900 GB/s is 1.1 ps). Prefixes are decimal (GB = 10^9); KiB, MiB and GiB
// are the only binary ones. Bytes / Bandwidth is computed in 128 bits and rounded to the nearest
// picosecond, halves up: once per transfer, never per hop.
#pragma once
#include <compare>
#include <cstdint>

namespace busbw {

// -Wpedantic needs __extension__ here; a using-declaration cannot carry it.
__extension__ typedef __int128 Int128;  // NOLINT(modernize-use-using)

/// A count of bytes. May be negative only as a difference.
class Bytes {
 public:
  constexpr Bytes() = default;
  constexpr explicit Bytes(std::int64_t count) : count_(count) {}
  static constexpr Bytes kib(std::int64_t n) { return Bytes(n * 1024); }
  static constexpr Bytes mib(std::int64_t n) { return Bytes(n * 1024 * 1024); }
  static constexpr Bytes gib(std::int64_t n) { return Bytes(n * 1024 * 1024 * 1024); }
  [[nodiscard]] constexpr std::int64_t count() const { return count_; }
  constexpr auto operator<=>(const Bytes&) const = default;
  constexpr Bytes& operator+=(Bytes b) { return count_ += b.count_, *this; }
  constexpr Bytes& operator-=(Bytes b) { return count_ -= b.count_, *this; }
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return Bytes(a.count_ + b.count_); }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return Bytes(a.count_ - b.count_); }
  friend constexpr Bytes operator*(Bytes a, std::int64_t n) { return Bytes(a.count_ * n); }
  friend constexpr Bytes operator*(std::int64_t n, Bytes a) { return a * n; }
  /// Whole parts, rounded towards zero. The remainder is the caller's to place.
  friend constexpr Bytes operator/(Bytes a, std::int64_t n) { return Bytes(a.count_ / n); }
  friend constexpr std::int64_t operator/(Bytes a, Bytes b) { return a.count_ / b.count_; }
  friend constexpr Bytes operator%(Bytes a, Bytes b) { return Bytes(a.count_ % b.count_); }

 private:
  std::int64_t count_ = 0;
};

/// A span of time.
class Duration {
 public:
  constexpr Duration() = default;
  static constexpr Duration picoseconds(std::int64_t ps) { return Duration(ps); }
  static constexpr Duration nanoseconds(std::int64_t ns) { return Duration(ns * 1'000); }
  static constexpr Duration microseconds(std::int64_t us) { return Duration(us * 1'000'000); }
  static constexpr Duration milliseconds(std::int64_t ms) { return Duration(ms * 1'000'000'000); }
  static constexpr Duration seconds(std::int64_t s) { return Duration(s * 1'000'000'000'000); }
  [[nodiscard]] constexpr std::int64_t ps() const { return ps_; }
  /// For output only: microseconds, milliseconds and seconds as printed numbers.
  [[nodiscard]] constexpr double as_us() const { return static_cast<double>(ps_) / 1e6; }
  [[nodiscard]] constexpr double as_ms() const { return static_cast<double>(ps_) / 1e9; }
  [[nodiscard]] constexpr double as_seconds() const { return static_cast<double>(ps_) / 1e12; }
  constexpr auto operator<=>(const Duration&) const = default;
  constexpr Duration& operator+=(Duration d) { return ps_ += d.ps_, *this; }
  friend constexpr Duration operator+(Duration a, Duration b) { return Duration(a.ps_ + b.ps_); }
  friend constexpr Duration operator-(Duration a, Duration b) { return Duration(a.ps_ - b.ps_); }
  friend constexpr Duration operator*(Duration a, std::int64_t n) { return Duration(a.ps_ * n); }
  friend constexpr Duration operator*(std::int64_t n, Duration a) { return a * n; }
  friend constexpr Duration operator/(Duration a, std::int64_t n) { return Duration(a.ps_ / n); }

 private:
  constexpr explicit Duration(std::int64_t ps) : ps_(ps) {}
  std::int64_t ps_ = 0;
};

/// A moment of simulated time; zero is the start of the run.
class SimTime {
 public:
  constexpr SimTime() = default;
  static constexpr SimTime picoseconds(std::int64_t ps) { return SimTime(ps); }
  [[nodiscard]] constexpr std::int64_t ps() const { return ps_; }
  [[nodiscard]] constexpr Duration since_start() const { return Duration::picoseconds(ps_); }
  constexpr auto operator<=>(const SimTime&) const = default;
  friend constexpr SimTime operator+(SimTime t, Duration d) { return SimTime(t.ps_ + d.ps()); }
  friend constexpr Duration operator-(SimTime a, SimTime b) {
    return Duration::picoseconds(a.ps_ - b.ps_);
  }

 private:
  constexpr explicit SimTime(std::int64_t ps) : ps_(ps) {}
  std::int64_t ps_ = 0;
};

/// A data rate. All signalling rates of the field are whole numbers of bit/s.
class Bandwidth {
 public:
  constexpr Bandwidth() = default;
  static constexpr Bandwidth bits_per_second(std::int64_t v) { return Bandwidth(v); }
  static constexpr Bandwidth megabits_per_second(std::int64_t v) {
    return Bandwidth(v * 1'000'000);
  }
  static constexpr Bandwidth gigabits_per_second(std::int64_t v) {
    return Bandwidth(v * 1'000'000'000);
  }
  static constexpr Bandwidth gigabytes_per_second(std::int64_t v) {
    return Bandwidth(v * 8'000'000'000);
  }
  [[nodiscard]] constexpr std::int64_t bps() const { return bps_; }
  /// For output only.
  [[nodiscard]] constexpr double as_gigabytes_per_second() const {
    return static_cast<double>(bps_) / 8e9;
  }
  [[nodiscard]] constexpr double as_gigabits_per_second() const {
    return static_cast<double>(bps_) / 1e9;
  }
  constexpr auto operator<=>(const Bandwidth&) const = default;
  friend constexpr Bandwidth operator+(Bandwidth a, Bandwidth b) {
    return Bandwidth(a.bps_ + b.bps_);
  }
  friend constexpr Bandwidth operator-(Bandwidth a, Bandwidth b) {
    return Bandwidth(a.bps_ - b.bps_);
  }
  friend constexpr Bandwidth operator*(Bandwidth a, std::int64_t n) {
    return Bandwidth(a.bps_ * n);
  }
  friend constexpr Bandwidth operator*(std::int64_t n, Bandwidth a) { return a * n; }
  friend constexpr Bandwidth operator/(Bandwidth a, std::int64_t n) {
    return Bandwidth(a.bps_ / n);
  }

 private:
  constexpr explicit Bandwidth(std::int64_t bps) : bps_(bps) {}
  std::int64_t bps_ = 0;
};

/// An exact fraction: busbw factors (2(n-1)/n), protocol efficiencies (1448/1538).
struct Ratio {
  std::int64_t numerator = 1;
  std::int64_t denominator = 1;
  [[nodiscard]] constexpr double as_double() const {
    return static_cast<double>(numerator) / static_cast<double>(denominator);
  }
  constexpr bool operator==(const Ratio&) const = default;
};

namespace detail {

/// Throws CheckFailure: a division by nothing, or a result beyond 64 bits.
[[noreturn]] void fail_division(const char* what);

/// numerator / denominator, nearest integer, halves up. CHECKs denominator > 0 and the range.
constexpr std::int64_t divide_rounded(Int128 numerator, Int128 denominator) {
  if (denominator <= 0) {
    fail_division("the divisor is not positive");
  }
  const Int128 sum = numerator + denominator / 2;
  const Int128 floor = sum / denominator - (sum % denominator < 0 ? 1 : 0);
  if (floor != static_cast<Int128>(static_cast<std::int64_t>(floor))) {
    fail_division("the result does not fit in 64 bits");
  }
  return static_cast<std::int64_t>(floor);
}

}  // namespace detail

/// value * ratio, rounded to the nearest unit, halves up; 128-bit intermediate.
constexpr std::int64_t scale(std::int64_t value, Ratio ratio) {
  return detail::divide_rounded(static_cast<Int128>(value) * ratio.numerator, ratio.denominator);
}
constexpr Bandwidth operator*(Bandwidth rate, Ratio ratio) {
  return Bandwidth::bits_per_second(scale(rate.bps(), ratio));
}

/// Time to move `size` at `rate`, nearest picosecond. `rate` must be positive (CHECKed, as is a
/// result beyond 106 days).
constexpr Duration operator/(Bytes size, Bandwidth rate) {
  const Int128 numerator = static_cast<Int128>(size.count()) * 8 * 1'000'000'000'000;
  return Duration::picoseconds(detail::divide_rounded(numerator, rate.bps()));
}

/// Mean rate at which `size` moved in `time`, nearest bit/s. `time` must be positive (CHECKed).
constexpr Bandwidth operator/(Bytes size, Duration time) {
  const Int128 numerator = static_cast<Int128>(size.count()) * 8 * 1'000'000'000'000;
  return Bandwidth::bits_per_second(detail::divide_rounded(numerator, time.ps()));
}

}  // namespace busbw
