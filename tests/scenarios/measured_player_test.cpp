// The measured player, worked by hand: a wire of 1 byte a nanosecond.
#include "scenarios/measured_player.h"

#include <functional>
#include <map>
#include <memory>

#include <gtest/gtest.h>

namespace busbw::scenarios {
namespace {

using collectives::Lane;
using collectives::Op;
using collectives::Schedule;
using collectives::Step;

constexpr Bandwidth kRate = Bandwidth::gigabytes_per_second(1);

Duration ns(std::int64_t count) {
  return Duration::nanoseconds(count);
}

/// `count` messages of `bytes` from rank 0 to 1, and as many from 2 to 3 when `both`.
Schedule stream_of(std::int64_t bytes, int count, bool both = false) {
  Schedule schedule;
  schedule.ranks = 4;
  for (std::int32_t rank = 0; rank < (both ? 4 : 2); ++rank) {
    Lane lane;
    lane.rank = RankId(rank);
    lane.role = "test";
    Step step;
    step.op = rank % 2 == 0 ? Op::kSend : Op::kReceive;
    step.peer = RankId(rank % 2 == 0 ? rank + 1 : rank - 1);
    step.bytes = Bytes(bytes);
    lane.steps.assign(static_cast<std::size_t>(count), step);
    schedule.lanes.push_back(std::move(lane));
  }
  return schedule;
}

class MeasuredPlayer : public testing::TestWithParam<engine::Kind> {
 protected:
  /// Plays with connections that `change` changes; each pair of ranks has a wire of its own.
  Playback play(const Schedule& schedule,
                const std::function<void(transport::MeasuredConnection&, RankId)>& change) {
    MeasuredPlayOptions options;
    options.connect = [&](RankId from, RankId to, ChannelId) {
      const auto [entry, is_new] = wires_.try_emplace({from, to});
      if (is_new)
        entry->second = engine_->add_link("wire", kRate);
      transport::MeasuredConnection connection;
      connection.name = "test";
      connection.path = {entry->second};
      change(connection, from);
      return connection;
    };
    Fingerprint fingerprint;
    return play_measured(*engine_, schedule, options, fingerprint);
  }
  engine::LinkId processor() { return engine_->add_link("processor", transport::kWorkPerSecond); }
  static transport::Work work(engine::LinkId on, std::int64_t each,
                              std::optional<Bandwidth> rate = std::nullopt) {
    return {on, ns(each), rate};
  }

