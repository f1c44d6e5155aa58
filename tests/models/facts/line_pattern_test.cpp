// The small language of line shapes.
#include "models/facts/line_pattern.h"

#include <gtest/gtest.h>

#include "sim/core/check.h"

namespace busbw::facts {
namespace {

using Fields = std::vector<Fact::Field>;

TEST(LinePattern, TakesFieldsUpToTheNextText) {
  const LinePattern pattern("Connect to {peer} failed : {error}");
  EXPECT_EQ(pattern.match("connect  to 10.0.0.1<5> failed: No route to host "),
            (Fields{{"peer", "10.0.0.1<5>"}, {"error", "No route to host"}}));
  EXPECT_EQ(pattern.match("socket: Connect to 1 failed : x"), std::nullopt);
  EXPECT_EQ(pattern.match("Connect to 1"), std::nullopt);
  EXPECT_EQ(pattern.match(""), std::nullopt);
}

TEST(LinePattern, BeginsAnywhereWithDots) {
  const LinePattern pattern("...is {state} for HCA {hca}");
  EXPECT_EQ(pattern.match("it is off for HCA 3"), (Fields{{"state", "off"}, {"hca", "3"}}));
  EXPECT_EQ(pattern.first(), '\0');
}

TEST(LinePattern, BlanksBetweenTwoFieldsMustBeThere) {
  const LinePattern pattern("a {x} {y}");
  EXPECT_EQ(pattern.match("a 1 2"), (Fields{{"x", "1"}, {"y", "2"}}));
  EXPECT_EQ(pattern.match("a 1"), std::nullopt);
}

TEST(LinePattern, ShapesThatAreNoneFail) {
  EXPECT_THROW(LinePattern("{a}"), CheckFailure);
  EXPECT_THROW(LinePattern("x {a}{b}"), CheckFailure);
  EXPECT_THROW(LinePattern("x {a"), CheckFailure);
  EXPECT_THROW((void)LinePattern("...a b").sample(), CheckFailure);
}

}  // namespace
}  // namespace busbw::facts
