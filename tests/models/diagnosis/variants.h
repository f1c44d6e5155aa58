// A case in other words than any that was seen: another release's lines, other hosts, other tools.
// The tables of variants keep the rules from fitting one text only.
#pragma once
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/models/diagnosis/diagnose_texts.h"

namespace busbw::diagnosis {

struct Variant {
  std::string name;
  std::string kind;  // of the first finding
  Files files;
  bool certain = true;  // false: the files cannot tell, no finding may be certain
};

/// The first finding of each is as wanted; none is certain where the files cannot tell.
inline void expect_found(const std::vector<Variant>& variants) {
  for (const Variant& variant : variants) {
    const Diagnosed result = diagnose(variant.files);
    EXPECT_EQ(result.first(), variant.kind) << variant.name << ": " << result.all();
    for (const Finding& finding : result.findings) {
      if (!variant.certain) {
        EXPECT_NE(finding.confidence, Confidence::kHigh) << variant.name << ": " << result.all();
      }
    }
  }
}

}  // namespace busbw::diagnosis
