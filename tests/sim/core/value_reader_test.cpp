// Members of a JSON object, by type: what is taken, and the whole sentence for what is not.
#include "sim/core/value_reader.h"

#include <gtest/gtest.h>

namespace busbw {
namespace {

Value at(Value value, int line) {
  value.set_where({"f.json", line, 3});
  return value;
}

Value sample() {
  Value object = Value::object();
  object.set("name", at("x", 2)).set("empty", at("", 3)).set("count", at(7, 4));
  object.set("rate", at(2.5, 5)).set("on", at(true, 6)).set("nothing", at(nullptr, 7));
  object.set("inner", at(Value::object(), 8)).set("items", at(Value::array(), 9));
  object.set("zero", at(0, 10)).set("nmae", at("y", 11));
  return at(std::move(object), 1);
}

TEST(ObjectReader, TakesWhatIsThere) {
  const Value object = sample();
  Problems problems;
  ObjectReader reader(object, "record 'r'", problems);
  EXPECT_EQ(reader.required_text("name"), "x");
  EXPECT_EQ(reader.text("empty"), "");
  EXPECT_EQ(reader.integer("count", 1, 9), 7);
  EXPECT_EQ(reader.positive("rate", 3), 2.5);
  EXPECT_EQ(reader.not_negative("zero", 3), 0.0);
  EXPECT_EQ(reader.boolean("on"), true);
  EXPECT_NE(reader.object("inner"), nullptr);
  EXPECT_NE(reader.list("items"), nullptr);
  EXPECT_TRUE(problems.empty());
}

TEST(ObjectReader, MissingAndNullAreNothing) {
  const Value object = sample();
  Problems problems;
  ObjectReader reader(object, "record 'r'", problems);
  for (const char* key : {"nothing", "not there"}) {
    EXPECT_EQ(reader.text(key), std::nullopt);
    EXPECT_EQ(reader.integer(key, 0, 1), std::nullopt);
    EXPECT_EQ(reader.positive(key, 1), std::nullopt);
    EXPECT_EQ(reader.not_negative(key, 1), std::nullopt);
    EXPECT_EQ(reader.boolean(key), std::nullopt);
    EXPECT_EQ(reader.object(key), nullptr);
    EXPECT_EQ(reader.list(key), nullptr);
  }
  EXPECT_TRUE(problems.empty());
}

TEST(ObjectReader, SaysWhatIsWrongAndWhere) {
  const Value object = sample();
  Problems problems;
  ObjectReader reader(object, "record 'r'", problems);
  reader.required("absent");
  reader.required_text("empty");
  reader.text("count");
  reader.integer("rate", 1, 9);
  reader.integer("count", 1, 5);
  reader.positive("zero", 1e5);
  reader.not_negative("count", 1.5);
  reader.boolean("name");
  reader.object("items");
  reader.list("inner");
  std::vector<std::string> messages;
  for (const InputProblem& problem : problems.all()) {
    messages.push_back(to_string(problem));
  }
  const std::vector<std::string> expected = {
      "f.json:1:3: error: missing key 'absent' in record 'r'",
      "f.json:3:3: error: key 'empty' in record 'r' must be a text that is not empty",
      "f.json:4:3: error: key 'count' in record 'r' must be a text or null",
      "f.json:5:3: error: key 'rate' in record 'r' must be an integer from 1 to 9",
      "f.json:4:3: error: key 'count' in record 'r' must be an integer from 1 to 5",
      "f.json:10:3: error: key 'zero' in record 'r' must be a number above 0 and up to 100000, "
      "or null",
      "f.json:4:3: error: key 'count' in record 'r' must be a number from 0 to 1.5, or null",
      "f.json:2:3: error: key 'name' in record 'r' must be true or false",
      "f.json:9:3: error: key 'items' in record 'r' must be an object",
      "f.json:8:3: error: key 'inner' in record 'r' must be a list"};
  EXPECT_EQ(messages, expected);
}

TEST(ObjectReader, AKeyThatLooksMisspelt) {
  const Value object = sample();
  Problems problems;
  ObjectReader reader(object, "record 'r'", problems);
  reader.check_spelling({"name", "empty", "count", "rate", "on", "zero"});
  ASSERT_EQ(problems.all().size(), 1U);
  EXPECT_EQ(to_string(problems.all().front()),
            "f.json:11:3: error: unknown key 'nmae' in record 'r'; did you mean 'name'?");
}

}  // namespace
}  // namespace busbw
