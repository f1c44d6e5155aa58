// Reads the topology, decides, prints the lines that the filter lets through.
#include "tools/command_nccl_log.h"

#include <algorithm>

#include <fmt/format.h>

#include "models/nccl/graph/decide.h"
#include "models/nccl/log/debug_filter.h"
#include "models/nccl/log/start_up.h"
#include "models/nccl/log/topology_hosts.h"
#include "sim/core/errors.h"
#include "sim/core/text.h"
#include "tools/exit_codes.h"

namespace busbw::tools {
namespace {

/// The release whose subsystems count; a wrong one is told with the other options.
nccl::Version read_known_version(const std::string& text) {
  Problems unused;
  return read_version(text, unused);
}

/// NCCL passes over a wrong name in silence; here it is a mistake of the command line.
void check_subsystems(const std::string& list, nccl::Version version, Problems& problems) {
  std::vector<std::string> known = nccl::log::subsystems(version);
  known.emplace_back("ALL");
  const std::string names = list.rfind('^', 0) == 0 ? list.substr(1) : list;
  for (const std::string_view name : split(names, ',')) {
    const bool found = std::any_of(known.begin(), known.end(), [&](const std::string& one) {
      return lower(one) == lower(name);
    });
    if (found)
      continue;
    const std::string meant = did_you_mean(name, known);
    problems.add({}, fmt::format("--debug-subsys: unknown subsystem '{}' in NCCL {}{}", name,
                                 nccl::to_string(version),
                                 meant.empty() ? "; allowed: " + quoted_list(known) : meant));
  }
}

void remark(const NcclJob& job, const nccl::HostDecision& host, Console& console) {
  for (const std::string& warning : job.warnings)
    console.err << "warning: " << warning << '\n';
  if (host.network && !nccl::log::same_devices(job.input.topologies.front(), host)) {
    console.err << "warning: the environment makes NCCL use other devices than the topology lists; "
                   "paths, graphs and channels are those of the topology\n";
  }
}

}  // namespace

int nccl_log(const NcclLogOptions& options, Console& console) {
  Problems problems;
  check_subsystems(options.subsystems, read_known_version(options.job.version), problems);
  NcclJob job = read_job(options.job, problems);
  nccl::graph::DecideInput& input = job.input;
  if (!options.subsystems.empty())
    input.environment["NCCL_DEBUG_SUBSYS"] = options.subsystems;
  const nccl::graph::Decision decision = nccl::graph::decide(input);
  if (options.rank < 0 || options.rank >= decision.comm.ranks) {
    throw InputError(
        fmt::format("--rank {}: allowed are 0 to {}", options.rank, decision.comm.ranks - 1));
  }
  nccl::log::TopologyHost place{nccl::log::host_of(decision, options.rank), std::nullopt};
  if (!options.network.empty())
    place.network = options.network;
  const nccl::HostDecision host =
      nccl::log::host_decision(input.topologies.front(), place, input.environment, input.version);
  remark(job, host, console);
  const nccl::log::DebugFilter filter(input.environment, input.version);
  const nccl::log::StartUp start{options.rank, &host, options.connections};
  for (const nccl::log::RankLine& line : nccl::log::start_up_log(decision, start)) {
    if (filter.shows(line))
      console.out << nccl::log::framed(line, host.host, input.version) << '\n';
  }
  return kExitDone;
}

}  // namespace busbw::tools
