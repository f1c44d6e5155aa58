// The rules as data: complete, well formed, about facts that somebody makes.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include <gtest/gtest.h>

#include "models/diagnosis/condition.h"
#include "models/diagnosis/rule.h"
#include "sim/core/text.h"

namespace busbw::diagnosis {
namespace {

/// The text of all sources of two folders: a fact's name must stand there in quotes.
std::string sources() {
  std::string text;
  for (const char* folder : {"/models/facts", "/models/diagnosis", "/tools"}) {
    for (const auto& entry :
         std::filesystem::directory_iterator(BUSBW_SOURCE_DIR + std::string(folder))) {
      const std::string name = entry.path().filename().string();
      if (entry.path().extension() == ".cpp" && name.rfind("rules_", 0) != 0)
        text += read_file(entry.path().string());
    }
  }
  return text;
}

TEST(Rules, AreCompleteAndDistinct) {
  std::set<std::string> kinds;
  for (const Rule& rule : rules()) {
    EXPECT_TRUE(kinds.insert(rule.kind).second) << rule.kind;
    EXPECT_EQ(rule.kind.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"),
              std::string::npos);
    EXPECT_FALSE(rule.cause.empty()) << rule.kind;
    EXPECT_TRUE(std::any_of(rule.fix.begin(), rule.fix.end(), [](const Step& step) {
      return step.when.empty() &&
             (step.text.rfind("unset ", 0) != 0 || step.text.find(' ', 6) == std::string::npos ||
              step.text.find('{') != std::string::npos);
    })) << rule.kind;
    for (const Step& step : rule.fix) {
      EXPECT_FALSE(step.text.empty()) << rule.kind;
    }
    EXPECT_FALSE(rule.decides.empty()) << rule.kind;
    EXPECT_FALSE(rule.versions.empty()) << rule.kind;
    EXPECT_FALSE(rule.source.empty()) << rule.kind;
    EXPECT_TRUE(std::any_of(rule.signals.begin(), rule.signals.end(), [](const Signal& signal) {
      return signal.points > 0;
    })) << rule.kind;
    for (const Signal& signal : rule.signals) {
      EXPECT_NE(signal.points, 0) << rule.kind;
      EXPECT_FALSE(signal.says.empty()) << rule.kind;
    }
  }
  EXPECT_GE(kinds.size(), 60U);
}

TEST(Rules, KnowEveryKindOfTheField) {
  std::set<std::string> kinds;
  for (const Rule& rule : rules())
    kinds.insert(rule.kind);
  for (const char* kind : {"acs_iommu",
                           "algo_choice",
                           "bad_tuning_env",
                           "bond_lag",
                           "cabling_rail",
                           "container_netns_hca",
                           "container_partial_hca",
                           "cross_rail",
                           "ecmp_collision",
                           "fabric_manager",
                           "firewall",
                           "gdr_off",
                           "gid_index",
                           "hca_mismatch_nodes",
                           "hostname_localhost",
                           "ib_driver_stopped",
                           "ib_hca_selection",
                           "ifname_not_found",
                           "ipv6_link_local",
                           "link_down",
                           "link_flap",
                           "loopback_selected",
                           "memlock",
                           "mtu_mismatch",
                           "multi_nic_same_subnet",
                           "nccl_version_mismatch",
                           "nic_selection_bug",
                           "no_ib_in_container",
                           "numa_affinity",
                           "p2p_broken",
                           "pcie_downgraded",
                           "pfc_ecn",
                           "pkey",
                           "plugin_mismatch_nodes",
                           "plugin_version",
                           "shm_size",
                           "slow_node",
                           "sm_down",
                           "too_few_sockets",
                           "topology_file",
                           "virtual_interface",
                           "wrong_interface"})
    EXPECT_EQ(kinds.count(kind), 1U) << kind;
}

TEST(Rules, AskForFactsThatAreMade) {
  const std::string text = sources();
  for (const Rule& rule : rules()) {
    for (const Signal& signal : rule.signals) {
      const Condition parses(signal.when);
      for (std::string_view word : split_blanks(signal.when)) {
        if (word.front() == '!')
          word.remove_prefix(1);
        if (word == "&" || word.find_first_of("=!~<>") != std::string_view::npos)
          continue;
        EXPECT_NE(text.find('"' + std::string(word) + '"'), std::string::npos)
            << rule.kind << ": nobody makes " << word;
      }
    }
  }
}

}  // namespace
}  // namespace busbw::diagnosis
