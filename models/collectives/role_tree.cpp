// Steps of the roles of reduction trees. See role_tree.h.
#include "models/collectives/role_tree.h"

#include <map>
#include <tuple>

#include "sim/core/check.h"

namespace busbw::collectives {
namespace {

/// Where a rank or switch has the sum of its subtree, or the result on its way down.
struct Place {
  Buffer buffer = Buffer::kInput;
  Bytes offset;
};

/// The steps of one role for one piece after the other, into lanes that it may share.
class RoleSteps {
 public:
  RoleSteps(const RoleTree& tree, std::size_t self, std::vector<const Role*> children,
            const RoleTreeOptions& options, std::int64_t* scratch)
      : role_(tree[self]), flow_(options.flow), children_(std::move(children)) {
    if (role_.parent >= 0) {
      parent_ = tree[static_cast<std::size_t>(role_.parent)].node;
    }
    const std::int32_t pass_on = SlotRing::to_pass_on(options.slots, 1);
    const auto add_ring = [&](std::int32_t slots) {
      slots_.emplace_back(*scratch, options.slot_size, slots);
      *scratch = slots_.back().end();
    };
    if (flow_ != Flow::kDown && !receives_in_place()) {
      for (std::size_t child = 0; child < children_.size(); ++child) {
        add_ring(sums_in_output() ? options.slots : pass_on);
      }
    }
    if (flow_ != Flow::kUp && !root() && !role_.takes) {
      add_ring(pass_on);
    }
    passes_slots_ = !slots_.empty() && !(sums_in_output() && role_.takes);
  }

  [[nodiscard]] bool root() const { return role_.parent < 0; }
  /// Whether it sends on from scratch.
  [[nodiscard]] bool passes_slots() const { return passes_slots_; }

  void add_piece(Piece piece, std::int32_t chunk, std::vector<Step>* up, std::vector<Step>* down) {
    piece_ = piece;
    chunk_ = chunk;
    Place place = {Buffer::kInput, Bytes(piece.begin)};
    if (flow_ != Flow::kDown) {
      place = reduce(up);
      if (!root()) {
        add(up, {Op::kSend, place.buffer, parent_, place.offset, Bytes(), 0, role_.up});
      }
    }
    if (flow_ == Flow::kUp) {
      if (root() && role_.takes && place.buffer != Buffer::kOutput) {
        copy(up, place);
      }
      return;
    }
    if (!root()) {
      place = {Buffer::kOutput, Bytes(piece.begin)};
      if (!role_.takes) {
        place = {Buffer::kScratch, slots_.back().next()};
      }
      add(down, {Op::kReceive, place.buffer, parent_, place.offset, Bytes(), 0, role_.down});
    }
    for (const Role* child : children_) {
      add(root() ? up : down,
          {Op::kSend, place.buffer, child->node, place.offset, Bytes(), 0, child->down});
    }
    if (root() && role_.takes && place.buffer != Buffer::kOutput) {
      copy(up, place);
    }
  }

 private:
  /// Whether sums go to kOutput: the role has it and the result overwrites them there.
  [[nodiscard]] bool sums_in_output() const {
    return role_.contributes && role_.takes && (root() || flow_ == Flow::kUpAndDown);
  }
  /// A root that only takes what one child brings has nothing to add.
  [[nodiscard]] bool receives_in_place() const {
    return root() && role_.takes && !role_.contributes && children_.size() == 1;
  }

  /// Receives the children's sums and adds them up with the role's own share; where the sum is.
  Place reduce(std::vector<Step>* lane) {
    const Bytes at(piece_.begin);
    Place sum = {Buffer::kInput, at};
    bool has_sum = role_.contributes;
    for (std::size_t child = 0; child < children_.size(); ++child) {
      const Role& from = *children_[child];
      if (receives_in_place()) {
        add(lane, {Op::kReceive, Buffer::kOutput, from.node, at, Bytes(), 0, from.up});
        return {Buffer::kOutput, at};
      }
      const Bytes slot = slots_[child].next();
      add(lane, {Op::kReceive, Buffer::kScratch, from.node, slot, Bytes(), 0, from.up});
      if (sums_in_output()) {
        add(lane, {Op::kReduce, sum.buffer, RankId(), at, slot, 0, 0});
        lane->back().partial = !root();
        sum = {Buffer::kOutput, at};
        continue;
      }
      if (has_sum) {
        add(lane, {Op::kAccumulate, sum.buffer, RankId(), sum.offset, slot, 0, 0});
      }
      sum = {Buffer::kScratch, slot};
      has_sum = true;
    }
    return sum;
  }
  void copy(std::vector<Step>* lane, const Place& from) {
    add(lane, {Op::kCopy, from.buffer, RankId(), Bytes(piece_.begin), from.offset, 0, 0});
  }
  void add(std::vector<Step>* lane, Move move) const {
    move.bytes = piece_.size;
    lane->push_back(make_step(move, chunk_));
  }

