// The fat-tree engine: equal to OpenSM's ftree in hops, load and what it refuses.
//
// Switches get a rank by their distance from the hosts (0: roots) and an index: a tuple of numbers,
// one a rank, given breadth first from the first leaf. Leaves are routed in order of index, the
// hosts of a leaf in order of port; a leaf with fewer hosts than the fullest counts the missing
// ones too, so that the places of a shift stay aligned. For each destination the way down is
// chosen first: from its leaf up over the least loaded group of parallel cables, and from each
// switch on that way all others learn their way up. Switches that the main way misses come next.
// Source: OpenSM 3.3.23 (behaviour, and doc/current-routing.txt); tests hold the two against each
// other. Root and compute-node files, and reverse hops for I/O nodes, are left out.
#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>

#include "topologies/networks/routing.h"

namespace busbw::networks {
namespace {

constexpr std::int32_t kUnranked = std::numeric_limits<std::int32_t>::max();
constexpr std::int32_t kNoHops = std::numeric_limits<std::int32_t>::max();  // not routed yet
constexpr std::int32_t kHighestRank = 8;                                    // of OpenSM's index

using Index = std::array<std::uint8_t, 9>;  // [0]: rank; the rest: numbers, 0xff beyond the last

/// Ways counted so far: `up` where lower switches go up by it, `down` where it leads down to here.
struct Load {
  std::uint32_t up = 0;
  std::uint32_t down = 0;
};

struct GroupPort {
  std::int32_t port = 0;
  std::int32_t there = 0;  // port of the other switch
  Load load;
};

/// The parallel cables from one switch to another.
struct Group {
  std::size_t from = 0;
  std::size_t to = 0;
  std::vector<GroupPort> ports;
  Load load;

  GroupPort& least(std::uint32_t Load::*way) {
    return *std::min_element(ports.begin(), ports.end(), [way](const auto& a, const auto& b) {
      return a.load.*way < b.load.*way;
    });
  }
};

struct Node {
  std::int32_t rank = kUnranked;
  std::uint64_t order = 0;  // place in the order of GUIDs
  Index index{};
  bool indexed = false;
  std::vector<EndpointId> hosts;  // in order of port
  std::vector<Group> down;
  std::vector<Group> same;
  std::vector<Group> up;
  bool changed = false;  // loads of `down` since they were sorted
};

class Tree {
 public:
  Tree(const Subnet& subnet, const PortMap& map) : subnet_(subnet), map_(map) {}

  /// Empty when the subnet is a pure fat tree, else what is in the way.
  std::string build();
  Lfts route();

 private:
  void rank_switches();
  void group_ports();
  void index_switches();
  void index_neighbours(std::vector<Group>& groups, std::size_t at, bool down,
                        std::vector<std::size_t>& queue);
  [[nodiscard]] std::string validate() const;
  [[nodiscard]] std::string compare(const Node& node, const Node& first) const;
  [[nodiscard]] std::vector<std::size_t> leaves_in_order() const;
  [[nodiscard]] std::size_t most_hosts(const std::vector<std::size_t>& leaves) const;

  void start(std::size_t at, std::int32_t port, std::int32_t hops);
  void store(Lid lid);
  bool spread_down(std::size_t at, std::optional<std::size_t> came, bool real, std::int32_t hops);
  bool climb(std::size_t at, std::optional<std::size_t> came, bool real, bool main,
             std::int32_t hops);
  bool climb_main(std::size_t at, bool real, std::int32_t hops);
  bool climb_others(std::size_t at, bool main, std::int32_t hops);
  [[nodiscard]] bool is_shorter(const Group& group, std::int32_t hops) const {
    return hops + 1 < hops_[group.to];
  }
  void learn(const Group& group, const GroupPort& port, std::int32_t hops);
  void sort_by_load_down(std::vector<Group>& groups);

