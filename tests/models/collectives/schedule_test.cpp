// Names, busbw factors, the text form, and proof that validate() and execute() reject wrong
// schedules: each case breaks a right schedule in one place and expects the whole message.
#include <algorithm>

#include <gtest/gtest.h>

#include "models/collectives/execute.h"
#include "models/collectives/generate.h"
#include "models/collectives/shapes.h"
#include "sim/core/check.h"

namespace busbw::collectives {
namespace {

TEST(Names, CollectivesAreNamedAsInNcclTests) {
  EXPECT_EQ(to_string(Collective::kAllReduce), "all_reduce");
  EXPECT_EQ(to_string(Collective::kAllToAll), "alltoall");
  EXPECT_EQ(to_string(Collective::kSendRecv), "sendrecv");
  for (const Collective collective :
       {Collective::kAllReduce, Collective::kReduce, Collective::kBroadcast, Collective::kAllGather,
        Collective::kReduceScatter, Collective::kAllToAll, Collective::kSendRecv,
        Collective::kGather, Collective::kScatter}) {
    EXPECT_EQ(parse_collective(to_string(collective)), collective);
  }
  EXPECT_EQ(parse_collective("allreduce"), std::nullopt);
  EXPECT_EQ(to_string(Algorithm::kTree), "Tree");
}

TEST(BusbwFactor, AsInNcclTests) {
  EXPECT_EQ(busbw_factor(Collective::kAllReduce, 8), (Ratio{14, 8}));
  EXPECT_EQ(busbw_factor(Collective::kAllReduce, 1), (Ratio{0, 1}));
  for (const Collective collective :
       {Collective::kAllGather, Collective::kReduceScatter, Collective::kAllToAll,
        Collective::kGather, Collective::kScatter}) {
    EXPECT_EQ(busbw_factor(collective, 8), (Ratio{7, 8}));
  }
  for (const Collective collective :
       {Collective::kBroadcast, Collective::kReduce, Collective::kSendRecv}) {
    EXPECT_EQ(busbw_factor(collective, 8), (Ratio{1, 1}));
  }
}

/// Ring of two ranks, eight elements of 4 bytes in two chunks of 16.
Schedule two_rank_ring() {
  Shape shape;
  shape.ranks = 2;
  shape.rings = {{RankId(0), RankId(1)}};
  Options options;
  options.bytes = Bytes(32);
  options.chunk = Bytes(16);
  options.slots = 2;
  return ring_all_reduce(shape, options);
}

/// Two hosts of two ranks, one loop.
Schedule small_hierarchical() {
  Shape shape;
  shape.ranks = 4;
  shape.rings = rings_over_hosts({{0, 1}}, 2);
  shape.host_of = {0, 0, 1, 1};
  Options options;
  options.bytes = Bytes(64);
  options.chunk = Bytes(16);
  options.slots = 1;
  return hierarchical_all_reduce(shape, options);
}

const std::vector<Numbers> kInputs = {{1, 2, 3, 4, 5, 6, 7, 8}, {10, 20, 30, 40, 50, 60, 70, 80}};

TEST(ToText, RingOfTwoByHand) {
  // Rank 0 sends chunk 1 (bytes 16 to 32), sums chunk 0, sends the sum, receives the sum of
  // chunk 1.
  EXPECT_EQ(to_text(two_rank_ring()),
            "all_reduce Ring ranks 2 channels 1 bytes 32 element 4 scratch 32\n"
            "lane 0 rank 0 channel 0 ring\n"
            "  0 send chunk 1 input 16+16 to 1\n"
            "  1 receive chunk 0 scratch 0+16 from 1\n"
            "  2 reduce chunk 0 input 0+16 with scratch 0\n"
            "  3 send chunk 0 output 0+16 to 1\n"
            "  4 receive chunk 1 output 16+16 from 1\n"
            "lane 1 rank 1 channel 0 ring\n"
            "  0 send chunk 0 input 0+16 to 0\n"
            "  1 receive chunk 1 scratch 0+16 from 0\n"
            "  2 reduce chunk 1 input 16+16 with scratch 0\n"
            "  3 send chunk 1 output 16+16 to 0\n"
            "  4 receive chunk 0 output 0+16 from 0\n");
}

TEST(ToText, HierarchicalShowsConnectionsAndWaits) {
  // Rank 0 (host 0, local 0) of 2 x 2. Rounds hold chunks (0, 1) and (2, 3); local 0 owns chunks 0
  // and 2. Host 0 first needs round 1 across hosts, so the reduce-scatter starts there.
  const std::string text = to_text(small_hierarchical());
  const std::string rank0 =
      "lane 0 rank 0 channel 0 reduce_scatter\n"
      "  0 send chunk 3 input 48+16 to 1\n"
      "  1 receive chunk 2 scratch 0+16 from 1\n"
      "  2 reduce chunk 2 input 32+16 with scratch 0\n"
      "  3 send chunk 1 input 16+16 to 1\n"
      "  4 receive chunk 0 scratch 0+16 from 1\n"
      "  5 reduce chunk 0 input 0+16 with scratch 0\n"
      "lane 1 rank 0 channel 0 across_hosts\n"
      "  0 send chunk 2 output 32+16 to 2 after lane 0 step 2\n"
      "  1 receive chunk 0 scratch 16+16 from 2\n"
      "  2 reduce chunk 0 output 0+16 with scratch 16 after lane 0 step 5\n"
      "  3 send chunk 0 output 0+16 to 2\n"
      "  4 receive chunk 2 output 32+16 from 2\n"
      "lane 2 rank 0 channel 0 all_gather\n"
      "  0 send chunk 0 output 0+16 to 1 connection 1 after lane 1 step 2\n"
      "  1 receive chunk 1 output 16+16 from 1 connection 1\n"
      "  2 send chunk 2 output 32+16 to 1 connection 1 after lane 1 step 4\n"
      "  3 receive chunk 3 output 48+16 from 1 connection 1\n";
  EXPECT_NE(text.find(rank0), std::string::npos) << text;
}

std::string failure_of(const Schedule& schedule, const std::vector<Numbers>& inputs = kInputs,
                       const ExecuteOptions& options = {}) {
  try {
    execute(schedule, inputs, options);
  } catch (const CheckFailure& failure) {
    // "file:line: check failed: condition (detail)": the detail is what names the step.
    const std::string text = failure.what();
    const std::size_t open = text.find(" (", text.find("check failed"));
    return text.substr(text.rfind(" (", text.find("rank ", open)) + 2);
  }
  return "no failure";
}

TEST(Validate, NamesTheStepThatIsWrong) {
  struct Case {
    void (*spoil)(Schedule* schedule);
    const char* message;
  };
  const std::vector<Case> cases = {
      {[](Schedule* s) { s->lanes[1].steps[1].offset = Bytes(20); },
       "rank 1 channel 0 lane 1 (ring) step 1 (receive): outside its buffer)"},
      {[](Schedule* s) { s->lanes[1].steps[1].buffer = Buffer::kInput; },
       "rank 1 channel 0 lane 1 (ring) step 1 (receive): input is only read)"},
      {[](Schedule* s) { s->lanes[0].steps[0].peer = RankId(2); },
       "rank 0 channel 0 lane 0 (ring) step 0 (send): peer is no rank)"},
      {[](Schedule* s) { s->lanes[0].steps[0].bytes = Bytes(10); },
       "rank 0 channel 0 lane 0 (ring) step 0 (send): size is no positive number of elements)"},
      {[](Schedule* s) { s->lanes[0].steps[2].source_offset = Bytes(24); },
       "rank 0 channel 0 lane 0 (ring) step 2 (reduce): operand outside its buffer)"},
      {[](Schedule* s) {
         s->lanes[0].steps[3].wait_lane = 1;
         s->lanes[0].steps[3].wait_step = 0;
       },
       "rank 0 channel 0 lane 0 (ring) step 3 (send): waits for another rank's lane)"},
      {[](Schedule* s) { s->lanes[0].steps[0].bytes = Bytes(12); },
       "rank 0 to rank 1 channel 0 connection 0: send 0 has 12 bytes, receive 16)"},
      {[](Schedule* s) { s->lanes[1].steps.pop_back(); },
       "rank 0 to rank 1 channel 0 connection 0: 2 sends, 1 receives)"},
      {[](Schedule* s) { s->lanes[0].steps[3].connection = 1; },
       "rank 0 to rank 1 channel 0 connection 0: 1 sends, 2 receives)"},
  };
  for (const Case& spoiled : cases) {
    Schedule schedule = two_rank_ring();
    spoiled.spoil(&schedule);
    EXPECT_EQ(failure_of(schedule), spoiled.message);
  }
}

TEST(Execute, RingOfTwo) {
  const Execution execution = execute(two_rank_ring(), kInputs);
  EXPECT_EQ(execution.output[0], (Numbers{11, 22, 33, 44, 55, 66, 77, 88}));
  EXPECT_EQ(execution.output[1], execution.output[0]);
  EXPECT_EQ(execution.sent[0][1], Bytes(32));
  EXPECT_EQ(execution.steps, 10);
}

TEST(Execute, FindsADeadlock) {
  // Both ranks receive first.
  Schedule schedule = two_rank_ring();
  for (Lane& lane : schedule.lanes) {
    std::rotate(lane.steps.begin(), lane.steps.begin() + 1, lane.steps.begin() + 3);
  }
  EXPECT_EQ(failure_of(schedule),
            "deadlock: rank 0 channel 0 lane 0 (ring) step 0 (receive) cannot proceed)");
}

TEST(Execute, FindsAReadOfWhatWasNeverWritten) {
  Schedule schedule = two_rank_ring();
  schedule.lanes[0].steps[0].buffer = Buffer::kOutput;
  EXPECT_EQ(failure_of(schedule),
            "rank 0 channel 0 lane 0 (ring) step 0 (send): element 4 was never written)");
}

TEST(Execute, FindsASlotInUse) {
  // Rank 0 receives the second message into the slot whose first message it has not summed yet.
  Schedule schedule = two_rank_ring();
  std::vector<Step>& steps = schedule.lanes[0].steps;
  steps[4].buffer = Buffer::kScratch;
  steps[4].offset = Bytes(0);
  std::swap(steps[2], steps[4]);
  EXPECT_EQ(failure_of(schedule),
            "rank 0 channel 0 lane 0 (ring) step 2 (receive): scratch element 0 is still in use)");
}

TEST(Execute, FindsASourceThatChangesBeforeItIsReceived) {
  // Rank 0 sums into the chunk that it has just sent, while rank 1 has not received it: harmless
  // only with copies.
  Schedule schedule;
  schedule.ranks = 2;
  schedule.element = Bytes(4);
  schedule.bytes = schedule.scratch_bytes = Bytes(32);
  const auto step = [](Op op, Buffer buffer, std::int32_t peer) {
    Step made;
    made.op = op;
    made.buffer = buffer;
    made.peer = RankId(peer);
    made.bytes = Bytes(32);
    return made;
  };
  schedule.lanes = {
      {RankId(0),
       ChannelId(0),
       "a",
       {step(Op::kCopy, Buffer::kInput, 0), step(Op::kSend, Buffer::kOutput, 1),
        step(Op::kReceive, Buffer::kScratch, 1), step(Op::kReduce, Buffer::kOutput, 0)}},
      {RankId(1),
       ChannelId(0),
       "b",
       {step(Op::kSend, Buffer::kInput, 0), step(Op::kReceive, Buffer::kOutput, 0)}}};
  ExecuteOptions fixed_order;
  EXPECT_EQ(failure_of(schedule, kInputs, fixed_order), "no failure");  // rank 1 happens to be fast
  std::swap(schedule.lanes[1].steps[0], schedule.lanes[1].steps[1]);
  EXPECT_EQ(failure_of(schedule), "no failure");
  std::swap(schedule.lanes[1].steps[0], schedule.lanes[1].steps[1]);
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    ExecuteOptions any_order;
    any_order.order_seed = seed;
    const std::string failure = failure_of(schedule, kInputs, any_order);
    if (failure != "no failure") {
      EXPECT_EQ(
          failure,
          "rank 1 channel 0 lane 1 (b) step 1 (receive): rank 0 changed element 0 between the "
          "send and this receive)");
      ++found;
    }
  }
  EXPECT_GT(found, 0);
}

TEST(Execute, FindsAMissingWait) {
  // Every wait of the hierarchical schedule is needed: without it some order of lanes reads too
  // early.
  const Schedule whole = small_hierarchical();
  std::vector<Numbers> inputs(4);
  for (std::size_t rank = 0; rank < 4; ++rank) {
    for (std::int64_t i = 0; i < 16; ++i) {
      inputs[rank].push_back(static_cast<std::int64_t>(rank) * 1000 + i);
    }
  }
  int waits = 0;
  for (std::size_t lane = 0; lane < whole.lanes.size(); ++lane) {
    for (std::size_t step = 0; step < whole.lanes[lane].steps.size(); ++step) {
      if (whole.lanes[lane].steps[step].wait_lane < 0) {
        continue;
      }
      ++waits;
      Schedule spoiled = whole;
      spoiled.lanes[lane].steps[step].wait_lane = -1;
      bool failed = false;
      for (std::uint64_t seed = 1; seed <= 200 && !failed; ++seed) {
        ExecuteOptions options;
        options.order_seed = seed;
        failed = failure_of(spoiled, inputs, options) != "no failure";
      }
      EXPECT_TRUE(failed) << "lane " << lane << " step " << step;
    }
  }
  EXPECT_EQ(waits, 4 * 4);
}

}  // namespace
}  // namespace busbw::collectives
