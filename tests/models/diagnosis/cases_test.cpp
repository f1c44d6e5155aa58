// Confirmed public cases, which are not part of the repository: the kind is right as the first
// finding in at least 95 % of those that the files decide; of the others it is among the kinds that
// go with the files, and none is claimed with high confidence. Skipped when they are absent.
#include <algorithm>
#include <filesystem>
#include <iostream>

#include <gtest/gtest.h>

#include "sim/core/text.h"
#include "tests/models/diagnosis/diagnose_texts.h"
#include "tools/json/json.h"

namespace busbw::diagnosis {
namespace {

namespace fs = std::filesystem;

struct Case {
  std::string name;
  std::string decidable;
  std::vector<std::string> kinds;       // kind and also
  std::vector<std::string> consistent;  // with the files
  Diagnosed result;
};

std::vector<std::string> texts(const Value& array) {
  std::vector<std::string> result;
  for (const Value& element : array.as_array())
    result.push_back(element.as_string());
  return result;
}

Case read_case(const fs::path& folder) {
  Case one;
  one.name = folder.filename().string();
  Problems problems;
  const Value expected =
      json::parse(read_file((folder / "expected.json").string()), "expected.json", problems);
  problems.throw_if_any();
  one.decidable = expected.find("decidable_from_files")->as_string();
  one.kinds = texts(*expected.find("also"));
  one.kinds.push_back(expected.find("kind")->as_string());
  one.consistent = texts(*expected.find("kinds_consistent_with_files"));
  Files files;
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator(folder))
    paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths)
    if (fs::path(path).filename() != "expected.json")
      files.emplace_back(path, read_file(path));
  one.result = diagnose(files);
  return one;
}

bool contains(const std::vector<std::string>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

TEST(Cases, FirstFindingIsRight) {
  const fs::path root = std::string(BUSBW_SHARED_DIR) + "/cases";
  if (!fs::exists(root))
    GTEST_SKIP() << root << " is not here";
  int decidable = 0;
  int right = 0;
  int others = 0;
  std::string wrong;
  for (const auto& entry : fs::directory_iterator(root)) {
    if (!entry.is_directory())
      continue;
    const Case one = read_case(entry.path());
    const std::string first = one.result.first();
    const std::string all = "\n" + one.name + ": " + one.result.all();
    if (one.decidable == "yes") {
      decidable++;
      right += contains(one.kinds, first) ? 1 : 0;
      wrong += contains(one.kinds, first) ? "" : all;
      continue;
    }
    others++;
    EXPECT_TRUE(contains(one.consistent, first)) << all;
    for (const Finding& finding : one.result.findings)
      EXPECT_NE(finding.confidence, Confidence::kHigh) << all;
  }
  EXPECT_GE(decidable + others, 60);
  EXPECT_GE(right * 100, decidable * 95) << wrong;
  RecordProperty("right", right);
  if (!wrong.empty())
    std::cout << right << " of " << decidable << " decidable cases right; wrong:" << wrong << '\n';
}

TEST(Cases, HealthyOutputGivesNothingCertain) {
  const fs::path root = std::string(BUSBW_SHARED_DIR) + "/tool-outputs";
  if (!fs::exists(root))
    GTEST_SKIP() << root << " is not here";
  // Logs of failures, of fallbacks and of runs without GPU Direct RDMA are not healthy.
  const std::vector<std::string> sick = {
      "nccl_2_21_5_a100pcie_nogdr.log", "nccl_2_8_3_no_verbs_socket.log",
      "nccl_a800_plugin_no_device.log", "nccl_bootstrap_family_error.log",
      "nccl_cscs_ofi_not_found.log",    "nccl_err12_vendor129_ib.log"};
  int healthy = 0;
  for (const auto& entry : fs::directory_iterator(root)) {
    const std::string name = entry.path().filename().string();
    if (contains(sick, name) || name == "index.json")
      continue;
    healthy++;
    const Diagnosed result = diagnose({{name, read_file(entry.path().string())}});
    for (const Finding& finding : result.findings)
      EXPECT_EQ(finding.confidence, Confidence::kLow) << name << ": " << result.all();
  }
  EXPECT_GE(healthy, 35);
}

TEST(Cases, SickOutputIsFound) {
  const fs::path root = std::string(BUSBW_SHARED_DIR) + "/tool-outputs";
  if (!fs::exists(root))
    GTEST_SKIP() << root << " is not here";
  for (const auto& [name, kind] :
       {std::pair<const char*, const char*>{"nccl_2_21_5_a100pcie_nogdr.log", "gdr_off"},
        {"nccl_cscs_ofi_not_found.log", "plugin_missing"},
        {"nccl_bootstrap_family_error.log", "nccl_version_mismatch"},
        {"nccl_a800_plugin_no_device.log", "no_ib_in_container"}}) {
    const Diagnosed result = diagnose({{name, read_file((root / name).string())}});
    EXPECT_EQ(result.first(), kind) << name << ": " << result.all();
  }
}

}  // namespace
}  // namespace busbw::diagnosis