  const Role& role_;
  Flow flow_;
  RankId parent_;
  std::vector<const Role*> children_;
  std::vector<SlotRing> slots_;  // one per child where there is a way up, then the way down's
  bool passes_slots_ = false;
  Piece piece_;
  std::int32_t chunk_ = 0;
};

/// A role: tree and index in it.
struct RoleIndex {
  std::size_t tree = 0;
  std::size_t role = 0;
};

class Lanes {
 public:
  Lanes(Schedule* schedule, const std::vector<ChannelPlan>& channels,
        const RoleTreeOptions& options)
      : schedule_(schedule), channels_(channels), options_(options) {}

  void add_all() {
    // (node, channel, lane number): the order of Schedule::lanes.
    std::map<std::tuple<RankId, std::size_t, std::int32_t>, std::vector<RoleIndex>> groups;
    for (std::size_t channel = 0; channel < channels_.size(); ++channel) {
      const std::vector<RoleTree>& trees = channels_[channel].trees;
      children_.emplace_back();
      for (std::size_t tree = 0; tree < trees.size(); ++tree) {
        children_.back().push_back(children_of(trees[tree]));
        for (std::size_t role = 0; role < trees[tree].size(); ++role) {
          groups[{trees[tree][role].node, channel, trees[tree][role].lane}].push_back({tree, role});
        }
      }
    }
    RankId node;
    std::int64_t scratch = 0;
    for (const auto& [key, roles] : groups) {
      if (std::get<0>(key) != node) {
        node = std::get<0>(key);
        scratch = 0;
      }
      add_group(node, std::get<1>(key), roles, &scratch);
      Bytes& bytes = node.value() < schedule_->ranks ? schedule_->scratch_bytes
                                                     : schedule_->switch_scratch_bytes;
      bytes = std::max(bytes, Bytes(scratch));
    }
  }

 private:
  void add_group(RankId node, std::size_t channel, const std::vector<RoleIndex>& roles,
                 std::int64_t* scratch) {
    const ChannelPlan& plan = channels_[channel];
    std::vector<RoleSteps> steps;
    bool only_root = true;
    for (const RoleIndex& role : roles) {
      steps.emplace_back(plan.trees[role.tree], role.role, children_[channel][role.tree][role.role],
                         options_, scratch);
      only_root = only_root && steps.back().root();
      if (steps.back().passes_slots()) {
        schedule_->max_slots = options_.slots;
      }
    }
    std::vector<Step> up;
    std::vector<Step> down;
    const std::size_t first =
        node.index() < options_.first_role.size() ? options_.first_role[node.index()] : 0;
    for (std::size_t loop = 0; loop < plan.loops.size(); ++loop) {
      for (std::size_t turn = 0; turn < roles.size(); ++turn) {
        const std::size_t i = (first + turn) % roles.size();
        const Piece piece = plan.loops[loop][roles[i].tree];
        if (piece.size > 0) {
          const std::size_t chunk = loop * plan.trees.size() + roles[i].tree;
          steps[i].add_piece(piece, static_cast<std::int32_t>(chunk), &up, &down);
        }
      }
      if (loop == 0) {
        up.reserve(up.size() * plan.loops.size());
        down.reserve(down.size() * plan.loops.size());
      }
    }
    const ChannelId id(static_cast<std::int32_t>(channel));
    if (only_root) {
      schedule_->lanes.push_back({node, id, "root", std::move(up)});
      return;
    }
    CHECK(options_.flow == Flow::kUpAndDown || (options_.flow == Flow::kUp ? down : up).empty());
    if (options_.flow != Flow::kDown) {
      schedule_->lanes.push_back({node, id, "reduce", std::move(up)});
    }
    if (options_.flow != Flow::kUp) {
      schedule_->lanes.push_back({node, id, "broadcast", std::move(down)});
    }
  }

  static std::vector<std::vector<const Role*>> children_of(const RoleTree& tree) {
    std::vector<std::vector<const Role*>> children(tree.size());
    for (const Role& role : tree) {
      if (role.parent >= 0) {
        children[static_cast<std::size_t>(role.parent)].push_back(&role);
      }
    }
    return children;
  }

  Schedule* schedule_;
  const std::vector<ChannelPlan>& channels_;
  const RoleTreeOptions& options_;
  std::vector<std::vector<std::vector<std::vector<const Role*>>>>
      children_;  // [channel][tree][role]
};

}  // namespace

std::vector<std::vector<Piece>> loop_pieces(const Partition& partition, Piece part,
                                            std::int64_t trees) {
  std::vector<std::vector<Piece>> loops;
  const std::int64_t end = part.begin + part.size;
  for (std::int64_t at = part.begin; at < end;) {
    const std::int64_t size = partition.chunk_size(end - at, trees);
    loops.emplace_back();
    for (std::int64_t tree = 0; tree < trees; ++tree) {
      loops.back().push_back(chunk_of(at, size, tree, end));
    }
    at += size * trees;
  }
  return loops;
}

std::vector<std::vector<Piece>> single_pieces(const Partition& partition, Piece part) {
  return loop_pieces(partition, part, 1);
}

void add_role_lanes(Schedule* schedule, const std::vector<ChannelPlan>& channels,
                    const RoleTreeOptions& options) {
  CHECK(options.slots > 0 && options.slot_size > 0);
  Lanes(schedule, channels, options).add_all();
}

}  // namespace busbw::collectives
