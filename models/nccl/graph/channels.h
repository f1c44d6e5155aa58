// From the graphs of the nodes to the channels of the communicator: merge over the nodes, rings and
// double binary trees over all ranks, numbers of channels.
//
// Source: NCCL 2.18 to 2.30.7, src/init.cc, src/graph/connect.cc, rings.cc, trees.cc, paths.cc.
#pragma once
#include <cstdint>
#include <vector>

#include "models/nccl/environment.h"
#include "models/nccl/graph/search.h"

namespace busbw::nccl::graph {

/// Nodes that are alike: their system and its graphs, searched once.
struct Group {
  System system;
  Graph ring;
  Graph tree;
  Graph nvls;
  bool collnet = false;  // both below were searched
  Graph collnet_chain;
  Graph collnet_direct;  // before 2.23 the same as the chain
};

/// A node as NCCL counts them: a host, an NVLink domain, or a part of a host that only the network
/// joins with the rest.
struct NodePlace {
  int group = 0;
  int first_rank = 0;  // rank = first_rank + rank within the system
};

/// Minimum or maximum of a graph over all nodes.
struct MergedGraph {
  Pattern pattern = Pattern::kRing;
  int channels = 0;  // of the search
  float bw_intra = 0;
  float bw_inter = 0;
  float latency_inter = 0;  // of the first node
  PathType type_intra = PathType::kLoc;
  PathType type_inter = PathType::kLoc;
  int cross_nic = 0;
  bool same_channels = true;
};

struct Communicator {
  int ranks = 0;
  int nodes = 0;
  int search_channels = 0;    // rings and trees found, before doubling
  int original_channels = 0;  // after NCCL_MAX_NCHANNELS; what is beyond repeats them
  int channels = 0;
  int coll_channels = 0;  // before the raise to the NVLS channels that some releases make
  int nvls_channels = 0;
  int p2p_channels = 0;
  int p2p_channels_per_peer = 0;
  std::int64_t p2p_chunk_bytes = 0;
  std::int64_t buffer_bytes[3] = {0, 0, 0};  // LL, LL128, Simple
  MergedGraph ring;
  MergedGraph tree;
  MergedGraph nvls;
  MergedGraph collnet_chain;
  MergedGraph collnet_direct;
  bool collnet = false;      // reduction in the network is used
  int collnet_heads = 0;     // GPUs of a node that exchange with the network
  int collnet_channels = 0;  // after the growth for CollNet; 0: none
  bool nvswitch = false;     // on the first node
  int most_local_gpus = 0;   // of a node
  int smallest_sm = 0;
  int largest_sm = 0;
  Cpu cpu;  // of the first node
  bool mixed_cpus = false;
};

struct Rings {
  std::vector<int> channel_to_order;
  std::vector<std::vector<int>> orders;  // distinct; each starts at rank 0
};

struct Trees {
  std::vector<int> channel_to_tree;
  int depth = 0;
  std::vector<std::vector<int>> parents;  // distinct; [rank], -1 for the root
};

/// Channel of the search (0 to 2 n - 1, n rings and then n copies) that a channel repeats.
int original_channel(const Communicator& comm, int channel);

Communicator communicator(const std::vector<Group>& groups, const std::vector<NodePlace>& nodes,
                          int ranks, const Environment& environment);
Rings rings(const std::vector<Group>& groups, const std::vector<NodePlace>& nodes,
            const Communicator& comm);
Trees trees(const std::vector<Group>& groups, const std::vector<NodePlace>& nodes,
            const Communicator& comm);

/// Parent of node `node` in the double binary tree over `nodes` nodes, -1 for the root, and whether
/// it is the first (0) or second (1) child there. tree: 0 or 1.
struct TreeParent {
  int parent = -1;
  int side = 0;
};
TreeParent tree_parent(int nodes, int node, int tree);

}  // namespace busbw::nccl::graph
