// The part of a plan that concerns the network between hosts and the pairs of GPUs inside them.
#pragma once
#include <functional>
#include <vector>

#include "scenarios/plan.h"

namespace busbw::scenarios {

/// Ports of all ranks on all channels, kind of network, MTU, sockets. `plan.shape.host_of` must be
/// set. Throws InputError when a chosen device is no NIC of the machine.
void set_network(const Variant& variant, const Job& job, Plan& plan);

/// The node of each rank as NCCL numbers them.
std::vector<std::int32_t> nodes_of(const nccl::graph::Decision& graph);

/// Heads of NVLS by node: the first GPU of each channel that the search found, each once. Empty
/// where NVLS is not used.
std::vector<std::vector<RankId>> nvls_heads(const nccl::graph::Decision& graph);

/// Where the variant has measured parameters: the end of each rank in them and the mover. After
/// set_network(). Throws InputError when they lack one of these.
void set_measured(const Variant& variant, Plan& plan);

/// Says of two ranks whether NCCL takes P2P between them.
std::function<bool(RankId, RankId)> p2p_pairs(const nccl::graph::Decision& graph);

}  // namespace busbw::scenarios