  const Subnet& subnet_;
  const PortMap& map_;
  std::vector<Node> nodes_;
  std::vector<std::size_t> order_;  // of GUIDs
  std::set<Index> taken_;
  std::int32_t leaf_rank_ = 0;
  std::vector<std::size_t> leaves_;  // in order of index
  // Of the LID that is being routed:
  std::vector<std::int32_t> hops_;     // [switch]
  std::vector<std::uint8_t> ports_;    // [switch]
  std::int32_t leaf_bound_ = kNoHops;  // no leaf is further away
  Lfts lfts_;
};

void Tree::rank_switches() {
  std::vector<std::size_t> queue;
  for (const std::size_t at : order_) {
    if (!nodes_[at].hosts.empty()) {
      nodes_[at].rank = 0;
      queue.push_back(at);
    }
  }
  for (std::size_t head = 0; head < queue.size(); head++) {
    for (const Neighbour& neighbour : map_.of(SwitchId(static_cast<std::int32_t>(queue[head])))) {
      const auto next = static_cast<std::size_t>(neighbour.there.node);
      if (neighbour.there.at_switch && nodes_[next].rank == kUnranked) {
        nodes_[next].rank = nodes_[queue[head]].rank + 1;
        queue.push_back(next);
      }
    }
  }
  leaf_rank_ = queue.empty() ? 0 : nodes_[queue.back()].rank;
  for (Node& node : nodes_) {
    node.rank = node.rank == kUnranked ? kUnranked : leaf_rank_ - node.rank;
  }
}

void Tree::group_ports() {
  for (std::size_t at = 0; at < nodes_.size(); at++) {
    Node& node = nodes_[at];
    for (const Neighbour& neighbour : map_.of(SwitchId(static_cast<std::int32_t>(at)))) {
      if (!neighbour.there.at_switch) {
        continue;
      }
      const auto to = static_cast<std::size_t>(neighbour.there.node);
      std::vector<Group>& groups = nodes_[to].rank < node.rank   ? node.up
                                   : nodes_[to].rank > node.rank ? node.down
                                                                 : node.same;
      auto group = std::find_if(groups.begin(), groups.end(),
                                [&](const Group& known) { return known.to == to; });
      if (group == groups.end()) {
        group = groups.insert(groups.end(), Group{at, to, {}, {}});
      }
      group->ports.push_back({neighbour.port, neighbour.there.port, {}});
    }
  }
}

void Tree::index_neighbours(std::vector<Group>& groups, std::size_t at, bool down,
                            std::vector<std::size_t>& queue) {
  for (const Group& group : groups) {
    Node& other = nodes_[group.to];
    if (other.indexed) {
      continue;
    }
    Index index = nodes_[at].index;
    const std::size_t place = down ? static_cast<std::size_t>(index[0]) + 1 : index[0];
    index[0] = static_cast<std::uint8_t>(down ? index[0] + 1 : index[0] - 1);
    for (index[place] = 0; index[place] < 0xff && taken_.count(index) > 0;) {
      index[place]++;
    }
    taken_.insert(index);
    other.index = index;
    other.indexed = true;
    queue.push_back(group.to);
  }
  std::stable_sort(groups.begin(), groups.end(), [&](const Group& a, const Group& b) {
    return nodes_[a.to].index < nodes_[b.to].index;
  });
}

void Tree::index_switches() {
  const auto first = std::find_if(order_.begin(), order_.end(),
                                  [&](std::size_t at) { return !nodes_[at].hosts.empty(); });
  Node& start = nodes_[*first];
  start.index.fill(0xff);
  start.index[0] = static_cast<std::uint8_t>(start.rank);
  std::fill_n(start.index.begin() + 1, start.rank, std::uint8_t{0});
  start.indexed = true;
  taken_.insert(start.index);
  std::vector<std::size_t> queue{*first};
  for (std::size_t head = 0; head < queue.size(); head++) {
    const std::size_t at = queue[head];
    if (nodes_[at].rank < leaf_rank_) {
      index_neighbours(nodes_[at].down, at, true, queue);
    }
    if (nodes_[at].rank != 0) {
      index_neighbours(nodes_[at].up, at, false, queue);
    }
  }
}

std::string Tree::compare(const Node& node, const Node& first) const {
  const auto name = [&](const Node& which) {
    return subnet_.switches[static_cast<std::size_t>(&which - nodes_.data())].name;
  };
  if (node.up.size() != first.up.size()) {
    return fmt::format("'{}' has cables up to {} switches, '{}' to {}", name(first),
                       first.up.size(), name(node), node.up.size());
  }
  const bool leaf = node.rank == leaf_rank_;
  if (!leaf && node.down.size() != first.down.size()) {
    return fmt::format("'{}' has cables down to {} switches, '{}' to {}", name(first),
                       first.down.size(), name(node), node.down.size());
  }
  for (const Group& group : node.up) {
    if (group.ports.size() != first.up.front().ports.size()) {
      return fmt::format("'{}' has {} parallel cables up, '{}' has {} to one switch", name(first),
                         first.up.front().ports.size(), name(node), group.ports.size());
    }
  }
  if (!leaf && !node.down.empty() &&
      node.down.front().ports.size() != first.down.front().ports.size()) {
    return fmt::format("'{}' has {} parallel cables down, '{}' has {}", name(first),
                       first.down.front().ports.size(), name(node), node.down.front().ports.size());
  }
  return "";
}

std::string Tree::validate() const {
  std::map<std::int32_t, const Node*> first;  // of each rank, in order of GUIDs
  for (const std::size_t at : order_) {
    const auto [reference, fresh] = first.try_emplace(nodes_[at].rank, &nodes_[at]);
    if (!fresh) {
      std::string problem = compare(nodes_[at], *reference->second);
      if (!problem.empty()) {
        return problem;
      }
    }
  }
  return "";
}

std::string Tree::build() {
  if (subnet_.lmc > 0) {
    return "several LIDs a port (LMC above 0) are not for fat-tree routing";
  }
  if (subnet_.switches.size() < 2) {
    return "fewer than two switches are no fat tree";
  }
  nodes_.resize(subnet_.switches.size());
  std::size_t hosts = 0;
  for (const SwitchId at : switch_order(subnet_)) {
    nodes_[at.index()].order = order_.size();
    nodes_[at.index()].hosts = map_.endpoints_on(at);
    hosts += nodes_[at.index()].hosts.size();
    order_.push_back(at.index());
  }
  if (hosts < 2) {
    return "fewer than two hosts are no fat tree";
  }
  rank_switches();
  for (std::size_t at = 0; at < nodes_.size(); at++) {
    if (nodes_[at].rank == kUnranked) {
      return fmt::format("'{}' has no way to any host", subnet_.switches[at].name);
    }
  }
  if (leaf_rank_ + 1 < 2 || leaf_rank_ + 1 > kHighestRank) {
    return fmt::format("the tree has {} ranks; allowed: 2 to {}", leaf_rank_ + 1, kHighestRank);
  }
  group_ports();
  index_switches();
  return validate();
}

std::vector<std::size_t> Tree::leaves_in_order() const {
  std::vector<std::size_t> leaves;
  for (const std::size_t at : order_) {
    if (nodes_[at].rank == leaf_rank_) {
      leaves.push_back(at);
    }
  }
  std::stable_sort(leaves.begin(), leaves.end(),
                   [&](std::size_t a, std::size_t b) { return nodes_[a].index < nodes_[b].index; });
  return leaves;
}

std::size_t Tree::most_hosts(const std::vector<std::size_t>& leaves) const {
  std::map<std::uint64_t, std::size_t> ports;  // of an HCA
  for (std::size_t i = 0; i < subnet_.endpoints.size(); i++) {
    if (map_.of(EndpointId(static_cast<std::int32_t>(i)))) {
      ports[subnet_.endpoints[i].node_guid]++;
    }
  }
  std::size_t most = 0;
  for (const std::size_t leaf : leaves) {
    std::size_t count = 0;
    for (const EndpointId host : nodes_[leaf].hosts) {
      count += ports[subnet_.at(host).node_guid];  // OpenSM counts all ports of the HCA
    }
    most = std::max(most, count);
  }
  return most;
}

void Tree::start(std::size_t at, std::int32_t port, std::int32_t hops) {
  std::fill(hops_.begin(), hops_.end(), kNoHops);
  std::fill(ports_.begin(), ports_.end(), Lfts::kNone);
  hops_[at] = hops;
  ports_[at] = static_cast<std::uint8_t>(port);
  leaf_bound_ = kNoHops;
}

void Tree::store(Lid lid) {
  for (std::size_t at = 0; at < ports_.size(); at++) {
    lfts_.set(SwitchId(static_cast<std::int32_t>(at)), lid, ports_[at]);
  }
}

/// The switch that `group` leads to sends the LID back over `port`.
void Tree::learn(const Group& group, const GroupPort& port, std::int32_t hops) {
  ports_[group.to] = static_cast<std::uint8_t>(port.there);
  hops_[group.to] = hops + 1;
}

/// All switches below `at`, but for the one that the way came from, learn to go up to it. Returns
/// whether a host is down there.
bool Tree::spread_down(std::size_t at, std::optional<std::size_t> came, bool real,
                       std::int32_t hops) {
  Node& node = nodes_[at];
  bool found = !node.hosts.empty();
  // Once all leaves are reached, most switches above them have nothing to add.
  if (real && node.rank == leaf_rank_ - 1 && node.same.empty() && hops + 1 >= leaf_bound_) {
    return found;
  }
  const auto by_load = [](const Group& a, const Group& b) { return a.load.up < b.load.up; };
  if (node.changed) {
    std::stable_sort(node.down.begin(), node.down.end(), by_load);
    node.changed = false;
  }
  std::stable_sort(node.same.begin(), node.same.end(), by_load);
  const auto visit = [&](Group& group) {
    if ((came && group.to == *came) || (real && !is_shorter(group, hops))) {
      return;
    }
    GroupPort& port = group.least(&Load::up);
    if (real) {
      learn(group, port, hops);
    }
    if (spread_down(group.to, std::nullopt, real, hops + 1)) {
      found = true;
      port.load.up++;
      group.load.up++;
      node.changed = true;
    }
  };
  for (Group& group : node.down) {
    visit(group);
  }
  if (real && !(node.down.empty() && node.hosts.empty())) {
    for (Group& group : node.same) {
      visit(group);
    }
  }
  return found;
}

/// Less loaded groups first, equals in order of GUID.
void Tree::sort_by_load_down(std::vector<Group>& groups) {
  const auto key = [&](const Group& group) {
    return std::pair(group.load.down, nodes_[group.to].order);
  };
  std::sort(groups.begin(), groups.end(),
            [&](const Group& a, const Group& b) { return key(a) < key(b); });
}

bool Tree::climb_main(std::size_t at, bool real, std::int32_t hops) {
  Group& group = nodes_[at].up.front();
  GroupPort& port = group.least(&Load::down);
  group.load.down++;
  port.load.down++;
  if (!real || !is_shorter(group, hops)) {
    return false;
  }
  learn(group, port, hops);
  const bool found = climb(group.to, at, true, true, hops + 1);
  if (nodes_[at].rank == leaf_rank_) {
    leaf_bound_ = 0;
    for (const std::size_t leaf : leaves_) {
      leaf_bound_ = std::max(leaf_bound_, hops_[leaf]);
    }
  }
  return found;
}

bool Tree::climb_others(std::size_t at, bool main, std::int32_t hops) {
  bool found = false;
  for (std::size_t i = main ? 1 : 0; i < nodes_[at].up.size(); i++) {
    Group& group = nodes_[at].up[i];
    if (is_shorter(group, hops)) {
      learn(group, group.least(&Load::down), hops);
      found = climb(group.to, at, true, false, hops + 1) || found;
    }
  }
  sort_by_load_down(nodes_[at].same);
  for (std::size_t i = 0; i < nodes_[at].same.size(); i++) {
    Group& group = nodes_[at].same[i];
    if (!is_shorter(group, hops)) {
      continue;
    }
    GroupPort& port = group.least(&Load::down);
    learn(group, port, hops);
    if (climb(group.to, at, true, false, hops + 1)) {
      found = true;
      nodes_[at].up.front().load.down++;
      port.load.down++;
    }
  }
  return found;
}

/// Routes a destination that lies at or below `at`: what else is below learns the way up to here,
/// then what is above learns the way down. `real`: not a place without a host. `main`: counts.
bool Tree::climb(std::size_t at, std::optional<std::size_t> came, bool real, bool main,
                 std::int32_t hops) {
  bool found = spread_down(at, came, real, hops);
  if (nodes_[at].rank == 0 || nodes_[at].up.empty()) {
    return found;
  }
  sort_by_load_down(nodes_[at].up);
  if (main) {
    found = climb_main(at, real, hops) || found;
  }
  return real ? climb_others(at, main, hops) || found : found;
}

Lfts Tree::route() {
  lfts_ = Lfts(nodes_.size(), subnet_.top_lid());
  hops_.resize(nodes_.size());
  ports_.resize(nodes_.size());
  leaves_ = leaves_in_order();
  const std::size_t most = most_hosts(leaves_);
  for (const std::size_t leaf : leaves_) {
    for (const EndpointId host : nodes_[leaf].hosts) {
      start(leaf, map_.of(host)->there.port, 1);
      climb(leaf, std::nullopt, true, true, 1);
      store(subnet_.at(host).lid);
    }
    for (std::size_t place = nodes_[leaf].hosts.size(); place < most; place++) {
      climb(leaf, std::nullopt, false, true, 1);
    }
  }
  for (const std::size_t at : order_) {
    start(at, 0, 0);
    climb(at, std::nullopt, true, false, 0);
    store(subnet_.switches[at].lid);
  }
  return std::move(lfts_);
}

}  // namespace

EngineResult ftree(const Subnet& subnet, const PortMap& map) {
  Tree tree(subnet, map);
  std::string refused = tree.build();
  if (!refused.empty()) {
    return {{}, std::move(refused)};
  }
  return {tree.route(), ""};
}

}  // namespace busbw::networks
