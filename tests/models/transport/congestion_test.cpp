// Steady states of networks that lose or pause packets: worked numbers and limits.
#include "models/transport/congestion.h"

#include <gtest/gtest.h>

namespace busbw::transport {
namespace {

params::Congestion congestion() {
  params::Congestion values;
  values.rdma_round_trip = Duration::microseconds(8);
  values.tcp_round_trip = Duration::microseconds(58);
  values.port_buffer = Bytes(375'000);
  values.least_window = 4;
  return values;
}

TEST(Congestion, TheWindowIsWhatIsUnderWay) {
  // 400 Gb/s for 8 us are 400,000 bytes: 97.66 packets of 4096, and the one that was lost.
  EXPECT_NEAR(
      window_packets(Bandwidth::gigabits_per_second(400), Duration::microseconds(8), Bytes(4096)),
      98.65625, 1e-9);
}

TEST(Congestion, GoBackNSendsAWindowAgainForEachLoss) {
  EXPECT_EQ(go_back_n_share(0, 100), 1);
  EXPECT_EQ(go_back_n_share(1, 100), 0);
  // p = 0.01, W = 100: 0.99 / (0.99 + 1).
  EXPECT_NEAR(go_back_n_share(0.01, 100), 0.99 / 1.99, 1e-12);
  // One packet under way: nothing but the lost packets is sent twice.
  EXPECT_NEAR(go_back_n_share(0.25, 1), 0.75, 1e-12);
}

TEST(Congestion, MathisLimitsATcpStream) {
  // 1448 bytes in 58 us are 199.72 Mb/s, times sqrt(1.5 / 1e-4) = 122.474: 24.46 Gb/s.
  const Bandwidth rate = mathis_rate(Bytes(1448), Duration::microseconds(58), 1e-4);
  EXPECT_NEAR(rate.as_gigabits_per_second(), 24.4610, 1e-3);
  // A hundred times the loss, a tenth of the rate.
  EXPECT_NEAR(mathis_rate(Bytes(1448), Duration::microseconds(58), 1e-2).as_gigabits_per_second(),
              2.44610, 1e-4);
}

TEST(Congestion, IncastWithoutPfcCollapses) {
  EXPECT_EQ(lossy_incast_share(1, 100), 1);
  // Two senders, half of each one's packets are lost: 2 x 0.5 / (0.5 + 100 x 0.5) = 2 / 101.
  EXPECT_NEAR(lossy_incast_share(2, 100), 2.0 / 101, 1e-12);
  EXPECT_NEAR(lossy_incast_share(8, 100), 8.0 / 701, 1e-12);
}

TEST(Congestion, MarksComeInTimeWhereTheBufferHoldsTheExcess) {
  // 58 us of one sender too many: 72.5 kB at 10 Gb/s, 725 kB at 100 Gb/s, of 375 kB.
  EXPECT_TRUE(marks_in_time(2, Bandwidth::gigabits_per_second(10), congestion()));
  EXPECT_FALSE(marks_in_time(2, Bandwidth::gigabits_per_second(100), congestion()));
  EXPECT_FALSE(marks_in_time(7, Bandwidth::gigabits_per_second(10), congestion()));
}

TEST(Congestion, TcpIncastWaitsForATimeOutABlock) {
  TcpIncast incast{64, Bytes(1 << 20), Bytes(1448), Bandwidth::gigabits_per_second(10),
                   Duration::milliseconds(200)};
  // 64 senders with four segments of 1448 each fit 375,000 bytes, 65 do not.
  EXPECT_EQ(tcp_incast_share(incast, congestion()), 1);
  incast.senders = 65;
  // 65 blocks of 1 MiB take 54.53 ms: 54.53 / 254.53.
  EXPECT_NEAR(tcp_incast_share(incast, congestion()), 0.0545260 / 0.2545260, 1e-5);
}

TEST(Congestion, SharesStayAboveNothing) {
  EXPECT_EQ(share_of(0.5), (Ratio{500'000, 1'000'000}));
  EXPECT_EQ(share_of(1e-9), (Ratio{1, 1'000'000}));
}

}  // namespace
}  // namespace busbw::transport
