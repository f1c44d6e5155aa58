// The parts of the start-up log, each a list of lines of one rank.
// Source: see start_up.h; each function names its file of NCCL.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "models/nccl/graph/decide.h"
#include "models/nccl/selection.h"

namespace busbw::nccl::log {

/// Where a rank stands.
struct Place {
  int node = 0;   // as NCCL counts them
  int group = 0;  // Decision::groups
  int gpu = 0;    // index into all(kGpu) of the group's system
  int local_rank = 0;
  int local_ranks = 1;
};

/// Places of all ranks, by rank.
std::vector<Place> places(const graph::Decision& decision);

/// What the parts share: the decision and where each rank stands.
struct View {
  const graph::Decision& decision;
  std::vector<Place> places;
  int rank = 0;
  std::string network;  // "IB", "Socket", a plugin's name

  [[nodiscard]] const Place& place(int of) const { return places[static_cast<std::size_t>(of)]; }
  [[nodiscard]] const graph::Group& group(int of) const {
    return decision.groups[static_cast<std::size_t>(place(of).group)];
  }
  [[nodiscard]] int first_rank(int of) const {
    return decision.nodes[static_cast<std::size_t>(place(of).node)].first_rank;
  }
  [[nodiscard]] const graph::Node& gpu(int of) const {
    return group(of).system.node(graph::NodeType::kGpu, place(of).gpu);
  }
  [[nodiscard]] bool from(int major, int minor, int patch) const {
    return decision.version >= Version{major, minor, patch};
  }
};

using Lines = std::vector<LogLine>;
inline void append(Lines& to, const Lines& from) {
  to.insert(to.end(), from.begin(), from.end());
}
inline LogLine info(std::string subsystem, std::string text) {
  return {std::move(subsystem), false, std::move(text)};
}
/// At most `most` characters, as snprintf cuts.
std::string cut(std::string text, std::size_t most);

/// "=== System : maxBw ..." , the tree below each CPU, the paths. src/graph/topo.cc, paths.cc.
Lines topology_lines(const View& view);
/// "Pattern 4, ..." and a line a channel, for ring, tree and NVLS. src/graph/search.cc.
Lines graph_lines(const View& view);
/// The GPUs can join an NVLink multicast group: NVSwitch and Hopper or newer, not switched off.
bool nvls_asked(const View& view);
bool nvls_supported(const View& view);

/// "Tree 0 : up -> rank -> down", "Channel 00/02 : ...", "Ring 00 : ...", "Trees ...", chunk.
/// src/graph/connect.cc, rings.cc, src/init.cc.
Lines channel_lines(const View& view);

/// Neighbours of the rank in channel `channel`.
struct RingNeighbours {
  int previous = 0;
  int next = 0;
};
RingNeighbours ring_neighbours(const View& view, int channel);
/// Parent (-1 without) and up to three children of the rank, in NCCL's slots, -1 for empty ones.
struct TreeNeighbours {
  int up = -1;
  int down[3] = {-1, -1, -1};
};
/// For each channel of the search, 0 to 2 n - 1 (see graph::original_channel).
std::vector<TreeNeighbours> tree_neighbours(const View& view);

/// "Channel 00/0 : 0[0] -> 1[1] via ..." of rings, then of trees, each closed by "Connected all
/// ...". src/transport.cc, src/transport/{p2p,shm,net,generic}.cc.
Lines connection_lines(const View& view);
/// Connections are made while the communicator starts; else by the first collective.
bool connects_at_start(const View& view);

/// The table of latencies and bandwidths (rank 0), "threadThresholds ...", counts of channels.
/// src/graph/tuning.cc, src/init.cc.
Lines tuning_lines(const View& view);

/// When the variables are read, roughly: NCCL tells of each at its first use.
enum class Stage { kNetwork, kPaths, kTuning };
/// "NCCL_X set by environment to ..." of the variables of one stage, sorted by name; those that
/// `told` already speaks of are left out. src/misc/param.cc and the places that read text.
Lines environment_lines(const View& view, Stage stage, const Lines& told);

}  // namespace busbw::nccl::log
