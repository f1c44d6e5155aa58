// The sections of a scenario about real mode: what is read, and every problem with its place.
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "scenarios/spec/load.h"

namespace busbw::scenarios {
namespace {

const Library& library() {
  static const Library loaded = [] {
    Problems problems;
    Library read = load_library(std::string(BUSBW_SOURCE_DIR) + "/topologies/catalog", problems);
    problems.throw_if_any();
    return read;
  }();
  return loaded;
}

std::string problems_of(const std::string& text, const std::string& file = "s.yaml") {
  Problems problems;
  parse_scenario(text, file, library(), problems);
  try {
    problems.throw_if_any();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

constexpr const char* kGood = R"(schema: busbw.scenario/1
name: s
nccl: 2.30.7
cluster: {hosts: 2, machine: a100-40gb-x4, networks: [{name: r, nics: [mlx5_0]}]}
workload: {collective: all_reduce, sizes: [1 MiB]}
)";

TEST(LoadReal, IsReadAndChangedByVariants) {
  Problems problems;
  const Scenario scenario = parse_scenario(std::string(kGood) + R"(
real: {devices: [rxe0, rxe1], method: read, completion: event, iterations: 7}
validate:
  from: 64 KiB
  median_percent: 10
  worst_percent: 25
  ratios: [{of: one, over: two, within_percent: 5}]
  reported: two
  soft_roce:
    hosts: 3
    shapes: [{device: rxe2, rate: 4 Mb/s}, {device: mgmt1, rate: 1500 kb/s}]
variants:
  - name: one
  - name: two
    real: {devices: [mgmt0, mgmt1], warmup: 0}
)",
                                           "s.yaml", library(), problems);
  ASSERT_TRUE(problems.empty()) << to_string(problems.all().front());
  const RealRun& one = scenario.variants[0].real;
  EXPECT_EQ(one.devices, (std::vector<std::string>{"rxe0", "rxe1"}));
  EXPECT_EQ(one.method, "read");
  EXPECT_EQ(one.completion, "event");
  EXPECT_EQ(one.iterations, 7);
  EXPECT_EQ(one.warmup, std::nullopt);
  const RealRun& two = scenario.variants[1].real;
  EXPECT_EQ(two.devices, (std::vector<std::string>{"mgmt0", "mgmt1"}));
  EXPECT_EQ(two.method, "read");
  EXPECT_EQ(two.warmup, 0);
  ASSERT_TRUE(scenario.validation.has_value());
  const Validation& validation = *scenario.validation;
  EXPECT_TRUE(validation.judged);
  EXPECT_EQ(validation.from, Bytes::kib(64));
  EXPECT_EQ(validation.median_percent, 10);
  EXPECT_EQ(validation.worst_percent, 25);
  ASSERT_EQ(validation.ratios.size(), 1U);
  EXPECT_EQ(validation.ratios[0].within_percent, 5);
  EXPECT_EQ(validation.reported, std::vector<std::string>{"two"});
  ASSERT_TRUE(validation.soft_roce.has_value());
  EXPECT_EQ(validation.soft_roce->hosts, 3);
  ASSERT_EQ(validation.soft_roce->shapes.size(), 2U);
  EXPECT_EQ(validation.soft_roce->shapes[1].rate, Bandwidth::bits_per_second(1'500'000));
}

TEST(LoadReal, WithoutJudgementNoBoundsAreNeeded) {
  EXPECT_EQ(problems_of(std::string(kGood) + "validate: {judged: false}\n"), "");
  EXPECT_EQ(problems_of(std::string(kGood) + "validate: {from: 64 KiB}\n"),
            "s.yaml:6:11: error: missing key 'median_percent' in 'validate'\n"
            "s.yaml:6:11: error: missing key 'worst_percent' in 'validate'");
}

TEST(LoadReal, EveryProblemIsSaidAtItsPlace) {
  EXPECT_EQ(problems_of(std::string(kGood) + R"(
real: {devices: [rxe0], metod: write, completion: evnt, iterations: 0}
validate:
  reported: [defalt]
  median_percent: -1
  worst_percent: 25 %
  ratios:
    - {of: defalt, over: default, within_percent: 10}
  soft_roce:
    hosts: 2
    shapes:
      - {device: rxe2, rate: 10 Mb/s}
      - {device: eth0, rate: 1500 b/s}
)"),
            "s.yaml:7:7: error: 'devices' of 'real' names 1 for 2 hosts\n"
            "s.yaml:7:25: error: unknown key 'metod' in 'real'; did you mean 'method'?\n"
            "s.yaml:7:51: error: 'completion' in 'real' must be 'auto', 'event' or 'poll', found "
            "'evnt'; did you mean 'event'?\n"
            "s.yaml:7:69: error: 'iterations' in 'real' must be a whole number from 1 to "
            "1000000, found '0'\n"
            "s.yaml:9:3: error: 'reported' of 'validate' names the variant 'defalt'; allowed: "
            "'default'; did you mean 'default'?\n"
            "s.yaml:10:19: error: 'median_percent' in 'validate' must be a number from 0 to "
            "1000, found '-1'\n"
            "s.yaml:11:18: error: 'worst_percent' in 'validate' must be a number from 0 to "
            "1000, found '25 %'\n"
            "s.yaml:13:7: error: a ratio names the variant 'defalt'; allowed: 'default'; did "
            "you mean 'default'?\n"
            "s.yaml:17:18: error: no device 'rxe2' of 2 emulated hosts; allowed: rxe0 to "
            "rxe1, roce0 to roce1 and mgmt0 to mgmt1\n"
            "s.yaml:18:18: error: no device 'eth0' of 2 emulated hosts; allowed: rxe0 to "
            "rxe1, roce0 to roce1 and mgmt0 to mgmt1\n"
            "s.yaml:18:30: error: the rate of a shape is a whole number of kb/s above 0");
}

TEST(LoadReal, AParameterFileBesideTheScenario) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / "busbw-load-real";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "p.yaml") << "schema: busbw.parameters/1\nsource: a test\n"
                                      "machines: [{name: m, processors: 1, ends: [a]}]\n"
                                      "links: [{from: a, to: b}]\n";
  const std::string file = (folder / "s.yaml").string();
  const std::string found = problems_of(std::string(kGood) + "parameters: p.yaml\n", file);
  EXPECT_NE(found.find((folder / "p.yaml").string() + ":4:23: error: no machine has the end 'b'"),
            std::string::npos)
      << found;
  EXPECT_EQ(problems_of(std::string(kGood) + "parameters: q.yaml\n", file),
            file + ":6:13: error: no parameter file '" + (folder / "q.yaml").string() + "'");
}

}  // namespace
}  // namespace busbw::scenarios
