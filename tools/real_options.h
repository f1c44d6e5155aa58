// The options that `busbw measure` and the micro-benchmarks have in common.
#pragma once
#include <string>
#include <vector>

#include "real/measure/task.h"
#include "sim/core/errors.h"

namespace busbw::tools {

struct RealOptions {
  std::string network;                   // auto, verbs, tcp or shm; empty: the command's default
  std::string completion;                // poll or event; empty: the scenario's, else poll
  std::vector<std::string> environment;  // NAME=VALUE
  std::string version = "2.30.7";
  std::string sizes;  // "4,4K,1M"; empty: from, to, factor
  std::string from;
  std::string to;
  std::string factor = "2";
  std::string iterations;      // empty: the scenario's, else 20
  std::string warmup;          // empty: the scenario's, else 5
  std::string timeout = "30";  // seconds
  std::string json;
};

/// A whole number within bounds; the least after a problem.
std::int64_t read_number(const std::string& option, const std::string& text, std::int64_t least,
                         std::int64_t most, Problems& problems);

/// A size as nccl-tests writes it ("8", "4K", "1G"); one byte after a problem.
Bytes read_size(const std::string& option, const std::string& text, Problems& problems);

/// Network, completion and variables; NCCL_* of this process first, then `scenario`, then --env.
real::NetworkOrder read_network(const RealOptions& options, const nccl::Environment& scenario,
                                real::NetworkKind by_default, Problems& problems);
/// --sizes, or from -b to -e by -f; nothing when none of them is set.
std::vector<Bytes> read_sizes(const RealOptions& options, Problems& problems);
/// A task with iterations, warm-up, time-out, JSON and colour set.
real::Task read_task(const RealOptions& options, bool colour, Problems& problems);

}  // namespace busbw::tools
