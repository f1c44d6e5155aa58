// Random against a second implementation, written from the papers' formulas over 128-bit
// arithmetic, which is itself checked against published outputs; and its distributions.
#include "sim/core/random.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "sim/core/check.h"
#include "sim/core/units.h"

namespace busbw {
namespace {

__extension__ typedef unsigned __int128 Wide;  // NOLINT(modernize-use-using)

std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint64_t>(static_cast<Wide>(a) * b % (static_cast<Wide>(1) << 64U));
}

std::uint64_t rotate(std::uint64_t x, unsigned k) {
  const Wide wide = static_cast<Wide>(x) << k;
  return static_cast<std::uint64_t>(wide) | static_cast<std::uint64_t>(wide >> 64U);
}

/// splitmix64: state advances by the golden ratio; output is a mix of it.
struct SplitMix {
  std::uint64_t state;
  std::uint64_t next() {
    state = static_cast<std::uint64_t>(static_cast<Wide>(state) + 0x9e3779b97f4a7c15U);
    const std::uint64_t a = times(state ^ (state / (1ULL << 30U)), 0xbf58476d1ce4e5b9U);
    const std::uint64_t b = times(a ^ (a / (1ULL << 27U)), 0x94d049bb133111ebU);
    return b ^ (b / (1ULL << 31U));
  }
};

/// xoshiro256**, the linear step written out word by word.
struct Xoshiro {
  std::array<std::uint64_t, 4> s;
  std::uint64_t next() {
    const std::uint64_t result = times(rotate(times(s[1], 5), 7), 9);
    const std::uint64_t n0 = s[0] ^ s[3] ^ s[1];
    const std::uint64_t n1 = s[1] ^ s[2] ^ s[0];
    const std::uint64_t n2 = s[2] ^ s[0] ^ times(s[1], 1ULL << 17U);
    const std::uint64_t n3 = rotate(s[3] ^ s[1], 45);
    s = {n0, n1, n2, n3};
    return result;
  }
};

TEST(Random, TheSecondImplementationGivesThePublishedOutputs) {
  // splitmix64 with seed 1234567 (Rosetta Code, "Pseudo-random numbers/Splitmix64").
  SplitMix mix{1234567};
  for (const std::uint64_t expected :
       {6457827717110365317U, 3203168211198807973U, 9817491932198370423U, 4593380528125082431U,
        16408922859458223821U}) {
    EXPECT_EQ(mix.next(), expected);
  }
  // xoshiro256** from the state 1, 2, 3, 4 (reference vectors of the crate rand_xoshiro, made with
  // the authors' C code). The first is by hand: rotl(2*5, 7)*9 = 10*128*9 = 11520.
  Xoshiro reference{{1, 2, 3, 4}};
  for (const std::uint64_t expected :
       {std::uint64_t{11520}, std::uint64_t{0}, std::uint64_t{1509978240},
        std::uint64_t{1215971899390074240}, std::uint64_t{1216172134540287360}}) {
    EXPECT_EQ(reference.next(), expected);
  }
}

TEST(Random, AgreesWithTheSecondImplementation) {
  for (const std::uint64_t seed :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{42}, UINT64_MAX}) {
    SplitMix mix{seed};
    Xoshiro reference{};
    for (std::uint64_t& word : reference.s) {
      word = mix.next();
    }
    Random random(seed);
    for (int i = 0; i < 1000; i++) {
      ASSERT_EQ(random.next(), reference.next()) << seed << " " << i;
    }
  }
}

TEST(Random, SameSeedSameNumbersOtherSeedOthers) {
  Random a(7);
  Random b(7);
  Random c(8);
  EXPECT_EQ(a.next(), b.next());
  EXPECT_NE(a.next(), c.next());
}

TEST(Random, BelowIsUniform) {
  // 60 000 draws from 6: each 10 000 with a standard deviation of 91; 5 of them is 456.
  Random random(3);
  std::array<int, 6> counts{};
  for (int i = 0; i < 60'000; i++) {
    counts.at(random.below(6))++;
  }
  for (const int count : counts) {
    EXPECT_NEAR(count, 10'000, 456);
  }
}

TEST(Random, BelowHasNoModuloBias) {
  // Of [0, 3 * 2^62) a plain modulo of 64 bits would give the lowest third half of all draws.
  Random random(4);
  const std::uint64_t third = std::uint64_t{1} << 62U;
  int low = 0;
  for (int i = 0; i < 30'000; i++) {
    const std::uint64_t draw = random.below(3 * third);
    ASSERT_LT(draw, 3 * third);
    low += draw < third ? 1 : 0;
  }
  EXPECT_NEAR(low, 10'000, 5 * 82);  // standard deviation sqrt(30000 * 1/3 * 2/3) = 81.6
}

TEST(Random, BetweenReachesBothEnds) {
  Random random(5);
  std::vector<std::int64_t> draws;
  for (int i = 0; i < 1000; i++) {
    draws.push_back(random.between(-2, 2));
  }
  EXPECT_EQ(*std::min_element(draws.begin(), draws.end()), -2);
  EXPECT_EQ(*std::max_element(draws.begin(), draws.end()), 2);
  EXPECT_EQ(random.between(9, 9), 9);
  EXPECT_EQ(random.between(INT64_MAX, INT64_MAX), INT64_MAX);
  random.between(INT64_MIN, INT64_MAX);  // the span of all 64 bits has no bound
}

TEST(Random, ChanceIsExactAtItsEnds) {
  Random random(6);
  int hits = 0;
  for (int i = 0; i < 10'000; i++) {
    EXPECT_TRUE(random.chance(3, 3));
    EXPECT_FALSE(random.chance(0, 3));
    hits += random.chance(1, 4) ? 1 : 0;
  }
  EXPECT_NEAR(hits, 2'500, 5 * 44);  // standard deviation sqrt(10000 * 1/4 * 3/4) = 43.3
}

TEST(Random, WrongArgumentsAreOurBug) {
  Random random(1);
  EXPECT_THROW(random.below(0), CheckFailure);
  EXPECT_THROW(random.between(2, 1), CheckFailure);
  EXPECT_THROW(random.chance(2, 1), CheckFailure);
  EXPECT_THROW(random.chance(0, 0), CheckFailure);
}

}  // namespace
}  // namespace busbw
