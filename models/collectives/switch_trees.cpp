// NVLS, NVLSTree and CollNet as reduction trees with switches as nodes. See generate_switch.h.
//
// The tree of a head: the ranks of each host give to the host's NVSwitch (NVLS) or to the head
// itself (CollNetDirect); heads of one index give to the network's switch, to each other, or, on
// one host, keep the sum. What is reduced up this tree is broadcast down it. The two directions
// have connections of their own (2 x head, 2 x head + 1): a head both gives its data to the switch
// and gives it the sum.
#include "models/collectives/generate_switch.h"
#include "models/collectives/host_ranks.h"
#include "models/collectives/role_tree.h"
#include "models/collectives/shapes.h"
#include "sim/core/check.h"

namespace busbw::collectives {
namespace {

/// Ranks and heads of each host.
struct HostHeads {
  std::vector<std::vector<RankId>> ranks;
  std::vector<std::vector<RankId>> heads;

  [[nodiscard]] std::size_t hosts() const { return ranks.size(); }
};

HostHeads heads_of(const Shape& shape) {
  HostHeads result;
  CHECK(static_cast<std::int64_t>(shape.host_of.size()) == shape.ranks,
        "host_of has {} of {} ranks", shape.host_of.size(), shape.ranks);
  for (std::int32_t rank = 0; rank < shape.ranks; ++rank) {
    const std::int32_t host = shape.host_of[static_cast<std::size_t>(rank)];
    CHECK(host >= 0 && host < shape.ranks, "rank {} on host {}", rank, host);
    result.ranks.resize(std::max(result.ranks.size(), static_cast<std::size_t>(host) + 1));
    result.ranks[static_cast<std::size_t>(host)].emplace_back(rank);
  }
  result.heads = shape.heads.empty() ? result.ranks : shape.heads;
  CHECK(result.heads.size() == result.ranks.size(), "heads of {} hosts, ranks on {}",
        result.heads.size(), result.ranks.size());
  for (std::size_t host = 0; host < result.hosts(); ++host) {
    CHECK(!result.heads[host].empty() && result.heads[host].size() <= kMaxHeads &&
              result.heads[host].size() == result.heads[0].size(),
          "host {} has {} heads", host, result.heads[host].size());
    for (const RankId head : result.heads[host]) {
      CHECK(head.value() >= 0 && head.value() < shape.ranks &&
                shape.host_of[head.index()] == static_cast<std::int32_t>(host),
            "rank {} is no head of host {}", head.value(), host);
    }
  }
  return result;
}

constexpr std::int32_t kDataLane = 0;  // of a rank's own data, for all heads
constexpr std::int32_t kHeadLane = 1;

/// Puts the roles of one head's tree together.
class HeadTree {
 public:
  explicit HeadTree(std::size_t head) : head_(head) {}

  std::int32_t add(RankId node, std::int32_t parent, std::int32_t lane) {
    Role role;
    role.node = node;
    role.parent = parent;
    role.lane = lane;
    role.up = static_cast<std::uint8_t>(2 * head_);
    role.down = static_cast<std::uint8_t>(2 * head_ + 1);
    tree_.push_back(role);
    return static_cast<std::int32_t>(tree_.size()) - 1;
  }
  std::int32_t add_switch(RankId node, std::int32_t parent) {
    return add(node, parent, static_cast<std::int32_t>(head_));
  }
  /// A rank that gives its data and wants the result.
  std::int32_t add_data(RankId rank, std::int32_t parent, std::int32_t lane) {
    const std::int32_t role = add(rank, parent, lane);
    tree_.back().contributes = true;
    tree_.back().takes = true;
    return role;
  }
  /// The head of a host above its NVSwitch above its ranks; the role of the head.
  std::int32_t add_nvls_host(const HostHeads& heads, std::size_t host, RankId nv_switch) {
    const std::int32_t head = add(heads.heads[host][head_], -1, kHeadLane);
    const std::int32_t middle = add_switch(nv_switch, head);
    for (const RankId rank : heads.ranks[host]) {
      add_data(rank, middle, kDataLane);
    }
    return head;
  }
  Role& role(std::int32_t index) { return tree_[static_cast<std::size_t>(index)]; }
  RoleTree take() { return std::move(tree_); }

