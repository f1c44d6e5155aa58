// Lines of NCCL_DEBUG=INFO, made from a decision.
#include "scenarios/log.h"

#include "models/nccl/log/debug_filter.h"
#include "models/nccl/log/start_up.h"
#include "models/nccl/log_frame.h"

namespace busbw::scenarios {
namespace {

/// Lines of one rank, which stands on host `host`.
std::string rank_log(const Variant& variant, const Job& job, int rank, std::size_t host) {
  const nccl::HostDecision& decision = job.selection.hosts[host];
  const nccl::log::DebugFilter filter(variant.environment, variant.version);
  nccl::log::StartUp options;
  options.rank = rank;
  options.host = &decision;
  options.first_collectives = true;
  std::string text;
  for (const nccl::log::RankLine& line : nccl::log::start_up_log(*job.graph, options)) {
    if (filter.shows(line)) {
      text += nccl::log::framed(line, decision.host, variant.version) + "\n";
    }
  }
  return text;
}

/// The log ends where the selection failed.
std::string failed_log(const Variant& variant, const nccl::HostDecision& host) {
  nccl::LogFrame frame;
  frame.host = host.host;
  return nccl::framed(host.log, frame, variant.version);
}

}  // namespace

std::string nccl_log(const Variant& variant, const Job& job) {
  return job.graph ? rank_log(variant, job, 0, 0)
                   : failed_log(variant, job.selection.hosts.front());
}

std::string host_log(const Variant& variant, const Job& job, std::size_t host) {
  if (!job.graph) {
    return failed_log(variant, job.selection.hosts[host]);
  }
  int rank = 0;
  for (std::size_t before = 0; before < host; ++before) {
    rank += static_cast<int>(variant.cluster.hosts[before].gpus.size());
  }
  std::string text;
  for (std::size_t gpu = 0; gpu < variant.cluster.hosts[host].gpus.size(); ++gpu) {
    text += rank_log(variant, job, rank + static_cast<int>(gpu), host);
  }
  return text;
}

}  // namespace busbw::scenarios
