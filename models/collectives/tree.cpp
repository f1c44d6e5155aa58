// Tree all-reduce: chunks flow up a tree being summed and down it again, pipelined chunk by chunk.
//
// Each tree edge carries the channel's part once up and once down, so all ranks together send
// 2(n-1) S. A rank reduces in one lane and broadcasts in another, so that both directions run at
// the same time; the root does both in one. Source: NCCL src/device/all_reduce.h
// (runTreeSplit), 2.18 to 2.30.
#include "models/collectives/partition.h"
#include "sim/core/check.h"

namespace busbw::collectives {
namespace {

struct TreeNode {
  std::optional<RankId> parent;
  std::vector<RankId> children;  // ascending
};

std::vector<TreeNode> nodes_of(const TreeParents& parents, std::int32_t ranks) {
  CHECK(static_cast<std::int64_t>(parents.size()) == ranks, "tree of {} for {} ranks",
        parents.size(), ranks);
  std::vector<TreeNode> nodes(parents.size());
  std::int32_t roots = 0;
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    const std::optional<RankId> parent = parents[static_cast<std::size_t>(rank)];
    nodes[static_cast<std::size_t>(rank)].parent = parent;
    if (!parent) {
      ++roots;
      continue;
    }
    CHECK(parent->value() >= 0 && parent->value() < ranks && parent->value() != rank,
          "rank {} has parent {}", rank, parent->value());
    nodes[parent->index()].children.push_back(RankId(rank));
  }
  CHECK(roots == 1, "tree has {} roots", roots);
  // One root and a parent for every other rank: a tree unless some ranks form a cycle.
  std::vector<RankId> reached;
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    if (!parents[static_cast<std::size_t>(rank)]) {
      reached.push_back(RankId(rank));
    }
  }
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const std::vector<RankId>& children = nodes[reached[i].index()].children;
    reached.insert(reached.end(), children.begin(), children.end());
  }
  CHECK(reached.size() == nodes.size(), "tree reaches {} of {} ranks", reached.size(), ranks);
  return nodes;
}

/// The lanes of one rank on one channel.
class TreeLanes {
 public:
  TreeLanes(const TreeNode& node, const Partition& partition, std::int32_t slots,
            std::int64_t* scratch)
      : node_(node) {
    for (std::size_t child = 0; child < node.children.size(); ++child) {
      slots_.emplace_back(*scratch, partition.slot_size(), slots);
      *scratch = slots_.back().end();
    }
  }

  /// Makes room for so many chunks.
  void reserve(std::int64_t chunks) {
    const auto count = static_cast<std::size_t>(chunks);
    const std::size_t children = node_.children.size();
    up_.reserve(count * (2 * children + (node_.parent ? 1 : children + 1)));
    down_.reserve(node_.parent ? count * (children + 1) : 0);
  }
  void add_chunk(Piece piece, std::int32_t chunk) {
    piece_ = piece;
    chunk_ = chunk;
    Buffer sum = Buffer::kInput;
    for (std::size_t child = 0; child < node_.children.size(); ++child) {
      const Bytes slot = slots_[child].next();
      add(&up_, {Op::kReceive, Buffer::kScratch, node_.children[child], slot, Bytes()});
      add(&up_, {Op::kReduce, sum, RankId(), Bytes(piece.begin), slot});
      sum = Buffer::kOutput;
    }
    std::vector<Step>* down = &up_;
    if (node_.parent) {
      add(&up_, {Op::kSend, sum, *node_.parent, Bytes(piece.begin), Bytes()});
      down = &down_;
      add(down, {Op::kReceive, Buffer::kOutput, *node_.parent, Bytes(piece.begin), Bytes()});
    } else if (node_.children.empty()) {
      add(&up_, {Op::kCopy, Buffer::kInput, RankId(), Bytes(piece.begin), Bytes(piece.begin)});
    }
    for (const RankId child : node_.children) {
      add(down, {Op::kSend, Buffer::kOutput, child, Bytes(piece.begin), Bytes()});
    }
  }

  void append_to(std::vector<Lane>* lanes, RankId rank, ChannelId channel) {
    lanes->push_back({rank, channel, node_.parent ? "reduce" : "root", std::move(up_)});
    if (node_.parent) {
      lanes->push_back({rank, channel, "broadcast", std::move(down_)});
    }
  }

 private:
  struct Move {
    Op op;
    Buffer buffer;
    RankId peer;
    Bytes offset;
    Bytes source_offset;
  };
  void add(std::vector<Step>* lane, const Move& move) const {
    Step step;
    step.op = move.op;
    step.buffer = move.buffer;
    step.peer = move.peer;
    step.chunk = chunk_;
    step.offset = move.offset;
    step.source_offset = move.source_offset;
    step.bytes = Bytes(piece_.size);
    lane->push_back(step);
  }

  const TreeNode& node_;
  std::vector<SlotRing> slots_;  // one per child
  std::vector<Step> up_;
  std::vector<Step> down_;
  Piece piece_;
  std::int32_t chunk_ = 0;
};

}  // namespace

Schedule tree_all_reduce(const Shape& shape, const Options& options) {
  CHECK(options.slices == 1, "a tree passes whole chunks, slices {}", options.slices);
  const auto channels = static_cast<std::int32_t>(shape.trees.size());
  const Partition partition(options, channels);
  Schedule schedule = empty_all_reduce(Algorithm::kTree, options, shape.ranks, channels);
  std::vector<std::vector<TreeNode>> trees;
  for (const TreeParents& parents : shape.trees) {
    trees.push_back(nodes_of(parents, shape.ranks));
  }
  for (std::int32_t rank = 0; rank < shape.ranks; ++rank) {
    std::int64_t scratch = 0;
    for (std::int32_t channel = 0; channel < channels; ++channel) {
      const TreeNode& node =
          trees[static_cast<std::size_t>(channel)][static_cast<std::size_t>(rank)];
      TreeLanes lanes(node, partition, options.slots, &scratch);
      const Piece part = partition.channel_part(channel);
      const std::int64_t end = part.begin + part.size;
      lanes.reserve(partition.loops(part, 1));
      std::int32_t chunk = 0;
      for (std::int64_t at = part.begin; at < end;) {
        const Piece piece = chunk_of(at, partition.chunk_size(end - at, 1), 0, end);
        lanes.add_chunk(piece, chunk++);
        at += piece.size;
      }
      lanes.append_to(&schedule.lanes, RankId(rank), ChannelId(channel));
    }
    schedule.scratch_bytes = std::max(schedule.scratch_bytes, Bytes(scratch));
  }
  return schedule;
}

}  // namespace busbw::collectives
