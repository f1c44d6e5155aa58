// Fuzzer of tools/json.
#include <string>

#include "tests/fuzz/registry.h"
#include "tools/json/json.h"

namespace busbw::fuzz {
namespace {

constexpr const char* kFile = "fuzz.json";

/// Every value that was read knows a place, and no place runs backwards in a list.
void require_places(const Value& value, const std::string& text) {
  require(value.where().file == kFile && value.where().line > 0 && value.where().column > 0,
          "a value has no place", text);
  if (value.is_array()) {
    const Location* last = &value.where();
    for (const Value& element : value.as_array()) {
      require_places(element, text);
      const bool behind =
          element.where().line > last->line ||
          (element.where().line == last->line && element.where().column > last->column);
      require(behind, "places run backwards", text);
      last = &element.where();
    }
  } else if (value.is_object()) {
    for (const Value::Member& member : value.as_object()) {
      require_places(member.second, text);
    }
  }
}

/// Whether the character at the place of a value can start it: checks the place against the text.
void require_starts(const Value& value, const std::string& text, std::size_t line_start) {
  if (value.where().line != 1 || value.is_array() || value.is_object()) {
    return;
  }
  const char first = text.at(line_start + static_cast<std::size_t>(value.where().column) - 1);
  const std::string allowed = value.is_null()     ? "n"
                              : value.is_bool()   ? "tf"
                              : value.is_string() ? "\""
                                                  : "-0123456789";
  require(allowed.find(first) != std::string::npos, "a place is not that of its value", text);
}

void json_reader(Random& random) {
  const std::string text =
      mutate(random,
             {R"({"id": "run-1", "points": [{"bytes": 1024, "busbw": 1.5e-3}, {}], "error": null})",
              R"([1, -2, 3.25, true, false, null, "a\"b\\c\n\u00e9", [], [[]]])",
              "{\r\n  \"a\": [1,\r\n 2]\r\n}\n",
              R"([0, 9223372036854775807, -9223372036854775808, 1e308])"},
             {"[",
              "]",
              "{",
              "}",
              ",",
              ":",
              "\"",
              "\\",
              "\\u00",
              "\\ud800",
              "\n",
              " ",
              "0",
              "-",
              "1e999",
              "18446744073709551616",
              "0.1",
              "E+",
              "null",
              "true",
              "NaN",
              "\"a\":1,",
              "\xef\xbb\xbf",
              "\xff",
              "//",
              "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["});
  Problems problems;
  const Value value = json::parse(text, kFile, problems);
  require_good_problems(problems, kFile, text);
  if (!problems.empty()) {
    return;
  }
  require_places(value, text);
  const std::size_t line_start = text.substr(0, 3) == "\xef\xbb\xbf" ? 3 : 0;
  require_starts(value, text, line_start);
  if (value.is_array()) {
    for (const Value& element : value.as_array()) {
      require_starts(element, text, line_start);
    }
  }
  const std::string printed = json::print(value);
  Problems none;
  require(json::print(json::parse(printed, kFile, none)) == printed,
          "printed text reads back differently", text);
  require(none.empty(), "printed text has problems", text);
}

}  // namespace

std::vector<Fuzzer> json_fuzzers() {
  return {{"json_reader",
           "any text gives a value with places, or problems; values print and read back", 10'000,
           &json_reader}};
}

}  // namespace busbw::fuzz
