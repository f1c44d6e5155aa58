// The path matrix of `busbw nccl decide`, laid out like `nvidia-smi topo -m`.
#pragma once
#include <string>

#include "models/nccl/graph/system.h"

namespace busbw::tools {

/// Types of the paths between the GPUs and NICs of a node, the legend with the speeds of each type,
/// and the names of the NICs. At most 100 columns wide: more GPUs and NICs than fit are laid out in
/// several blocks. Of an NVLink domain over several hosts the first host is shown.
std::string nccl_matrix(const nccl::graph::System& system, bool colour);

}  // namespace busbw::tools
