// A decision as a tree of values, with the names and nesting of `busbw nccl decide --json`.
#pragma once
#include <cstdint>
#include <vector>

#include "models/nccl/graph/decide.h"
#include "sim/core/value.h"

namespace busbw::nccl::graph {

/// Sizes of the choices: powers of two from 8 bytes to 8 GiB.
std::vector<std::int64_t> choice_sizes();

Value to_value(const Decision& decision);

}  // namespace busbw::nccl::graph
