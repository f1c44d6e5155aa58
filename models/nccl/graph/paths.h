// Paths: which way data takes between GPUs, NICs, CPUs and NVSwitch, and of what type it is.
//
// Breadth-first search, then NCCL's corrections: GPU pairs without peer access, pairs that only the
// network joins, C2C, PXN, GPU Direct. Source: NCCL 2.18 to 2.30.7, src/graph/paths.cc.
#pragma once
#include <optional>
#include <vector>

#include "models/nccl/graph/system.h"

namespace busbw::nccl::graph {

/// What the environment says about paths, read once.
struct PathRules {
  bool nvb = true;
  bool pxn = true;
  bool pxn_c2c = true;
  bool gdr_c2c = true;
  bool shm = true;
  bool net_intra = true;  // the network may join GPUs of one host
  long long gdr_read = -2;
  std::optional<PathType> p2p_level;
  std::optional<PathType> gdr_level;
  std::string netdevs_policy = "AUTO";
};
PathRules path_rules(const Environment& environment, const Switches& switches);

/// Computes all paths of the system, from scratch, with corrections; then the owners of the NICs.
void compute_paths(System& system, const PathRules& rules);

/// Splits the GPUs into groups that reach one another inside the node; indices into all(kGpu).
/// Usually one group.
std::vector<std::vector<int>> domains(const System& system);
/// Removes the GPUs that are not in `keep` (GPU indices). Paths must be computed again.
void keep_gpus(System& system, const std::vector<int>& keep);

/// Indices of the nodes of type `result` that are nearest to node `index` of `type`.
std::vector<int> local_nodes(const System& system, NodeType type, int index, NodeType result);
int local_cpu(const System& system, int gpu);
/// The NIC that channel `channel` of the GPU uses: index into all(kNet), -1 without NICs.
int local_net(const System& system, int gpu, int channel, const PathRules& rules);
/// The NIC by which `gpu` sends to a GPU of another node with number `peer_dev` there, point to
/// point: that of its twin here, on the peer's rail, where the GPU reaches it by NVLink over
/// another one (PXN; not with NCCL_P2P_PXN_LEVEL=0) or NCCL_CROSS_NIC is 0; else its own. It
/// receives by its own. Index into all(kNet), -1 without NICs. Source: NCCL 2.18 to 2.30.7,
/// src/graph/search.cc, ncclTopoGetNetDev.
struct PairQuestion {
  int gpu = 0;
  int peer_dev = 0;
  int channel = 0;
};
int sending_net(const System& system, PairQuestion question, const PathRules& rules,
                const Environment& environment);
/// NICs of the GPU for channels 0, 1, 2 ... until the first repeats.
std::vector<int> channel_nets(const System& system, int gpu, const PathRules& rules);

/// Indices into all(kGpu) and all(kNet); read: the NIC reads GPU memory, which sending needs.
struct GdrQuestion {
  int gpu = 0;
  int net = 0;
  bool read = false;
};
/// The NIC reaches the memory of the GPU, or of the one that relays for it, without the host's.
bool gdr_allowed(const System& system, GdrQuestion question, const PathRules& rules);
/// The GPU by which `gpu` reaches the NIC when its path is PXN, -1 otherwise.
int relay_of(const System& system, int gpu, int net);

bool p2p_allowed(const System& system, int from, int to, const PathRules& rules);
/// The network carries more than the path between the two GPUs.
bool net_faster(const System& system, int from, int to, const PathRules& rules);

}  // namespace busbw::nccl::graph
