// The player on hand-worked schedules.
#include "scenarios/player.h"

#include <map>
#include <memory>

#include <gtest/gtest.h>

#include "models/collectives/generate.h"
#include "sim/core/check.h"

namespace busbw::scenarios {
namespace {

using collectives::Lane;
using collectives::Op;
using collectives::Schedule;
using collectives::Step;

constexpr Bandwidth kRate = Bandwidth::gigabytes_per_second(1);  // 1 byte a nanosecond

Step send(std::int32_t peer, std::int64_t bytes) {
  Step step;
  step.op = Op::kSend;
  step.peer = RankId(peer);
  step.bytes = Bytes(bytes);
  return step;
}

Step receive(std::int32_t peer, std::int64_t bytes) {
  Step step = send(peer, bytes);
  step.op = Op::kReceive;
  return step;
}

Schedule schedule_of(std::vector<std::vector<Step>> lanes) {
  Schedule schedule;
  schedule.ranks = static_cast<std::int32_t>(lanes.size());
  for (std::size_t rank = 0; rank < lanes.size(); ++rank) {
    Lane lane;
    lane.rank = RankId(static_cast<std::int32_t>(rank));
    lane.role = "test";
    lane.steps = std::move(lanes[rank]);
    schedule.lanes.push_back(std::move(lane));
  }
  return schedule;
}

/// One link per ordered pair of ranks.
struct Bench {
  std::unique_ptr<engine::Engine> engine = engine::make_engine(engine::Kind::kFluid);
  std::map<std::pair<RankId, RankId>, engine::LinkId> links;
  Duration latency;
  Duration per_message;
  std::int32_t slots = 8;
  bool carried = true;  // by a path of its own, else the sender's threads write
  std::int32_t pieces = 1;
  std::optional<LaneSpeed> speed;
  Bandwidth rate = kRate;
  Duration read_round_trip;  // by shared memory: written and read over the link

