// Connections from measured parameters: ports, processors, caps, and what was not measured.
#include "models/transport/measured_wiring.h"

#include <memory>

#include <gtest/gtest.h>

#include "sim/core/errors.h"

namespace busbw::transport {
namespace {

using params::MoverKind;

params::MeasuredLink link_of(const char* from, const char* to, std::int64_t mbit) {
  params::MeasuredLink link;
  link.from = from;
  link.to = to;
  link.latency = Duration::microseconds(50);
  link.send_overhead = Duration::microseconds(3);
  link.receive_overhead = Duration::microseconds(4);
  link.gap = Duration::microseconds(7);
  link.bandwidth = Bandwidth::megabits_per_second(mbit);
  return link;
}

/// Three ends: a and b at 40 Mb/s, c at 4 Mb/s; a and b on a machine of one processor.
params::Measured three_ends() {
  params::Measured measured;
  measured.file = "p.yaml";
  measured.machines = {{"one", 1, {"a", "b"}}, {"two", 4, {"c"}}};
  measured.links = {link_of("a", "b", 40), link_of("b", "a", 40), link_of("a", "c", 4),
                    link_of("c", "a", 4)};
  measured.links[0].burst = Bytes(9000);
  measured.links[0].send_rate = Bandwidth::megabits_per_second(800);
  return measured;
}

struct Bench {
  std::unique_ptr<engine::Engine> engine = engine::make_engine(engine::Kind::kFluid);
  params::Measured measured = three_ends();

