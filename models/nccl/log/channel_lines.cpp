// Rings and trees as a rank prints them, and the chunk of send and receive.
#include <algorithm>

#include <fmt/format.h>

#include "models/nccl/log/lines.h"

namespace busbw::nccl::log {
namespace {

using graph::Graph;
using graph::Pattern;

constexpr std::size_t kTreesBuffer = 1022;
constexpr std::size_t kRingBuffer = 127;  // of the ring line, from 2.23.4 on
constexpr int kRingMost = 20;             // ranks of the ring line before

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

/// Trees of the search's channels 0 to 2 n - 1, whatever limits the channels in use.
graph::Trees searched_trees(const graph::Decision& decision) {
  graph::Communicator comm = decision.comm;
  comm.channels = comm.coll_channels = comm.original_channels = 2 * comm.search_channels;
  return graph::trees(decision.groups, decision.nodes, comm);
}

std::string ring_line(const View& view, int channel) {
  const graph::Rings& rings = view.decision.rings;
  const std::vector<int>& order = rings.orders[at(rings.channel_to_order[at(channel)])];
  std::string text = fmt::format("Channel {:02d}/{:02d} :", channel, view.decision.comm.channels);
  if (!view.from(2, 23, 4)) {
    text += " ";
    for (int i = 0; i < std::min(kRingMost, view.decision.comm.ranks); i++)
      text += fmt::format(" {:3d}", order[at(i)]);
    return text;
  }
  const std::size_t width = std::to_string(view.decision.comm.ranks - 1).size();
  for (const int rank : order)
    text += fmt::format(" {:{}d}", rank, width);
  if (text.size() > kRingBuffer)
    text.replace(kRingBuffer - 3, std::string::npos, "...");
  return text;
}

std::string slots(const TreeNeighbours& tree) {
  return fmt::format("{}/{}/{}", tree.down[0], tree.down[1], tree.down[2]);
}

TreeNeighbours neighbours(const View& view, const std::vector<int>& parents, int tree) {
  TreeNeighbours result;
  result.up = parents[at(view.rank)];
  const int own = view.place(view.rank).node;
  const auto nodes = static_cast<int>(view.decision.nodes.size());
  int slot = 0;
  // Slots fill up: the chain inside the node first, then the first and second child node.
  for (int step = 0; step < 3; step++) {
    for (int rank = 0; rank < view.decision.comm.ranks && slot < 3; rank++) {
      if (parents[at(rank)] != view.rank)
        continue;
      const int node = view.place(rank).node;
      const int when = node == own ? 0 : 1 + graph::tree_parent(nodes, node, tree).side;
      if (when == step)
        result.down[slot++] = rank;
    }
  }
  return result;
}

/// The rank enters or leaves its node in the trees of this channel; only then NCCL tells of them.
bool joins_nodes(const View& view, int channel) {
  const Graph& tree = view.group(view.rank).tree;
  const int rank = view.rank - view.first_rank(view.rank);
  return rank == tree.rank(channel, 0) ||
         (tree.gpus > 1 && tree.pattern != Pattern::kTree && rank == tree.rank(channel, 1));
}

}  // namespace

RingNeighbours ring_neighbours(const View& view, int channel) {
  const graph::Rings& rings = view.decision.rings;
  const std::vector<int>& order = rings.orders[at(rings.channel_to_order[at(channel)])];
  const std::size_t own =
      static_cast<std::size_t>(std::find(order.begin(), order.end(), view.rank) - order.begin());
  return {order[(own + order.size() - 1) % order.size()], order[(own + 1) % order.size()]};
}

std::vector<TreeNeighbours> tree_neighbours(const View& view) {
  const int searched = view.decision.comm.search_channels;
  const graph::Trees trees = searched_trees(view.decision);
  std::vector<TreeNeighbours> all;
  all.reserve(at(2 * searched));
  for (int channel = 0; channel < 2 * searched; channel++) {
    all.push_back(neighbours(view, trees.parents[at(trees.channel_to_tree[at(channel)])],
                             channel < searched ? 0 : 1));
  }
  return all;
}

Lines channel_lines(const View& view) {
  const graph::Communicator& comm = view.decision.comm;
  const int searched = comm.search_channels;
  const std::vector<TreeNeighbours> trees = tree_neighbours(view);
  Lines lines;
  for (int channel = 0; channel < searched; channel++) {
    if (!joins_nodes(view, channel))
      continue;
    for (const int tree : {channel, channel + searched}) {
      lines.push_back(
          info("GRAPH", fmt::format("Tree {} : {} -> {} -> {}", tree, trees[at(tree)].up, view.rank,
                                    slots(trees[at(tree)]))));
    }
  }
  if (view.rank == 0) {
    for (int channel = 0; channel < comm.channels; channel++)
      lines.push_back(info("INIT", ring_line(view, channel)));
  }
  std::string text = "Trees";
  for (int channel = 0; channel < comm.channels; channel++) {
    const TreeNeighbours& tree = trees[at(graph::original_channel(comm, channel))];
    text += fmt::format(" [{}] {}->{}->{}", channel, slots(tree), view.rank, tree.up);
    const RingNeighbours ring = ring_neighbours(view, channel);
    lines.push_back(info("GRAPH", fmt::format("Ring {:02d} : {} -> {} -> {}", channel,
                                              ring.previous, view.rank, ring.next)));
  }
  lines.push_back(info("INIT", cut(std::move(text), kTreesBuffer + 5)));
  lines.push_back(info("INIT", fmt::format("P2P Chunksize set to {}", comm.p2p_chunk_bytes)));
  return lines;
}

}  // namespace busbw::nccl::log