  Playback play(const Schedule& schedule) {
    PlayOptions options;
    options.slots = slots;
    options.pieces = pieces;
    options.connect = [this](RankId from, RankId to, ChannelId) {
      const auto [entry, is_new] = links.try_emplace({from, to});
      if (is_new) {
        entry->second = engine->add_link("wire", rate);
      }
      transport::Connection connection;
      connection.name = "test";
      (carried ? connection.path : connection.fill) = {entry->second};
      if (read_round_trip > Duration()) {
        connection.drain = {entry->second};
        connection.read_round_trip = read_round_trip;
      }
      connection.carried = carried;
      connection.latency = latency;
      connection.per_message = per_message;
      return connection;
    };
    options.speed = [this](const Lane&) { return speed; };
    Fingerprint fingerprint;
    return scenarios::play(*engine, schedule, options, fingerprint);
  }
};

TEST(Player, MessagesOfAConnectionGoOneAfterTheOtherAndHideTheirLatency) {
  // Two messages of 1000 bytes posted at 0 with 300 ns latency: 300 + 1000 + 1000 ns.
  Bench bench;
  bench.latency = Duration::nanoseconds(300);
  const Playback played = bench.play(
      schedule_of({{send(1, 1000), send(1, 1000)}, {receive(0, 1000), receive(0, 1000)}}));
  EXPECT_EQ(played.time, Duration::nanoseconds(2300));
  EXPECT_EQ(played.messages, 2);
}

TEST(Player, PerMessageCostSeparatesMessages) {
  // 0 + 1000, gap 50, 1000.
  Bench bench;
  bench.per_message = Duration::nanoseconds(50);
  const Playback played = bench.play(
      schedule_of({{send(1, 1000), send(1, 1000)}, {receive(0, 1000), receive(0, 1000)}}));
  EXPECT_EQ(played.time, Duration::nanoseconds(2050));
}

TEST(Player, AProxyMovesASlotAsAWhole) {
  // Two slots of four and of two pieces, 250 bytes each. Threads that write a piece in 500 ns at 1
  // GB/s (read and written) have filled the first after 2000 ns, which then takes 1000 ns to cross
  // and 4 x 500 to be read: 5000 ns. The second is filled after 3000 and there at 3500: it waits
  // for its reader until 5000 and ends at 6000. Pieces on their own would end at 3250 + 500.
  Bench bench;
  bench.speed = LaneSpeed{kRate, Duration()};
  std::vector<Step> sends;
  std::vector<Step> receives;
  for (int piece = 0; piece < 6; ++piece) {
    for (auto* steps : {&sends, &receives}) {
      steps->push_back(steps == &sends ? send(1, 250) : receive(0, 250));
      steps->back().chunk = piece < 4 ? 0 : 1;
      steps->back().offset = Bytes(250 * piece);
    }
  }
  EXPECT_EQ(bench.play(schedule_of({sends, receives})).time, Duration::nanoseconds(3750));
  bench.pieces = 4;
  EXPECT_EQ(bench.play(schedule_of({sends, receives})).time, Duration::nanoseconds(6000));
}

TEST(Player, AThreadBlockWritesAndReadsAtItsOwnRate) {
  // 1000 bytes read and written at 2 GB/s: 1000 ns, longer than the link of 4 GB/s needs; 300 ns
  // on the way; the receiver reads and writes them too.
  Bench bench;
  bench.carried = false;
  bench.rate = kRate * 4;
  bench.latency = Duration::nanoseconds(300);
  bench.speed = LaneSpeed{kRate * 2, Duration()};
  EXPECT_EQ(bench.play(schedule_of({{send(1, 1000)}, {receive(0, 1000)}})).time,
            Duration::nanoseconds(2300));
}

TEST(Player, AThreadBlockWaitsForALinkThatIsSlower) {
  // The link gives 1 GB/s, the threads could do 10: the second message is written after the first,
  // 2000 ns, and arrives 300 ns later; the receiver takes 200 ns for each.
  Bench bench;
  bench.carried = false;
  bench.latency = Duration::nanoseconds(300);
  bench.speed = LaneSpeed{kRate * 10, Duration()};
  EXPECT_EQ(
      bench
          .play(schedule_of({{send(1, 1000), send(1, 1000)}, {receive(0, 1000), receive(0, 1000)}}))
          .time,
      Duration::nanoseconds(2500));
}

TEST(Player, WhatAProxyCarriesLeavesTheThreadsFree) {
  // 200 ns a message for the threads to fill the buffer; then 300 + 1000 on the path, and 1000 for
  // the second, whose latency hides; 200 ns for the receiver.
  Bench bench;
  bench.latency = Duration::nanoseconds(300);
  bench.speed = LaneSpeed{kRate * 10, Duration()};
  EXPECT_EQ(
      bench
          .play(schedule_of({{send(1, 1000), send(1, 1000)}, {receive(0, 1000), receive(0, 1000)}}))
          .time,
      Duration::nanoseconds(200 + 300 + 1000 + 1000 + 200));
}

// 1000 bytes at 10 GB/s are written and read in 200 ns, then read by rounds of 250 bytes: the first
// is within the latency, 3 x 400 ns are left.
TEST(Player, ReadsOfHostMemoryWaitForTheirAnswers) {
  Bench bench;
  bench.carried = false;
  bench.rate = kRate * 100;
  bench.read_round_trip = Duration::nanoseconds(400);
  bench.speed = LaneSpeed{kRate * 10, Duration(), Bytes(), Bytes(250)};
  const Schedule schedule = schedule_of({{send(1, 1000)}, {receive(0, 1000)}});
  EXPECT_EQ(bench.play(schedule).time, Duration::nanoseconds(200 + 4 * 400));
  bench.speed->first_round = Bytes(250);
  EXPECT_EQ(bench.play(schedule).time, Duration::nanoseconds(150 + 3 * 400));
}

// What is passed on is stored in the host's memory after each round: 4 x 400 ns and 1000 bytes read
// and written at 10 GB/s, 200 ns, for the rank between.
TEST(Player, StoresInHostMemoryFollowTheReads) {
  Bench bench;
  bench.carried = false;
  bench.rate = kRate * 100;
  bench.read_round_trip = Duration::nanoseconds(400);
  bench.speed = LaneSpeed{kRate * 10, Duration(), Bytes(), Bytes(250)};
  const Schedule schedule =
      schedule_of({{send(1, 1000)}, {receive(0, 1000), send(2, 1000)}, {receive(1, 1000)}});
  EXPECT_EQ(bench.play(schedule).time, Duration::nanoseconds(200 + (1600 + 200) + 1600));
}

// 1000 bytes are sent over a link of 1 byte a nanosecond and copied at 10: half of the copy's
// stores, 50 ns, waits beside the link; the receiver needs 200 ns. Threads that are slower than the
// link take their three operands' time, 3000 ns, and the receiver's two, whatever waits.
TEST(Player, StoresInItsOwnMemoryWaitWithThoseToAPeer) {
  Step copy;
  copy.op = Op::kCopy;
  copy.bytes = Bytes(1000);
  const Schedule schedule = schedule_of({{send(1, 1000), copy}, {receive(0, 1000)}});
  const auto time = [&](const Schedule& played, std::int64_t link, std::int64_t stream, Ratio wait,
                        Duration host_memory = {}) {
    Bench bench;
    bench.carried = false;
    bench.rate = kRate * link;
    bench.read_round_trip = host_memory;
    bench.speed = LaneSpeed{kRate * stream, Duration(), Bytes(), Bytes(250), wait};
    return bench.play(played).time;
  };
  const Ratio half{1, 2};
  EXPECT_EQ(time(schedule, 1, 10, {0, 1}), Duration::nanoseconds(1000 + 200));
  EXPECT_EQ(time(schedule, 1, 10, half), Duration::nanoseconds(50 + 1000 + 200));
  EXPECT_EQ(time(schedule, 10, 1, half), Duration::nanoseconds(3000 + 2000));
  // Without the copy there is nothing to wait for.
  EXPECT_EQ(time(schedule_of({{send(1, 1000)}, {receive(0, 1000)}}), 1, 10, half),
            Duration::nanoseconds(1000 + 200));
  // Nor where the buffer lies in host memory: the reader's four rounds take what they took.
  EXPECT_EQ(time(schedule, 1, 10, half, Duration::nanoseconds(400)),
            Duration::nanoseconds(1000 + 4 * 400));
}

TEST(Player, EachPrimitivePaysItsSynchronisation) {
  Bench bench;
  bench.carried = false;
  bench.rate = kRate * 4;
  bench.speed = LaneSpeed{kRate * 2, Duration::nanoseconds(70)};
  EXPECT_EQ(bench.play(schedule_of({{send(1, 1000)}, {receive(0, 1000)}})).time,
            Duration::nanoseconds(2 * (70 + 1000)));
}

TEST(Player, ARingIsAsFastAsItsPrimitives) {
  // n = 2, one chunk of 1024 bytes a rank, stream 1 GB/s, links faster: send 2 x 1024 bytes,
  // recvReduceCopySend 4 x 1024, recv 2 x 1024: 8192 ns.
  collectives::Shape shape;
  shape.ranks = 2;
  shape.rings = {{RankId(0), RankId(1)}};
  collectives::Options options;
  options.bytes = Bytes(2048);
  options.element = Bytes(1);
  options.chunk = Bytes(1024);
  Bench bench;
  bench.carried = false;
  bench.rate = kRate * 10;
  bench.speed = LaneSpeed{kRate, Duration()};
  EXPECT_EQ(bench.play(collectives::ring_all_reduce(shape, options)).time,
            Duration::nanoseconds(8 * 1024));
}

TEST(Player, ASenderWaitsForASlot) {
  // One slot and 300 ns latency: the second message is posted when the first is consumed, at 1300
  // ns, and pays its latency in full: 2600 ns. With two slots it hides: 2300 ns.
  Bench bench;
  bench.latency = Duration::nanoseconds(300);
  bench.slots = 1;
  const Schedule schedule =
      schedule_of({{send(1, 1000), send(1, 1000)}, {receive(0, 1000), receive(0, 1000)}});
  EXPECT_EQ(bench.play(schedule).time, Duration::nanoseconds(2600));
}

TEST(Player, RingAllReduceTakesTheClosedForm) {
  // n = 4 ranks, S = 4000 bytes, one chunk a rank: 2 (n-1) steps of latency + (S/n) / rate.
  //   6 x (300 + 1000) ns = 7800 ns
  collectives::Shape shape;
  shape.ranks = 4;
  shape.rings = {{RankId(0), RankId(1), RankId(2), RankId(3)}};
  collectives::Options options;
  options.bytes = Bytes(4096);
  options.chunk = Bytes(1024);
  Bench bench;
  bench.latency = Duration::nanoseconds(300);
  const Playback played = bench.play(collectives::ring_all_reduce(shape, options));
  EXPECT_EQ(played.time, Duration::nanoseconds(6 * (300 + 1024)));
}

TEST(Player, ADeadlockIsOurBug) {
  Bench bench;
  const Schedule schedule = schedule_of({{receive(1, 8), send(1, 8)}, {receive(0, 8), send(0, 8)}});
  EXPECT_THROW(bench.play(schedule), CheckFailure);
}

TEST(Player, ALinkThatIsDownNamesItsConnection) {
  Bench bench;
  bench.rate = Bandwidth();
  const Playback played = bench.play(schedule_of({{send(1, 8)}, {receive(0, 8)}}));
  ASSERT_TRUE(played.failure.has_value());
  EXPECT_EQ(*played.failure, "test");
}

}  // namespace
}  // namespace busbw::scenarios
