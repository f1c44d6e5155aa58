// GPU Direct RDMA between a GPU and a NIC, and the GPU that relays for another (PXN).
//
// Source: NCCL 2.18 to 2.30.7, src/graph/paths.cc (ncclTopoCheckGdr, ncclTopoGetIntermediateRank).
#include <algorithm>

#include "models/nccl/graph/paths.h"

namespace busbw::nccl::graph {

int relay_of(const System& system, int gpu, int net) {
  const Path& way = system.path(NodeType::kGpu, gpu, NodeType::kNet, net);
  if (way.type != PathType::kPxn)
    return -1;
  const std::vector<int>& gpus = system.all(NodeType::kGpu);
  for (const int hop : way.hops) {
    const int node = system.links[static_cast<std::size_t>(hop)].to;
    const auto relay = std::find(gpus.begin(), gpus.end(), node);
    if (relay != gpus.end())
      return static_cast<int>(relay - gpus.begin());
  }
  return -1;
}

bool gdr_allowed(const System& system, GdrQuestion question, const PathRules& rules) {
  const Gpu& info = system.node(NodeType::kGpu, question.gpu).gpu;
  if (!system.node(NodeType::kNet, question.net).net.gdr || !info.gdr)
    return false;
  if (question.read && rules.gdr_read == 0)
    return false;
  if (question.read && rules.gdr_read < 0 && info.sm < 80) {
    bool nvlink = system.count(NodeType::kGpu) == 1;
    for (int peer = 0; peer < system.count(NodeType::kGpu); peer++) {
      if (peer != question.gpu &&
          system.path(NodeType::kGpu, question.gpu, NodeType::kGpu, peer).type == PathType::kNvl)
        nvlink = true;
    }
    if (!nvlink)
      return false;
  }
  PathType limit = system.switches.gdr_to_p2c && rules.gdr_c2c ? PathType::kP2c : PathType::kPxb;
  if (rules.gdr_level)
    limit = *rules.gdr_level;
  PathType distance = system.path(NodeType::kGpu, question.gpu, NodeType::kNet, question.net).type;
  if (distance == PathType::kPxn) {
    const int relay = relay_of(system, question.gpu, question.net);
    if (relay >= 0)
      distance = system.path(NodeType::kGpu, relay, NodeType::kNet, question.net).type;
  }
  if (!system.switches.gdr_to_p2c && rules.gdr_c2c && distance == PathType::kP2c)
    distance = PathType::kC2c;
  return distance <= limit;
}

}  // namespace busbw::nccl::graph
