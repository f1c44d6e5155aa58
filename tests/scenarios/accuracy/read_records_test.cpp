// The reader of measurement records: what a record holds, and the whole message for what is wrong.
#include "scenarios/accuracy/read_records.h"

#include <gtest/gtest.h>

#include "tests/scenarios/accuracy/library.h"

namespace busbw::scenarios::accuracy {
namespace {

std::vector<std::string> problems_of(const std::string& text) {
  Problems problems;
  const Value value = json::parse(text, "r.json", problems);
  read_records(value, problems);
  std::vector<std::string> lines;
  for (const InputProblem& problem : problems.all()) {
    lines.push_back(to_string(problem));
  }
  return lines;
}

std::vector<std::string> group_problems_of(const std::string& text) {
  Problems problems;
  read_groups(json::parse(text, "g.json", problems), problems);
  std::vector<std::string> lines;
  for (const InputProblem& problem : problems.all()) {
    lines.push_back(to_string(problem));
  }
  return lines;
}

TEST(ReadRecords, AWholeRecord) {
  Problems problems;
  const std::vector<Record> records = read_records(json::parse(R"([{
    "id": "x", "source": "o/n:f.md", "kind": "nccl-tests",
    "system": {"gpu": "H100", "gpus_per_node": 8, "nodes": 2, "ranks": 16,
      "intra": {"nvlink": "NVLink4", "switch": "NVSwitch3", "GBps_per_gpu_uni": 450},
      "nic": {"type": "ConnectX-7", "count": 8, "Gbps": 400, "link": "RoCEv2", "gdr": true,
              "interfaces": [{"name": "eth0", "shaped_gbit": 0.5}]},
      "pcie": "Gen5 x16", "cpu": null,
      "conditions": {"acs": "redirect", "nps": 4, "gdr": false}},
    "nccl_version": "2.26.2+cuda12.8", "env": {"NCCL_ALGO": "Ring", "N": 3},
    "collective": "all_reduce", "algo": "Ring", "proto": null, "quality": "medium",
    "slow_link": {"host": 2, "nic": "eth1", "Gbps": 0.25, "direction": "sending"},
    "points": [{"bytes": 8, "time_us": 10.5, "algbw_GBps": 0, "busbw_GBps": 0.0, "in_place": null},
               {"GBps": 22.2, "test": "uni", "flag": ["a!=b"]}]}])",
                                                               "r.json", problems),
                                                   problems);
  problems.throw_if_any();
  ASSERT_EQ(records.size(), 1U);
  const Record& record = records.front();
  EXPECT_EQ(record.system.gpus_per_node, 8);
  EXPECT_EQ(record.system.nic.rate, Bandwidth::gigabits_per_second(400));
  EXPECT_EQ(record.system.intra.per_gpu, Bandwidth::gigabytes_per_second(450));
  EXPECT_EQ(record.system.nic.interfaces.front().shaped, Bandwidth::megabits_per_second(500));
  EXPECT_EQ(record.system.conditions.at("nps"), "4");
  EXPECT_EQ(record.system.conditions.at("gdr"), "false");
  EXPECT_EQ(record.environment.at("N"), "3");
  EXPECT_EQ(record.quality, Quality::kMedium);
  ASSERT_TRUE(record.slow_link.has_value());
  EXPECT_EQ(record.slow_link->rate, Bandwidth::megabits_per_second(250));
  ASSERT_EQ(record.points.size(), 2U);
  EXPECT_EQ(record.points[0].time_us, 10.5);
  EXPECT_EQ(record.points[1].rate_GBps, 22.2);
  EXPECT_TRUE(record.points[1].inconsistent);
}

TEST(ReadRecords, TheListMayStandInAnObject) {
  Problems problems;
  EXPECT_EQ(read_records(json::parse(R"({"records": []})", "r.json", problems), problems).size(),
            0U);
  EXPECT_TRUE(problems.empty());
}

TEST(ReadRecords, EveryProblemAtOnce) {
  const std::vector<std::string> expected = {
      "r.json:1:3: error: missing key 'kind' in record 'a'",
      "r.json:1:3: error: missing key 'collective' in record 'a'",
      "r.json:2:13: error: quality 'good' of record 'a'; allowed: 'high', 'medium' or 'low'",
      "r.json:2:49: error: key 'gpus_per_node' in the system of record 'a' must be an integer from "
      "1 to 1024",
      "r.json:2:60: error: unknown key 'node' in the system of record 'a'; did you mean 'nodes'?",
      "r.json:3:14: error: a point of record 'a' must be an object",
      "r.json:3:27: error: key 'bytes' in a point of record 'a' must be an integer from 1 to "
      "1125899906842624",
      "r.json:4:2: error: record 2 must be an object",
      "r.json:5:2: error: missing key 'id' in record 3",
      "r.json:5:2: error: missing key 'points' in record 3",
      "r.json:5:56: error: key 'system' in record 3 must be an object"};
  std::vector<std::string> found = problems_of(R"([ {"id": "a",
 "quality": "good", "system": {"gpus_per_node": 0, "node": 2},
  "points": [3, {"bytes": -1}]},
 7,
 {"kind": "k", "collective": "c", "env": {}, "system": [1]}])");
  std::sort(found.begin(), found.end());
  std::vector<std::string> wanted = expected;
  std::sort(wanted.begin(), wanted.end());
  EXPECT_EQ(found, wanted);
}

TEST(ReadRecords, TwoOfOneName) {
  const std::string one =
      R"({"id": "a", "kind": "k", "collective": "c", "system": {}, "points": []})";
  EXPECT_EQ(problems_of("[" + one + ",\n" + one + "]"),
            (std::vector<std::string>{"r.json:2:1: error: second record with the id 'a'"}));
}

TEST(ReadRecords, NoList) {
  EXPECT_EQ(
      problems_of("{}"),
      (std::vector<std::string>{"r.json:1:1: error: expected a list of measurement records"}));
}

TEST(ReadGroups, AGroupAndItsProblems) {
  Problems problems;
  const std::vector<Group> groups =
      read_groups(json::parse(R"([{"pair": "p", "type": "t", "judged": true, "why_not": null,
                       "members": [{"id": "a", "role": "fixed"}, {"id": "b"}]}])",
                              "g.json", problems),
                  problems);
  problems.throw_if_any();
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_TRUE(groups.front().judged);
  EXPECT_EQ(groups.front().members[0].role, "fixed");
  EXPECT_EQ(groups.front().members[1].id, "b");
  EXPECT_EQ(
      group_problems_of(R"([{"pair": "p"}, {"pair": "q", "members": [{"role": "x"}]}])"),
      (std::vector<std::string>{"g.json:1:2: error: missing key 'members' in a comparison group",
                                "g.json:1:43: error: missing key 'id' in a member of group 'q'"}));
}

}  // namespace
}  // namespace busbw::scenarios::accuracy
