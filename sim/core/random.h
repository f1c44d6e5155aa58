// The only source of randomness in the simulator: xoshiro256** seeded by splitmix64.
//
// Own code because the standard distributions are unspecified and differ between libraries. Passed
// by reference; no global state. Algorithm: Blackman and Vigna, "Scrambled linear pseudorandom
// number generators", ACM TOMS 47 (2021).
#pragma once
#include <array>
#include <cstdint>

namespace busbw {

class Random {
 public:
  explicit Random(std::uint64_t seed);
  /// The next 64 random bits.
  std::uint64_t next();
  /// Uniform in [0, bound), bound > 0, without modulo bias (rejection).
  std::uint64_t below(std::uint64_t bound);
  /// Uniform in [low, high], low <= high.
  std::int64_t between(std::int64_t low, std::int64_t high);
  /// True with the exact probability numerator/denominator.
  bool chance(std::uint64_t numerator, std::uint64_t denominator);

 private:
  std::array<std::uint64_t, 4> state_;
};

}  // namespace busbw
