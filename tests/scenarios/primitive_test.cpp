// Primitives of generated schedules, against NCCL's names for them.
#include "scenarios/primitive.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "models/collectives/connections.h"
#include "models/collectives/generate.h"
#include "models/collectives/generate_switch.h"

namespace busbw::scenarios {
namespace {

using collectives::Schedule;

collectives::Shape shape_of(std::int32_t ranks) {
  collectives::Shape shape;
  shape.ranks = ranks;
  shape.rings.emplace_back();
  shape.trees.emplace_back();
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    shape.rings[0].emplace_back(rank);
    // Rank 0 above 1 and 2, 1 above 3, 2 above 4 ...
    shape.trees[0].push_back(rank == 0 ? std::nullopt : std::optional(RankId((rank - 1) / 2)));
    shape.host_of.push_back(0);
  }
  return shape;
}

collectives::Options options_of(std::int64_t bytes, std::int64_t chunk) {
  collectives::Options options;
  options.bytes = Bytes(bytes);
  options.chunk = Bytes(chunk);
  return options;
}

/// "r1 s1 4" for each primitive of a lane: receives, sends, operands of `unit` bytes touched.
std::vector<std::string> primitives_of(const Schedule& schedule, std::size_t lane,
                                       std::int64_t unit,
                                       Grouping grouping = Grouping::kPrimitives) {
  const collectives::Connections connections = collectives::connections_of(schedule);
  std::vector<std::string> found;
  Primitive primitive;
  for (std::size_t at = 0; at < schedule.lanes[lane].steps.size(); at = primitive.end) {
    parse_primitive(schedule.lanes[lane], connections.of_step[lane], at, grouping, primitive);
    EXPECT_GT(primitive.end, at);
    EXPECT_EQ(primitive.touched.count() % unit, 0);
    found.push_back("r" + std::to_string(primitive.receives.size()) + " s" +
                    std::to_string(primitive.sends.size()) + " " +
                    std::to_string(primitive.touched.count() / unit));
  }
  return found;
}

TEST(Primitive, RingAllReduceIsSendReduceSendReduceCopySendCopySendReceive) {
  const Schedule schedule = collectives::ring_all_reduce(shape_of(4), options_of(4096, 1024));
  EXPECT_EQ(primitives_of(schedule, 0, 1024),
            (std::vector<std::string>{"r0 s1 2", "r1 s1 3", "r1 s1 3", "r1 s1 4", "r1 s1 3",
                                      "r1 s1 3", "r1 s0 2"}));
}

TEST(Primitive, RingAllGatherCopiesItsOwnShareWithTheFirstSend) {
  const Schedule schedule = collectives::ring_all_gather(shape_of(3), options_of(3072, 1024));
  EXPECT_EQ(primitives_of(schedule, 0, 1024),
            (std::vector<std::string>{"r0 s1 3", "r1 s1 3", "r1 s0 2"}));
}

// The output is written by the copy of the own share and by what arrives, slice by slice.
TEST(Primitive, WhatIsStoredIsTheOutput) {
  collectives::Options options = options_of(4096, 2048);
  options.slices = 2;
  const auto stored = [](const Schedule& schedule) {
    const collectives::Connections connections = collectives::connections_of(schedule);
    std::vector<std::int64_t> found;
    Primitive primitive;
    for (std::size_t at = 0; at < schedule.lanes[0].steps.size(); at = primitive.end) {
      parse_primitive(schedule.lanes[0], connections.of_step[0], at, Grouping::kPrimitives,
                      primitive);
      found.push_back(primitive.stored.count());
    }
    return found;
  };
  // send and copy, receive: two slices of each.
  EXPECT_EQ(stored(collectives::ring_all_gather(shape_of(2), options)),
            (std::vector<std::int64_t>{1024, 1024, 1024, 1024}));
  // send; reduce, copy and send; receive.
  EXPECT_EQ(stored(collectives::ring_all_reduce(shape_of(2), options)),
            (std::vector<std::int64_t>{0, 0, 1024, 1024, 1024, 1024}));
  // send; receive and reduce.
  EXPECT_EQ(stored(collectives::ring_reduce_scatter(shape_of(2), options)),
            (std::vector<std::int64_t>{0, 0, 1024, 1024}));
}

// The last receive of a loop and the first send of the next are of different chunks.
TEST(Primitive, ALoopEndsWithItsLastReceive) {
  const Schedule gather = collectives::ring_all_gather(shape_of(2), options_of(4096, 1024));
  EXPECT_EQ(primitives_of(gather, 0, 1024),
            (std::vector<std::string>{"r0 s1 3", "r1 s0 2", "r0 s1 3", "r1 s0 2"}));
  const Schedule reduce = collectives::ring_all_reduce(shape_of(2), options_of(4096, 1024));
  EXPECT_EQ(
      primitives_of(reduce, 0, 1024),
      (std::vector<std::string>{"r0 s1 2", "r1 s1 4", "r1 s0 2", "r0 s1 2", "r1 s1 4", "r1 s0 2"}));
}

// Over the network both are one: 2 for what arrives and is written, 2 for what is read and sent.
TEST(Primitive, OverTheNetworkALoopGoesOnInTheNext) {
  const Schedule reduce = collectives::ring_all_reduce(shape_of(2), options_of(4096, 1024));
  EXPECT_EQ(primitives_of(reduce, 0, 1024, Grouping::kAcrossLoops),
            (std::vector<std::string>{"r0 s1 2", "r1 s1 4", "r1 s1 3", "r1 s1 4", "r1 s0 2"}));
}

TEST(Primitive, RingReduceScatterAddsInRegisters) {
  const Schedule schedule = collectives::ring_reduce_scatter(shape_of(3), options_of(3072, 1024));
  EXPECT_EQ(primitives_of(schedule, 0, 1024),
            (std::vector<std::string>{"r0 s1 2", "r1 s1 3", "r1 s0 3"}));
}

TEST(Primitive, ABroadcastChainPassesChunkAfterChunk) {
  const Schedule schedule = collectives::ring_broadcast(shape_of(3), options_of(2048, 1024));
  EXPECT_EQ(primitives_of(schedule, 0, 1024), (std::vector<std::string>{"r0 s1 3", "r0 s1 3"}));
  EXPECT_EQ(primitives_of(schedule, 1, 1024), (std::vector<std::string>{"r1 s1 3", "r1 s1 3"}));
  EXPECT_EQ(primitives_of(schedule, 2, 1024), (std::vector<std::string>{"r1 s0 2", "r1 s0 2"}));
}

TEST(Primitive, ATreeNodeTakesBothChildrenAtOnce) {
  // Lanes of rank 0: root. Of rank 1: reduce, broadcast.
  const Schedule schedule = collectives::tree_all_reduce(shape_of(7), options_of(1024, 1024));
  // Two children and its own, the output, two sends.
  EXPECT_EQ(primitives_of(schedule, 0, 1024), (std::vector<std::string>{"r2 s2 6"}));
  EXPECT_EQ(primitives_of(schedule, 1, 1024), (std::vector<std::string>{"r2 s1 4"}));
  EXPECT_EQ(primitives_of(schedule, 2, 1024), (std::vector<std::string>{"r1 s2 4"}));
}

TEST(Primitive, NvlsScattersToAllHeadsAtOnce) {
  collectives::Options options = options_of(4096, 1024);
  options.channels = 1;
  const Schedule schedule = collectives::nvls_all_reduce(shape_of(4), options);
  // Rank 0: its data up to the NVSwitch, a part for each of four heads, every part read and
  // written.
  EXPECT_EQ(primitives_of(schedule, 0, 1024), (std::vector<std::string>{"r0 s4 8"}));
}

TEST(Primitive, JoinedStepsAreOneMessage) {
  const Schedule schedule = collectives::pat_all_gather(shape_of(8), options_of(8192, 8192));
  std::int64_t messages = 0;
  for (std::size_t lane = 0; lane < schedule.lanes.size(); ++lane) {
    const collectives::Connections connections = collectives::connections_of(schedule);
    Primitive primitive;
    for (std::size_t at = 0; at < schedule.lanes[lane].steps.size(); at = primitive.end) {
      parse_primitive(schedule.lanes[lane], connections.of_step[lane], at, Grouping::kPrimitives,
                      primitive);
      messages += static_cast<std::int64_t>(primitive.sends.size());
    }
  }
  EXPECT_EQ(messages, 8 * 3);  // log2(8) messages of each rank
}

TEST(Primitive, AloneEachStepIsOne) {
  const Schedule schedule = collectives::ring_all_reduce(shape_of(2), options_of(2048, 1024));
  const collectives::Connections connections = collectives::connections_of(schedule);
  Primitive primitive;
  parse_primitive(schedule.lanes[0], connections.of_step[0], 1, Grouping::kSingle, primitive);
  EXPECT_EQ(primitive.end, 2U);
  EXPECT_EQ(primitive.receives.size(), 1U);
  EXPECT_TRUE(primitive.sends.empty());
}

}  // namespace
}  // namespace busbw::scenarios
