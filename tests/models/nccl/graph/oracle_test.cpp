// The differential test: decisions held field by field against records of what NCCL's own code
// decided. The records are not part of the repository; without them the test is skipped.
#include "tests/models/nccl/graph/oracle.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace busbw::nccl::graph {
namespace {

constexpr double kTolerance = 1e-6;  // single precision

struct Set {
  const char* folder;
  const char* topologies;
  std::size_t least_records;  // a set that shrinks silently would prove nothing
};

void PrintTo(const Set& set, std::ostream* out) {
  *out << set.folder;
}

class Oracle : public ::testing::TestWithParam<Set> {};

TEST_P(Oracle, EveryFieldIsEqual) {
  const std::string base = std::string(BUSBW_SHARED_DIR) + "/oracle";
  const std::vector<RecordFile> files =
      record_files(base, GetParam().folder, GetParam().topologies);
  if (files.empty())
    GTEST_SKIP() << "no records in " << base;
  EXPECT_GE(files.size(), GetParam().least_records);
  struct Count {
    int equal = 0;
    int all = 0;
  };
  std::map<std::string, Count> fields;
  int equal = 0;
  for (const RecordFile& file : files) {
    const Value record = load_json(file.path);
    bool same = true;
    for (const auto& [field, difference] :
         compare(record, decide_as(record, file.topology), kTolerance)) {
      Count& count = fields[field];
      count.all++;
      if (difference.empty())
        count.equal++;
      else
        same = false;
      EXPECT_EQ(difference, "") << file.path;
    }
    equal += same ? 1 : 0;
  }
  std::string report =
      fmt::format("{}: {} of {} records equal in full;", GetParam().folder, equal, files.size());
  for (const auto& [field, count] : fields)
    report += fmt::format(" {} {}/{}", field, count.equal, count.all);
  std::cout << report << "\n";
}

constexpr Set kSets[] = {
    {"nccl-2.30.7", "topologies", 62},      {"nccl-2.28.9", "topologies", 55},
    {"nccl-2.26.2", "topologies", 55},      {"nccl-2.23.4", "topologies", 55},
    {"nccl-2.21.5", "topologies", 55},      {"nccl-2.20.5", "topologies", 55},
    {"nccl-2.19.3", "topologies", 55},      {"nccl-2.18.6", "topologies", 55},
    {"nccl-2.30.7-env", "topologies", 165}, {"case-machine", "case-machine", 16},
    {"generated", "generated", 400},        {"generated-2.26.2", "generated", 100},
    {"generated-2.21.5", "generated", 100}, {"generated-2.18.6", "generated", 100},
};
INSTANTIATE_TEST_SUITE_P(Records, Oracle, ::testing::ValuesIn(kSets),
                         [](const ::testing::TestParamInfo<Set>& info) {
                           std::string name = info.param.folder;
                           for (char& c : name) {
                             if (c == '-' || c == '.')
                               c = '_';
                           }
                           return name;
                         });

}  // namespace
}  // namespace busbw::nccl::graph
