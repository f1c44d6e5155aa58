// Records that are not part of the repository: they are read without a problem, each is modelled or
// has a reason, and errors are not beyond where they stand today. Skipped when they are absent.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "scenarios/accuracy/assess.h"
#include "sim/core/text.h"
#include "tests/scenarios/accuracy/library.h"

namespace busbw::scenarios::accuracy {
namespace {

const std::string kFolder = BUSBW_SHARED_DIR;

bool absent(const std::string& name) {
  return !std::filesystem::exists(kFolder + "/" + name);
}

Value read(const std::string& name) {
  Problems problems;
  Value value = json::parse(read_file(kFolder + "/" + name), name, problems);
  problems.throw_if_any();
  return value;
}

std::vector<Record> records_of(const std::string& name) {
  Problems problems;
  std::vector<Record> records = read_records(read(name), problems);
  problems.throw_if_any();
  return records;
}

Report assess_records(const std::vector<Record>& records, const std::vector<Group>& groups = {}) {
  return assess(records, groups, library(), {library().catalog, transports()}, {});
}

void expect_answers(const Report& report) {
  for (const RecordResult& record : report.records) {
    EXPECT_TRUE(record.modelled == record.reason.empty()) << record.id << " " << record.reason;
    for (const PointResult& point : record.points) {
      EXPECT_EQ(point.predicted_GBps.has_value(), point.reason.empty()) << record.id;
      EXPECT_GT(point.measured_GBps, 0) << record.id;
    }
  }
}

void print(const char* what, const ErrorFigures& figures) {
  fmt::print("{}: {} sizes, median {:.3f}, p90 {:.3f}\n", what, figures.points,
             figures.median.value_or(0), figures.p90.value_or(0));
}

// Small jobs and sizes alone, for the time it takes.
TEST(SharedRecords, PublicMeasurements) {
  if (absent("measurements/measurements.json")) {
    GTEST_SKIP() << "no measurements/measurements.json";
  }
  std::vector<Record> records = records_of("measurements/measurements.json");
  EXPECT_GE(records.size(), 100U);
  constexpr std::int32_t kMostRanks = 16;
  records.erase(std::remove_if(records.begin(), records.end(),
                               [](const Record& record) {
                                 return record.system.ranks.value_or(0) > kMostRanks;
                               }),
                records.end());
  for (Record& record : records) {
    std::vector<RecordPoint>& points = record.points;
    points.erase(std::remove_if(points.begin(), points.end(),
                                [](const RecordPoint& point) {
                                  return point.bytes && *point.bytes > Bytes::gib(1);
                                }),
                 points.end());
  }
  Problems problems;
  const std::vector<Group> groups =
      read_groups(read("measurements/comparison-groups.json"), problems);
  problems.throw_if_any();
  const Report report = assess_records(records, groups);
  expect_answers(report);
  print("from 16 MiB", report.overall.at(0));
  print("1 to 16 MiB", report.overall.at(1));
  print("below 1 MiB", report.overall.at(2));
  // Where it stands; what is asked for is 0.08, 0.15 and 0.25.
  EXPECT_LE(*report.overall.at(0).median, 0.35);
  EXPECT_LE(*report.overall.at(1).median, 1.10);
  EXPECT_LE(*report.overall.at(2).median, 0.60);
  EXPECT_EQ(report.groups.size(), groups.size());
}

// NICs shaped below what anything else can do: the wire alone counts.
TEST(SharedRecords, ShapedNicsOfThisProject) {
  for (const char* name : {"h200/case-twin.json", "h200/shaped-hosts.json"}) {
    if (absent(name)) {
      GTEST_SKIP() << "no " << name;
    }
    const Report report = assess_records(records_of(name));
    expect_answers(report);
    print(name, report.from_4_mib);
    EXPECT_LE(*report.from_4_mib.median, 0.06) << name;
  }
}

TEST(SharedRecords, NvLinkAndSocketsOfThisProject) {
  for (const char* name : {"h200/nvlink-sweeps.json", "h200/sockets-cpu-limited.json"}) {
    if (absent(name)) {
      GTEST_SKIP() << "no " << name;
    }
    const Report report = assess_records(records_of(name));
    expect_answers(report);
    print(name, report.from_4_mib);
    EXPECT_LE(*report.from_4_mib.median, 0.40) << name;
  }
}

}  // namespace
}  // namespace busbw::scenarios::accuracy
