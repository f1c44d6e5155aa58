// Measured sizes, quantiles, sites and folds: numbers worked by hand.
#include <gtest/gtest.h>

#include "scenarios/accuracy/measured.h"
#include "scenarios/accuracy/site.h"
#include "scenarios/accuracy/statistics.h"
#include "tests/scenarios/accuracy/library.h"

namespace busbw::scenarios::accuracy {
namespace {

const char* const kSystem = R"({"gpu": "H100", "gpus_per_node": 8, "nodes": 1})";

Measured measured(const std::string& points, Ratio factor = {14, 8}) {
  return measured_sizes(record_of(kSystem, "", points), factor);
}

// 1 MiB in 100 us is 10.48576 GB/s, times 1.75 is 18.35008 GB/s, whatever is printed.
TEST(MeasuredSizes, RecomputedFromBytesAndTime) {
  const Measured found =
      measured(R"([{"bytes": 1048576, "time_us": 100, "algbw_GBps": 10.49, "busbw_GBps": 18.3}])");
  ASSERT_EQ(found.sizes.size(), 1U);
  EXPECT_DOUBLE_EQ(found.sizes.front().busbw_GBps, 18.35008);
}

// In place and out of place are one size: 100 us and 300 us are 200 us.
TEST(MeasuredSizes, RowsOfOneSizeAreOne) {
  const Measured found = measured(
      R"([{"bytes": 2097152, "time_us": 50, "in_place": false},
          {"bytes": 1048576, "time_us": 100, "in_place": false},
          {"bytes": 1048576, "time_us": 300, "in_place": true, "noisy": true}])");
  ASSERT_EQ(found.sizes.size(), 2U);
  EXPECT_EQ(found.sizes[0].bytes, Bytes::mib(1));
  EXPECT_NEAR(found.sizes[0].busbw_GBps, 18.35008 / 2, 1e-12);
  EXPECT_TRUE(found.sizes[0].noisy);
  EXPECT_FALSE(found.sizes[1].noisy);
}

// 0.01 printed with two decimals is anything from 0.005 to 0.015; 0.5 is within 1 %.
TEST(MeasuredSizes, RoundingAloneIsLeftOutAndCounted) {
  const Measured found = measured(
      R"([{"bytes": 1024, "busbw_GBps": 0.01}, {"bytes": 2048, "busbw_GBps": 0.0},
          {"bytes": 4096, "busbw_GBps": 0.5}, {"busbw_GBps": 5.0}, {"bytes": 8192}])");
  EXPECT_EQ(found.rounding_only, 2);
  EXPECT_EQ(found.without_size, 2);
  ASSERT_EQ(found.sizes.size(), 1U);
  EXPECT_EQ(found.sizes.front().busbw_GBps, 0.5);
}

// 32768 B x 1.75 / 0.01 GB/s = 5734.4 us: a time that repeats the printed figure on every row was
// computed from it. One row that does not (6000 us) shows that times were measured.
TEST(MeasuredSizes, TimesComputedFromRoundedFiguresAreNoBetter) {
  const std::string derived = R"({"bytes": 32768, "time_us": 5734.4, "busbw_GBps": 0.01})";
  const std::string large = R"({"bytes": 1073741824, "time_us": 4175.66, "busbw_GBps": 450.0})";
  EXPECT_EQ(measured("[" + derived + "," + large + "]").rounding_only, 1);
  EXPECT_EQ(measured("[" + derived + "," + large + "]").sizes.size(), 1U);
  const std::string real = R"({"bytes": 65536, "time_us": 6000, "busbw_GBps": 0.02})";
  EXPECT_EQ(measured("[" + derived + "," + real + "]").rounding_only, 0);
}

TEST(MeasuredSizes, AlgbwAloneGetsTheFactor) {
  const Measured found = measured(R"([{"bytes": 1048576, "algbw_GBps": 8.0}])");
  EXPECT_DOUBLE_EQ(found.sizes.front().busbw_GBps, 14.0);
}

TEST(Statistics, QuantilesByHand) {
  EXPECT_DOUBLE_EQ(quantile({3}, 0.9), 3);
  EXPECT_DOUBLE_EQ(quantile({4, 1, 2}, 0.5), 2);
  EXPECT_DOUBLE_EQ(quantile({1, 2}, 0.5), 1.5);
  // Ten values 1 ... 10: place 0.9 x 9 = 8.1, a tenth of the way from 9 to 10.
  EXPECT_DOUBLE_EQ(quantile({10, 9, 8, 7, 6, 5, 4, 3, 2, 1}, 0.9), 9.1);
  EXPECT_DOUBLE_EQ(quantile({1, 2, 3}, 0), 1);
  EXPECT_DOUBLE_EQ(quantile({1, 2, 3}, 1), 3);
  EXPECT_FALSE(figures_of({}).median.has_value());
}

TEST(Statistics, BandsHaveTheirLowerEnd) {
  EXPECT_EQ(band_of(Bytes::mib(16)), Band::kLarge);
  EXPECT_EQ(band_of(Bytes(16 * 1024 * 1024 - 1)), Band::kMedium);
  EXPECT_EQ(band_of(Bytes::mib(1)), Band::kMedium);
  EXPECT_EQ(band_of(Bytes(1024 * 1024 - 1)), Band::kSmall);
}

std::string site(const std::string& source, const std::string& id = "gke-b200-1n") {
  Record record;
  record.source = source;
  record.id = id;
  return site_of(record);
}

TEST(Site, RepositoryIssueOrRecord) {
  EXPECT_EQ(site("github.com/stas00/ml-engineering:network/README.md (snapshot 7)"),
            "stas00/ml-engineering");
  EXPECT_EQ(site("stas00/ml-engineering:todo.md"), "stas00/ml-engineering");
  EXPECT_EQ(site("NVIDIA/nccl#2409"), "NVIDIA/nccl#2409");
  EXPECT_EQ(site("NVIDIA/nccl-tests#352, NVIDIA/nccl#1876"), "NVIDIA/nccl-tests#352");
  EXPECT_EQ(site("public file"), "gke");
  EXPECT_EQ(site("public file (AWS workshop)", "aws-p4de"), "aws");
}

// Sites a: 5 points, b: 3, c: 2, in two folds: a to 0, b to 1, c to 1 (3 < 5).
TEST(Folds, WholeSitesEvenlyFilled) {
  EXPECT_EQ(folds_of({"b", "a", "c", "a"}, {3, 1, 2, 4}, 2),
            (std::vector<std::int32_t>{1, 0, 1, 0}));
  EXPECT_EQ(folds_of({"a", "a"}, {1, 1}, 5), (std::vector<std::int32_t>{0, 0}));
}

}  // namespace
}  // namespace busbw::scenarios::accuracy
