// Where the choice changes: lines worked out by hand, and every range held against single calls.
#include "models/nccl/graph/choice_ranges.h"

#include <gtest/gtest.h>

#include "models/nccl/graph/decide.h"
#include "sim/core/random.h"
#include "tests/models/nccl/graph/topologies.h"

namespace busbw::nccl::graph {
namespace {

TEST(ChoiceRanges, CrossingOfTwoLines) {
  // Ring LL 10 us + bytes / 1000, Ring Simple 20 us + bytes / 2000: equal at 20,000 bytes, where
  // the earlier one, LL, stays.
  Tuning tuning;
  tuning.cost(Collective::kBroadcast, Algorithm::kRing, Protocol::kLl) = {10, 1};
  tuning.cost(Collective::kBroadcast, Algorithm::kRing, Protocol::kSimple) = {20, 2};
  Communicator comm;
  comm.ranks = comm.nodes = 1;
  comm.channels = 3;
  const std::vector<ChoiceRange> ranges =
      choice_ranges(tuning, comm, switches_of(kNewest), Collective::kBroadcast);
  ASSERT_EQ(ranges.size(), 2U);
  EXPECT_EQ(ranges[0].from, 8);
  EXPECT_EQ(ranges[0].to, 20'000);
  EXPECT_EQ(ranges[0].first.front().protocol, Protocol::kLl);
  EXPECT_EQ(ranges[0].middle.front().bytes, 512);
  EXPECT_EQ(ranges[1].from, 20'004);
  EXPECT_EQ(ranges[1].to, std::int64_t{8} << 30);
  EXPECT_EQ(ranges[1].last.front().protocol, Protocol::kSimple);
  // Nothing may be chosen for the other collectives.
  const std::vector<ChoiceRange> none =
      choice_ranges(tuning, comm, switches_of(kNewest), Collective::kAllReduce);
  ASSERT_EQ(none.size(), 1U);
  EXPECT_TRUE(none[0].middle.empty());
}

TEST(ChoiceRanges, AgreeWithEverySingleCall) {
  Random random(7);
  for (const int hosts : {1, 2, 9}) {
    for (const Version version : {Version{2, 18, 6}, Version{2, 23, 4}, kNewest}) {
      DecideInput input = equal_hosts(parsed(two_gpus_one_nic()), hosts);
      input.version = version;
      const Decision d = decide(input);
      for (std::size_t c = 0; c < kCollectives; c++) {
        const auto collective = static_cast<Collective>(c);
        std::int64_t next = kSmallestCall;
        for (const ChoiceRange& range : choice_ranges(d.tuning, d.comm, d.switches, collective)) {
          EXPECT_EQ(range.from, next);
          next = range.to + 4;
          std::vector<std::int64_t> sizes{range.from, range.to};
          for (int i = 0; i < 20; i++) {
            sizes.push_back(range.from + random.between(0, (range.to - range.from) / 4) * 4);
          }
          for (const std::int64_t bytes : sizes) {
            const std::vector<Choice> call =
                choices(d.tuning, d.comm, d.switches, collective, bytes);
            ASSERT_FALSE(call.empty());
            // At a crossing single precision may prefer either; then both take the same time.
            if (call.front().algorithm == range.first.front().algorithm &&
                call.front().protocol == range.first.front().protocol)
              continue;
            Choice same = range.first.front();
            same.bytes = bytes;
            EXPECT_FLOAT_EQ(time_us(d.tuning, d.comm, d.switches, same, collective),
                            call.front().time_us)
                << bytes;
          }
        }
        EXPECT_EQ(next, kLargestCall + 4);
      }
    }
  }
}

}  // namespace
}  // namespace busbw::nccl::graph
