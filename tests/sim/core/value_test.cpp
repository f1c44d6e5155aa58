// Value: kinds, access, order of keys.
#include "sim/core/value.h"

#include <string>
#include <type_traits>

#include <gtest/gtest.h>

#include "sim/core/check.h"

namespace busbw {
namespace {

static_assert(!std::is_constructible_v<Value, const void*>);
static_assert(!std::is_constructible_v<Value, int*>);

TEST(Value, Kinds) {
  EXPECT_TRUE(Value().is_null());
  EXPECT_TRUE(Value(nullptr).is_null());
  EXPECT_TRUE(Value(true).is_bool());
  EXPECT_TRUE(Value(3).is_integer());
  EXPECT_TRUE(Value(3).is_number());
  EXPECT_FALSE(Value(3.0).is_integer());
  EXPECT_TRUE(Value(3.0).is_number());
  EXPECT_TRUE(Value("x").is_string());
  EXPECT_TRUE(Value(std::string_view("x")).is_string());
  EXPECT_TRUE(Value::array().is_array());
  EXPECT_TRUE(Value::object().is_object());
  EXPECT_FALSE(Value("true").is_bool());
}

TEST(Value, Accessors) {
  EXPECT_TRUE(Value(true).as_bool());
  EXPECT_EQ(Value(7).as_integer(), 7);
  EXPECT_EQ(Value(7).as_number(), 7.0);
  EXPECT_EQ(Value(2.5).as_number(), 2.5);
  EXPECT_EQ(Value("x").as_string(), "x");
  EXPECT_EQ((Value(Value::Array{1, 2}).as_array().size()), 2U);
}

TEST(Value, TheWrongKindIsOurBug) {
  EXPECT_THROW((void)Value(1).as_bool(), CheckFailure);
  EXPECT_THROW((void)Value(1.0).as_integer(), CheckFailure);
  EXPECT_THROW((void)Value("1").as_number(), CheckFailure);
  EXPECT_THROW((void)Value(1).as_string(), CheckFailure);
  EXPECT_THROW((void)Value::object().as_array(), CheckFailure);
  EXPECT_THROW((void)Value::array().as_object(), CheckFailure);
  EXPECT_THROW(Value().push(1), CheckFailure);
  EXPECT_THROW(Value().set("a", 1), CheckFailure);
}

TEST(Value, SetKeepsTheOrderAndReplacesInPlace) {
  Value value = Value::object();
  value.set("b", 1).set("a", 2).set("b", 3);
  ASSERT_EQ(value.as_object().size(), 2U);
  EXPECT_EQ(value.as_object()[0].first, "b");
  EXPECT_EQ(value.as_object()[0].second.as_integer(), 3);
  EXPECT_EQ(value.find("a")->as_integer(), 2);
  EXPECT_EQ(value.find("c"), nullptr);
  EXPECT_EQ(Value(1).find("a"), nullptr);
}

TEST(Value, Places) {
  Value value = 1;
  EXPECT_EQ(value.where(), Location{});
  value.set_where({"f.json", 2, 3});
  EXPECT_EQ(value.where(), (Location{"f.json", 2, 3}));
}

}  // namespace
}  // namespace busbw
