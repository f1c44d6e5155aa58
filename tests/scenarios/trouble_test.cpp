// What goes wrong during a play, on hand-worked schedules: 8-node ring and tree, one link a pair of
// neighbours, 1 byte a nanosecond, messages of 1024 bytes.
#include "scenarios/trouble.h"

#include <map>
#include <memory>

#include <gtest/gtest.h>

#include "models/collectives/generate.h"
#include "scenarios/player.h"

namespace busbw::scenarios {
namespace {

using collectives::Schedule;

constexpr Bandwidth kRate = Bandwidth::gigabytes_per_second(1);
constexpr std::int64_t kChunk = 1024;
constexpr std::int64_t kNodes = 8;

Duration ns(std::int64_t count) {
  return Duration::nanoseconds(count);
}

Schedule ring() {
  collectives::Shape shape;
  shape.ranks = kNodes;
  shape.rings.emplace_back();
  for (int rank = 0; rank < kNodes; ++rank) {
    shape.rings.front().emplace_back(rank);
  }
  collectives::Options options;
  options.bytes = Bytes(kChunk * kNodes);
  options.chunk = Bytes(kChunk);
  return collectives::ring_all_reduce(shape, options);
}

/// 0 above 1 and 2; 1 above 3 and 4, 2 above 5 and 6; 3 above 7.
Schedule tree() {
  collectives::Shape shape;
  shape.ranks = kNodes;
  shape.trees.emplace_back();
  for (const int parent : {-1, 0, 0, 1, 1, 2, 2, 3}) {
    shape.trees.front().push_back(parent < 0 ? std::nullopt : std::optional(RankId(parent)));
  }
  collectives::Options options;
  options.bytes = Bytes(kChunk);
  options.chunk = Bytes(kChunk);
  return collectives::tree_all_reduce(shape, options);
}

/// A link for each ordered pair, and a second one that `detour` takes.
struct Bench {
  explicit Bench(engine::Kind kind = engine::Kind::kFluid) : engine(engine::make_engine(kind)) {
    for (int from = 0; from < kNodes; ++from) {
      for (int to = 0; to < kNodes; ++to) {
        links[{from, to}] = engine->add_link("first", kRate);
        detours[{from, to}] = engine->add_link("second", kRate);
      }
    }
    // Tries 10, 20, 30 us after a loss, and no more than 40.
    trouble.retry = {{ns(10'000), ns(20'000), ns(30'000)}, ns(40'000)};
    trouble.watchdog = ns(1'000'000);
    trouble.notice = ns(100);
  }

  void at(std::int64_t time_ns, std::function<void()> happen) {
    trouble.incidents.push_back({ns(time_ns), std::move(happen), {}});
  }
  /// Both directions of a cable.
  void set(int a, int b, Bandwidth rate) {
    engine->set_capacity(links.at({a, b}), rate);
    engine->set_capacity(links.at({b, a}), rate);
  }

  Playback play(const Schedule& schedule) {
    PlayOptions options;
    options.connect = [this](RankId from, RankId to, ChannelId) {
      transport::Connection connection;
      connection.name = "test";
      connection.carried = true;
      connection.path = {(detour ? detours : links).at({from.value(), to.value()})};
      connection.passes = passes;
      return connection;
    };
    options.speed = [this](const collectives::Lane& lane) -> std::optional<LaneSpeed> {
      return stream ? std::optional(LaneSpeed{lane.rank == slow ? *stream / 2 : *stream})
                    : std::nullopt;
    };
    options.trouble = &trouble;
    Fingerprint fingerprint;
    const Playback played = scenarios::play(*engine, schedule, options, fingerprint);
    EXPECT_EQ(played.asked, played.arrived + played.lost);
    return played;
  }

  std::unique_ptr<engine::Engine> engine;
  std::map<std::pair<int, int>, engine::LinkId> links;
  std::map<std::pair<int, int>, engine::LinkId> detours;
  bool detour = false;
  std::optional<Bytes> passes;
  std::optional<Bandwidth> stream;
  std::optional<RankId> slow;
  Trouble trouble;
};

class OnBothEngines : public ::testing::TestWithParam<engine::Kind> {};
INSTANTIATE_TEST_SUITE_P(Engines, OnBothEngines,
                         ::testing::Values(engine::Kind::kFluid, engine::Kind::kReference),
                         [](const auto& parameter) {
                           return parameter.param == engine::Kind::kFluid ? "fluid" : "reference";
                         });

TEST_P(OnBothEngines, WithoutTroubleRingAndTreeTakeTheirClosedForms) {
  // 2 (n-1) steps of 1024 ns; three levels up and three down.
  EXPECT_EQ(Bench(GetParam()).play(ring()).time, ns(14 * kChunk));
  const Playback played = Bench(GetParam()).play(tree());
  EXPECT_EQ(played.time, ns(6 * kChunk));
  EXPECT_EQ(played.asked, Bytes(2 * 7 * kChunk));
  EXPECT_EQ(played.lost, Bytes());
  EXPECT_FALSE(played.ended.has_value());
}

TEST_P(OnBothEngines, HalfTheWidthOfOneLinkHalvesTheRing) {
  Bench bench(GetParam());
  // The link 0 -> 1 carries 14 messages, one after the other, each in 2048 ns: 28 x 1024 ns, and
  // busbw is half of what it was.
  bench.at(0, [&] { bench.set(0, 1, kRate / 2); });
  EXPECT_EQ(bench.play(ring()).time, ns(28 * kChunk));
}

TEST_P(OnBothEngines, HalfTheWidthOfALeafsLinkSlowsTheTreeByTwoSteps) {
  Bench bench(GetParam());
  // The longest way is 7 - 3 - 1 - 0 and back: its first and its last step take twice as long.
  bench.at(0, [&] { bench.set(3, 7, kRate / 2); });
  EXPECT_EQ(bench.play(tree()).time, ns(8 * kChunk));
}

TEST_P(OnBothEngines, AFlapAddsTheTimeUntilTheNextTry) {
  Bench bench(GetParam());
  // The tree's first message 7 -> 3 stops after 400 bytes. The link is back at 3400 ns; the sender
  // tries at 400 + 10,000 and has 624 bytes left: 5 steps behind 11,024 ns.
  bench.at(400, [&] { bench.set(3, 7, Bandwidth()); });
  bench.at(3400, [&] { bench.set(3, 7, kRate); });
  const Playback played = bench.play(tree());
  EXPECT_EQ(played.time, ns(400 + 10'000 + 624 + 5 * kChunk));
  EXPECT_FALSE(played.failure.has_value());
  EXPECT_EQ(played.lost, Bytes());
}

TEST_P(OnBothEngines, AFlapOfTheRingAddsTheSameToEveryOneBehindIt) {
  Bench bench(GetParam());
  // 0 -> 1 stops 476 bytes into its second message, at 1500 ns, and goes on at 11,500: everybody
  // waits for it in the end.
  bench.at(1500, [&] { bench.set(0, 1, Bandwidth()); });
  bench.at(9000, [&] { bench.set(0, 1, kRate); });
  EXPECT_EQ(bench.play(ring()).time, ns(14 * kChunk + 10'000));
}

TEST_P(OnBothEngines, AnOutageWithinTheTriesDelaysLongerOnesFail) {
  Bench bench(GetParam());
  // Back after 25 us: the third try, 30 us after the loss.
  bench.at(400, [&] { bench.set(3, 7, Bandwidth()); });
  bench.at(25'400, [&] { bench.set(3, 7, kRate); });
  EXPECT_EQ(bench.play(tree()).time, ns(400 + 30'000 + 624 + 5 * kChunk));
}

TEST_P(OnBothEngines, ALinkThatStaysDownFailsTheRingAndCountsEveryByte) {
  Bench bench(GetParam());
  // 0 -> 1 is lost at 1500 ns: one message is through. The rank k steps behind rank 1 gets what
  // was on its way: 1, 2, ... 7 messages for ranks 1 to 7, and 8 for rank 0, of 14 each. The
  // connection gives up 40 us after the loss; 100 ns later the call ends.
  bench.at(1500, [&] { bench.set(0, 1, Bandwidth()); });
  const Playback played = bench.play(ring());
  ASSERT_EQ(played.broken.size(), 1U);
  EXPECT_EQ(played.broken.front().from, RankId(0));
  EXPECT_EQ(played.broken.front().to, RankId(1));
  EXPECT_EQ(played.broken.front().at, ns(41'500));
  EXPECT_EQ(played.ended, ns(41'600));
  EXPECT_EQ(played.asked, Bytes(8 * 14 * kChunk));
  EXPECT_EQ(played.arrived, Bytes(36 * kChunk));
  EXPECT_EQ(played.lost, Bytes(76 * kChunk));
}

TEST_P(OnBothEngines, ALinkThatStaysDownFailsTheTree) {
  Bench bench(GetParam());
  // 7 -> 3 never arrives; 4 -> 1, 5 -> 2, 6 -> 2 and 2 -> 0 do.
  bench.at(0, [&] { bench.set(3, 7, Bandwidth()); });
  const Playback played = bench.play(tree());
  EXPECT_EQ(played.ended, ns(40'100));
  EXPECT_EQ(played.arrived, Bytes(4 * kChunk));
  EXPECT_EQ(played.lost, Bytes(10 * kChunk));
}

TEST_P(OnBothEngines, ARerouteGoesOnAtTheNextTryWithWhatIsLeft) {
  Bench bench(GetParam());
  // The other links are in the routes at 6000 ns: what stopped at 1500 goes on at 11,500; what is
  // sent after 6000 takes them at once.
  bench.at(1500, [&] { bench.set(0, 1, Bandwidth()); });
  bench.at(6000, [&] { bench.detour = true; });
  const Playback played = bench.play(ring());
  EXPECT_EQ(played.time, ns(14 * kChunk + 10'000));
  const engine::LinkId detour = bench.detours.at({0, 1});
  EXPECT_EQ(bench.engine->usage(detour).carried, Bytes(13 * kChunk - 476));
}

TEST_P(OnBothEngines, AStragglerSetsThePaceOfTheRing) {
  // Every primitive of rank 3 takes twice as long: send 2, recvReduceSend 3 (6 of them),
  // recvReduceCopySend 4, recvCopySend 3 (6), recv 2 times 1024 bytes at 2 bytes a nanosecond;
  // with the link each step of the pipeline is as long as its slowest.
  const auto time = [](Bandwidth stream, std::optional<RankId> slow) {
    Bench bench(GetParam());
    bench.stream = stream;
    bench.at(0, [&] { bench.slow = slow; });
    return bench.play(ring()).time;
  };
  const Duration healthy = time(kRate * 2, std::nullopt);
  const Duration slow = time(kRate * 2, RankId(3));
  const Duration at_half = time(kRate, std::nullopt);
  EXPECT_GT(slow, healthy);
  EXPECT_LT(slow, at_half);
}

TEST_P(OnBothEngines, AStragglerThatRecoversCostsLess) {
  const auto time = [](std::int64_t until_ns) {
    Bench bench(GetParam());
    bench.stream = kRate * 2;
    bench.at(0, [&] { bench.slow = RankId(3); });
    bench.at(until_ns, [&] { bench.slow.reset(); });
    return bench.play(ring()).time;
  };
  EXPECT_LT(time(5'000), time(1'000'000));
}

TEST_P(OnBothEngines, ALostAdapterEndsItsConnectionsAtOnce) {
  Bench bench(GetParam());
  bench.trouble.incidents.push_back(
      {ns(1500), [&] { bench.set(0, 1, Bandwidth()); },
       [](RankId from, RankId to, ChannelId) { return from == RankId(1) || to == RankId(1); }});
  const Playback played = bench.play(ring());
  ASSERT_EQ(played.broken.size(), 2U);
  EXPECT_TRUE(played.broken.front().at_once);
  EXPECT_EQ(played.broken.front().at, ns(1500));
  EXPECT_EQ(played.ended, ns(1600));
}

TEST_P(OnBothEngines, TheWatchdogEndsWhatNeverGivesUp) {
  Bench bench(GetParam());
  bench.trouble.retry = {};
  bench.at(1500, [&] { bench.set(0, 1, Bandwidth()); });
  const Playback played = bench.play(ring());
  EXPECT_TRUE(played.broken.empty());
  EXPECT_EQ(played.ended, ns(1'000'000));
  EXPECT_EQ(played.arrived, Bytes(36 * kChunk));
}

TEST_P(OnBothEngines, WithNobodyWhoLooksItHangs) {
  Bench bench(GetParam());
  bench.trouble.watchdog.reset();
  bench.trouble.notice.reset();
  bench.at(1500, [&] { bench.set(0, 1, Bandwidth()); });
  const Playback played = bench.play(ring());
  EXPECT_TRUE(played.stuck);
  EXPECT_FALSE(played.ended.has_value());
  EXPECT_EQ(played.lost, Bytes(76 * kChunk));
}

TEST_P(OnBothEngines, MessagesThatAreTooLargeNeverPass) {
  const auto play = [](std::int64_t passes) {
    Bench bench(GetParam());
    bench.passes = Bytes(passes);
    return bench.play(tree());
  };
  EXPECT_FALSE(play(kChunk).failure.has_value());
  const Playback played = play(kChunk - 1);
  EXPECT_EQ(played.arrived, Bytes());
  EXPECT_EQ(played.broken.size(), 4U);  // the leaves' messages
  EXPECT_EQ(played.ended, ns(40'100));
}

TEST_P(OnBothEngines, ALimitOfLostPacketsHoldsForLaterMessages) {
  Bench bench(GetParam());
  // All links lose packets from 1500 ns on, so that a stream gets half the rate: the two messages
  // of the ring that have begun by then keep theirs.
  bool lossy = false;
  bench.trouble.cap = [&](const std::vector<engine::LinkId>&) {
    return lossy ? std::optional(kRate / 2) : std::nullopt;
  };
  bench.at(1500, [&] { lossy = true; });
  EXPECT_EQ(bench.play(ring()).time, ns(2 * kChunk + 12 * 2 * kChunk));
}

/// Two ways from rank to rank.
Duration over_two_ways(transport::Spread spread, int messages) {
  const std::unique_ptr<engine::Engine> engine = engine::make_engine(engine::Kind::kFluid);
  const engine::LinkId a = engine->add_link("a", kRate);
  const engine::LinkId b = engine->add_link("b", kRate);
  Schedule schedule;
  schedule.ranks = 2;
  for (int rank = 0; rank < 2; ++rank) {
    collectives::Lane lane;
    lane.rank = RankId(rank);
    for (int message = 0; message < messages; ++message) {
      collectives::Step step;
      step.op = rank == 0 ? collectives::Op::kSend : collectives::Op::kReceive;
      step.peer = RankId(1 - rank);
      step.bytes = Bytes(1001);
      lane.steps.push_back(step);
    }
    schedule.lanes.push_back(std::move(lane));
  }
  PlayOptions options;
  options.connect = [&](RankId, RankId, ChannelId) {
    transport::Connection connection;
    connection.carried = true;
    connection.ways = {{a}, {b}};
    connection.spread = spread;
    return connection;
  };
  Fingerprint fingerprint;
  return play(*engine, schedule, options, fingerprint).time;
}

TEST(SeveralWays, ACutMessageTakesAllOfThem) {
  // 501 and 500 bytes side by side.
  EXPECT_EQ(over_two_ways(transport::Spread::kCut, 3), ns(3 * 501));
}

TEST(SeveralWays, InTurnAConnectionStillSendsOneAfterTheOther) {
  EXPECT_EQ(over_two_ways(transport::Spread::kInTurn, 3), ns(3 * 1001));
  EXPECT_EQ(over_two_ways(transport::Spread::kDrawn, 3), ns(3 * 1001));
}

}  // namespace
}  // namespace busbw::scenarios
