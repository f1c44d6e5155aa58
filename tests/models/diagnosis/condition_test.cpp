// Conditions, and what they point at.
#include "models/diagnosis/condition.h"

#include <gtest/gtest.h>

#include "sim/core/check.h"

namespace busbw::diagnosis {
namespace {

facts::Fact fact(const std::string& name, std::vector<facts::Fact::Field> fields, int line) {
  facts::Fact result;
  result.name = name;
  result.fields = std::move(fields);
  result.where = {"f", line, 1};
  return result;
}

facts::FactStore store() {
  facts::FactStore result;
  result.add(fact("port", {{"state", "Active"}, {"rate", "200"}}, 1));
  result.add(fact("port", {{"state", "Down"}, {"rate", "40"}}, 2));
  result.add(fact("end", {}, 3));
  return result;
}

bool holds(const std::string& text) {
  std::vector<const facts::Fact*> evidence;
  const facts::FactStore facts = store();
  return Condition(text).holds(facts, evidence);
}

TEST(Condition, Tests) {
  EXPECT_TRUE(holds("port"));
  EXPECT_FALSE(holds("gid"));
  EXPECT_TRUE(holds("port state=Down"));
  EXPECT_FALSE(holds("port state=down"));
  EXPECT_TRUE(holds("port state~down"));
  EXPECT_TRUE(holds("port state!=Down"));
  EXPECT_TRUE(holds("port rate>100 state=Active"));
  EXPECT_FALSE(holds("port rate>100 state=Down"));  // of one fact, not of two
  EXPECT_TRUE(holds("port rate<100"));
  EXPECT_FALSE(holds("port state>1"));  // no number
  EXPECT_TRUE(holds("port & end & !gid"));
  EXPECT_FALSE(holds("port & !end"));
}

TEST(Condition, PointsAtWhatMakesItHold) {
  std::vector<const facts::Fact*> evidence;
  const facts::FactStore facts = store();
  ASSERT_TRUE(Condition("end & port & !gid").holds(facts, evidence));
  ASSERT_EQ(evidence.size(), 3U);
  EXPECT_EQ(evidence[0]->where.line, 3);
  EXPECT_EQ(evidence[2]->where.line, 2);
  EXPECT_FALSE(Condition("end & gid").holds(facts, evidence));
  EXPECT_EQ(evidence.size(), 3U);  // nothing is added when it does not hold
}

TEST(Condition, TextThatIsNoneFails) {
  EXPECT_THROW(Condition("port &"), CheckFailure);
  EXPECT_THROW(Condition("port state"), CheckFailure);
  EXPECT_THROW(Condition(""), CheckFailure);
}

}  // namespace
}  // namespace busbw::diagnosis
