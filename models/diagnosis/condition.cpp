// See condition.h.
#include "models/diagnosis/condition.h"

#include <algorithm>

#include "sim/core/check.h"
#include "sim/core/text.h"

namespace busbw::diagnosis {

Condition::Condition(std::string_view text) {
  Part part;
  for (std::string_view word : split_blanks(text)) {
    if (word == "&") {
      parts_.push_back(std::move(part));
      part = {};
      continue;
    }
    if (part.fact.empty()) {
      part.absent = word.front() == '!';
      part.fact = std::string(part.absent ? word.substr(1) : word);
      continue;
    }
    const std::size_t sign = word.find_first_of("=!~<>");
    CHECK(sign != std::string_view::npos && sign > 0, "no test in '{}' of '{}'", word, text);
    const bool unequal = word[sign] == '!';
    const Test test = unequal             ? Test::kUnequal
                      : word[sign] == '=' ? Test::kEqual
                      : word[sign] == '~' ? Test::kContains
                      : word[sign] == '<' ? Test::kLess
                                          : Test::kGreater;
    part.tests.push_back({std::string(word.substr(0, sign)), test,
                          std::string(word.substr(sign + (unequal ? 2 : 1)))});
  }
  CHECK(!part.fact.empty(), "condition '{}' ends in '&'", text);
  parts_.push_back(std::move(part));
}

bool Condition::passes(const facts::Fact& fact, const FieldTest& test) {
  const std::string_view value = fact.get(test.field);
  switch (test.test) {
    case Test::kEqual:
      return value == test.value;
    case Test::kUnequal:
      return value != test.value;
    case Test::kContains:
      return lower(value).find(lower(test.value)) != std::string::npos;
    case Test::kLess:
    case Test::kGreater: {
      const std::optional<double> found = parse_number(value);
      const std::optional<double> bound = parse_number(test.value);
      CHECK(bound.has_value(), "'{}' is no number", test.value);
      return found && (test.test == Test::kLess ? *found < *bound : *found > *bound);
    }
  }
  return false;
}

bool Condition::holds(const facts::FactStore& store,
                      std::vector<const facts::Fact*>& evidence) const {
  std::vector<const facts::Fact*> found;
  for (const Part& part : parts_) {
    std::size_t passed = 0;
    for (const facts::Fact* fact : store.named(part.fact)) {
      const bool passes_all =
          std::all_of(part.tests.begin(), part.tests.end(),
                      [&](const FieldTest& test) { return passes(*fact, test); });
      if (!passes_all) {
        continue;
      }
      if (part.absent) {
        return false;
      }
      if (passed++ < kMostEvidence) {
        found.push_back(fact);
      }
    }
    if (!part.absent && passed == 0) {
      return false;
    }
  }
  evidence.insert(evidence.end(), found.begin(), found.end());
  return true;
}

}  // namespace busbw::diagnosis