 private:
  std::size_t head_;
  RoleTree tree_;
};

void add_nv_switches(Schedule* schedule, std::size_t hosts) {
  for (std::size_t host = 0; host < hosts; ++host) {
    schedule->switches.push_back({SwitchNode::Kind::kNvSwitch, static_cast<std::int32_t>(host)});
  }
}

RankId switch_node(const Schedule& schedule, std::size_t index) {
  return RankId(schedule.ranks + static_cast<std::int32_t>(index));
}

RoleTreeOptions role_options(const Options& options, const Partition& partition, Flow flow) {
  CHECK(options.slices == 1, "trees pass on whole chunks, slices {}", options.slices);
  RoleTreeOptions result;
  result.flow = flow;
  result.slots = options.slots;
  result.slot_size = partition.slot_size();
  return result;
}

/// Channels that walk their part in loops of a chunk for each of trees(channel)'s trees.
template <class Trees>
std::vector<ChannelPlan> plans_of(const Partition& partition, std::int32_t channels,
                                  const Trees& trees) {
  std::vector<ChannelPlan> plans;
  for (std::int32_t channel = 0; channel < channels; ++channel) {
    ChannelPlan plan;
    plan.trees = trees(channel);
    plan.loops = loop_pieces(partition, partition.channel_part(channel),
                             static_cast<std::int64_t>(plan.trees.size()));
    plans.push_back(std::move(plan));
  }
  return plans;
}

/// NVLS on one host: every rank is the head of its own part.
Schedule nvls_parts(Collective collective, const Shape& shape, const Options& options) {
  const HostHeads heads = heads_of(shape);
  CHECK(heads.hosts() == 1 && shape.ranks <= kMaxHeads, "{} hosts, {} ranks", heads.hosts(),
        shape.ranks);
  const Partition partition(collective, shape, options, options.channels);
  Schedule schedule =
      empty_schedule({collective, Algorithm::kNvls}, shape, options, options.channels);
  add_nv_switches(&schedule, 1);
  const bool gathers = collective == Collective::kAllGather;
  const std::int64_t block = cut_bytes(collective, options.bytes, shape.ranks).count();
  std::vector<ChannelPlan> plans;
  for (std::int32_t channel = 0; channel < options.channels; ++channel) {
    ChannelPlan plan;
    for (std::int32_t rank = 0; rank < shape.ranks; ++rank) {
      HeadTree tree(static_cast<std::size_t>(rank));
      const std::int32_t head = tree.add(RankId(rank), -1, kHeadLane);
      tree.role(head).contributes = gathers;
      tree.role(head).takes = !gathers;
      const std::int32_t middle = tree.add_switch(switch_node(schedule, 0), head);
      for (const RankId other : heads.ranks[0]) {
        const std::int32_t data = tree.add(other, middle, kDataLane);
        tree.role(data).contributes = !gathers;
        tree.role(data).takes = gathers;
      }
      plan.trees.push_back(tree.take());
    }
    for (const std::vector<Piece>& loop :
         single_pieces(partition, partition.channel_part(channel))) {
      plan.loops.emplace_back();
      for (std::int32_t rank = 0; rank < shape.ranks; ++rank) {
        plan.loops.back().push_back({block * rank + loop[0].begin, loop[0].size});
      }
    }
    plans.push_back(std::move(plan));
  }
  add_role_lanes(&schedule, plans,
                 role_options(options, partition, gathers ? Flow::kDown : Flow::kUp));
  return schedule;
}

}  // namespace

Schedule nvls_all_reduce(const Shape& shape, const Options& options) {
  const HostHeads heads = heads_of(shape);
  const Partition partition(Collective::kAllReduce, shape, options, options.channels);
  Schedule schedule =
      empty_schedule({Collective::kAllReduce, Algorithm::kNvls}, shape, options, options.channels);
  add_nv_switches(&schedule, heads.hosts());
  const bool several = heads.hosts() > 1;
  if (several) {
    schedule.switches.push_back({SwitchNode::Kind::kNetwork, -1});
  }
  const auto trees = [&](std::int32_t /*channel*/) {
    std::vector<RoleTree> result;
    for (std::size_t head = 0; head < heads.heads[0].size(); ++head) {
      HeadTree tree(head);
      const std::int32_t root =
          several ? tree.add_switch(switch_node(schedule, heads.hosts()), -1) : -1;
      for (std::size_t host = 0; host < heads.hosts(); ++host) {
        const std::int32_t top = tree.add_nvls_host(heads, host, switch_node(schedule, host));
        tree.role(top).parent = root;
      }
      result.push_back(tree.take());
    }
    return result;
  };
  add_role_lanes(&schedule, plans_of(partition, options.channels, trees),
                 role_options(options, partition, Flow::kUpAndDown));
  return schedule;
}

Schedule nvls_all_gather(const Shape& shape, const Options& options) {
  return nvls_parts(Collective::kAllGather, shape, options);
}

Schedule nvls_reduce_scatter(const Shape& shape, const Options& options) {
  return nvls_parts(Collective::kReduceScatter, shape, options);
}

Schedule nvls_tree_all_reduce(const Shape& shape, const Options& options) {
  const HostHeads heads = heads_of(shape);
  const Partition partition(Collective::kAllReduce, shape, options, options.channels);
  Schedule schedule = empty_schedule({Collective::kAllReduce, Algorithm::kNvlsTree}, shape, options,
                                     options.channels);
  add_nv_switches(&schedule, heads.hosts());
  const DoubleBinaryTree hosts_trees = double_binary_tree(static_cast<std::int32_t>(heads.hosts()));
  const auto trees = [&](std::int32_t channel) {
    const std::vector<std::int32_t>& parents =
        2 * channel < options.channels ? hosts_trees.parent0 : hosts_trees.parent1;
    std::vector<RoleTree> result;
    for (std::size_t head = 0; head < heads.heads[0].size(); ++head) {
      HeadTree tree(head);
      std::vector<std::int32_t> tops;
      for (std::size_t host = 0; host < heads.hosts(); ++host) {
        tops.push_back(tree.add_nvls_host(heads, host, switch_node(schedule, host)));
      }
      for (std::size_t host = 0; host < heads.hosts(); ++host) {
        if (parents[host] >= 0) {
          tree.role(tops[host]).parent = tops[static_cast<std::size_t>(parents[host])];
        }
      }
      result.push_back(tree.take());
    }
    return result;
  };
  add_role_lanes(&schedule, plans_of(partition, options.channels, trees),
                 role_options(options, partition, Flow::kUpAndDown));
  return schedule;
}

Schedule collnet_direct_all_reduce(const Shape& shape, const Options& options) {
  const HostHeads heads = heads_of(shape);
  const Partition partition(Collective::kAllReduce, shape, options, options.channels);
  Schedule schedule = empty_schedule({Collective::kAllReduce, Algorithm::kCollNetDirect}, shape,
                                     options, options.channels);
  schedule.switches.push_back({SwitchNode::Kind::kNetwork, -1});
  const auto trees = [&](std::int32_t /*channel*/) {
    std::vector<RoleTree> result;
    for (std::size_t head = 0; head < heads.heads[0].size(); ++head) {
      HeadTree tree(head);
      const std::int32_t root = tree.add_switch(switch_node(schedule, 0), -1);
      for (std::size_t host = 0; host < heads.hosts(); ++host) {
        const RankId top = heads.heads[host][head];
        const std::int32_t role = tree.add_data(top, root, kHeadLane);
        for (const RankId rank : heads.ranks[host]) {
          if (rank != top) {
            tree.add_data(rank, role, kDataLane);
          }
        }
      }
      result.push_back(tree.take());
    }
    return result;
  };
  RoleTreeOptions tree_options = role_options(options, partition, Flow::kUpAndDown);
  tree_options.first_role.resize(static_cast<std::size_t>(shape.ranks));
  for (const std::vector<RankId>& ranks : heads.ranks) {
    for (std::size_t local = 0; local < ranks.size(); ++local) {
      tree_options.first_role[ranks[local].index()] = local;
    }
  }
  add_role_lanes(&schedule, plans_of(partition, options.channels, trees), tree_options);
  return schedule;
}

Schedule collnet_chain_all_reduce(const Shape& shape, const Options& options) {
  const auto channels = static_cast<std::int32_t>(shape.rings.size());
  const Partition partition(Collective::kAllReduce, shape, options, channels);
  Schedule schedule =
      empty_schedule({Collective::kAllReduce, Algorithm::kCollNetChain}, shape, options, channels);
  schedule.switches.push_back({SwitchNode::Kind::kNetwork, -1});
  const auto trees = [&](std::int32_t channel) {
    HeadTree tree(0);
    const std::int32_t root = tree.add_switch(switch_node(schedule, 0), -1);
    for (const RingOrder& chain :
         host_ranks(shape.host_of, shape.rings[static_cast<std::size_t>(channel)])) {
      std::int32_t above = root;
      for (const RankId rank : chain) {
        above = tree.add_data(rank, above, kDataLane);
      }
    }
    return std::vector<RoleTree>{tree.take()};
  };
  add_role_lanes(&schedule, plans_of(partition, channels, trees),
                 role_options(options, partition, Flow::kUpAndDown));
  return schedule;
}

}  // namespace busbw::collectives
