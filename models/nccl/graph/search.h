// The search for rings, trees, NVLS and CollNet heads: how many channels of which speed fit the
// system.
//
// Source: NCCL 2.18 to 2.30.7, src/graph/search.cc. The budgets of search steps are NCCL's and part
// of the result, so nothing here may be made smarter.
#pragma once
#include <vector>

#include "models/nccl/graph/paths.h"
#include "models/nccl/graph/system.h"

namespace busbw::nccl::graph {

/// NCCL's numbers: `Pattern 4` in its log is a ring.
enum class Pattern : std::uint8_t {
  kBalancedTree = 1,
  kSplitTree = 2,
  kTree = 3,
  kRing = 4,
  kNvls = 5,
  kCollNetDirect = 6,
};
const char* to_string(Pattern pattern);

struct Graph {
  Pattern pattern = Pattern::kRing;
  int channels = 0;
  int least_channels = 1;
  int most_channels = 1;
  float bw_intra = 0;  // GB/s per channel inside the node
  float bw_inter = 0;
  float latency_inter = 0;
  PathType type_intra = PathType::kLoc;
  PathType type_inter = PathType::kLoc;
  int cross_nic = 0;
  bool same_channels = false;
  bool collnet = false;  // starts only at NICs that reduce in the network
  int hops = 0;
  int gpus = 0;
  std::vector<int> order;  // GPU ranks, [channel][position]
  std::vector<int> nets;   // NET node numbers, [channel][in, out]; -1 without

  [[nodiscard]] int rank(int channel, int position) const {
    return order[static_cast<std::size_t>(channel) * static_cast<std::size_t>(gpus) +
                 static_cast<std::size_t>(position)];
  }
  [[nodiscard]] int net(int channel, int side) const {
    return nets[static_cast<std::size_t>(channel) * 2 + static_cast<std::size_t>(side)];
  }
};

struct SearchLimits {
  int least_channels = 1;
  int most_channels = 32;
  long long cross_nic = 2;  // NCCL_CROSS_NIC
  bool collnet = false;     // only NICs that reduce in the network
};

/// Searches one pattern. Link bandwidths of the system change by rounding, as in NCCL: search ring,
/// tree, CollNet and NVLS in this order on the same system. Empty (0 channels) for NVLS without
/// NVSwitch and when CollNet finds nothing.
Graph search_graph(System& system, Pattern pattern, const SearchLimits& limits,
                   const PathRules& rules);

/// NICs in the order in which a channel start (gpu -1) or a GPU tries them; indices into all(kNet).
std::vector<int> net_list(const System& system, PathType limit, int gpu, const PathRules& rules);

}  // namespace busbw::nccl::graph
