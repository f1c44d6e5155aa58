// Conditions on facts, as text in the rules: "nccl.completion status=12 & !var name=NCCL_IB_TC".
//
// Parts are joined by " & "; each names a fact and tests of its fields: = and != compare whole
// values, ~ asks for a part of one in any letter case, < and > compare numbers. A leading ! asks
// that no such fact is there.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "models/facts/fact.h"

namespace busbw::diagnosis {

class Condition {
 public:
  /// CHECKs that the text is well formed.
  explicit Condition(std::string_view text);
  /// Whether it holds; the facts that make it hold are appended to `evidence`, at most
  /// kMostEvidence of each part.
  bool holds(const facts::FactStore& store, std::vector<const facts::Fact*>& evidence) const;

 private:
  enum class Test { kEqual, kUnequal, kContains, kLess, kGreater };
  struct FieldTest {
    std::string field;
    Test test = Test::kEqual;
    std::string value;
  };
  struct Part {
    bool absent = false;
    std::string fact;
    std::vector<FieldTest> tests;
  };
  static bool passes(const facts::Fact& fact, const FieldTest& test);

  std::vector<Part> parts_;
};

constexpr std::size_t kMostEvidence = 3;

}  // namespace busbw::diagnosis
