// JSON text <-> Value: places, whole messages, exact printing, and print-then-parse as a property.
#include "tools/json/json.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/core/check.h"
#include "sim/core/random.h"

namespace busbw::json {
namespace {

/// All problems of `text` as lines, in order.
std::string problems_of(const std::string& text) {
  Problems problems;
  parse(text, "f.json", problems);
  try {
    problems.throw_if_any();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

Value parse_good(const std::string& text) {
  Problems problems;
  Value value = parse(text, "f.json", problems);
  EXPECT_EQ(problems_of(text), "") << text;
  return value;
}

TEST(Json, PrintsEveryKindInTheOrderOfItsKeys) {
  Value value = Value::object();
  value.set("zero", 0).set("empty list", Value::array()).set("empty object", Value::object());
  value.set("a", Value::Array{1, "x", nullptr, true, false, 1.5});
  EXPECT_EQ(print(value),
            "{\n"
            "  \"zero\": 0,\n"
            "  \"empty list\": [],\n"
            "  \"empty object\": {},\n"
            "  \"a\": [\n"
            "    1,\n"
            "    \"x\",\n"
            "    null,\n"
            "    true,\n"
            "    false,\n"
            "    1.5\n"
            "  ]\n"
            "}\n");
}

TEST(Json, PrintsNumbersInTheShortestFormThatReadsBackEqual) {
  EXPECT_EQ(print(0.1), "0.1\n");
  EXPECT_EQ(print(1.0), "1.0\n");
  EXPECT_EQ(print(-0.0), "-0.0\n");
  EXPECT_EQ(print(1e22), "1e+22\n");
  EXPECT_EQ(print(5e-324), "5e-324\n");
  EXPECT_EQ(print(1.0 / 3.0), "0.3333333333333333\n");
  EXPECT_EQ(print(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808\n");
}

TEST(Json, RefusesToPrintWhatJsonHasNoFormFor) {
  EXPECT_THROW(print(std::numeric_limits<double>::infinity()), CheckFailure);
  EXPECT_THROW(print(std::numeric_limits<double>::quiet_NaN()), CheckFailure);
}

TEST(Json, EscapesTextAndReplacesBytesThatAreNoUtf8) {
  EXPECT_EQ(print("a\"b\\c\n\t\r\x01\x7f"), "\"a\\\"b\\\\c\\n\\t\\u000d\\u0001\x7f\"\n");
  EXPECT_EQ(print("\u00e9 \u4e2d"), "\"\u00e9 \u4e2d\"\n");
  EXPECT_EQ(print("a\xff"
                  "b\xc3"),
            "\"a\ufffd"
            "b\ufffd\"\n");
}

TEST(Json, ValuesKnowTheirPlace) {
  const Value value = parse_good(
      "\xef\xbb\xbf{\"a\": [1, \"x\\\"y\\\\\", -2.5e1,\r\n"
      "  null , true,false],\n"
      "\t\"b\":{}}");
  EXPECT_EQ(value.where(), (Location{"f.json", 1, 1}));
  const Value::Array& list = value.find("a")->as_array();
  EXPECT_EQ(list[0].where(), (Location{"f.json", 1, 8}));
  EXPECT_EQ(list[1].where(), (Location{"f.json", 1, 11}));
  EXPECT_EQ(list[1].as_string(), "x\"y\\");
  EXPECT_EQ(list[2].where(), (Location{"f.json", 1, 21}));
  EXPECT_EQ(list[2].as_number(), -25.0);
  EXPECT_EQ(list[3].where(), (Location{"f.json", 2, 3}));
  EXPECT_EQ(list[4].where(), (Location{"f.json", 2, 10}));
  EXPECT_EQ(list[5].where(), (Location{"f.json", 2, 15}));
  EXPECT_EQ(value.find("b")->where(), (Location{"f.json", 3, 6}));
}

TEST(Json, WholeNumbersAreInt64OrAProblem) {
  EXPECT_EQ(parse_good("9223372036854775807").as_integer(), INT64_MAX);
  EXPECT_EQ(parse_good("-9223372036854775808").as_integer(), INT64_MIN);
  EXPECT_FALSE(parse_good("1.0").is_integer());
  EXPECT_FALSE(parse_good("1e3").is_integer());
  EXPECT_EQ(parse_good("1e20").as_number(), 1e20);
  EXPECT_EQ(problems_of("[9223372036854775808, -9223372036854775809,\n 99999999999999999999]"),
            "f.json:1:2: error: the whole number 9223372036854775808 does not fit in 64 bits\n"
            "f.json:1:23: error: the whole number -9223372036854775809 does not fit in 64 bits\n"
            "f.json:2:2: error: the whole number 99999999999999999999 does not fit in 64 bits");
}

TEST(Json, DuplicateKeysAreProblemsAndTheFirstValueStays) {
  const std::string text = "{\"a\": 1,\n \"b\": {\"a\": 2, \"a\": 3},\n \"a\": [4]}";
  EXPECT_EQ(problems_of(text),
            "f.json:2:16: error: duplicate key 'a'; it stands on line 2 already\n"
            "f.json:3:2: error: duplicate key 'a'; it stands on line 1 already");
  Problems problems;
  const Value value = parse(text, "f.json", problems);
  EXPECT_EQ(value.find("a")->as_integer(), 1);
  EXPECT_EQ(value.as_object().size(), 2U);
}

TEST(Json, SyntaxErrorsNameTheirPlace) {
  const std::vector<std::vector<std::string>> cases = {
      {"",
       "1:1: error: bad JSON: syntax error while parsing value - unexpected end of input; "
       "expected '[', '{', or a literal"},
      {"{,}",
       "1:2: error: bad JSON: syntax error while parsing object key - unexpected ','; "
       "expected string literal"},
      {"[1,\n,2]",
       "2:1: error: bad JSON: syntax error while parsing value - unexpected ','; "
       "expected '[', '{', or a literal"},
      {"[1, 234 567]",
       "1:9: error: bad JSON: syntax error while parsing array - unexpected number "
       "literal; expected ']'"},
      {"[nan]", "1:3: error: bad JSON: syntax error while parsing value - invalid literal"},
      {"[1e999]", "1:2: error: bad JSON: number overflow parsing '1e999'"},
      {"[01]",
       "1:3: error: bad JSON: syntax error while parsing array - unexpected number "
       "literal; expected ']'"},
      {"[1-2]",
       "1:3: error: bad JSON: syntax error while parsing array - unexpected number "
       "literal; expected ']'"},
      {"[\"\xff\"]",
       "1:3: error: bad JSON: syntax error while parsing value - invalid string: "
       "ill-formed UTF-8 byte"},
      {"{}\n{}",
       "2:1: error: bad JSON: syntax error while parsing value - unexpected '{'; "
       "expected end of input"},
      {"{\"a\": \"b",
       "1:9: error: bad JSON: syntax error while parsing value - invalid string: "
       "missing closing quote"},
  };
  for (const std::vector<std::string>& row : cases) {
    EXPECT_EQ(problems_of(row[0]), "f.json:" + row[1]) << row[0];
    Problems problems;
    EXPECT_TRUE(parse(row[0], "f.json", problems).is_null()) << row[0];
  }
}

TEST(Json, NestingIsLimited) {
  parse_good(std::string(64, '[') + std::string(64, ']'));
  EXPECT_EQ(problems_of(std::string(65, '[') + std::string(65, ']')),
            "f.json:1:65: error: nested deeper than 64 levels");
  EXPECT_EQ(problems_of(std::string(1'000'000, '[')),
            "f.json:1:65: error: nested deeper than 64 levels");
}

/// A random tree, at most `depth` levels deep.
Value random_value(Random& random, int depth) {
  const std::uint64_t kind = random.below(depth > 0 ? 7 : 5);
  switch (kind) {
    case 0:
      return {};
    case 1:
      return random.chance(1, 2);
    case 2:
      return static_cast<std::int64_t>(random.next());
    case 3:
      return static_cast<double>(random.between(-1'000'000, 1'000'000)) /
             static_cast<double>(random.between(1, 1'000'000));
    case 4: {
      std::string text;
      for (std::uint64_t i = random.below(6); i > 0; i--) {
        text += static_cast<char>(random.below(128));
      }
      return text;
    }
    default:
      break;
  }
  Value value = kind == 5 ? Value::array() : Value::object();
  for (std::uint64_t i = random.below(5); i > 0; i--) {
    if (kind == 5) {
      value.push(random_value(random, depth - 1));
    } else {
      value.set("k" + std::to_string(i), random_value(random, depth - 1));
    }
  }
  return value;
}

TEST(Json, PrintedValuesReadBackEqual) {
  Random random(1);
  for (int i = 0; i < 2000; i++) {
    const std::string text = print(random_value(random, 4));
    EXPECT_EQ(print(parse_good(text)), text);
  }
}

}  // namespace
}  // namespace busbw::json
