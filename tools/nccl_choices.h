// Cost table and choices of `busbw nccl decide`.
#pragma once
#include <string>

#include "models/nccl/graph/decide.h"

namespace busbw::tools {

/// Latency and bandwidth of each collective, algorithm and protocol that may be chosen.
std::string nccl_costs(const nccl::graph::Decision& decision, bool colour);

/// For every collective the ranges of sizes with the same algorithm and protocol, the channels, and
/// the time and the runner-up at a size inside the range.
std::string nccl_choices(const nccl::graph::Decision& decision, bool colour);

}  // namespace busbw::tools
