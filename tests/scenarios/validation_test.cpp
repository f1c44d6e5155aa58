// Judging predictions: errors, bounds and ratios worked by hand.
#include "scenarios/validation.h"

#include <gtest/gtest.h>

#include "sim/core/check.h"

namespace busbw::scenarios {
namespace {

ValidationPoint point_of(const char* variant, Bytes bytes, std::int64_t predicted_us,
                         std::int64_t measured_us) {
  ValidationPoint point;
  point.variant = variant;
  point.collective = "all_reduce";
  point.algorithm = "Ring";
  point.mover = "write";
  point.ranks = 2;
  point.bytes = bytes;
  point.predicted = Duration::microseconds(predicted_us);
  point.measured = Duration::microseconds(measured_us);
  point.measured_min = point.measured - Duration::microseconds(1);
  point.measured_max = point.measured + Duration::microseconds(1);
  return point;
}

Validation bounds_of(double median, double worst) {
  Validation bounds;
  bounds.from = Bytes::kib(64);
  bounds.median_percent = median;
  bounds.worst_percent = worst;
  return bounds;
}

/// Errors: +50 % (small, not judged), +10 %, -20 %, +5 %, -1 %.
std::vector<ValidationPoint> five() {
  return {point_of("a", Bytes::kib(4), 150, 100), point_of("a", Bytes::kib(64), 1100, 1000),
          point_of("a", Bytes::mib(1), 8000, 10000), point_of("b", Bytes::kib(64), 105, 100),
          point_of("b", Bytes::mib(1), 990, 1000)};
}

TEST(Validation, MedianAndWorstOfTheJudgedPoints) {
  const ValidationResult result = judge(five(), bounds_of(8, 25));
  EXPECT_EQ(result.judged, 4);
  EXPECT_NEAR(result.points[0].error_percent, 50, 1e-9);
  EXPECT_FALSE(result.points[0].judged);
  EXPECT_NEAR(result.points[2].error_percent, -20, 1e-9);
  EXPECT_TRUE(result.points[2].judged);
  EXPECT_NEAR(result.median_percent, 7.5, 1e-9);  // of 1, 5, 10, 20
  EXPECT_NEAR(result.worst_percent, 20, 1e-9);
  EXPECT_TRUE(result.met);
}

TEST(Validation, EachBoundCanBeMissed) {
  EXPECT_FALSE(judge(five(), bounds_of(7, 25)).met);
  EXPECT_FALSE(judge(five(), bounds_of(8, 19)).met);
  std::vector<ValidationPoint> points = five();
  points.pop_back();
  EXPECT_NEAR(judge(points, bounds_of(10, 20)).median_percent, 10, 1e-9);  // of 5, 10, 20
}

TEST(Validation, WithoutBoundsNothingIsJudged) {
  Validation reported = bounds_of(0, 0);
  reported.judged = false;
  for (const std::optional<Validation>& bounds : {std::optional<Validation>(), {reported}}) {
    const ValidationResult result = judge(five(), bounds);
    EXPECT_EQ(result.judged, 0);
    EXPECT_EQ(result.median_allowed, std::nullopt);
    EXPECT_TRUE(result.met);
  }
}

TEST(Validation, ReportedVariantsAreNotJudged) {
  Validation bounds = bounds_of(8, 15);
  bounds.reported = {"a"};
  const ValidationResult result = judge(five(), bounds);
  EXPECT_EQ(result.judged, 2);
  EXPECT_NEAR(result.worst_percent, 5, 1e-9);
  EXPECT_TRUE(result.met);
}

TEST(Validation, RatiosOfTwoVariants) {
  Validation bounds = bounds_of(100, 100);
  bounds.ratios = {{"a", "b", 10, {}}, {"b", "c", 10, {}}};
  const ValidationResult result = judge(five(), bounds);
  ASSERT_EQ(result.ratios.size(), 2U);
  EXPECT_EQ(result.ratios[0].bytes, Bytes::kib(64));
  EXPECT_NEAR(result.ratios[0].predicted, 1100.0 / 105, 1e-9);
  EXPECT_NEAR(result.ratios[0].measured, 10, 1e-9);
  EXPECT_NEAR(result.ratios[0].error_percent, 4.7619, 1e-3);
  EXPECT_TRUE(result.ratios[0].met);
  // 8000/990 against 10000/1000: -19.2 %.
  EXPECT_FALSE(result.ratios[1].met);
  EXPECT_FALSE(result.met);
  ASSERT_EQ(result.remarks.size(), 1U);
  EXPECT_EQ(result.remarks[0], "no ratio of 'b' over 'c': they have no judged size in common");
}

TEST(Validation, ATimeOfNothingIsOurBug) {
  EXPECT_THROW(static_cast<void>(judge({point_of("a", Bytes(4), 1, 0)}, std::nullopt)),
               CheckFailure);
}

TEST(Validation, AsCsv) {
  std::vector<ValidationPoint> points = five();
  points.resize(2);
  points[0].variant = "a, b";
  EXPECT_EQ(to_csv(judge(points, bounds_of(10, 25))),
            "variant,collective,algorithm,mover,ranks,bytes,predicted_us,measured_us,"
            "measured_min_us,measured_max_us,error_percent,judged\n"
            "\"a, b\",all_reduce,Ring,write,2,4096,150.000,100.000,99.000,101.000,50.00,no\n"
            "a,all_reduce,Ring,write,2,65536,1100.000,1000.000,999.000,1001.000,10.00,yes\n");
}

TEST(Validation, AsValue) {
  const Value value = to_value(judge(five(), bounds_of(8, 25)));
  EXPECT_EQ(value.find("schema")->as_string(), "busbw.validate/1");
  EXPECT_EQ(value.find("points")->as_array().size(), 5U);
  EXPECT_EQ(value.find("summary")->find("judged")->as_integer(), 4);
  EXPECT_TRUE(value.find("summary")->find("met")->as_bool());
}

}  // namespace
}  // namespace busbw::scenarios
