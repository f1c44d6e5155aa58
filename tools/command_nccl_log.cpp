// Reads the topology, decides, prints the lines that the filter lets through.
#include "tools/command_nccl_log.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <unistd.h>

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

constexpr int kMostNodes = 65'536;

nccl::graph::Element read_topology(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    throw InputError(path + ": cannot be read: it is a folder");
  if (::access(path.c_str(), R_OK) != 0)
    throw InputError(path + ": cannot be read: " + std::strerror(errno));
  Problems problems;
  const std::string text = read_file(path, nccl::graph::kMostBytes + 1);
  nccl::graph::Element topology = nccl::graph::parse_topology(text, path, problems);
  problems.throw_if_any();
  return topology;
}

nccl::Environment read_environment(const NcclLogOptions& options, Problems& problems) {
  nccl::Environment environment;
  for (const std::string& setting : options.environment) {
    const std::size_t equals = setting.find('=');
    if (equals == 0 || equals == std::string::npos) {
      problems.add({}, fmt::format("--env '{}' is not of the form NAME=VALUE", setting));
    } else {
      environment[setting.substr(0, equals)] = setting.substr(equals + 1);
    }
  }
  if (!options.subsystems.empty())
    environment["NCCL_DEBUG_SUBSYS"] = options.subsystems;
  return environment;
}

nccl::Version read_version(const std::string& text, Problems& problems) {
  const auto version = nccl::parse_version(text);
  if (!version) {
    problems.add({}, fmt::format("--nccl-version '{}' is no release such as 2.28.9", text));
  } else if (*version < nccl::kOldest || nccl::kNewest < *version) {
    problems.add({}, fmt::format("--nccl-version {}: known are {} to {}", text,
                                 nccl::to_string(nccl::kOldest), nccl::to_string(nccl::kNewest)));
  } else {
    return *version;
  }
  return nccl::kNewest;
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

void remark(const nccl::graph::DecideInput& input, const nccl::HostDecision& host,
            Console& console) {
  for (const std::string& warning : nccl::environment_warnings(input.environment, input.version))
    console.err << "warning: " << warning << '\n';
  if (host.network && !nccl::log::same_devices(input.topologies.front(), host)) {
    console.err << "warning: the environment makes NCCL use other devices than the topology lists; "
                   "paths, graphs and channels are those of the topology\n";
  }
}

}  // namespace

int nccl_log(const NcclLogOptions& options, Console& console) {
  Problems problems;
  if (options.nodes < 1 || options.nodes > kMostNodes)
    problems.add({}, fmt::format("--nodes {}: allowed are 1 to {}", options.nodes, kMostNodes));
  if (options.nvlink_domain < 0)
    problems.add({}, fmt::format("--mnnvl {}: must not be negative", options.nvlink_domain));
  const nccl::Environment environment = read_environment(options, problems);
  const nccl::Version version = read_version(options.version, problems);
  check_subsystems(options.subsystems, version, problems);
  problems.throw_if_any();
  nccl::graph::DecideInput input =
      nccl::graph::equal_hosts(read_topology(options.topology), options.nodes);
  input.hosts_per_nvlink_domain = options.nvlink_domain;
  input.environment = environment;
  input.version = version;
  const nccl::graph::Decision decision = nccl::graph::decide(input);
  if (options.rank < 0 || options.rank >= decision.comm.ranks) {
    throw InputError(
        fmt::format("--rank {}: allowed are 0 to {}", options.rank, decision.comm.ranks - 1));
  }
  nccl::log::TopologyHost place{nccl::log::host_of(decision, options.rank), std::nullopt};
  if (!options.network.empty())
    place.network = options.network;
  const nccl::HostDecision host =
      nccl::log::host_decision(input.topologies.front(), place, environment, version);
  remark(input, host, console);
  const nccl::log::DebugFilter filter(environment, version);
  const nccl::log::StartUp start{options.rank, &host, options.connections};
  for (const nccl::log::RankLine& line : nccl::log::start_up_log(decision, start)) {
    if (filter.shows(line))
      console.out << nccl::log::framed(line, host.host, version) << '\n';
  }
  return kExitDone;
}

}  // namespace busbw::tools
