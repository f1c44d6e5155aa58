// The part of a plan that concerns the network between hosts and the pairs of GPUs inside them.
#pragma once
#include <functional>

#include "scenarios/plan.h"

namespace busbw::scenarios {

/// Ports of all ranks on all channels, kind of network, MTU, sockets. `plan.shape.host_of` must be
/// set. Throws InputError when a chosen device is no NIC of the machine.
void set_network(const Variant& variant, const Job& job, Plan& plan);

/// Says of two ranks whether NCCL takes P2P between them.
std::function<bool(RankId, RankId)> p2p_pairs(const nccl::graph::Decision& graph);

}  // namespace busbw::scenarios
