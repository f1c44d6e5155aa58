// Real NCCL on two H200 that share host memory alone (tests/data/measured): every ring, on one to
// sixteen channels.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "scenarios/accuracy/assess.h"
#include "sim/core/text.h"
#include "tests/scenarios/accuracy/library.h"

namespace busbw::scenarios::accuracy {
namespace {

std::vector<Record> records_of(const std::string& name) {
  Problems problems;
  const std::string path = std::string(BUSBW_SOURCE_DIR) + "/tests/data/measured/" + name;
  std::vector<Record> records =
      read_records(json::parse(read_file(path), name, problems), problems);
  problems.throw_if_any();
  return records;
}

TEST(MeasuredHere, RingsThroughHostMemory) {
  const Report report = assess(records_of("h200x2-shared-memory.json"), {}, library(),
                               {library().catalog, transports()}, {});
  std::vector<double> errors;
  for (const RecordResult& record : report.records) {
    const bool ring = record.collective != "sendrecv" && record.collective != "alltoall";
    for (const PointResult& point : record.points) {
      if (!ring || point.noisy || point.bytes < Bytes::mib(8)) {
        continue;
      }
      ASSERT_TRUE(point.error().has_value()) << record.id << point.reason;
      EXPECT_LE(std::abs(*point.error()), 0.21) << record.id << " " << point.bytes.count();
      errors.push_back(std::abs(*point.error()));
    }
  }
  ASSERT_EQ(errors.size(), 5U * 5U * 2U);
  std::sort(errors.begin(), errors.end());
  fmt::print("median {:.3f}\n", errors[errors.size() / 2]);
  EXPECT_LE(errors[errors.size() / 2], 0.05);
}

}  // namespace
}  // namespace busbw::scenarios::accuracy
