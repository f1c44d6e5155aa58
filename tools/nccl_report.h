// The report of `busbw nccl decide` for people.
#pragma once
#include <string>

#include "models/nccl/graph/decide.h"

namespace busbw::tools {

/// Job, path matrix, graphs, channels, rings, trees, tuning table, and the choice per size with the
/// runner-up and its time. Long rings and many GPUs are cut; the JSON holds everything.
std::string nccl_report(const nccl::graph::Decision& decision, bool colour);

}  // namespace busbw::tools
