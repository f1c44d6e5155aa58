// Fingerprint: a second implementation of FNV-1a with the final mix, and what must change it.
#include "sim/core/fingerprint.h"

#include <cstdint>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace busbw {
namespace {

template <class... Values>
std::string of(Values... values) {
  Fingerprint fingerprint;
  (fingerprint.add(values), ...);
  return fingerprint.hex();
}

std::uint64_t unmix(std::uint64_t z) {
  // The final mix undone, by the inverses of its three steps (each multiplier's inverse modulo
  // 2^64).
  const auto unshift = [](std::uint64_t x, unsigned k) {
    std::uint64_t y = x;
    for (unsigned i = 0; i < 64 / k + 1; i++) {
      y = x ^ (y >> k);
    }
    return y;
  };
  z = unshift(z, 31) * 0x319642b2d24d8ec3U;
  z = unshift(z, 27) * 0x96de1b173f119089U;
  return unshift(z, 30);
}

TEST(Fingerprint, IsFnv1aUnderItsFinalMix) {
  Fingerprint fingerprint;
  // The offset basis and the hash of 64 bits of zero; FNV-1a of eight zero bytes is basis *
  // prime^8.
  EXPECT_EQ(unmix(fingerprint.value()), 0xcbf29ce484222325U);
  std::uint64_t expected = 0xcbf29ce484222325U;
  for (int i = 0; i < 8; i++) {
    expected *= 1099511628211U;
  }
  fingerprint.add(0);
  EXPECT_EQ(unmix(fingerprint.value()), expected);
  // "a" after its length 1, little endian: byte 1, seven bytes 0, byte 'a'.
  Fingerprint text;
  text.add(std::string_view("a"));
  std::uint64_t state = (0xcbf29ce484222325U ^ 1U) * 1099511628211U;
  for (int i = 0; i < 7; i++) {
    state *= 1099511628211U;
  }
  EXPECT_EQ(unmix(text.value()), (state ^ 0x61U) * 1099511628211U);
}

TEST(Fingerprint, OrderAndBoundariesMatter) {
  const std::set<std::string> all = {
      of(),
      of(std::int64_t{0}),
      of(std::int64_t{0}, std::int64_t{0}),
      of(std::int64_t{1}, std::int64_t{2}),
      of(std::int64_t{2}, std::int64_t{1}),
      of(std::int64_t{-1}),
      of(std::string_view("ab"), std::string_view("c")),
      of(std::string_view("a"), std::string_view("bc")),
      of(std::string_view("")),
      of(std::string_view("abc")),
  };
  // Empty text is its length, 0, and so equals the number 0; all others differ.
  EXPECT_EQ(of(std::string_view("")), of(std::int64_t{0}));
  EXPECT_EQ(all.size(), 9U);
  EXPECT_EQ(of(std::int64_t{1}, std::int64_t{2}), of(std::int64_t{1}, std::int64_t{2}));
}

TEST(Fingerprint, HexHasSixteenDigits) {
  Fingerprint fingerprint;
  for (int i = 0; i < 1000; i++) {
    fingerprint.add(i);
    const std::string hex = fingerprint.hex();
    ASSERT_EQ(hex.size(), 16U);
    ASSERT_EQ(hex.find_first_not_of("0123456789abcdef"), std::string::npos);
    ASSERT_EQ(std::stoull(hex, nullptr, 16), fingerprint.value());
  }
}

}  // namespace
}  // namespace busbw
