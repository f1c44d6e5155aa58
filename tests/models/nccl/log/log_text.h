// The lines of a job's log, as the tests ask for them.
#pragma once
#include <string>
#include <vector>

#include "models/nccl/log/debug_filter.h"
#include "models/nccl/log/start_up.h"
#include "models/nccl/log/topology_hosts.h"
#include "tests/models/nccl/graph/topologies.h"

namespace busbw::nccl::log {

struct Job {
  graph::Element topology;
  int hosts = 1;
  Version version = kNewest;
  Environment environment;
  int rank = 0;
  std::optional<std::string> network;
};

inline graph::Decision decide(const Job& job) {
  graph::DecideInput input = graph::equal_hosts(job.topology, job.hosts);
  input.version = job.version;
  input.environment = job.environment;
  return graph::decide(input);
}

/// Texts of the rank's lines, with those of the first collectives, of the subsystems named.
inline std::vector<std::string> log_texts(const graph::Decision& decision, const Job& job,
                                          const std::string& subsystems) {
  const HostDecision host = host_decision(job.topology, {host_of(decision, job.rank), job.network},
                                          job.environment, job.version);
  Environment environment = job.environment;
  environment["NCCL_DEBUG_SUBSYS"] = subsystems;
  const DebugFilter filter(environment, job.version);
  std::vector<std::string> texts;
  for (const RankLine& line : start_up_log(decision, {job.rank, &host, true})) {
    if (filter.shows(line))
      texts.push_back(line.line.text);
  }
  return texts;
}
inline std::vector<std::string> log_texts(const Job& job, const std::string& subsystems) {
  return log_texts(decide(job), job, subsystems);
}

/// Those that start with one of the words.
inline std::vector<std::string> starting(const std::vector<std::string>& texts,
                                         const std::vector<std::string>& words) {
  std::vector<std::string> found;
  for (const std::string& text : texts) {
    for (const std::string& word : words) {
      if (text.rfind(word, 0) == 0) {
        found.push_back(text);
        break;
      }
    }
  }
  return found;
}

}  // namespace busbw::nccl::log
