// Scenario files that are wrong: every problem with its place.
#include "scenarios/spec/load.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "sim/core/text.h"

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

std::vector<std::string> problems_of(const std::string& text) {
  Problems problems;
  parse_scenario(text, "s.yaml", library(), problems);
  std::vector<std::string> lines;
  try {
    problems.throw_if_any();
  } catch (const InputError& error) {
    for (const InputProblem& problem : error.problems()) {
      lines.push_back(to_string(problem));
    }
  }
  return lines;
}

constexpr const char* kGood = R"(schema: busbw.scenario/1
name: s
nccl: 2.18.6
cluster: {hosts: 2, machine: a100-40gb-x4, networks: [{name: m, nics: [eth0]}, {name: r, nics: [mlx5_0]}]}
workload: {collective: all_reduce, sizes: [1 MiB]}
)";

TEST(LoadScenario, ReadsASmallFile) {
  Problems problems;
  const Scenario scenario = parse_scenario(kGood, "s.yaml", library(), problems);
  ASSERT_TRUE(problems.empty()) << to_string(problems.all().front());
  ASSERT_EQ(scenario.variants.size(), 1U);
  const Variant& variant = scenario.variants.front();
  EXPECT_EQ(variant.name, "default");
  ASSERT_EQ(variant.inventories.size(), 2U);
  ASSERT_EQ(variant.inventories[1].interfaces.size(), 3U);
  EXPECT_EQ(variant.inventories[1].interfaces[1].name, "eth0");
  EXPECT_EQ(variant.inventories[1].interfaces[1].addresses.front().text, "10.0.0.2");
  EXPECT_EQ(variant.inventories[0].hcas.front().name, "mlx5_0");
  EXPECT_EQ(variant.inventories[0].hcas.front().ports.front().speed_mbit, 100000);
}

TEST(LoadScenario, ReadsTheExampleOfTheFormatPage) {
  const std::string page = read_file(std::string(BUSBW_SOURCE_DIR) + "/docs/formats/scenario.md");
  const std::size_t begin = page.find("```yaml\n") + 8;
  Problems problems;
  const Scenario scenario = parse_scenario(page.substr(begin, page.find("```", begin) - begin),
                                           "scenario.md", library(), problems);
  ASSERT_TRUE(problems.empty()) << to_string(problems.all().front());
  EXPECT_EQ(scenario.variants.size(), 2U);
}

TEST(LoadScenario, NamesTheAlgorithmsThatCanBeAskedFor) {
  std::string text = kGood;
  text.replace(text.find("sizes:"), 6, "algorithm: Hierarchicl, sizes:");
  const std::vector<std::string> lines = problems_of(text);
  ASSERT_EQ(lines.size(), 1U) << ::testing::PrintToString(lines);
  EXPECT_EQ(lines[0],
            "s.yaml:5:47: error: 'algorithm' in 'workload' must be 'Ring', 'Tree' or "
            "'Hierarchical', found 'Hierarchicl'; did you mean 'Hierarchical'?");
}

TEST(LoadScenario, ListsEveryProblemWithItsPlace) {
  const std::vector<std::string> lines = problems_of(R"(schema: busbw.scenario/1
name: s
nccl: 2.18.6
nccl: 2.28.9
cluster: {hosts: 2, machine: a100-40gb-x5}
workload: {collective: all_reduce, sizes: [1 Gib]}
enviroment: {NCCL_ALGO: Ring}
)");
  ASSERT_EQ(lines.size(), 4U) << ::testing::PrintToString(lines);
  EXPECT_TRUE(lines[0].starts_with("s.yaml:4:1: error: duplicate key 'nccl'")) << lines[0];
  EXPECT_EQ(lines[1],
            "s.yaml:5:30: error: unknown machine 'a100-40gb-x5'; did you mean 'a100-40gb-x4'?");
  EXPECT_TRUE(lines[2].starts_with("s.yaml:6:44: error: unknown unit 'Gib'")) << lines[2];
  EXPECT_EQ(lines[3],
            "s.yaml:7:1: error: unknown key 'enviroment' in the scenario; did you mean "
            "'environment'?");
}

void write(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << text;
}

TEST(LoadScenario, TakesTheInventoryFromToolOutputBesideTheFile) {
  const std::string folder = ::testing::TempDir() + "/busbw-tool-output";
  for (const std::string host : {"1", "2"}) {
    write(folder + "/hosts/n" + host + "/ip-addr.txt",
          "1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN qlen 1000\n"
          "    inet 127.0.0.1/8 scope host lo\n"
          "2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP qlen 1000\n"
          "    inet 10.0.0." +
              host + "/24 brd 10.0.0.255 scope global eth0\n");
  }
  Problems problems;
  const Scenario scenario = parse_scenario(std::string(kGood) + "inventory: {tool_output: hosts}\n",
                                           folder + "/s.yaml", library(), problems);
  ASSERT_TRUE(problems.empty()) << to_string(problems.all().front());
  const std::vector<nccl::Inventory>& hosts = scenario.variants.front().inventories;
  ASSERT_EQ(hosts.size(), 2U);
  EXPECT_EQ(hosts[1].host, "n2");
  ASSERT_EQ(hosts[1].interfaces.size(), 2U);
  EXPECT_EQ(hosts[1].interfaces[1].mtu, 9000);
  EXPECT_EQ(hosts[1].interfaces[1].addresses.front().text, "10.0.0.2");
  EXPECT_EQ(hosts[1].interfaces[1].speed_mbit, 10000);  // of the machine's eth0
  EXPECT_TRUE(hosts[1].hcas.empty());                   // no ibstat.txt
}

TEST(LoadScenario, NamesWhatAVariantRefersToWrongly) {
  const std::vector<std::string> lines = problems_of(std::string(kGood) + R"(variants:
  - name: a
    nics: [{name: eth7, rate: 1 Gb/s}]
  - name: a
    inventory: {hcas: {mlx5_1: {state: down}}, interfaces: {eth9: {up: false}}}
)");
  ASSERT_EQ(lines.size(), 4U) << ::testing::PrintToString(lines);
  EXPECT_EQ(lines[0],
            "s.yaml:8:12: error: machine 'a100-40gb-x4' has no NIC 'eth7'; allowed: 'eth0' or "
            "'mlx5_0'");
  EXPECT_EQ(lines[1], "s.yaml:9:5: error: second variant named 'a'");
  EXPECT_EQ(lines[2], "s.yaml:10:24: error: no HCA 'mlx5_1'; allowed: 'mlx5_0'");
  EXPECT_EQ(lines[3], "s.yaml:10:67: error: no interface 'eth9'; allowed: 'lo', 'eth0' or 'rdma0'");
}

}  // namespace
}  // namespace busbw::scenarios