  std::unique_ptr<engine::Engine> engine_ = engine::make_engine(GetParam());
  std::map<std::pair<RankId, RankId>, engine::LinkId> wires_;
};

TEST_P(MeasuredPlayer, AMessageTakesOverheadLatencyBytesOverhead) {
  const engine::LinkId sender = processor();
  const engine::LinkId receiver = processor();
  const Playback playback = play(stream_of(1000, 1), [&](auto& connection, RankId) {
    connection.latency = ns(2000);
    connection.send_work = work(sender, 100);
    connection.receive_work = work(receiver, 50);
  });
  EXPECT_EQ(playback.time, ns(100 + 2000 + 1000 + 50));
}

TEST_P(MeasuredPlayer, TheGapIsFromStartToStart) {
  const auto with_gap = [&](std::int64_t bytes) {
    return play(stream_of(bytes, 3),
                [&](auto& connection, RankId) {
                  connection.latency = ns(2000);
                  connection.gap = ns(500);
                })
        .time;
  };
  // Starts at 2000, 2500, 3000; the last has 100 bytes.
  EXPECT_EQ(with_gap(100), ns(3000 + 100));
  // Messages longer than the gap follow each other: LogGP's G counts.
  EXPECT_EQ(with_gap(800), ns(2000 + 3 * 800));
}

TEST_P(MeasuredPlayer, OverheadsOfAStreamHideBehindLongMessages) {
  const engine::LinkId sender = processor();
  const auto time = [&](std::int64_t bytes) {
    return play(stream_of(bytes, 4),
                [&](auto& connection, RankId) { connection.send_work = work(sender, 300); })
        .time;
  };
  EXPECT_EQ(time(1000), ns(300 + 4 * 1000));
  EXPECT_EQ(time(100), ns(4 * 300 + 100));  // the processor is the limit
}

TEST_P(MeasuredPlayer, RanksOfOneProcessorTakeTurns) {
  const engine::LinkId shared = processor();
  const std::map<RankId, engine::LinkId> own = {{RankId(0), processor()}, {RankId(2), processor()}};
  const Schedule schedule = stream_of(1000, 1, true);
  EXPECT_EQ(play(schedule, [&](auto& connection,
                               RankId from) { connection.send_work = work(own.at(from), 400); })
                .time,
            ns(400 + 1000));
  EXPECT_EQ(
      play(schedule, [&](auto& connection, RankId) { connection.send_work = work(shared, 400); })
          .time,
      ns(2 * 400 + 1000));
}

TEST_P(MeasuredPlayer, BytesThatTheProcessorHandlesSlowerThanTheWire) {
  const engine::LinkId shared = processor();
  const auto slow = [&](auto& connection, RankId) {
    connection.send_work = work(shared, 0, Bandwidth::megabits_per_second(4000));
    connection.receive_work = work(shared, 0, Bandwidth::megabits_per_second(4000));
  };
  // Two ends, each 2 ns a byte, on one processor: 4 ns a byte.
  EXPECT_EQ(play(stream_of(1000, 1), slow).time, ns(4000));
  // Two pairs: twice that.
  EXPECT_EQ(play(stream_of(1000, 1, true), slow).time, ns(8000));
  // A processor that is quick enough does not count.
  EXPECT_EQ(play(stream_of(1000, 1),
                 [&](auto& connection, RankId) {
                   connection.send_work = work(shared, 0, Bandwidth::megabits_per_second(80000));
                 })
                .time,
            ns(1000));
}

TEST_P(MeasuredPlayer, ABucketLetsTheFirstBytesPass) {
  std::shared_ptr<transport::TokenBucket> bucket;
  const auto shaped = [&](auto& connection, RankId) {
    if (bucket == nullptr)
      bucket = std::make_shared<transport::TokenBucket>(connection.path.front(), kRate, Bytes(400));
    connection.latency = ns(100);
    connection.buckets = {bucket};
  };
  // Full at first; then what came in during the latency, which the message before left empty.
  EXPECT_EQ(play(stream_of(1000, 1), shaped).time, ns(100 + 600));
  EXPECT_EQ(play(stream_of(1000, 1), shaped).time, ns(100 + 900));
  EXPECT_EQ(play(stream_of(1000, 1), shaped).time, ns(100 + 900));
  // A message that is smaller than the bucket does not wait for the wire at all.
  engine_->after(ns(1000), [] {});
  engine_->run();
  EXPECT_EQ(play(stream_of(300, 1), shaped).time, ns(100));
}

TEST_P(MeasuredPlayer, TheNarrowestBucketCounts) {
  std::vector<std::shared_ptr<transport::TokenBucket>> buckets;
  EXPECT_EQ(play(stream_of(1000, 1),
                 [&](auto& connection, RankId) {
                   for (const std::int64_t size : {700, 250}) {
                     buckets.push_back(std::make_shared<transport::TokenBucket>(
                         connection.path.front(), kRate, Bytes(size)));
                   }
                   connection.buckets = buckets;
                 })
                .time,
            ns(750));
  EXPECT_EQ(buckets[0]->available(*engine_), Bytes(450));
  EXPECT_EQ(buckets[1]->available(*engine_), Bytes(0));
}

TEST_P(MeasuredPlayer, ARequestFollowsWhatIsQueuedOnItsWay) {
  // Rank 0's message is queued when rank 2 asks for its own by the same port.
  std::shared_ptr<transport::PortQueue> queue;
  const Schedule schedule = stream_of(1000, 1, true);
  const auto time = [&](bool asks) {
    queue = nullptr;
    return play(schedule,
                [&](auto& connection, RankId from) {
                  if (from == RankId(0)) {
                    connection.send_work = work(processor(), 0);  // moves as measured ones do
                    queue = std::make_shared<transport::PortQueue>(connection.path.front(), kRate);
                    queue->add(engine_->usage(connection.path.front()).carried);
                    connection.queues = {queue};
                  } else if (asks) {
                    connection.requests = {{queue}};
                  }
                })
        .time;
  };
  EXPECT_EQ(time(false), ns(1000));
  EXPECT_EQ(time(true), ns(1000 + 1000));
}

TEST_P(MeasuredPlayer, TheEndIsWhenTheSendersKnow) {
  const auto settled = [&](auto& connection, RankId) { connection.settle = ns(300); };
  EXPECT_EQ(play(stream_of(1000, 2), settled).time, ns(2000 + 300));
  // The next play starts then.
  EXPECT_EQ(engine_->now().ps(), ns(2300).ps());
  EXPECT_EQ(play(stream_of(1000, 2), settled).time, ns(2300));
}

INSTANTIATE_TEST_SUITE_P(Engines, MeasuredPlayer,
                         testing::Values(engine::Kind::kFluid, engine::Kind::kReference));

}  // namespace
}  // namespace busbw::scenarios
