// The report of `busbw nccl decide` for people.
#pragma once
#include <string>

#include "models/nccl/graph/decide.h"

namespace busbw::tools {

/// Job, path matrix, graphs, channels, rings, trees, cost table, and the choices of every
/// collective by size with the runner-up. At most 100 columns wide: long rings and trees are cut;
/// the JSON holds everything.
std::string nccl_report(const nccl::graph::Decision& decision, bool colour);

}  // namespace busbw::tools
