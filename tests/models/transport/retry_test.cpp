// When connections send again and when they give up.
#include "models/transport/retry.h"

#include <gtest/gtest.h>

namespace busbw::transport {
namespace {

TEST(Retry, AQueuePairTriesAtMultiplesOfItsTimer) {
  // 4.096 us x 2^18 = 1.073741824 s; seven tries, then 8 x that.
  const RetryRule rule = queue_pair_retries(18, 7);
  ASSERT_EQ(rule.tries.size(), 7U);
  EXPECT_EQ(rule.tries.front(), Duration::nanoseconds(1'073'741'824));
  EXPECT_EQ(rule.tries.back(), Duration::nanoseconds(7 * 1'073'741'824LL));
  EXPECT_EQ(rule.gives_up, Duration::nanoseconds(8 * 1'073'741'824LL));
  // The exponent of NCCL 2.23 and later: about 34 s.
  EXPECT_EQ(queue_pair_retries(20, 7).gives_up, Duration::nanoseconds(34'359'738'368));
}

TEST(Retry, WithoutRetriesTheFirstTimeOutIsTheLast) {
  const RetryRule rule = queue_pair_retries(14, 0);
  EXPECT_TRUE(rule.tries.empty());
  EXPECT_EQ(rule.gives_up, Duration::nanoseconds(4096 * 16384LL));
}

TEST(Retry, TimeOutZeroNeverRuns) {
  const RetryRule rule = queue_pair_retries(0, 7);
  EXPECT_TRUE(rule.tries.empty());
  EXPECT_FALSE(rule.gives_up.has_value());
}

TEST(Retry, TcpDoublesItsTimerUpToTwoMinutes) {
  // 0.2, 0.6, 1.4, 3.0, 6.2 ... and from 120 s on evenly: 924.6 s in all, as the kernel's
  // documentation of tcp_retries2 has it.
  const RetryRule rule = tcp_retries({Duration::milliseconds(200), Duration::seconds(120), 15});
  ASSERT_EQ(rule.tries.size(), 15U);
  EXPECT_EQ(rule.tries[0], Duration::milliseconds(200));
  EXPECT_EQ(rule.tries[3], Duration::seconds(3));
  EXPECT_EQ(rule.tries[9], Duration::milliseconds(204'600));
  EXPECT_EQ(rule.tries[10], Duration::milliseconds(324'600));
  EXPECT_EQ(rule.gives_up, Duration::milliseconds(924'600));
}

TEST(Retry, DataStandsStillUntilTheNextTry) {
  const RetryRule rule = queue_pair_retries(18, 7);
  EXPECT_EQ(standstill(rule, Duration::milliseconds(1)), rule.tries[0]);
  EXPECT_EQ(standstill(rule, rule.tries[2]), rule.tries[2]);
  EXPECT_EQ(standstill(rule, Duration::seconds(8)), std::nullopt);
}

}  // namespace
}  // namespace busbw::transport
