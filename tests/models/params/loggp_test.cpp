// The fit, worked by hand: figures made from known parameters give these parameters back.
#include "models/params/loggp.h"

#include <gtest/gtest.h>

#include "sim/core/check.h"

namespace busbw::params {
namespace {

constexpr Duration us(std::int64_t count) {
  return Duration::microseconds(count);
}

/// A wire of 1 byte a microsecond, L 100 us, o 10 us and 20 us; each byte costs the sender 0.1 us
/// and the receiver 0.2 us.
LogGpFigures by_hand() {
  LogGpFigures figures;
  figures.small = Bytes(10);
  figures.medium = Bytes(1000);
  figures.large = Bytes(5000);
  // T = o + L + o + b G; for the small message 10 + 100 + 20 us, in which its 10 bytes are.
  figures.half_round_trip = {us(130), us(1120), us(5130)};
  // S = b G, but for the small one: 15 us are what the wire needs from message to message.
  figures.interval = {us(15), us(1000), us(5000)};
  figures.sender_load = {us(10), us(109), us(509)};
  figures.receiver_load = {us(20), us(218), us(1018)};
  return figures;
}

TEST(LogGp, ParametersOfAKnownWire) {
  const MeasuredLink link = fit_loggp(by_hand());
  // 5000 us for 5000 bytes.
  EXPECT_EQ(link.bandwidth, Bandwidth::megabits_per_second(8));
  EXPECT_EQ(link.gap, us(15));
  EXPECT_EQ(link.send_overhead, us(10));
  EXPECT_EQ(link.receive_overhead, us(20));
  EXPECT_EQ(link.latency, us(100));
  // 990 bytes more cost 99 us and 198 us more.
  EXPECT_EQ(link.send_rate, Bandwidth::megabits_per_second(80));
  EXPECT_EQ(link.receive_rate, Bandwidth::megabits_per_second(40));
  // T(5000) - T(10) = 5000 us = 5000 bytes at the bandwidth: nothing is held up or let through.
  EXPECT_EQ(link.burst, Bytes(0));
  EXPECT_EQ(link.staging, std::nullopt);
}

TEST(LogGp, BytesThatAShaperLetsPassAtOnce) {
  LogGpFigures figures = by_hand();
  figures.half_round_trip.large = us(130 + 5000 - 1500);
  EXPECT_EQ(fit_loggp(figures).burst, Bytes(1500));
  // Never more than the message by which it was found.
  figures.half_round_trip.large = us(100);
  EXPECT_EQ(fit_loggp(figures).burst, Bytes(5000));
}

TEST(LogGp, ACopyThatHoldsAMessageUp) {
  LogGpFigures figures = by_hand();
  figures.half_round_trip.large = us(130 + 5000 + 2500);
  const MeasuredLink link = fit_loggp(figures);
  EXPECT_EQ(link.burst, Bytes(0));
  EXPECT_EQ(link.staging, Bandwidth::megabits_per_second(16));  // 5000 bytes in 2500 us
}

TEST(LogGp, OnOneProcessorEachEndHasHalfOfWhatBothDo) {
  LogGpFigures figures = by_hand();
  figures.shared_processor = true;
  figures.sender_load = figures.receiver_load = {us(30), us(327), us(0)};
  const MeasuredLink link = fit_loggp(figures);
  EXPECT_EQ(link.send_overhead, us(15));
  EXPECT_EQ(link.receive_overhead, us(15));
  EXPECT_EQ(link.latency, us(100));
  EXPECT_EQ(link.send_rate, link.receive_rate);
  // 990 bytes cost both 297 us: each 0.15 us a byte.
  EXPECT_EQ(link.send_rate, Bytes(990) / Duration::nanoseconds(148500));
}

TEST(LogGp, FiguresWithoutEffectGiveNothing) {
  LogGpFigures figures = by_hand();
  figures.sender_load = {us(0), us(0), us(0)};
  figures.receiver_load = {us(5), us(4), us(0)};  // noise: more bytes, less time
  figures.half_round_trip.small = us(3);
  const MeasuredLink link = fit_loggp(figures);
  EXPECT_EQ(link.send_overhead, Duration());
  EXPECT_EQ(link.send_rate, std::nullopt);
  EXPECT_EQ(link.receive_rate, std::nullopt);
  EXPECT_EQ(link.latency, Duration());  // 3 us less 0 and 5 us
  // A load below nothing is noise too.
  figures.sender_load.small = Duration() - us(7);
  EXPECT_EQ(fit_loggp(figures).send_overhead, Duration());
}

TEST(LogGp, WhatCannotBeIsOurBug) {
  LogGpFigures figures = by_hand();
  figures.medium = figures.small;
  EXPECT_THROW(static_cast<void>(fit_loggp(figures)), CheckFailure);
  figures = by_hand();
  figures.interval.large = us(0);
  EXPECT_THROW(static_cast<void>(fit_loggp(figures)), CheckFailure);
}

TEST(Processors, AreRanksTimesAloneOverTogether) {
  EXPECT_EQ(count_processors(8, us(100), us(800)), 1);  // they take turns
  EXPECT_EQ(count_processors(8, us(100), us(100)), 8);
  EXPECT_EQ(count_processors(8, us(100), us(203)), 4);
  EXPECT_EQ(count_processors(8, us(100), us(90)), 8);    // noise
  EXPECT_EQ(count_processors(2, us(100), us(5000)), 1);  // something else ran too
  EXPECT_EQ(count_processors(1, us(100), us(100)), 1);
}

}  // namespace
}  // namespace busbw::params
