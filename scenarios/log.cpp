// Lines of NCCL_DEBUG=INFO, made from a decision.
#include "scenarios/log.h"

#include "models/nccl/log/debug_filter.h"
#include "models/nccl/log/start_up.h"
#include "models/nccl/log_frame.h"

namespace busbw::scenarios {

std::string nccl_log(const Variant& variant, const Job& job) {
  const nccl::HostDecision& host = job.selection.hosts.front();
  if (!job.graph) {
    // The log ends where the selection failed.
    nccl::LogFrame frame;
    frame.host = host.host;
    return nccl::framed(host.log, frame, variant.version);
  }
  const nccl::log::DebugFilter filter(variant.environment, variant.version);
  nccl::log::StartUp options;
  options.host = &host;
  options.first_collectives = true;
  std::string text;
  for (const nccl::log::RankLine& line : nccl::log::start_up_log(*job.graph, options)) {
    if (filter.shows(line)) {
      text += nccl::log::framed(line, host.host, variant.version) + "\n";
    }
  }
  return text;
}

}  // namespace busbw::scenarios
