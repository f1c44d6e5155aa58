// Units: what must not compile, and divisions worked by hand.
#include "sim/core/units.h"

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <gtest/gtest.h>

#include "sim/core/check.h"
#include "sim/core/ids.h"

namespace busbw {
namespace {

template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept Subtractable = requires(A a, B b) {
  a - b;
};
template <class A, class B>
concept Multipliable = requires(A a, B b) {
  a* b;
};
template <class A, class B>
concept Divisible = requires(A a, B b) {
  a / b;
};
template <class A, class B>
concept Comparable = requires(A a, B b) {
  a < b;
};

// Wrong mixes do not compile.
static_assert(!Addable<Bytes, Duration> && !Addable<Bytes, Bandwidth> && !Addable<Bytes, int>);
static_assert(!Addable<Duration, Bandwidth> && !Addable<Duration, std::int64_t>);
static_assert(!Addable<SimTime, SimTime> && !Addable<SimTime, Bytes>);
static_assert(!Subtractable<Bytes, Duration> && !Subtractable<Duration, SimTime>);
static_assert(!Multipliable<Bytes, Bytes> && !Multipliable<Duration, Duration>);
static_assert(!Multipliable<Bytes, Duration> && !Multipliable<Bandwidth, Bandwidth>);
static_assert(!Divisible<Duration, Bandwidth> && !Divisible<Bandwidth, Bytes>);
static_assert(!Divisible<Duration, Bytes> && !Divisible<SimTime, Duration>);
static_assert(!Comparable<Bytes, Duration> && !Comparable<Bytes, int>);
static_assert(!Comparable<SimTime, Duration>);
static_assert(!std::is_convertible_v<int, Bytes> && !std::is_convertible_v<Bytes, std::int64_t>);
static_assert(!std::is_constructible_v<Duration, std::int64_t>);
static_assert(!std::is_constructible_v<Bandwidth, std::int64_t>);
static_assert(!std::is_constructible_v<SimTime, Duration>);
static_assert(!Comparable<RankId, ChannelId> && !std::is_convertible_v<int, RankId>);
static_assert(!std::is_constructible_v<RankId, ChannelId>);

// Right ones do and give the right type.
static_assert(std::same_as<decltype(Bytes() / Bandwidth()), Duration>);
static_assert(std::same_as<decltype(Bytes() / Duration()), Bandwidth>);
static_assert(std::same_as<decltype(Bytes() / Bytes()), std::int64_t>);
static_assert(std::same_as<decltype(SimTime() - SimTime()), Duration>);
static_assert(std::same_as<decltype(SimTime() + Duration()), SimTime>);
static_assert(std::same_as<decltype(Bandwidth() * Ratio()), Bandwidth>);

// 1 MiB at 50 GB/s: 1 048 576 B / 50e9 B/s = 20.971 52 us.
static_assert((Bytes::mib(1) / Bandwidth::gigabytes_per_second(50)).ps() == 20'971'520);
// 1 GiB at 10 Gb/s: 8 589 934 592 bit / 1e10 bit/s = 0.858 993 459 2 s.
static_assert((Bytes::gib(1) / Bandwidth::gigabits_per_second(10)).ps() == 858'993'459'200);
// One byte at 900 GB/s takes 1.11 ps, at 3.2 TB/s 0.3125 ps: nearest is 1 and 0.
static_assert((Bytes(1) / Bandwidth::gigabytes_per_second(900)).ps() == 1);
static_assert((Bytes(1) / Bandwidth::gigabytes_per_second(3200)).ps() == 0);
// Halves up: 1 byte at 16e12 bit/s is exactly 0.5 ps; 3 bytes are 1.5 ps; 5 bytes 2.5 ps.
static_assert((Bytes(1) / Bandwidth::gigabits_per_second(16'000)).ps() == 1);
static_assert((Bytes(3) / Bandwidth::gigabits_per_second(16'000)).ps() == 2);
static_assert((Bytes(5) / Bandwidth::gigabits_per_second(16'000)).ps() == 3);
static_assert((Bytes(0) / Bandwidth::bits_per_second(1)).ps() == 0);
// A difference may be negative: -1.5 ps is nearer to -1 by "halves up", -1.111 ps is nearest to -1,
// -5/3 is nearest to -2.
static_assert((Bytes(-3) / Bandwidth::gigabits_per_second(16'000)).ps() == -1);
static_assert((Bytes(-1) / Bandwidth::gigabytes_per_second(900)).ps() == -1);
static_assert(scale(-5, {1, 3}) == -2);

// 1 GiB in 980.5 ms: 8 589 934 592 bit / 0.9805 s = 8 760 769 599.18... bit/s.
static_assert((Bytes::gib(1) / Duration::microseconds(980'500)).bps() == 8'760'769'599);

// TCP's share of 10 Gb/s at MTU 1500: 1e10 * 1448/1538 = 9 414 824 447.33...
static_assert((Bandwidth::gigabits_per_second(10) * Ratio{1448, 1538}).bps() == 9'414'824'447);
static_assert(scale(7, {1, 2}) == 4);
static_assert(scale(INT64_MAX, {3, 3}) == INT64_MAX);

static_assert(Bytes::kib(3).count() == 3072 && Bytes::gib(2) == Bytes::mib(2048));
static_assert(Bytes(10) / 3 == Bytes(3) && Bytes(10) % Bytes(4) == Bytes(2));
static_assert(Duration::seconds(1) == Duration::milliseconds(1000));
static_assert(Duration::milliseconds(1) == Duration::microseconds(1000));
static_assert(Duration::microseconds(1) == Duration::nanoseconds(1000));
static_assert(Duration::nanoseconds(1) == Duration::picoseconds(1000));
static_assert(Bandwidth::gigabytes_per_second(1) == Bandwidth::gigabits_per_second(8));
static_assert(Bandwidth::gigabits_per_second(1) == Bandwidth::megabits_per_second(1000));
static_assert((SimTime::picoseconds(5) + Duration::picoseconds(7)).since_start().ps() == 12);

TEST(Units, DivisionByNothingIsOurBug) {
  EXPECT_THROW((void)(Bytes(1) / Bandwidth()), CheckFailure);
  EXPECT_THROW((void)(Bytes(1) / Duration()), CheckFailure);
  EXPECT_THROW((void)(Bytes(1) / Bandwidth::bits_per_second(-8)), CheckFailure);
  EXPECT_THROW((void)scale(1, {1, 0}), CheckFailure);
}

TEST(Units, AResultBeyond64BitsIsOurBug) {
  // 2^63 ps are 9 223 372 s; 1.2 MB at 1 bit/s take 9 600 000 s.
  EXPECT_EQ((Bytes(1'152'921) / Bandwidth::bits_per_second(1)).ps(), 9'223'368'000'000'000'000);
  EXPECT_THROW((void)(Bytes(1'200'000) / Bandwidth::bits_per_second(1)), CheckFailure);
  EXPECT_THROW((void)scale(INT64_MAX, {2, 1}), CheckFailure);
  try {
    (void)scale(INT64_MIN, {2, 1});
    FAIL();
  } catch (const CheckFailure& failure) {
    EXPECT_NE(std::string(failure.what()).find("the result does not fit in 64 bits"),
              std::string::npos);
  }
}

TEST(Units, OutputInTheFieldsUnits) {
  EXPECT_DOUBLE_EQ(Bandwidth::gigabits_per_second(100).as_gigabytes_per_second(), 12.5);
  EXPECT_DOUBLE_EQ(Bandwidth::gigabytes_per_second(50).as_gigabits_per_second(), 400);
  EXPECT_DOUBLE_EQ(Duration::nanoseconds(1500).as_us(), 1.5);
  EXPECT_DOUBLE_EQ(Duration::microseconds(1500).as_ms(), 1.5);
  EXPECT_DOUBLE_EQ(Duration::milliseconds(1500).as_seconds(), 1.5);
  EXPECT_DOUBLE_EQ((Ratio{7, 4}.as_double()), 1.75);
}

TEST(Ids, IndexAndOrder) {
  EXPECT_EQ(RankId(3).index(), 3U);
  EXPECT_EQ(RankId().value(), 0);
  EXPECT_LT(RankId(1), RankId(2));
}

}  // namespace
}  // namespace busbw
