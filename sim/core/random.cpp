// xoshiro256** seeded by splitmix64, and the draws on top of them; sources in the header.
#include "sim/core/random.h"

#include "sim/core/check.h"

namespace busbw {
namespace {
std::uint64_t rotate_left(std::uint64_t x, unsigned k) {
  return (x << k) | (x >> (64U - k));
}
}  // namespace

Random::Random(std::uint64_t seed) : state_{} {
  for (std::uint64_t& word : state_) {  // splitmix64
    seed += 0x9e3779b97f4a7c15U;
    std::uint64_t z = seed;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    word = z ^ (z >> 31U);
  }
}

std::uint64_t Random::next() {
  const std::uint64_t result = rotate_left(state_[1] * 5, 7) * 9;
  const std::uint64_t t = state_[1] << 17U;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = rotate_left(state_[3], 45);
  return result;
}

std::uint64_t Random::below(std::uint64_t bound) {
  CHECK(bound > 0);
  const std::uint64_t reject_below = (0 - bound) % bound;  // 2^64 mod bound
  for (;;) {
    const std::uint64_t draw = next();
    if (draw >= reject_below) {
      return draw % bound;
    }
  }
}

std::int64_t Random::between(std::int64_t low, std::int64_t high) {
  CHECK(low <= high, "low {} high {}", low, high);
  const std::uint64_t span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  const std::uint64_t draw = span == ~std::uint64_t{0} ? next() : below(span + 1);
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + draw);
}

bool Random::chance(std::uint64_t numerator, std::uint64_t denominator) {
  CHECK(numerator <= denominator, "{}/{}", numerator, denominator);
  return below(denominator) < numerator;
}

}  // namespace busbw
