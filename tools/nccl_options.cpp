// Checks the options, then reads the topology.
#include "tools/nccl_options.h"

#include <utility>

#include <fmt/format.h>

#include "tools/nccl_topology.h"

namespace busbw::tools {
namespace {

constexpr int kMostNodes = 65'536;

}  // namespace

nccl::Environment read_environment(const std::vector<std::string>& settings, Problems& problems) {
  nccl::Environment environment;
  for (const std::string& setting : settings) {
    const std::size_t equals = setting.find('=');
    if (equals == 0 || equals == std::string::npos) {
      problems.add({}, fmt::format("--env '{}' is not of the form NAME=VALUE", setting));
      continue;
    }
    environment[setting.substr(0, equals)] = setting.substr(equals + 1);
  }
  return environment;
}

nccl::Version read_version(const std::string& text, Problems& problems) {
  const auto version = nccl::parse_version(text);
  if (!version) {
    problems.add({}, fmt::format("--nccl-version '{}' is no release such as 2.28.9", text));
  } else if (*version < nccl::kOldest || nccl::kNewest < *version) {
    problems.add({}, fmt::format("--nccl-version {}: known are {} to {}", text,
                                 nccl::to_string(nccl::kOldest), nccl::to_string(nccl::kNewest)));
    return nccl::kNewest;
  }
  return version.value_or(nccl::kNewest);
}

NcclJob read_job(const NcclJobOptions& options, Problems& problems) {
  if (options.nodes < 1 || options.nodes > kMostNodes)
    problems.add({}, fmt::format("--nodes {}: allowed are 1 to {}", options.nodes, kMostNodes));
  if (options.nvlink_domain < 0)
    problems.add({}, fmt::format("--mnnvl {}: must not be negative", options.nvlink_domain));
  TopologyQuery query{options.topology, options.net,
                      read_environment(options.environment, problems),
                      read_version(options.version, problems)};
  problems.throw_if_any();
  TopologyAnswer topology = read_topology(query);
  NcclJob job;
  job.input = nccl::graph::equal_hosts(topology.document, options.nodes);
  job.input.hosts_per_nvlink_domain = options.nvlink_domain;
  job.input.environment = std::move(query.environment);
  job.input.environment.insert(topology.environment.begin(), topology.environment.end());
  job.input.version = query.version;
  job.warnings = nccl::environment_warnings(job.input.environment, job.input.version);
  job.warnings.insert(job.warnings.end(), topology.remarks.begin(), topology.remarks.end());
  return job;
}

}  // namespace busbw::tools
