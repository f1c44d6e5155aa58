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

TEST(LoadScenario, SaysWhoDrivesTheGpusAndWhatIsTimed) {
  Problems problems;
  std::string text = kGood;
  const Workload plain = parse_scenario(text, "s.yaml", library(), problems).variants[0].workload;
  EXPECT_EQ(plain.gpus_per_process, 1);
  EXPECT_FALSE(plain.timed_alone);
  text.replace(text.find("sizes:"), 6, "gpus_per_process: 4, timing: alone, sizes:");
  const Workload other = parse_scenario(text, "s.yaml", library(), problems).variants[0].workload;
  EXPECT_TRUE(problems.empty());
  EXPECT_EQ(other.gpus_per_process, 4);
  EXPECT_TRUE(other.timed_alone);
  text.replace(text.find("process: 4"), 10, "process: 0");
  EXPECT_EQ(problems_of(text).size(), 1U);
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

TEST(LoadScenario, SaysOnceThatAFileIsNoScenario) {
  EXPECT_EQ(
      problems_of(""),
      std::vector<std::string>{"s.yaml:1:1: error: the scenario must be a mapping, found nothing"});
}

TEST(LoadScenario, PlacesWrongSizesAndHalfASweep) {
  const std::string head = R"(schema: busbw.scenario/1
name: s
nccl: 2.18.6
cluster: {hosts: 1, machine: a100-40gb-x4}
)";
  EXPECT_EQ(problems_of(head + "workload: {collective: all_reduce, sizes: [1 MiB, 5]}\n"),
            std::vector<std::string>{
                "s.yaml:5:51: error: size 5 B is no whole number of float elements above 0"});
  EXPECT_EQ(problems_of(head + "workload: {collective: all_reduce, begin: 8}\n"),
            std::vector<std::string>{"s.yaml:5:43: error: 'begin' needs both 'begin' and 'end'"});
  EXPECT_EQ(problems_of(head + "workload: {collective: all_reduce, sizes: []}\n"),
            std::vector<std::string>{"s.yaml:5:43: error: 'sizes' is empty"});
  // 4 TiB cannot stand in a GPU, and a sweep to the largest size ends instead of overflowing.
  EXPECT_EQ(problems_of(head + "workload: {collective: all_reduce, begin: 8, end: 8000000 TB}\n"),
            std::vector<std::string>{
                "s.yaml:5:11: error: size 4194304 TiB does not fit in the 40 GiB of GPU "
                "A100-SXM4-40GB"});
}

TEST(LoadScenario, NamesClashesAndUnknownNics) {
  const std::vector<std::string> lines = problems_of(R"(schema: busbw.scenario/1
name: s
nccl: 2.18.6
cluster: {hosts: 2, machine: a100-40gb-x4, networks: [{name: r, nics: [mlx5_1]}]}
inventory: {interfaces: [{name: eth0, addresses: 10.0.0.1/24}, {name: eth0}]}
workload: {collective: all_reduce, sizes: [1 MiB]}
)");
  ASSERT_EQ(lines.size(), 2U) << ::testing::PrintToString(lines);
  EXPECT_EQ(
      lines[0],
      "s.yaml:4:55: error: network 'r' names the NIC 'mlx5_1' that machine 'a100-40gb-x4' has "
      "not; did you mean 'mlx5_0'?");
  EXPECT_EQ(lines[1], "s.yaml:5:64: error: second interface named 'eth0'");
}

TEST(LoadScenario, SaysWhenAPlaceHolderRunsOutOfNumbers) {
  const std::vector<std::string> lines = problems_of(R"(schema: busbw.scenario/1
name: s
nccl: 2.18.6
cluster: {hosts: 256, machine: a100-40gb-x4}
inventory: {interfaces: [{name: eth0, addresses: "10.{host}.0.{host}/24"}]}
workload: {collective: all_reduce, sizes: [1 MiB]}
)");
  EXPECT_EQ(lines, std::vector<std::string>{
                       "s.yaml:5:26: error: '10.{host}.0.{host}/24' is no address on host 256, "
                       "'10.256.0.256/24'"});
}

TEST(LoadScenario, DerivesAddressesForMoreHostsThanAByteCounts) {
  Problems problems;
  const Scenario scenario = parse_scenario(R"(schema: busbw.scenario/1
name: s
nccl: 2.18.6
cluster: {hosts: 300, machine: a100-40gb-x4}
workload: {collective: all_reduce, sizes: [1 MiB]}
)",
                                           "s.yaml", library(), problems);
  ASSERT_TRUE(problems.empty()) << to_string(problems.all().front());
  // 300 = 1 x 256 + 44
  EXPECT_EQ(scenario.variants[0].inventories[299].interfaces[1].addresses.front().text,
            "10.0.1.44");
}

/// The one variant of two hosts of `machine`.
Variant two_of(const std::string& machine) {
  Problems problems;
  Scenario scenario = parse_scenario(
      "schema: busbw.scenario/1\nname: s\nnccl: 2.28.9\ncluster: {hosts: 2, machine: " + machine +
          "}\nworkload: {collective: all_reduce, sizes: [1 MiB]}\n",
      "s.yaml", library(), problems);
  problems.throw_if_any();
  return scenario.variants.front();
}

TEST(LoadScenario, NicsBesideEachOtherAreDifferentCards) {
  // NCCL clears the device and function digits of an address and fuses what is then equal.
  const Variant variant = two_of("dgx-a100");
  const std::vector<nccl::Hca>& hcas = variant.inventories.front().hcas;
  ASSERT_EQ(hcas.size(), 8U);
  EXPECT_EQ(hcas[0].pci_path, "/sys/devices/pcie0/0000:02:00.0");
  EXPECT_EQ(hcas[1].pci_path, "/sys/devices/pcie0/0000:03:00.0");
}

TEST(LoadScenario, EfaAndSlingshotAreNothingForTheIbNetwork) {
  const Variant aws = two_of("aws-p4d");
  ASSERT_EQ(aws.inventories.front().hcas.size(), 4U);
  EXPECT_EQ(aws.inventories.front().hcas.front().ports.front().link_layer, nccl::LinkLayer::kOther);
  EXPECT_TRUE(two_of("perlmutter").inventories.front().hcas.empty());
}

}  // namespace
}  // namespace busbw::scenarios
