// The catalogue of the product, read once, and short ways to records.
#pragma once
#include <string>

#include <gtest/gtest.h>

#include "models/params/params.h"
#include "scenarios/accuracy/read_records.h"
#include "scenarios/spec/load.h"
#include "tools/json/json.h"

namespace busbw::scenarios::accuracy {

inline const Library& library() {
  static const Library kLibrary = [] {
    Problems problems;
    Library read = load_library(std::string(BUSBW_SOURCE_DIR) + "/topologies/catalog", problems);
    problems.throw_if_any();
    return read;
  }();
  return kLibrary;
}

inline const params::Transports& transports() {
  static const params::Transports kTransports = [] {
    Problems problems;
    params::Transports read =
        params::load_transports(std::string(BUSBW_SOURCE_DIR) + "/topologies/catalog", problems);
    problems.throw_if_any();
    return read;
  }();
  return kTransports;
}

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
