// Short ways to records, beside the catalogue.
#pragma once
#include <string>

#include <gtest/gtest.h>

#include "scenarios/accuracy/read_records.h"
#include "tests/scenarios/library.h"
#include "tools/json/json.h"

namespace busbw::scenarios::accuracy {

/// One record of an all-reduce over `system`, a JSON object; `more` are further members.
inline Record record_of(const std::string& system, const std::string& more = "",
                        const std::string& points = "[]") {
  Problems problems;
  const std::string text = R"([{"id": "r", "kind": "nccl-tests", "collective": "all_reduce",
      "system": )" + system +
                           R"(, "points": )" + points + (more.empty() ? "" : ", " + more) + "}]";
  const std::vector<Record> records = read_records(json::parse(text, "r.json", problems), problems);
  problems.throw_if_any();
  EXPECT_EQ(records.size(), 1U);
  return records.front();
}

}  // namespace busbw::scenarios::accuracy
