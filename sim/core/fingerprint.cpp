// The hash of a run: FNV-1a over the events, then a final avalanche.
#include "sim/core/fingerprint.h"

#include <fmt/format.h>

namespace busbw {
namespace {
constexpr std::uint64_t kPrime = 0x100000001b3U;  // FNV-1a, 64 bit
}

void Fingerprint::add(std::int64_t value) {
  auto bits = static_cast<std::uint64_t>(value);
  for (int i = 0; i < 8; i++) {
    state_ = (state_ ^ (bits & 0xffU)) * kPrime;
    bits >>= 8U;
  }
}

void Fingerprint::add(std::string_view text) {
  add(static_cast<std::int64_t>(text.size()));
  for (const char c : text) {
    state_ = (state_ ^ static_cast<unsigned char>(c)) * kPrime;
  }
}

std::uint64_t Fingerprint::value() const {
  // splitmix64's finaliser: FNV's high bits alone mix badly.
  std::uint64_t z = state_;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

std::string Fingerprint::hex() const {
  return fmt::format("{:016x}", value());
}

}  // namespace busbw
