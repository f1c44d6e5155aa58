// What must hold in every log: ranks agree with one another, and no line breaks the form.
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "tests/models/nccl/graph/oracle.h"
#include "tests/models/nccl/log/known_systems.h"

namespace busbw::nccl::log {
namespace {

const Version kReleases[] = {{2, 18, 1}, {2, 19, 3}, {2, 20, 5}, {2, 21, 5}, {2, 22, 3},
                             {2, 23, 4}, {2, 25, 1}, {2, 26, 2}, {2, 27, 5}, {2, 28, 9},
                             {2, 29, 2}, {2, 30, 3}, {2, 30, 7}};

std::vector<Job> jobs() {
  const graph::Element h200 = graph::load_topology(std::string(BUSBW_SOURCE_DIR) +
                                                   "/tests/data/measured/h200x4-nccl-topology.xml");
  std::vector<Job> all;
  for (const Version version : kReleases) {
    for (const int hosts : {1, 2, 5}) {
      Job job{graph::parsed(graph::two_gpus_one_nic()), hosts, version, {}, 0, std::nullopt};
      all.push_back(job);
      job.topology = h200;
      all.push_back(job);
      job.topology = v100_mesh().topology;
      all.push_back(job);
      job.environment = {{"NCCL_P2P_DISABLE", "1"}, {"NCCL_SHM_DISABLE", "1"}};
      all.push_back(job);
    }
  }
  return all;
}

std::string name(const Job& job) {
  return fmt::format("{} with {} hosts", to_string(job.version), job.hosts);
}

/// "Channel 00/0 : 3[1] -> 0[0] [send] via NET/..." -> key without the direction, and the word.
struct Ends {
  std::set<std::string> sent;
  std::set<std::string> received;
};

void note(const std::string& text, Ends& ends) {
  for (const char* word : {" [send]", " [receive]"}) {
    const std::size_t at = text.find(word);
    if (at == std::string::npos)
      continue;
    std::set<std::string>& side = word[2] == 's' ? ends.sent : ends.received;
    EXPECT_TRUE(side.insert(text.substr(0, at)).second) << "twice: " << text;
  }
}

/// What one rank sends over the network another one receives; all print equal counts of channels;
/// what a rank calls next calls it previous.
TEST(LogProperty, RanksAgree) {
  for (const Job& job : jobs()) {
    const graph::Decision decision = decide(job);
    Ends ends;
    std::set<std::string> counts;
    std::map<std::string, std::map<int, std::pair<int, int>>> rings;  // channel -> rank -> (p, n)
    for (int rank = 0; rank < decision.comm.ranks; rank++) {
      for (const RankLine& line : start_up_log(decision, {rank, nullptr, true})) {
        const std::string& text = line.line.text;
        EXPECT_EQ(line.rank, rank);
        EXPECT_EQ(text.find('\n'), std::string::npos) << text;
        EXPECT_FALSE(text.empty());
        note(text, ends);
        if (text.find(" coll channels") != std::string::npos)
          counts.insert(text);
        if (text.rfind("Ring ", 0) == 0) {
          int channel = 0;
          int previous = 0;
          int own = 0;
          int next = 0;
          ASSERT_EQ(std::sscanf(text.c_str(), "Ring %d : %d -> %d -> %d", &channel, &previous, &own,
                                &next),
                    4)
              << text;
          EXPECT_EQ(own, rank);
          rings[std::to_string(channel)][rank] = {previous, next};
        }
      }
    }
    EXPECT_EQ(ends.sent, ends.received) << name(job);
    EXPECT_EQ(counts.size(), 1U) << name(job);
    EXPECT_EQ(rings.size(), static_cast<std::size_t>(decision.comm.channels)) << name(job);
    for (const auto& [channel, ranks] : rings) {
      for (const auto& [rank, neighbours] : ranks)
        EXPECT_EQ(ranks.at(neighbours.second).first, rank) << name(job) << " channel " << channel;
    }
  }
}

/// Rank 0 alone prints rings and the table; equal questions have equal answers.
TEST(LogProperty, FormOfTheLog) {
  for (Job job : jobs()) {
    if (job.hosts != 2)
      continue;
    const graph::Decision decision = decide(job);
    const std::vector<std::string> texts = log_texts(decision, job, "ALL");
    EXPECT_EQ(texts, log_texts(decision, job, "ALL")) << name(job);
    std::size_t rings = 0;
    for (const std::string& text : texts) {
      if (text.rfind("Channel ", 0) == 0 && text.find(" via ") == std::string::npos)
        rings++;
    }
    EXPECT_EQ(rings, static_cast<std::size_t>(decision.comm.channels)) << name(job);
    job.rank = decision.comm.ranks - 1;
    for (const std::string& text : log_texts(decision, job, "TUNING"))
      EXPECT_EQ(text.find("Max NThreads"), std::string::npos) << name(job);
  }
}

}  // namespace
}  // namespace busbw::nccl::log
