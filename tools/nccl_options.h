// The options that `busbw nccl decide`, `log` and `export` have in common.
#pragma once
#include <string>
#include <vector>

#include "models/nccl/graph/decide.h"
#include "sim/core/errors.h"

namespace busbw::tools {

/// A job: equal nodes of one topology.
struct NcclJobOptions {
  std::string topology;  // NCCL topology XML, a machine file, or a machine of the catalogue
  std::string net;       // network of a machine; empty: what NCCL takes
  int nodes = 1;
  int nvlink_domain = 0;                 // nodes of an NVLink domain, 0: none spans nodes
  std::vector<std::string> environment;  // NAME=VALUE
  std::string version = "2.30.7";
};

/// NAME=VALUE settings; those of another form are problems.
nccl::Environment read_environment(const std::vector<std::string>& settings, Problems& problems);
/// A release that is known; the newest after a problem.
nccl::Version read_version(const std::string& text, Problems& problems);

struct NcclJob {
  nccl::graph::DecideInput input;
  std::vector<std::string> warnings;  // one sentence each: variables, and what the XML cannot say
};
/// Reads the topology of the job. Throws InputError: `problems`, which may hold those of other
/// options, with those of these options, all at once; then those of the topology.
NcclJob read_job(const NcclJobOptions& options, Problems& problems);

}  // namespace busbw::tools
