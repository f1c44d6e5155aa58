// Real logs held against ours: published samples whose system is known, tables and trees that real
// NCCL 2.28.9 logged on H200. The samples are read where the reference material lies and skipped
// elsewhere; public_log_test.cpp keeps single facts of the same logs.
#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/core/text.h"
#include "tests/models/nccl/graph/oracle.h"
#include "tests/models/nccl/log/known_systems.h"

namespace busbw::nccl::log {
namespace {

using Texts = std::vector<std::string>;
const std::string kShared = BUSBW_SHARED_DIR;
const std::string kMeasured = std::string(BUSBW_SOURCE_DIR) + "/tests/data/measured/";

/// What a log says of network, channels and rings.
struct Facts {
  Texts networks;
  Texts rings;   // "Channel 00/02 :    0   1"
  Texts trees;   // of rank 0
  Texts counts;  // "2 coll channels"
};

Facts facts_of(const Texts& texts) {
  Facts facts;
  for (const std::string& text : texts) {
    if (text.rfind("Using network ", 0) == 0)
      facts.networks.push_back(text);
    if (text.rfind("Channel ", 0) == 0 && text.size() > 10 && text[10] == '/')
      if (text.find("via") == std::string::npos)
        facts.rings.push_back(text);
    if (text.rfind("Trees [0]", 0) == 0 && text.find("->0->") != std::string::npos)
      facts.trees.push_back(text);
    if (text.find(" coll channels") != std::string::npos)
      facts.counts.push_back(text.substr(0, text.find(',')));
  }
  return facts;
}

/// Texts of the INFO lines of one process ("node1:5425") of a log.
Texts process_texts(const std::string& path, const std::string& process) {
  Texts texts;
  const std::string content = read_file(path);
  for (const std::string_view line : split_lines(content)) {
    const std::size_t info = line.find("NCCL INFO ");
    if (line.rfind(process + ":", 0) == 0 && info != std::string_view::npos)
      texts.emplace_back(line.substr(info + 10));
  }
  return texts;
}

struct Sample {
  const char* file;
  const char* process;  // of rank 0
  Job job;
  bool trees = true;  // false: a release that prints them otherwise
};

std::vector<Sample> samples() {
  Sample direct{"nccl_2_21_5_a100pcie_gdrdma.log", "node1:5425", a100_pcie_hdr()};
  direct.job.environment = {{"NCCL_NET_GDR_LEVEL", "SYS"}, {"NCCL_SHM_DISABLE", "1"}};
  Sample sockets{"nccl_2_8_3_no_verbs_socket.log", "node1:96540", two_gpus_two_sockets()};
  Sample mesh{"nccl_2_7_8_v100_opa_1node.log", "node1:38029", v100_mesh(), false};
  return {direct, {"nccl_2_21_5_a100pcie_nogdr.log", "node1:3521", a100_pcie_hdr()}, sockets, mesh};
}

TEST(Samples, NetworkChannelsAndRingsOfKnownSystems) {
  const std::string folder = kShared + "/tool-outputs/";
  if (!std::filesystem::exists(folder))
    GTEST_SKIP() << folder << " is not here";
  for (const Sample& sample : samples()) {
    const Facts logged = facts_of(process_texts(folder + sample.file, sample.process));
    const Facts ours = facts_of(log_texts(sample.job, "INIT"));
    ASSERT_FALSE(logged.rings.empty()) << sample.file;
    EXPECT_EQ(ours.networks, logged.networks) << sample.file;
    EXPECT_EQ(ours.rings, logged.rings) << sample.file;
    if (!logged.trees.empty() && sample.trees) {
      EXPECT_EQ(ours.trees, logged.trees) << sample.file;
    }
    if (!logged.counts.empty()) {
      EXPECT_EQ(ours.counts, logged.counts) << sample.file;
    }
  }
}

/// Every line of the sample that we print at all must be ours, connections and ENV included.
TEST(Samples, EveryLineOfTheGpuDirectLog) {
  const std::string folder = kShared + "/tool-outputs/";
  if (!std::filesystem::exists(folder))
    GTEST_SKIP() << folder << " is not here";
  const Sample sample = samples().front();
  const Texts logged = process_texts(folder + sample.file, sample.process);
  const Texts ours = log_texts(sample.job, "INIT,ENV");
  const Texts words = {"Channel", "Trees",  "P2P Chunk", "NCCL_",     "Connected",
                       "thread",  "2 coll", "Using",     "cudaDriver"};
  Texts missing;
  for (const std::string& line : starting(logged, words)) {
    if (std::find(ours.begin(), ours.end(), line) == ours.end())
      missing.push_back(line);
  }
  EXPECT_EQ(missing, Texts{});
  EXPECT_GE(starting(logged, words).size(), 15U);
}

/// The rows of the table, without the blanks in front.
Texts table_of(const Job& job) {
  Texts rows;
  for (const std::string& text : log_texts(job, "TUNING")) {
    if (text.size() > 3 && text.rfind('|') == text.size() - 1)
      rows.emplace_back(trim(text));
  }
  return rows;
}

/// Real NCCL 2.28.9 on two H200 with eight environments: every row of the table to the digit.
TEST(Samples, TuningTablesOfTwoH200) {
  const std::string path = kShared + "/h200/nvlink-tuning-tables.json";
  if (!std::filesystem::exists(path))
    GTEST_SKIP() << path << " is not here";
  const Value runs = graph::load_json(path);
  EXPECT_GE(runs.as_array().size(), 8U);
  for (const Value& run : runs.as_array()) {
    Job job{h200_sockets(2, {"eth0"}), 1, {2, 28, 9}, {}, 0, std::nullopt};
    for (const auto& [name, value] : run.find("env")->as_object())
      job.environment[name] = value.as_string();
    Texts logged;
    for (const Value& row : run.find("tuning_table_log")->as_array())
      logged.push_back(row.as_string());
    EXPECT_EQ(table_of(job), logged) << run.find("id")->as_string();
    EXPECT_EQ(
        starting(log_texts(job, "INIT"), {run.find("coll_channels")->as_string() + " coll"}).size(),
        1U)
        << run.find("id")->as_string();
  }
}

/// The same for our own measurement of four H200, from numbers that the repository holds.
TEST(Samples, TuningTablesOfFourH200) {
  const Value runs = graph::load_json(kMeasured + "h200x4-decisions.json");
  int rows = 0;
  for (const Value& run : runs.as_array()) {
    if (run.find("gpus_per_node")->as_integer() != 4)
      continue;
    Job job{graph::load_topology(kMeasured + "h200x4-nccl-topology.xml"),
            1,
            {2, 28, 9},
            {},
            0,
            std::nullopt};
    for (const auto& [name, value] : run.find("env")->as_object())
      job.environment[name] = value.as_string();
    const Texts table = table_of(job);
    for (const char* collective : {"Broadcast", "Reduce", "AllGather", "AllReduce"}) {
      const Value* ring = run.find("tuning_us_GBps")->find(collective)->find("Ring");
      if (ring == nullptr)
        continue;
      std::string cells;
      for (const char* protocol : {"LL", "LL128", "Simple"}) {
        const Value::Array& pair = ring->find(protocol)->as_array();
        cells += fmt::format("{:8.1f}/{:6.1f} |", pair[0].as_number(), pair[1].as_number());
      }
      const Texts own = starting(table, {std::string(collective) + " |"});
      ASSERT_FALSE(own.empty());
      EXPECT_NE(own.front().find(cells), std::string::npos)
          << run.find("id")->as_string() << ": " << own.front() << "\nwithout " << cells;
      rows++;
    }
  }
  EXPECT_GE(rows, 20);
}

/// Real NCCL 2.28.9 over two to eight hosts, one or two GPUs and NICs each: the rings and the line
/// of trees as rank 0 printed them.
TEST(Samples, RingsAndTreesOverHosts) {
  int compared = 0;
  for (const char* file : {"shaped-hosts.json", "case-twin.json"}) {
    const std::string path = kShared + "/h200/" + file;
    if (!std::filesystem::exists(path))
      GTEST_SKIP() << path << " is not here";
    const Value records = graph::load_json(path);
    for (const Value& record : records.as_array()) {
      const Value& system = *record.find("system");
      Texts nics;
      if (const Value* names = record.find("data_interfaces")) {
        for (const Value& name : names->as_array())
          nics.push_back(name.as_string());
      } else {
        const Value* count = system.find("nic")->find("count");
        for (int nic = 0; nic < (count == nullptr ? 1 : count->as_integer()); nic++)
          nics.push_back(fmt::format("eth{}", nic));
      }
      Job job{h200_sockets(static_cast<int>(system.find("gpus_per_node")->as_integer()), nics),
              static_cast<int>(system.find("nodes")->as_integer()),
              parse_version(record.find("nccl_version")->as_string()).value(),
              {{"NCCL_NVLS_ENABLE", "0"}},
              0,
              std::nullopt};
      for (const auto& [name, value] : record.find("env")->as_object())
        job.environment[name] = value.as_string();
      const Facts ours = facts_of(log_texts(job, "INIT"));
      Texts rings;
      for (const Value& ring : record.find("rings")->as_array()) {
        rings.push_back(fmt::format("Channel {}/{:02d} : {}", ring.as_array()[0].as_string(),
                                    record.find("rings")->as_array().size(),
                                    ring.as_array()[1].as_string()));
      }
      EXPECT_EQ(ours.rings, rings) << record.find("id")->as_string();
      EXPECT_EQ(ours.trees, Texts{"Trees " + record.find("trees")->as_string()})
          << record.find("id")->as_string();
      compared++;
    }
  }
  EXPECT_GE(compared, 20);
}

}  // namespace
}  // namespace busbw::nccl::log
