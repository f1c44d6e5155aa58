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
  std::int32_t staged_copies = 0;
  Bandwidth rate = kRate;

  Playback play(const Schedule& schedule) {
    PlayOptions options;
    options.slots = slots;
    options.connect = [this](RankId from, RankId to, ChannelId) {
      const auto [entry, is_new] = links.try_emplace({from, to});
      if (is_new) {
        entry->second = engine->add_link("wire", rate);
      }
      transport::Connection connection;
      connection.name = "test";
      connection.path = {entry->second};
      connection.latency = latency;
      connection.per_message = per_message;
      connection.staged_copies = staged_copies;
      connection.staging = kRate * 2;
      return connection;
    };
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

TEST(Player, StagedMessagesAreStoredAndForwarded) {
  // Two copies at 2 GB/s: 2 x 500 ns before a message of 1000 bytes moves; the second message's
  // hide.
  Bench bench;
  bench.staged_copies = 2;
  const Playback played = bench.play(
      schedule_of({{send(1, 1000), send(1, 1000)}, {receive(0, 1000), receive(0, 1000)}}));
  EXPECT_EQ(played.time, Duration::nanoseconds(3000));
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
