// The machine for a system's facts: one of the catalogue fitted to them, or a plain PCIe host.
#pragma once
#include <string>
#include <vector>

#include "scenarios/accuracy/describe.h"
#include "topologies/machine.h"

namespace busbw::scenarios::accuracy {

/// The machine of the catalogue that shares most with what is `said` (GPU, wiring, NICs, in this
/// order of weight; NVIDIA's own systems before others that share as much), cut to the GPUs and
/// given the NICs that are said. GPUs without NVLink stand in a plain host of one or two sockets,
/// unless the catalogue has that very machine. `gpus` chooses GPUs by index (CUDA_VISIBLE_DEVICES);
/// empty: the first ones, or the ones next to a NIC of their own when there are as many NICs as
/// GPUs.
topologies::Machine machine_for(const SystemFacts& said, const std::vector<std::int32_t>& gpus,
                                const topologies::Catalog& catalog,
                                const std::vector<topologies::Machine>& machines,
                                std::vector<std::string>& assumptions);

}  // namespace busbw::scenarios::accuracy