  MeasuredWiring wiring(std::vector<std::string> ends, std::vector<std::int32_t> hosts) {
    return {*engine, measured, {MoverKind::kWrite, std::move(ends), std::move(hosts)}};
  }
  std::vector<std::string> names(const MeasuredConnection& connection) const {
    std::vector<std::string> names;
    for (const engine::LinkId link : connection.path)
      names.push_back(engine->name(link));
    return names;
  }
};

TEST(MeasuredWiring, TakesWhatWasMeasured) {
  Bench bench;
  MeasuredWiring wiring = bench.wiring({"a", "b", "c"}, {0, 1, 2});
  const MeasuredConnection connection = wiring.connect(RankId(0), RankId(1));
  EXPECT_EQ(connection.name, "rank 0 -> rank 1 by write from a to b");
  EXPECT_EQ(connection.latency, Duration::microseconds(50));
  EXPECT_EQ(connection.gap, Duration::microseconds(7));
  EXPECT_EQ(connection.settle, Duration::microseconds(57));
  ASSERT_TRUE(connection.send_work && connection.receive_work);
  EXPECT_EQ(connection.send_work->each, Duration::microseconds(3));
  EXPECT_EQ(connection.send_work->rate, Bandwidth::megabits_per_second(800));
  EXPECT_EQ(connection.receive_work->each, Duration::microseconds(4));
  EXPECT_EQ(connection.receive_work->rate, std::nullopt);
  EXPECT_EQ(bench.names(connection), (std::vector<std::string>{"a sending", "b receiving"}));
  EXPECT_EQ(bench.engine->capacity(connection.path[0]), Bandwidth::megabits_per_second(40));
  EXPECT_EQ(connection.buckets.size(), 2U);
  EXPECT_TRUE(connection.requests.empty());
  EXPECT_EQ(connection.rate_cap, std::nullopt);
  EXPECT_EQ(connection.staging, std::nullopt);
}

TEST(MeasuredWiring, ASlowEndLimitsOnlyItself) {
  Bench bench;
  MeasuredWiring wiring = bench.wiring({"a", "b", "c"}, {0, 1, 2});
  const MeasuredConnection slow = wiring.connect(RankId(0), RankId(2));
  // a sends at the rate of its best way; c receives at its own.
  EXPECT_EQ(bench.engine->capacity(slow.path[0]), Bandwidth::megabits_per_second(40));
  EXPECT_EQ(bench.engine->capacity(slow.path[1]), Bandwidth::megabits_per_second(4));
  EXPECT_EQ(slow.rate_cap, std::nullopt);
  // The port of a is one for both ways, and so is its bucket.
  const MeasuredConnection fast = wiring.connect(RankId(0), RankId(1));
  EXPECT_EQ(fast.path[0], slow.path[0]);
  EXPECT_EQ(fast.buckets.front(), slow.buckets.front());
}

TEST(MeasuredWiring, AWaySlowerThanItsPortsIsCapped) {
  Bench bench;
  bench.measured.links.push_back(link_of("b", "c", 2));
  bench.measured.links.push_back(link_of("c", "b", 4));
  MeasuredWiring wiring = bench.wiring({"b", "c"}, {0, 1});
  EXPECT_EQ(wiring.connect(RankId(0), RankId(1)).rate_cap, Bandwidth::megabits_per_second(2));
}

TEST(MeasuredWiring, RanksShareFewerProcessors) {
  Bench bench;
  MeasuredWiring wiring = bench.wiring({"a", "b", "c", "c"}, {0, 1, 2, 2});
  const MeasuredConnection inside = wiring.connect(RankId(0), RankId(1));
  EXPECT_EQ(inside.send_work->processor, inside.receive_work->processor);
  EXPECT_EQ(bench.engine->name(inside.send_work->processor), "one processor");
  EXPECT_EQ(bench.engine->capacity(inside.send_work->processor), kWorkPerSecond);
  const MeasuredConnection across = wiring.connect(RankId(0), RankId(3));
  EXPECT_EQ(bench.engine->name(across.receive_work->processor), "rank 3 processor");
  EXPECT_NE(across.receive_work->processor,
            wiring.connect(RankId(0), RankId(2)).receive_work->processor);
  bench.measured.machines[1].processors = 1;
  MeasuredWiring fewer = bench.wiring({"a", "c", "c"}, {0, 1, 1});
  EXPECT_EQ(fewer.connect(RankId(0), RankId(1)).receive_work->processor,
            fewer.connect(RankId(0), RankId(2)).receive_work->processor);
}

TEST(MeasuredWiring, MemoryInsideAHostOnlyWhenItWasMeasured) {
  Bench bench;
  MeasuredWiring without = bench.wiring({"a", "a", "b"}, {0, 0, 1});
  EXPECT_FALSE(without.covers(RankId(0), RankId(1)));
  EXPECT_TRUE(without.covers(RankId(1), RankId(2)));
  bench.measured.links.push_back(link_of("memory", "memory", 8000));
  bench.measured.links.back().mover = MoverKind::kShared;
  bench.measured.links.back().staging = Bandwidth::megabits_per_second(16000);
  bench.measured.machines[0].ends.emplace_back("memory");
  MeasuredWiring with = bench.wiring({"a", "a", "b"}, {0, 0, 1});
  EXPECT_TRUE(with.covers(RankId(0), RankId(1)));
  const MeasuredConnection connection = with.connect(RankId(0), RankId(1));
  EXPECT_TRUE(connection.path.empty());  // no port
  EXPECT_EQ(connection.rate_cap, Bandwidth::megabits_per_second(8000));
  EXPECT_EQ(connection.staging, Bandwidth::megabits_per_second(16000));
  EXPECT_EQ(connection.name, "rank 0 -> rank 1 by shm from memory to memory");
}

TEST(MeasuredWiring, ReadsAskFirst) {
  Bench bench;
  for (params::MeasuredLink& link : bench.measured.links)
    link.mover = MoverKind::kRead;
  MeasuredWiring wiring(*bench.engine, bench.measured, {MoverKind::kRead, {"a", "b"}, {0, 1}});
  const MeasuredConnection there = wiring.connect(RankId(0), RankId(1));
  const MeasuredConnection back = wiring.connect(RankId(1), RankId(0));
  // The sender says where the bytes are, the receiver requests them.
  ASSERT_EQ(there.requests.size(), 2U);
  EXPECT_EQ(there.requests[0], there.queues);
  EXPECT_EQ(there.requests[1], back.queues);
}

TEST(MeasuredWiring, AnUnknownEndIsNamed) {
  Bench bench;
  MeasuredWiring wiring = bench.wiring({"a", "d"}, {0, 1});
  try {
    static_cast<void>(wiring.connect(RankId(0), RankId(1)));
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "error: p.yaml has no parameters of 'd' for the mover 'write'; allowed: 'a', 'b' "
                 "or 'c'");
  }
}

}  // namespace
}  // namespace busbw::transport
