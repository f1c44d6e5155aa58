// Every collective by every algorithm that ranks can play alone, executed on numbers: exact results
// for all rank counts, sizes, roots, operators, in place and not, in any order of lanes.
#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "sim/core/check.h"
#include "sim/core/errors.h"
#include "sim/core/random.h"
#include "tests/models/collectives/collective_check.h"

namespace busbw::collectives {
namespace {

constexpr std::array kCollectives = {
    Collective::kAllReduce, Collective::kReduce,        Collective::kBroadcast,
    Collective::kAllGather, Collective::kReduceScatter, Collective::kAllToAll,
    Collective::kSendRecv,  Collective::kGather,        Collective::kScatter};

bool has_root(Collective collective) {
  return collective == Collective::kBroadcast || collective == Collective::kReduce ||
         collective == Collective::kGather || collective == Collective::kScatter;
}

/// Every pair of collective and algorithm that needs no switch and suits any shape of equal hosts.
std::vector<Request> requests(const Shape& shape, const Options& options) {
  std::vector<Request> all;
  for (const Collective collective : kCollectives) {
    for (const Algorithm algorithm :
         {Algorithm::kRing, Algorithm::kTree, Algorithm::kHierarchical, Algorithm::kDirect}) {
      const std::vector<Algorithm> known = algorithms_of(collective);
      if (std::find(known.begin(), known.end(), algorithm) != known.end()) {
        all.push_back({collective, algorithm, shape, options});
      }
    }
  }
  return all;
}

TEST(Collectives, FifteenExistWithoutSwitches) {
  EXPECT_EQ(requests(shape_of(1, 2), options_of(8, 8)).size(), 15U);
}

TEST(Collectives, ExactForEveryRankCountAndHostSize) {
  for (const std::int32_t n : rank_counts()) {
    for (const std::int32_t locals : {1, 2, 4, 8, n}) {
      if (n % locals != 0 || (locals == n && n <= 8 && n != 3)) {
        continue;
      }
      const Shape shape = shape_of(n / locals, locals);
      // 4 B, fewer elements than ranks, one each, 4 KiB + 4; chunks that make one loop and many.
      for (const std::int64_t elements : {std::int64_t{0}, std::int64_t{1}, std::int64_t{n} - 1,
                                          std::int64_t{n}, std::int64_t{1025}}) {
        if (n == 64 && elements > 1 && elements < 1025) {
          continue;
        }
        Options options = options_of(elements, n > 17 ? 64 : 16);
        options.root = RankId((n * 2) / 3);
        for (const Request& request : requests(shape, options)) {
          const Schedule schedule = make_schedule(request);
          check_result(schedule, {schedule.max_slots < 8 ? schedule.max_slots : 8});
        }
      }
    }
  }
}

TEST(Collectives, ExactForAMebibyteAndTwelveBytes) {
  for (const auto& [hosts, locals] :
       std::vector<std::pair<std::int32_t, std::int32_t>>{{1, 2}, {2, 2}}) {
    Options options = options_of(262'147, 16'384);
    options.root = RankId(hosts * locals - 1);
    for (const Request& request : requests(shape_of(hosts, locals), options)) {
      const Schedule schedule = make_schedule(request);
      EXPECT_EQ(schedule.bytes,
                rounded_bytes(request.collective, options.bytes, options.element, hosts * locals));
      ExecuteOptions execute_options;
      execute_options.slots = 3;
      execute_options.in_place = allows_in_place(request.collective);
      check_result(schedule, execute_options);
    }
  }
}

TEST(Collectives, EveryRankCanBeTheRoot) {
  for (const auto& [hosts, locals] : std::vector<std::pair<std::int32_t, std::int32_t>>{
           {1, 1}, {1, 5}, {4, 1}, {5, 1}, {2, 3}, {3, 2}}) {
    for (std::int32_t root = 0; root < hosts * locals; ++root) {
      Options options = options_of(101, 8);
      options.root = RankId(root);
      for (const Request& request : requests(shape_of(hosts, locals), options)) {
        if (has_root(request.collective)) {
          check_in_any_order(make_schedule(request));
        }
      }
    }
  }
}

TEST(Collectives, EveryOperator) {
  for (const Request& request : requests(shape_of(2, 3), options_of(600, 16))) {
    for (const Reduction reduction :
         {Reduction::kSum, Reduction::kProd, Reduction::kMin, Reduction::kMax, Reduction::kAvg}) {
      ExecuteOptions options;
      options.slots = 3;
      options.reduction = reduction;
      check_result(make_schedule(request), options);
    }
  }
}

TEST(Collectives, HoldInAnyOrderWithFewSlotsAndOddChunks) {
  Random random(2026);
  for (int round = 0; round < 40; ++round) {
    const auto hosts = static_cast<std::int32_t>(random.between(1, 5));
    const auto locals = static_cast<std::int32_t>(random.between(1, 4));
    Options options = options_of(random.between(0, 900), random.between(1, 40));
    options.element = Bytes(random.chance(1, 2) ? 4 : 12);
    options.bytes = random.between(0, 900) * options.element;
    options.chunk = random.between(1, 40) * options.element;
    options.slots = static_cast<std::int32_t>(random.between(2, 4));
    options.slices = static_cast<std::int32_t>(random.between(1, 2));
    options.root = RankId(static_cast<std::int32_t>(random.between(0, hosts * locals - 1)));
    options.channels = 4;
    options.channels_per_peer = random.chance(1, 2) ? 1 : 4;
    for (Request& request : requests(shape_of(hosts, locals), options)) {
      if (request.algorithm == Algorithm::kTree || request.algorithm == Algorithm::kDirect) {
        request.options.slices = 1;
      }
      ExecuteOptions execute_options;
      execute_options.slots =
          static_cast<std::int32_t>(random.between(options.slices, options.slots));
      execute_options.in_place = random.chance(1, 2) && allows_in_place(request.collective);
      execute_options.order_seed = random.next() | 1;
      check_result(make_schedule(request), execute_options);
    }
  }
}

TEST(Collectives, ScratchDoesNotGrowWithTheData) {
  for (const Request& small : requests(shape_of(2, 4), options_of(10'000, 16))) {
    Request large = small;
    large.options.bytes = Bytes(160'000);
    EXPECT_EQ(make_schedule(small).scratch_bytes, make_schedule(large).scratch_bytes);
    EXPECT_EQ(make_schedule(small).scratch_bytes > Bytes(), reduces(small.collective))
        << to_string(small.collective);
  }
}

TEST(Collectives, SlotsBeyondWhatTheScheduleAllowsAreRefused) {
  const Schedule schedule =
      make_schedule({Collective::kReduce, Algorithm::kRing, shape_of(1, 4), options_of(1000, 8)});
  EXPECT_EQ(schedule.max_slots, 3);
  EXPECT_THROW(execute(schedule, random_inputs(schedule), {4}), CheckFailure);
  // And for a reason: with more in flight a slot changes before it was received.
  Schedule spoiled = schedule;
  spoiled.max_slots = 100;
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    ExecuteOptions options;
    options.slots = 8;
    options.order_seed = seed;
    try {
      execute(spoiled, random_inputs(schedule), options);
    } catch (const CheckFailure& failure) {
      EXPECT_NE(std::string(failure.what()).find("between the send and this receive"),
                std::string::npos);
      ++found;
    }
  }
  EXPECT_GT(found, 0);
}

TEST(Collectives, NotInPlaceWhereNcclDoesNotAllowIt) {
  for (const Collective collective : {Collective::kAllToAll, Collective::kSendRecv}) {
    const Schedule schedule =
        make_schedule({collective, Algorithm::kDirect, shape_of(1, 4), options_of(64, 8)});
    ExecuteOptions options;
    options.in_place = true;
    EXPECT_THROW(execute(schedule, random_inputs(schedule), options), CheckFailure);
  }
}

std::string problem_of(const Request& request) {
  try {
    make_schedule(request);
  } catch (const InputError& error) {
    return error.what();
  }
  return "none";
}

TEST(MakeSchedule, SaysWhichCombinationsDoNotExist) {
  const Shape shape = shape_of(2, 2);
  const Options options = options_of(64, 8);
  EXPECT_EQ(problem_of({Collective::kAllToAll, Algorithm::kRing, shape, options}),
            "error: there is no alltoall by Ring; allowed: Direct");
  EXPECT_EQ(problem_of({Collective::kReduce, Algorithm::kPat, shape, options}),
            "error: there is no reduce by PAT; allowed: Ring, Tree");
}

TEST(MakeSchedule, SaysWhatTheShapeLacks) {
  Options options = options_of(64, 8);
  options.root = RankId(4);
  options.slices = 2;
  Shape shape;
  shape.ranks = 4;
  EXPECT_EQ(problem_of({Collective::kReduce, Algorithm::kTree, shape, options}),
            "error: reduce by Tree: found root 4; allowed: 0 to 3\n"
            "error: reduce by Tree: found 2 slices a chunk; allowed: 1 (only rings cut chunks)\n"
            "error: reduce by Tree: found no tree; one for each channel is needed");
  EXPECT_EQ(problem_of({Collective::kAllGather, Algorithm::kHierarchical, shape, options}),
            "error: all_gather by Hierarchical: found no ring; one for each channel is needed\n"
            "error: all_gather by Hierarchical: the host of each rank is needed");
  shape = shape_of(2, 2);
  shape.host_of = {0, 0, 0, 1};
  EXPECT_EQ(problem_of({Collective::kAllReduce, Algorithm::kHierarchical, shape, options}),
            "error: all_reduce by Hierarchical: found hosts of 3, 1 ranks; allowed: equally many "
            "on each");
}

TEST(RoundedBytes, WholeElementsAndEqualParts) {
  EXPECT_EQ(rounded_bytes(Collective::kAllReduce, Bytes(1003), Bytes(4), 8), Bytes(1000));
  EXPECT_EQ(rounded_bytes(Collective::kAllGather, Bytes(1003), Bytes(4), 8), Bytes(992));
  EXPECT_EQ(rounded_bytes(Collective::kAllToAll, Bytes(4), Bytes(4), 8), Bytes(0));
  EXPECT_EQ(cut_bytes(Collective::kAllGather, Bytes(992), 8), Bytes(124));
  EXPECT_EQ(cut_bytes(Collective::kBroadcast, Bytes(992), 8), Bytes(992));
}

TEST(Reductions, NamesAndValues) {
  for (const char* name : {"sum", "prod", "min", "max", "avg"}) {
    EXPECT_EQ(to_string(*parse_reduction(name)), name);
  }
  EXPECT_EQ(parse_reduction("mean"), std::nullopt);
  EXPECT_EQ(combine(Reduction::kProd, -3, 7), -21);
  EXPECT_EQ(combine(Reduction::kMin, -3, 7), -3);
  EXPECT_EQ(combine(Reduction::kMax, -3, 7), 7);
  EXPECT_EQ(combine(Reduction::kAvg, -3, 7), 4);
  EXPECT_EQ(finish(Reduction::kAvg, -7, 2), -3);
  EXPECT_EQ(finish(Reduction::kSum, -7, 2), -7);
}

}  // namespace
}  // namespace busbw::collectives
