// Small cases whose rates and times are worked out by hand, run on both engines.
//
// Handy numbers: 125 kB are 1 Mbit, which takes 10 us at 100 Gbit/s. Rates below are in Gbit/s.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/sim/engine/recorder.h"

namespace busbw::engine {
namespace {

class HandWorked : public testing::TestWithParam<Kind> {
 protected:
  HandWorked() : r(GetParam()) {}
  Recorder r;
};
INSTANTIATE_TEST_SUITE_P(Engines, HandWorked, testing::Values(Kind::kFluid, Kind::kReference),
                         [](const auto& info) { return name_of(info.param); });

TEST_P(HandWorked, OneFlowTakesLatencyPlusSizeOverCapacity) {
  const LinkId a = r.link(100);
  // 1 Mbit / 100 = 10 us, after 2 us of latency.
  FlowSpec spec = flow_over({a}, kb(125));
  spec.latency = us(2);
  r.flow("f", spec);
  EXPECT_EQ(r.run(), (Log{"12000000 f"}));
  EXPECT_EQ(r.engine().usage(a).carried, kb(125));
  EXPECT_EQ(r.engine().usage(a).busy, us(10));
  EXPECT_EQ(r.engine().event_count(), 1);
}

TEST_P(HandWorked, DumbbellSharesTheMiddleEqually) {
  const LinkId middle = r.link(100);
  const LinkId left1 = r.link(400);
  const LinkId left2 = r.link(400);
  // Both at 50 until the shorter (1 Mbit) ends at 1 Mbit / 50 = 20 us. The longer (2 Mbit) has 1
  // Mbit left, now at 100: 10 us more.
  r.flow("long", {left1, middle}, kb(250));
  r.flow("short", {left2, middle}, kb(125));
  EXPECT_EQ(r.run(), (Log{"20000000 short", "30000000 long"}));
  EXPECT_EQ(r.engine().usage(middle).carried, kb(375));
  EXPECT_EQ(r.engine().usage(middle).busy, us(30));
  EXPECT_EQ(r.engine().usage(left1).carried, kb(250));
  EXPECT_EQ(r.engine().usage(left2).busy, us(20));
}

TEST_P(HandWorked, DumbbellWithNarrowAccessLeavesTheRestToTheOther) {
  const LinkId middle = r.link(100);
  const LinkId narrow = r.link(20);
  const LinkId wide = r.link(400);
  // narrow 20, wide 100 - 20 = 80. wide 4 Mbit / 80 = 50 us; narrow 2 Mbit / 20 = 100 us
  // throughout.
  r.flow("narrow", {narrow, middle}, kb(250));
  r.flow("wide", {wide, middle}, kb(500));
  EXPECT_EQ(r.run(), (Log{"50000000 wide", "100000000 narrow"}));
}

TEST_P(HandWorked, LaterArrivalSlowsTheFirst) {
  const LinkId a = r.link(100);
  // first alone 100 for 10 us: 1 of its 2 Mbit moved. Then 50 each: first's 1 Mbit takes 20 us,
  // ends at 30 us; second moved 1 of 1.5 Mbit by then, the rest at 100: 5 us, ends at 35 us.
  r.flow("first", {a}, kb(250));
  r.at(us(10), [this, a] { r.flow("second", {a}, Bytes(187'500)); });
  EXPECT_EQ(r.run(), (Log{"30000000 first", "35000000 second"}));
}

TEST_P(HandWorked, ParkingLotGivesTheLongFlowTheTightestShare) {
  const LinkId a = r.link(100);
  const LinkId b = r.link(60);
  // b is tightest: 60 / 2 = 30 each. a: 100 - 30 = 70 for its local flow, 700 kbit / 70 = 10 us.
  // Then b still binds: local b 600 kbit / 30 = 20 us. By then through moved 600 of 1200 kbit;
  // alone on b it gets 60: 10 us more.
  r.flow("through", {a, b}, Bytes(150'000));
  r.flow("local a", {a}, Bytes(87'500));
  r.flow("local b", {b}, Bytes(75'000));
  EXPECT_EQ(r.run(), (Log{"10000000 local a", "20000000 local b", "30000000 through"}));
}

TEST_P(HandWorked, ParkingLotOfThreeLevels) {
  const LinkId a = r.link(30);
  const LinkId b = r.link(80);
  const LinkId c = r.link(200);
  // Flows: x over a b c, y over a, z over b c, w over c.
  // Level 15: a fixes x and y (30 / 2). b: 80 - 15 = 65 for z; c: (200 - 15) / 2 = 92.5 > 65, so z
  // is
  // 65. c: 200 - 15 - 65 = 120 for w. Sizes are 10 us of each rate, so all end together, in the
  // order of their start.
  r.flow("x", {a, b, c}, Bytes(18'750));
  r.flow("y", {a}, Bytes(18'750));
  r.flow("z", {b, c}, Bytes(81'250));
  r.flow("w", {c}, Bytes(150'000));
  EXPECT_EQ(r.run(), (Log{"10000000 x", "10000000 y", "10000000 z", "10000000 w"}));
}

TEST_P(HandWorked, RingAllReduce) {
  // n = 4 ranks, one link of B = 100 to the next rank, S = 1 MB, chunks of S / n, latency 3 us:
  // 2 (n - 1) steps, each 3 us + 2 Mbit / 100 = 23 us. Every link carries 2 (n - 1) / n S = 1.5 MB.
  constexpr int kRanks = 4;
  constexpr int kSteps = 2 * (kRanks - 1);
  std::vector<LinkId> to_next;
  for (int rank = 0; rank < kRanks; ++rank) {
    to_next.push_back(r.link(100));
  }
  std::function<void(std::size_t, int)> send = [&](std::size_t rank, int step) {
    FlowSpec spec = flow_over({to_next[rank]}, kb(250));
    spec.latency = us(3);
    r.engine().start_flow(spec, [&, rank, step](FlowEnd) {
      if (step + 1 < kSteps) {
        send((rank + 1) % kRanks, step + 1);
      } else {
        r.note("rank " + std::to_string((rank + 1) % kRanks));
      }
    });
  };
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    send(rank, 0);
  }
  EXPECT_EQ(r.run(),
            (Log{"138000000 rank 2", "138000000 rank 3", "138000000 rank 0", "138000000 rank 1"}));
  EXPECT_EQ(r.engine().event_count(), kRanks * kSteps);
  for (const LinkId link : to_next) {
    EXPECT_EQ(r.engine().usage(link).carried, kb(1500));
    EXPECT_EQ(r.engine().usage(link).busy, us(120));
  }
}

TEST_P(HandWorked, CapLimitsOneFlowAndLeavesTheRest) {
  const LinkId a = r.link(100);
  // capped 25, other 75. 250 kbit / 25 = 10 us, and 750 kbit / 75 = 10 us.
  FlowSpec capped = flow_over({a}, Bytes(31'250));
  capped.rate_cap = gbps(25);
  r.flow("capped", capped);
  r.flow("other", {a}, Bytes(93'750));
  EXPECT_EQ(r.run(), (Log{"10000000 capped", "10000000 other"}));
  // A cap above the share changes nothing: 50 each, 500 kbit / 50 = 10 us.
  FlowSpec loose = flow_over({a}, Bytes(62'500));
  loose.rate_cap = gbps(60);
  r.flow("loose", loose);
  r.flow("other", {a}, Bytes(62'500));
  EXPECT_EQ(r.run(), (Log{"20000000 loose", "20000000 other"}));
}

TEST_P(HandWorked, PathThatCrossesALinkTwiceUsesItTwice) {
  const LinkId a = r.link(90);
  const LinkId b = r.link(400);
  // twice takes 2 v of a, once takes v: 3 v = 90, v = 30 for both. 300 kbit / 30 = 10 us.
  r.flow("twice", {a, b, a}, Bytes(37'500));
  r.flow("once", {a}, Bytes(37'500));
  EXPECT_EQ(r.run(), (Log{"10000000 twice", "10000000 once"}));
  EXPECT_EQ(r.engine().usage(a).carried, Bytes(3 * 37'500));
  EXPECT_EQ(r.engine().usage(b).carried, Bytes(37'500));
  EXPECT_EQ(r.engine().usage(a).busy, us(10));
  // Alone it gets 90 / 2 = 45: 450 kbit / 45 = 10 us.
  r.flow("alone", {a, a}, Bytes(56'250));
  EXPECT_EQ(r.run(), (Log{"20000000 alone"}));
  EXPECT_EQ(r.engine().usage(a).busy, us(20));
}

TEST_P(HandWorked, NothingToMoveTakesOnlyTheLatency) {
  const LinkId a = r.link(100);
  FlowSpec spec = flow_over({a}, Bytes(0));
  r.flow("no bytes", spec);
  spec.latency = us(4);
  r.flow("no bytes, late", spec);
  FlowSpec no_path = flow_over({}, kb(125));
  no_path.latency = us(1);
  r.flow("no path", no_path);
  // 1 Mbit at a cap of 200: 5 us, after 1 us.
  no_path.rate_cap = gbps(200);
  r.flow("no path, capped", no_path);
  EXPECT_EQ(r.run(), (Log{"0 no bytes", "1000000 no path", "4000000 no bytes, late",
                          "6000000 no path, capped"}));
  EXPECT_EQ(r.engine().usage(a).carried, Bytes(0));
  EXPECT_EQ(r.engine().usage(a).busy, Duration());
}

TEST_P(HandWorked, CapacityChangesUnderWay) {
  const LinkId a = r.link(100);
  // 4 Mbit: 10 us at 100 (1 moved), 20 us at 50 (1 moved), the last 2 at 200: 10 us. 40 us in all.
  r.flow("f", {a}, kb(500));
  r.at(us(10), [this, a] { r.engine().set_capacity(a, gbps(50)); });
  r.at(us(30), [this, a] { r.engine().set_capacity(a, gbps(200)); });
  EXPECT_EQ(r.run(), (Log{"40000000 f"}));
  EXPECT_EQ(r.engine().capacity(a), gbps(200));
  EXPECT_EQ(r.engine().usage(a).carried, kb(500));
}

TEST_P(HandWorked, LinkGoesDownAndComesBack) {
  const LinkId a = r.link(100);
  const LinkId b = r.link(100);
  // At 10 us both moved 50 x 10 us = 500 kbit = 62.5 kB on b. a goes down: x fails, y goes on at
  // 100 with 1.5 Mbit left: 15 us more. A start while a is down fails at once, one after that goes
  // through.
  r.flow("x", {a, b}, kb(250));
  r.flow("y", {b}, kb(250));
  r.at(us(10), [this, a] { r.engine().set_capacity(a, gbps(0)); });
  r.at(us(20), [this, a] {
    r.flow("too early", {a}, kb(125));
    r.note("too early was started");
  });
  r.at(us(30), [this, a] {
    r.engine().set_capacity(a, gbps(100));
    r.flow("again", {a}, kb(125));
  });
  EXPECT_EQ(r.run(), (Log{"10000000 x down", "20000000 too early was started",
                          "20000000 too early down", "25000000 y", "40000000 again"}));
  EXPECT_EQ(r.engine().usage(a).carried, Bytes(62'500 + 125'000));
  EXPECT_EQ(r.engine().usage(b).carried, Bytes(62'500 + 250'000));
  EXPECT_EQ(r.engine().usage(a).busy, us(20));
  EXPECT_EQ(r.engine().usage(b).busy, us(25));
  EXPECT_EQ(r.engine().event_count(), 4 + 3);
}

TEST_P(HandWorked, ACutFlowTellsWhatHadPassed) {
  // Both move 50 x 10 us = 62.5 kB until a goes down; what starts then has moved nothing.
  const LinkId a = r.link(100);
  std::vector<std::int64_t> moved;
  const auto start = [&](std::int64_t size) {
    r.engine().start_flow(flow_over({a}, kb(size)), [&](FlowEnd end) {
      EXPECT_EQ(end, FlowEnd::kLinkDown);
      moved.push_back(r.engine().moved_when_cut().count());
    });
  };
  start(250);
  start(125);
  r.at(us(10), [&] { r.engine().set_capacity(a, gbps(0)); });
  r.at(us(11), [&] { start(125); });
  r.run();
  EXPECT_EQ(moved, (std::vector<std::int64_t>{62'500, 62'500, 0}));
}

TEST_P(HandWorked, LinkThatStartsDownFailsFlowsUntilItIsUp) {
  const LinkId a = r.link(0);
  r.flow("before run", {a}, kb(125));
  FlowSpec empty = flow_over({a}, Bytes(0));
  empty.latency = us(7);
  r.flow("nothing to move", empty);
  EXPECT_EQ(r.run(), (Log{"0 before run down", "0 nothing to move down"}));
  r.engine().set_capacity(a, gbps(100));
  r.flow("after", {a}, kb(125));
  EXPECT_EQ(r.run(), (Log{"10000000 after"}));
}

TEST_P(HandWorked, LinkIsCheckedWhenTheLatencyIsPaid) {
  const LinkId a = r.link(100);
  FlowSpec spec = flow_over({a}, kb(125));
  spec.latency = us(5);
  r.flow("down then", spec);
  spec.latency = us(9);
  r.flow("up again then", spec);
  r.at(us(4), [this, a] { r.engine().set_capacity(a, gbps(0)); });
  r.at(us(6), [this, a] { r.engine().set_capacity(a, gbps(100)); });
  EXPECT_EQ(r.run(), (Log{"5000000 down then down", "19000000 up again then"}));
}

TEST_P(HandWorked, FlowWhoseLastByteArrivesAsTheLinkGoesDownIsDone) {
  const LinkId a = r.link(100);
  r.at(us(10), [this, a] { r.engine().set_capacity(a, gbps(0)); });
  r.flow("f", {a}, kb(125));
  EXPECT_EQ(r.run(), (Log{"10000000 f"}));
  EXPECT_EQ(r.engine().usage(a).carried, kb(125));
}

TEST_P(HandWorked, UsageUnderWay) {
  const LinkId a = r.link(80);
  r.flow("f", {a}, kb(125));
  // 80 Gbit/s are 10 kB a us.
  r.at(us(3), [this, a] {
    EXPECT_EQ(r.engine().usage(a).carried, kb(30));
    EXPECT_EQ(r.engine().usage(a).busy, us(3));
  });
  r.run();
  EXPECT_EQ(r.engine().usage(a).carried, kb(125));
}

}  // namespace
}  // namespace busbw::engine
