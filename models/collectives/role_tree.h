// Reduction up a tree and broadcast down it, for trees whose nodes are ranks or switches: what
// tree, NVLS, NVLSTree, CollNetDirect and CollNetChain have in common. Internal to this folder.
//
// A tree has roles, not nodes: a head of NVLS is a leaf, as every GPU that gives its data to the
// NVSwitch, and the one above the switch that takes the sum out of it. Several trees share a
// channel, one a head: a loop of the channel has a piece for each. Chunks are pipelined. A node
// reduces in one lane and broadcasts in another, so that both directions run at the same time; a
// root does both in one.
#pragma once
#include <cstdint>
#include <vector>

#include "models/collectives/generate.h"
#include "models/collectives/partition.h"

namespace busbw::collectives {

struct Role {
  RankId node;               // a rank, or a switch
  std::int32_t parent = -1;  // index in the tree, -1 for the root
  bool contributes = false;  // adds its kInput; as the root of a broadcast sends it
  bool takes = false;        // has a place for the result in its kOutput
  std::int32_t lane = 0;     // roles of a node with one number share their lanes
  std::uint8_t up = 0;       // index of the connection to the parent
  std::uint8_t down = 0;     // index of the connection from the parent
};
using RoleTree = std::vector<Role>;

/// Which half of reduce-and-broadcast a schedule has.
enum class Flow { kUp, kDown, kUpAndDown };

/// The pieces of the data that a channel walks, loop by loop, one for each of its trees.
struct ChannelPlan {
  std::vector<RoleTree> trees;
  std::vector<std::vector<Piece>> loops;  // [loop][tree]; empty pieces are left out
};

/// Loops of one chunk each over `part`, for a channel of one tree.
std::vector<std::vector<Piece>> single_pieces(const Partition& partition, Piece part);
/// Loops of a chunk for each of `trees` trees over `part`.
std::vector<std::vector<Piece>> loop_pieces(const Partition& partition, Piece part,
                                            std::int64_t trees);

/// Fills `schedule`, which has its ranks and switches, with the lanes of every node.
/// `slots` are Options::slots, `slot_size` the largest piece.
struct RoleTreeOptions {
  Flow flow = Flow::kUpAndDown;
  std::int32_t slots = 8;
  std::int64_t slot_size = 0;
  std::vector<std::size_t> first_role;  // of each rank: where in its roles a loop begins; empty: 0
};
void add_role_lanes(Schedule* schedule, const std::vector<ChannelPlan>& channels,
                    const RoleTreeOptions& options);

}  // namespace busbw::collectives
