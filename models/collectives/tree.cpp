// Tree all-reduce, broadcast and reduce, pipelined chunk by chunk.
//
// All-reduce: chunks flow up a tree being summed and down it again. Each edge carries the channel's
// part once up and once down, so all ranks together send 2(n-1) S. A rank reduces in one lane and
// broadcasts in another; the root does both in one. Source: NCCL src/device/all_reduce.h
// (runTreeSplit), 2.18 to 2.30.
//
// Broadcast and reduce: the same edges turned so that they lead from or to the given root, one
// half of the flow. NCCL runs these two by ring only; Sanders, Speck, Traeff, "Two-tree algorithms
// for full bandwidth broadcast, reduction and scan", Parallel Computing 35 (2009) has trees for
// them, which trees_over_hosts_from() makes.
#include "models/collectives/role_tree.h"
#include "sim/core/check.h"

namespace busbw::collectives {
namespace {

/// Throws CheckFailure unless `parents` is one tree over `ranks`.
void check_tree(const TreeParents& parents, std::int32_t ranks) {
  CHECK(static_cast<std::int64_t>(parents.size()) == ranks, "tree of {} for {} ranks",
        parents.size(), ranks);
  std::vector<std::vector<std::size_t>> children(parents.size());
  std::vector<std::size_t> reached;
  for (std::size_t rank = 0; rank < parents.size(); ++rank) {
    if (!parents[rank]) {
      reached.push_back(rank);
      continue;
    }
    CHECK(parents[rank]->value() >= 0 && parents[rank]->value() < ranks &&
              parents[rank]->index() != rank,
          "rank {} has parent {}", rank, parents[rank]->value());
    children[parents[rank]->index()].push_back(rank);
  }
  CHECK(reached.size() == 1, "tree has {} roots", reached.size());
  // One root and a parent for every other rank: a tree unless some ranks form a cycle.
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const std::vector<std::size_t>& below = children[reached[i]];
    reached.insert(reached.end(), below.begin(), below.end());
  }
  CHECK(reached.size() == parents.size(), "tree reaches {} of {} ranks", reached.size(), ranks);
}

Schedule tree_schedule(Collective collective, const Shape& shape, const Options& options) {
  CHECK(options.slices == 1, "a tree passes whole chunks, slices {}", options.slices);
  const auto channels = static_cast<std::int32_t>(shape.trees.size());
  const Partition partition(collective, shape, options, channels);
  Schedule schedule = empty_schedule({collective, Algorithm::kTree}, shape, options, channels);
  RoleTreeOptions role_options;
  role_options.slots = options.slots;
  role_options.slot_size = partition.slot_size();
  role_options.flow = collective == Collective::kAllReduce
                          ? Flow::kUpAndDown
                          : (collective == Collective::kReduce ? Flow::kUp : Flow::kDown);
  std::vector<ChannelPlan> plans;
  for (std::int32_t channel = 0; channel < channels; ++channel) {
    TreeParents parents = shape.trees[static_cast<std::size_t>(channel)];
    check_tree(parents, shape.ranks);
    if (collective != Collective::kAllReduce) {
      parents = turned_to(std::move(parents), options.root);
    }
    ChannelPlan plan;
    plan.trees.emplace_back();
    for (std::int32_t rank = 0; rank < shape.ranks; ++rank) {
      const std::optional<RankId> parent = parents[static_cast<std::size_t>(rank)];
      Role role;
      role.node = RankId(rank);
      role.parent = parent ? parent->value() : -1;
      role.contributes = collective != Collective::kBroadcast || !parent;
      role.takes = collective != Collective::kReduce || !parent;
      plan.trees[0].push_back(role);
    }
    plan.loops = single_pieces(partition, partition.channel_part(channel));
    plans.push_back(std::move(plan));
  }
  add_role_lanes(&schedule, plans, role_options);
  return schedule;
}

}  // namespace

TreeParents turned_to(TreeParents parents, RankId root) {
  std::optional<RankId> below;
  for (std::optional<RankId> at = root; at;) {
    const std::optional<RankId> above = parents[at->index()];
    parents[at->index()] = below;
    below = at;
    at = above;
  }
  return parents;
}

Schedule tree_all_reduce(const Shape& shape, const Options& options) {
  return tree_schedule(Collective::kAllReduce, shape, options);
}

Schedule tree_broadcast(const Shape& shape, const Options& options) {
  return tree_schedule(Collective::kBroadcast, shape, options);
}

Schedule tree_reduce(const Shape& shape, const Options& options) {
  return tree_schedule(Collective::kReduce, shape, options);
}

}  // namespace busbw::collectives
