// Every variant of every scenario of the catalogue: the texts of its hosts read back to the
// inventory that they were made from, and its topology to itself.
#include "scenarios/emulated.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <tuple>

#include <gtest/gtest.h>

#include "models/facts/host_folder.h"
#include "models/facts/print/topo_print.h"
#include "scenarios/log.h"
#include "tests/scenarios/library.h"

namespace busbw::scenarios {
namespace {

std::vector<Scenario> catalogue() {
  std::vector<std::string> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(BUSBW_SOURCE_DIR) + "/scenarios/catalog")) {
    if (entry.path().extension() == ".yaml") {
      files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<Scenario> scenarios;
  Problems problems;
  for (const std::string& file : files) {
    scenarios.push_back(load_scenario(file, library(), problems));
  }
  problems.throw_if_any();
  return scenarios;
}

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

class EmulatedHosts : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::path(testing::TempDir()) /
        (std::string("emulated-") + testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// The host as its folder says it.
  facts::HostFolder read_back(const Variant& variant, std::size_t number) {
    const facts::EmulatedHost host = emulated_host(variant, library().catalog, number);
    const std::filesystem::path path = folder_ / variant.inventories[number].host;
    std::filesystem::create_directories(path);
    write(path / "ip-addr.txt", print_ip_addr(emulated_interfaces(host)));
    write(path / "ip-link.txt", print_ip_link(emulated_interfaces(host)));
    write(path / "ibstat.txt", print_ibstat(emulated_hcas(host)));
    write(path / "topo.txt", print_topo(emulated_topo(host), {}));
    Problems problems;
    facts::HostFolder read = facts::read_host_folder(path.string(), problems);
    problems.throw_if_any();
    return read;
  }

  std::filesystem::path folder_;
};

void expect_equal(const nccl::Inventory& read, const nccl::Inventory& printed) {
  EXPECT_EQ(read.host, printed.host);
  ASSERT_EQ(read.interfaces.size(), printed.interfaces.size());
  for (std::size_t i = 0; i < printed.interfaces.size(); ++i) {
    const nccl::Interface& a = read.interfaces[i];
    const nccl::Interface& b = printed.interfaces[i];
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(std::tuple(a.up, a.running, a.loopback, a.mtu),
              std::tuple(b.up, b.running, b.loopback, b.mtu))
        << b.name;
    ASSERT_EQ(a.addresses.size(), b.addresses.size()) << b.name;
    for (std::size_t at = 0; at < b.addresses.size(); ++at) {
      EXPECT_EQ(to_string(a.addresses[at]), to_string(b.addresses[at]));
      EXPECT_EQ(a.addresses[at].prefix_length, b.addresses[at].prefix_length);
    }
  }
  ASSERT_EQ(read.hcas.size(), printed.hcas.size());
  for (std::size_t i = 0; i < printed.hcas.size(); ++i) {
    EXPECT_EQ(read.hcas[i].name, printed.hcas[i].name);
    EXPECT_EQ(read.hcas[i].guid, printed.hcas[i].guid);
    ASSERT_EQ(read.hcas[i].ports.size(), printed.hcas[i].ports.size());
    for (std::size_t at = 0; at < printed.hcas[i].ports.size(); ++at) {
      const nccl::HcaPort& a = read.hcas[i].ports[at];
      const nccl::HcaPort& b = printed.hcas[i].ports[at];
      EXPECT_EQ(std::tuple(a.number, a.state, a.physical_state, a.link_layer, a.speed_mbit),
                std::tuple(b.number, b.state, b.physical_state, b.link_layer, b.speed_mbit));
    }
  }
}

TEST_F(EmulatedHosts, ReadBackToTheInventoryOfEveryCatalogueScenario) {
  int hosts = 0;
  for (const Scenario& scenario : catalogue()) {
    for (const Variant& variant : scenario.variants) {
      SCOPED_TRACE(scenario.name + ", " + variant.name);
      // Hosts differ by number alone: the first, the second and the last.
      const std::size_t last = variant.inventories.size() - 1;
      for (const std::size_t host : {std::size_t{0}, std::min<std::size_t>(1, last), last}) {
        const facts::HostFolder read = read_back(variant, host);
        expect_equal(read.inventory, variant.inventories[host]);
        ASSERT_TRUE(read.topology.has_value());
        EXPECT_EQ(read.topology->gpus().size(), variant.cluster.hosts[host].gpus.size());
        ++hosts;
      }
    }
  }
  EXPECT_GE(hosts, 150);
}

// The case's odd state comes through: Active with Polling is remarked upon as in its own output.
TEST_F(EmulatedHosts, TheContradictionOfTheCaseIsPrintedAndRemarked) {
  Problems problems;
  const Scenario scenario = load_scenario(
      std::string(BUSBW_SOURCE_DIR) + "/scenarios/catalog/tool-output.yaml", library(), problems);
  problems.throw_if_any();
  const facts::HostFolder read = read_back(scenario.variants.front(), 0);
  ASSERT_EQ(read.remarks.size(), 1U);
  ASSERT_FALSE(scenario.variants.front().remarks.empty());
  EXPECT_EQ("node0: " + read.remarks.front(), scenario.variants.front().remarks.front());
  EXPECT_NE(read.remarks.front().find("state Active with physical state Polling"),
            std::string::npos);
}

// LIDs count on from host to host: no two ports of a job have the same.
TEST(EmulatedHost, LidsOfAJobDiffer) {
  for (const Scenario& scenario : catalogue()) {
    for (const Variant& variant : scenario.variants) {
      std::set<std::uint32_t> lids;
      std::size_t ports = 0;
      for (std::size_t host = 0; host < variant.inventories.size(); ++host) {
        for (const facts::PrintedHca& hca :
             emulated_hcas(emulated_host(variant, library().catalog, host))) {
          for (const facts::PrintedPort& port : hca.ports) {
            if (port.link_layer == "InfiniBand" && port.state == 4) {
              lids.insert(port.base_lid);
              ++ports;
            }
          }
        }
      }
      EXPECT_EQ(lids.size(), ports) << scenario.name << ", " << variant.name;
    }
  }
}

TEST(EmulatedHost, TopologiesReadBackEqual) {
  int read = 0;
  int refused = 0;
  for (const Scenario& scenario : catalogue()) {
    for (const Variant& variant : scenario.variants) {
      const Job job = decide(variant, library().catalog);
      if (!job.selection.hosts.back().network) {
        EXPECT_THROW(static_cast<void>(emulated_topology(variant, library().catalog, job,
                                                         variant.inventories.size() - 1)),
                     InputError);
        ++refused;
        continue;
      }
      const std::string text = print_topology(
          emulated_topology(variant, library().catalog, job, variant.inventories.size() - 1));
      Problems problems;
      EXPECT_EQ(print_topology(nccl::graph::parse_topology(text, "shown.xml", problems)), text);
      EXPECT_TRUE(problems.empty()) << scenario.name;
      ++read;
    }
  }
  EXPECT_GE(read, 50);
  EXPECT_GE(refused, 1);
}

// Eight ranks on two hosts: host 1 logs ranks 4 to 7 under its own name, each to the end.
TEST(EmulatedHost, LogHoldsEveryRankOfTheHost) {
  Problems problems;
  const Scenario scenario =
      load_scenario(std::string(BUSBW_SOURCE_DIR) + "/scenarios/catalog/nic-misselection.yaml",
                    library(), problems);
  problems.throw_if_any();
  const Variant& variant = scenario.variants.front();
  const Job job = decide(variant, library().catalog);
  const std::string log = host_log(variant, job, 1);
  EXPECT_EQ(log.find("node0:"), std::string::npos);
  std::size_t ends = 0;
  for (std::size_t at = log.find("Init COMPLETE"); at != std::string::npos;
       at = log.find("Init COMPLETE", at + 1)) {
    ++ends;
  }
  EXPECT_EQ(ends, 4U);
  for (const char* rank : {"rank 4 nranks 8", "rank 7 nranks 8"}) {
    EXPECT_NE(log.find(rank), std::string::npos) << rank;
  }
  EXPECT_EQ(host_log(variant, job, 0).find(nccl_log(variant, job)), 0U);
}

}  // namespace
}  // namespace busbw::scenarios
