// NVLS, NVLSTree, CollNet and PAT on numbers: exact results, the bytes on every link, the length of
// the chain of messages, and which shapes are refused.
#include <gtest/gtest.h>

#include "models/collectives/depth.h"
#include "models/collectives/generate_switch.h"
#include "models/collectives/shapes.h"
#include "sim/core/check.h"
#include "sim/core/errors.h"
#include "sim/core/random.h"
#include "tests/models/collectives/collective_check.h"

namespace busbw::collectives {
namespace {

using HostShape = std::pair<std::int32_t, std::int32_t>;  // hosts, ranks a host

const std::vector<std::int64_t> kElements = {0, 1, 3, 1025};  // nothing, 4 B, 12 B, 4 KiB + 4

/// The first `count` ranks of each host as heads.
void set_heads(Shape* shape, std::int32_t hosts, std::int32_t count) {
  shape->heads.clear();
  for (std::int32_t host = 0; host < hosts; ++host) {
    shape->heads.emplace_back();
    for (std::int32_t head = 0; head < count; ++head) {
      shape->heads.back().emplace_back(host * shape->ranks / hosts + head);
    }
  }
}

Execution run(const Schedule& schedule) {
  ExecuteOptions options;
  options.slots = 3;
  return check_result(schedule, options);
}

Bytes total(const std::vector<Bytes>& row) {
  Bytes sum;
  for (const Bytes bytes : row) {
    sum += bytes;
  }
  return sum;
}

TEST(SwitchCollectives, ExactForEveryHostSizeAndAnyOrder) {
  for (const auto& [hosts, locals] : std::vector<HostShape>{
           {1, 2}, {1, 3}, {1, 8}, {2, 2}, {3, 2}, {2, 4}, {5, 3}, {4, 4}, {9, 2}, {2, 8}}) {
    for (const std::int64_t elements : kElements) {
      for (const Collective collective :
           {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter}) {
        for (const Algorithm algorithm : {Algorithm::kNvls, Algorithm::kNvlsTree,
                                          Algorithm::kCollNetDirect, Algorithm::kCollNetChain}) {
          const bool parts = collective != Collective::kAllReduce;
          if ((parts && (algorithm != Algorithm::kNvls || hosts > 1)) ||
              (algorithm != Algorithm::kNvls && hosts == 1)) {
            continue;
          }
          const Schedule schedule = make_schedule(
              {collective, algorithm, shape_of(hosts, locals), options_of(elements, 16)});
          EXPECT_TRUE(schedule.needs_switch());
          check_in_any_order(schedule);
        }
      }
    }
  }
}

TEST(SwitchCollectives, ExactWithFewerHeadsThanRanksAndForEveryOperator) {
  Shape shape = shape_of(3, 4);
  for (const std::int32_t heads : {1, 2, 3}) {
    set_heads(&shape, 3, heads);
    for (const Algorithm algorithm :
         {Algorithm::kNvls, Algorithm::kNvlsTree, Algorithm::kCollNetDirect}) {
      const Schedule schedule =
          make_schedule({Collective::kAllReduce, algorithm, shape, options_of(1025, 16)});
      check_in_any_order(schedule);
      for (const Reduction reduction :
           {Reduction::kProd, Reduction::kMin, Reduction::kMax, Reduction::kAvg}) {
        ExecuteOptions options;
        options.slots = 3;
        options.reduction = reduction;
        check_result(schedule, options);
      }
    }
  }
}

TEST(SwitchCollectives, ExactForAMebibyteAndTwelveBytes) {
  const Shape shape = shape_of(2, 2);
  for (const Algorithm algorithm : {Algorithm::kNvls, Algorithm::kNvlsTree,
                                    Algorithm::kCollNetDirect, Algorithm::kCollNetChain}) {
    run(make_schedule({Collective::kAllReduce, algorithm, shape, options_of(262'147, 16'384)}));
  }
}

TEST(NvlsTraffic, EveryRanksDataGoesUpOnceAndDownOnceAndSoDoesItsHeadsShare) {
  for (const std::int32_t locals : {2, 4, 8}) {
    // Two channels of loops of a 16-element chunk a head: S = 2 x 3 x locals x 16 elements.
    const Options options = options_of(96 * locals, 16);
    const Execution execution = run(nvls_all_reduce(shape_of(1, locals), options));
    const auto node = static_cast<std::size_t>(locals);
    for (std::size_t rank = 0; rank < node; ++rank) {
      EXPECT_EQ(execution.sent[rank][node], options.bytes + options.bytes / locals);
      EXPECT_EQ(execution.sent[node][rank], options.bytes + options.bytes / locals);
      EXPECT_EQ(total(execution.sent[rank]), execution.sent[rank][node]);
    }
  }
}

TEST(NvlsTraffic, OnSeveralHostsEachHeadsShareGoesToTheNetworkOnce) {
  const Shape shape = shape_of(3, 4);
  const Options options = options_of(96 * 4, 16);
  const Execution execution = run(nvls_all_reduce(shape, options));
  const std::size_t network = 12 + 3;
  for (std::size_t rank = 0; rank < 12; ++rank) {
    EXPECT_EQ(execution.sent[rank][network], options.bytes / 4);
    EXPECT_EQ(execution.sent[network][rank], options.bytes / 4);
    EXPECT_EQ(execution.sent[rank][12 + rank / 4], options.bytes + options.bytes / 4);
  }
}

TEST(NvlsTraffic, AllGatherAndReduceScatterOfOneHost) {
  const Shape shape = shape_of(1, 4);
  const Options options = options_of(4 * 101, 16);
  const Execution gather = run(nvls_all_gather(shape, options));
  const Execution scatter = run(nvls_reduce_scatter(shape, options));
  for (std::size_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(gather.sent[rank][4], options.bytes / 4);
    EXPECT_EQ(gather.sent[4][rank], options.bytes);
    EXPECT_EQ(scatter.sent[rank][4], options.bytes);
    EXPECT_EQ(scatter.sent[4][rank], options.bytes / 4);
  }
}

TEST(NvlsTreeTraffic, HeadsCarryTheirShareOverBothTrees) {
  // Two channels, S/2 each on tree 0 and tree 1; each head has S/L.
  for (const std::int32_t hosts : {2, 5}) {
    const Options options = options_of(96 * 4, 16);
    const Execution execution = run(nvls_tree_all_reduce(shape_of(hosts, 4), options));
    const DoubleBinaryTree trees = double_binary_tree(hosts);
    for (std::int32_t host = 0; host < hosts; ++host) {
      for (std::int32_t to = 0; to < hosts; ++to) {
        std::int64_t edges = 0;
        for (const std::vector<std::int32_t>& parents : {trees.parent0, trees.parent1}) {
          edges += parents[static_cast<std::size_t>(host)] == to ? 1 : 0;
          edges += parents[static_cast<std::size_t>(to)] == host ? 1 : 0;
        }
        for (std::int32_t head = 0; host != to && head < 4; ++head) {
          EXPECT_EQ(execution.sent[static_cast<std::size_t>(host * 4 + head)]
                                  [static_cast<std::size_t>(to * 4 + head)],
                    edges * options.bytes / 8);
        }
      }
    }
  }
}

TEST(CollNetTraffic, EachHostSendsTheDataToTheNetworkOnce) {
  for (const std::int32_t heads : {1, 2, 4}) {
    Shape shape = shape_of(2, 4);
    set_heads(&shape, 2, heads);
    const Options options = options_of(96 * 4, 16);
    const Execution direct = run(collnet_direct_all_reduce(shape, options));
    for (std::size_t rank = 0; rank < 8; ++rank) {
      const auto local = static_cast<std::int32_t>(rank % 4);
      const Bytes share = local < heads ? options.bytes / heads : Bytes();
      EXPECT_EQ(direct.sent[rank][8], share);
      EXPECT_EQ(direct.sent[8][rank], share);
      // To heads of its host its data less its own share; as a head the total to three.
      EXPECT_EQ(total(direct.sent[rank]), options.bytes - share + 3 * share + share);
    }
    const Execution chain = run(collnet_chain_all_reduce(shape, options));
    for (std::size_t host = 0; host < 2; ++host) {
      Bytes up;
      Bytes down;
      for (std::size_t local = 0; local < 4; ++local) {
        up += chain.sent[4 * host + local][8];
        down += chain.sent[8][4 * host + local];
      }
      EXPECT_EQ(up, options.bytes);
      EXPECT_EQ(down, options.bytes);
    }
  }
}

TEST(CollNetDirect, RanksStartWithTheHeadAfterTheirOwnPlace) {
  const Schedule schedule = collnet_direct_all_reduce(shape_of(2, 4), options_of(4 * 16, 8));
  std::vector<std::int32_t> first(4);
  for (const Lane& lane : schedule.lanes) {
    if (lane.rank.value() < 4 && lane.channel == ChannelId(0) && lane.role == "reduce" &&
        lane.steps[0].op == Op::kSend) {
      first[lane.rank.index()] = lane.steps[0].peer.value();
    }
  }
  EXPECT_EQ(first, (std::vector<std::int32_t>{1, 2, 3, 0}));
}

TEST(SwitchDepth, GrowsAsTheAlgorithmSays) {
  const Options options = options_of(2, 1);
  EXPECT_EQ(message_depth(nvls_all_reduce(shape_of(1, 8), options)), 4);
  EXPECT_EQ(message_depth(nvls_all_reduce(shape_of(4, 8), options)), 6);
  EXPECT_EQ(message_depth(nvls_all_gather(shape_of(1, 8), options_of(16, 1))), 2);
  // Two trees of 8 hosts: height 3, up and down.
  EXPECT_EQ(message_depth(nvls_tree_all_reduce(shape_of(8, 2), options)), 4 + 2 * 3);
  EXPECT_EQ(message_depth(collnet_direct_all_reduce(shape_of(4, 8), options)), 4);
  EXPECT_EQ(message_depth(collnet_chain_all_reduce(shape_of(4, 8), options)), 2 * 8);
}

/// Messages that a rank sends on its channels: runs of joined sends count once.
std::int64_t messages_of(const Schedule& schedule, RankId rank) {
  std::int64_t messages = 0;
  for (const Lane& lane : schedule.lanes) {
    for (const Step& step : lane.steps) {
      messages += lane.rank == rank && step.op == Op::kSend && !step.joined ? 1 : 0;
    }
  }
  return messages;
}

TEST(Pat, ExactForEveryRankCountWithAnyNumberOfTreesAMessage) {
  for (const std::int32_t n : rank_counts()) {
    for (const std::int64_t part : {std::int64_t{0}, std::int64_t{1}, std::int64_t{37}}) {
      for (const std::int64_t chunk : {1, 5, 40, 400}) {
        if (part / chunk > 10) {
          continue;  // the same loop many times over
        }
        for (const Collective collective : {Collective::kAllGather, Collective::kReduceScatter}) {
          const Schedule schedule = make_schedule(
              {collective, Algorithm::kPat, shape_of(n, 1), options_of(part * n, chunk)});
          EXPECT_FALSE(schedule.needs_switch());
          if (n <= 17) {
            check_in_any_order(schedule);
          } else {
            run(schedule);
          }
        }
      }
    }
  }
}

TEST(Pat, SendsEveryPartOnceAndSmallDataInLog2Messages) {
  for (const std::int32_t n : rank_counts()) {
    std::int32_t bits = 0;
    while ((std::int32_t{1} << bits) < n) {
      ++bits;
    }
    Options small = options_of(2 * n, 4000);
    small.channels = 1;
    Options large = options_of(1000 * n, 100);
    large.channels = 1;
    for (const Collective collective : {Collective::kAllGather, Collective::kReduceScatter}) {
      const Schedule few = make_schedule({collective, Algorithm::kPat, shape_of(n, 1), small});
      const Schedule many = make_schedule({collective, Algorithm::kPat, shape_of(n, 1), large});
      for (std::int32_t rank = 0; rank < n; ++rank) {
        EXPECT_EQ(sent_bytes(few, RankId(rank)), 8 * Bytes(n - 1));
        EXPECT_EQ(sent_bytes(many, RankId(rank)), 4000 * Bytes(n - 1));
        EXPECT_EQ(messages_of(few, RankId(rank)), bits);
        EXPECT_EQ(messages_of(many, RankId(rank)), 10 * (n - 1));
      }
      EXPECT_EQ(message_depth(few), bits);
      EXPECT_EQ(few.scratch_bytes > Bytes(), n > 1 && collective == Collective::kReduceScatter);
    }
  }
}

TEST(Pat, ScratchDoesNotGrowWithTheData) {
  const Shape shape = shape_of(16, 1);
  EXPECT_EQ(pat_reduce_scatter(shape, options_of(16 * 1000, 16)).scratch_bytes,
            pat_reduce_scatter(shape, options_of(16 * 9000, 16)).scratch_bytes);
}

TEST(Pat, HoldsInAnyOrderForOddShapes) {
  Random random(77);
  for (int round = 0; round < 40; ++round) {
    const auto n = static_cast<std::int32_t>(random.between(1, 33));
    Options options = options_of(0, random.between(1, 300));
    options.bytes = random.between(0, 60) * n * options.element;
    options.slots = static_cast<std::int32_t>(random.between(1, 4));
    options.channels = static_cast<std::int32_t>(random.between(1, 3));
    for (const Collective collective : {Collective::kAllGather, Collective::kReduceScatter}) {
      ExecuteOptions execute_options;
      execute_options.slots = static_cast<std::int32_t>(random.between(1, options.slots));
      execute_options.in_place = random.chance(1, 2);
      execute_options.order_seed = random.next() | 1;
      check_result(make_schedule({collective, Algorithm::kPat, shape_of(n, 1), options}),
                   execute_options);
    }
  }
}

std::string failure_of(const Schedule& schedule) {
  try {
    validate(schedule);
  } catch (const CheckFailure& failure) {
    const std::string text = failure.what();
    return text.substr(text.rfind("(rank") + 1);
  }
  return "no failure";
}

TEST(Validate, RefusesMessagesJoinedOtherwiseAtTheOtherEnd) {
  Options options = options_of(8, 100);
  options.channels = 1;
  Schedule schedule = pat_all_gather(shape_of(4, 1), options);
  EXPECT_EQ(failure_of(schedule), "no failure");
  for (Step& step : schedule.lanes[0].steps) {
    if (step.op == Op::kSend) {
      step.joined = false;
    }
  }
  EXPECT_EQ(failure_of(schedule),
            "rank 0 to rank 1 channel 0 connection 0: sends and receives join into other "
            "messages)");
}

TEST(Validate, ASwitchHasNoDataOfItsOwn) {
  Schedule schedule = nvls_all_reduce(shape_of(1, 2), options_of(64, 8));
  EXPECT_EQ(failure_of(schedule), "no failure");
  Lane& lane = schedule.lanes.back();
  EXPECT_EQ(lane.rank, RankId(2));
  lane.steps[0].buffer = Buffer::kOutput;
  EXPECT_NE(failure_of(schedule).find("step 0 (receive): outside its buffer"), std::string::npos)
      << failure_of(schedule);
}

std::string problem_of(Collective collective, Algorithm algorithm, const Shape& shape) {
  try {
    make_schedule({collective, algorithm, shape, options_of(64, 8)});
  } catch (const InputError& error) {
    return error.what();
  }
  return "none";
}

TEST(MakeSchedule, SaysWhatASwitchNeeds) {
  EXPECT_EQ(problem_of(Collective::kAllReduce, Algorithm::kNvls, shape_of(2, 1)),
            "error: all_reduce by NVLS: found hosts of 1, 1 ranks; allowed: 2 and more on each");
  EXPECT_EQ(problem_of(Collective::kAllReduce, Algorithm::kNvlsTree, shape_of(1, 4)),
            "error: all_reduce by NVLSTree: found 1 host; allowed: 2 and more");
  EXPECT_EQ(problem_of(Collective::kAllGather, Algorithm::kNvls, shape_of(2, 20)),
            "error: all_gather by NVLS: found 2 hosts; allowed: 1 (more would need the network's "
            "switch)\n"
            "error: all_gather by NVLS: found 40 ranks; allowed: up to 32");
  EXPECT_EQ(problem_of(Collective::kAllReduce, Algorithm::kCollNetChain, Shape()),
            "error: all_reduce by CollNetChain: found no ring; one for each channel is needed\n"
            "error: all_reduce by CollNetChain: the host of each rank is needed");
  Shape shape = shape_of(2, 4);
  set_heads(&shape, 2, 2);
  shape.heads[1] = {RankId(5)};
  EXPECT_EQ(problem_of(Collective::kAllReduce, Algorithm::kCollNetDirect, shape),
            "error: all_reduce by CollNetDirect: found 2, 1 heads on 2 hosts; allowed: equally "
            "many on each, 1 to 32");
  shape.heads[1] = {RankId(5), RankId(0)};
  EXPECT_EQ(problem_of(Collective::kAllReduce, Algorithm::kNvlsTree, shape),
            "error: all_reduce by NVLSTree: found head 0 on host 1; allowed: ranks of the host");
}

}  // namespace
}  // namespace busbw::collectives
