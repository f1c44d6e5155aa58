// Real NCCL runs over shaped NICs (reference material, may be absent): decisions and busbw of every
// record.
#include "scenarios/records.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "sim/core/text.h"
#include "tools/json/json.h"

namespace busbw::scenarios {
namespace {

const std::string kCatalog = std::string(BUSBW_SOURCE_DIR) + "/topologies/catalog";

struct Answers {
  Value predicted = Value::array();
  Value file;
};

Answers answer(const std::string& name) {
  const std::string path = std::string(BUSBW_SHARED_DIR) + "/h200/" + name;
  Problems problems;
  Answers answers;
  answers.file = json::parse(read_file(path), path, problems);
  const Library library = load_library(kCatalog, problems);
  const params::Transports transports = params::load_transports(kCatalog, problems);
  const auto records = nccl::read_selection_records(answers.file, problems);
  problems.throw_if_any();
  const Context context{library.catalog, transports};
  for (const nccl::SelectionRecord& record : records) {
    answers.predicted.push(nccl::selection_output(
        record, nccl::select(record.input),
        [&](const nccl::SelectionRecord& r, const nccl::Decision& d, const nccl::RecordPoint& p) {
          return predict_point(r, d, p, library, context);
        }));
  }
  return answers;
}

bool absent() {
  return !std::filesystem::exists(std::string(BUSBW_SHARED_DIR) + "/h200");
}

TEST(Records, DecidedAsMeasured) {
  if (absent()) {
    GTEST_SKIP() << "no reference material beside the source tree";
  }
  for (const std::string name : {"two-hosts-sockets.json", "interface-selection.json"}) {
    const Answers answers = answer(name);
    const Value::Array& records = answers.file.as_array();
    const Value::Array& predicted = answers.predicted.as_array();
    ASSERT_EQ(records.size(), predicted.size());
    for (std::size_t i = 0; i < records.size(); ++i) {
      const std::string& id = records[i].find("id")->as_string();
      const std::string& outcome = records[i].find("outcome")->as_string();
      EXPECT_EQ(predicted[i].find("outcome")->as_string().substr(0, 5), outcome.substr(0, 5)) << id;
      for (const char* key : {"bootstrap_interface", "network", "data_interfaces", "channels"}) {
        EXPECT_EQ(json::print(*predicted[i].find(key)), json::print(*records[i].find(key)))
            << id << " " << key;
      }
    }
  }
}

TEST(Records, BusbwWhereAShapedNicCarriesTheData) {
  // 10 % from 4 MiB on; the runs without a shaper are limited by the CPU and shown only.
  if (absent()) {
    GTEST_SKIP() << "no reference material beside the source tree";
  }
  const Answers answers = answer("two-hosts-sockets.json");
  int judged = 0;
  const Value::Array& records = answers.file.as_array();
  for (std::size_t i = 0; i < records.size(); ++i) {
    const std::string& id = records[i].find("id")->as_string();
    if (id.starts_with("raw")) {
      continue;
    }
    for (const Value& point : answers.predicted.as_array()[i].find("points")->as_array()) {
      if (point.find("bytes")->as_integer() < (4 << 20)) {
        continue;
      }
      const double measured = point.find("measured_busbw_GBps")->as_number();
      EXPECT_NEAR(point.find("predicted_busbw_GBps")->as_number(), measured, measured * 0.1)
          << id << " " << point.find("bytes")->as_integer();
      ++judged;
    }
  }
  EXPECT_EQ(judged, 9);
}

}  // namespace
}  // namespace busbw::scenarios
