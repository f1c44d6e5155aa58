// The recursion of one try: channels, start NICs, GPUs. Source: NCCL, src/graph/search.cc.
#include "models/nccl/graph/channel_search.h"

#include <algorithm>

namespace busbw::nccl::graph {
namespace {

constexpr int kPciOrderBudget = 1 << 10;

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

}  // namespace

ChannelSearch::ChannelSearch(System& system, const PathRules& rules, Graph& best)
    : system_(system), rules_(rules), best_(best), gpus_(system.count(NodeType::kGpu)) {
  used_.assign(at(gpus_), 0);
  for (int gpu = 0; gpu < gpus_; gpu++) {
    const int rank = system.node(NodeType::kGpu, gpu).gpu.rank;
    if (rank >= static_cast<int>(gpu_of_rank_.size()))
      gpu_of_rank_.resize(at(rank) + 1, -1);
    gpu_of_rank_[at(rank)] = gpu;
  }
  look_up_facts();
}

bool ChannelSearch::Score::operator<(const Score& other) const {
  if (net.bandwidth != other.net.bandwidth)
    return net.bandwidth > other.net.bandwidth;
  if (pci_bandwidth != other.pci_bandwidth)
    return pci_bandwidth > other.pci_bandwidth;
  if (net.hops != other.net.hops)
    return net.hops < other.net.hops;
  if (intra.bandwidth != other.intra.bandwidth)
    return intra.bandwidth > other.intra.bandwidth;
  if (intra.hops != other.intra.hops)
    return intra.hops < other.intra.hops;
  return distance < other.distance;
}

int ChannelSearch::run(const Graph& wanted, int budget) {
  now_ = wanted;
  now_.channels = 0;
  now_.order.assign(at(now_.most_channels * gpus_), -1);
  now_.nets.assign(at(now_.most_channels * 2), -1);
  int time = budget;
  next_channel(time);
  return time;
}

ChannelSearch::Walk ChannelSearch::start_walk(Order order) const {
  Walk walk;
  walk.order = order;
  if (system_.inter) {
    if (now_.pattern == Pattern::kRing)
      walk.back_to_net = gpus_ - 1;
    else
      walk.back_to_net = now_.pattern == Pattern::kSplitTree ? 1 : 0;
  } else if (now_.pattern == Pattern::kRing) {
    walk.back_to_first = gpus_ - 1;
  }
  return walk;
}

void ChannelSearch::next_channel(int& time) {
  if (system_.inter)
    start_at_nets(time);
  else
    start_at_gpus(time);
}

int ChannelSearch::replayed_gpu(int position) const {
  return gpu_of_rank_[at(now_.rank(now_.channels - 1, position))];
}

void ChannelSearch::start_at_gpus(int& time) {
  if (now_.pattern == Pattern::kNvls) {
    enter({-1, now_.channels, 0}, start_walk(Order::kFree), time);
    return;
  }
  if (now_.channels == 0)
    enter({-1, 0, 0}, start_walk(Order::kPci), time);
  else
    enter({-1, replayed_gpu(0), 0}, start_walk(Order::kReplay), time);
  if (now_.same_channels && now_.channels > 0)
    return;
  for (int gpu = 0; gpu < gpus_; gpu++)
    enter({-1, gpu, 0}, start_walk(Order::kFree), time);
}

bool ChannelSearch::may_start_at(int net, float speed) const {
  if (system_.node(NodeType::kNet, net).net.bandwidth < speed)
    return false;
  if (now_.pattern != Pattern::kRing || (now_.channels & 1) == 0 ||
      !system_.switches.cross_nic_rules)
    return true;
  const bool crossing =
      system_.switches.cross_nic_pairs ? now_.cross_nic == 2 : now_.cross_nic != 0;
  return !crossing || net_node(net) == now_.net(now_.channels - 1, 1);
}

/// The ports of a card share one budget.
void ChannelSearch::change_budget(int net, float change) {
  const std::uint64_t asic = system_.node(NodeType::kNet, net).net.asic;
  const int port = system_.node(NodeType::kNet, net).net.port;
  for (const int node : system_.all(NodeType::kNet)) {
    Net& other = system_.nodes[at(node)].net;
    if (other.asic == asic && other.port == port)
      other.bandwidth += change;
  }
}

void ChannelSearch::start_at_nets(int& time) {
  const auto speed = static_cast<float>(static_cast<int>(now_.bw_inter));
  const std::vector<int>& nets = nets_for(-1);
  const bool nvls = now_.pattern == Pattern::kNvls;
  const bool heads = nvls || now_.pattern == Pattern::kCollNetDirect;
  const bool first_net_only =
      system_.switches.nvswitch_neighbours && !system_.switches.nvls_unique_heads;
  for (std::size_t i = 0; i < nets.size(); i++) {
    if (nvls && i > 0 && first_net_only)
      return;
    const std::size_t first =
        system_.switches.nvswitch_neighbours ? at(now_.channels) : std::size_t{0};
    const int net = nets[(first + i) % nets.size()];
    if (now_.collnet && !system_.node(NodeType::kNet, net).net.coll)
      continue;
    if (!may_start_at(net, speed))
      continue;
    now_.nets[at(now_.channels * 2)] = net_node(net);
    now_.latency_inter = system_.node(NodeType::kNet, net).net.latency;
    change_budget(net, -speed);
    const bool tried = heads && start_head(net, nets, time);
    if (!heads)
      start_gpus_of(net, time);
    change_budget(net, speed);
    if (tried && system_.switches.nvswitch_neighbours)
      return;
  }
}

bool ChannelSearch::start_head(int net, const std::vector<int>& nets, int& time) {
  if (now_.channels >= static_cast<int>(nets.size()))
    return false;
  const bool reserve_from_net = system_.switches.nvswitch_neighbours;
  const int head = system_.owner[at(reserve_from_net ? net : nets[at(now_.channels)])];
  if (head < 0)
    return false;
  if (system_.switches.nvls_unique_heads) {
    const int rank = system_.node(NodeType::kGpu, head).gpu.rank;
    for (int channel = 0; channel < now_.channels; channel++) {
      if (now_.rank(channel, 0) == rank)
        return false;
    }
  }
  enter({reserve_from_net ? net_node(net) : -1, head, 0}, start_walk(Order::kFree), time);
  return true;
}

void ChannelSearch::start_gpus_of(int net, int& time) {
  const int node = net_node(net);
  const bool owner_first = system_.switches.owner_first;
  if (now_.channels > 0 && (now_.same_channels || !owner_first)) {
    enter({node, replayed_gpu(0), 0}, start_walk(Order::kReplay), time);
    if (now_.same_channels)
      return;
  }
  if (now_.channels == 0 &&
      (system_.count(NodeType::kNvs) == 0 || !system_.switches.nvswitch_neighbours)) {
    int budget = kPciOrderBudget;
    enter({node, 0, 0}, start_walk(Order::kPci), budget);
    if (budget == -1)
      time = -1;
  }
  if (!owner_first) {
    start_near_gpus(net, time);
    return;
  }
  const int owner = system_.owner[at(net)];
  if (owner >= 0)
    enter({node, owner, 0}, start_walk(Order::kFree), time);
  for (const int gpu : gpus_near(net)) {
    if (gpu != owner)
      enter({node, gpu, 0}, start_walk(Order::kFree), time);
  }
}

/// Before 2.27.6: the GPUs with the best bandwidth and, among them, the fewest hops.
void ChannelSearch::start_near_gpus(int net, int& time) {
  const int node = net_node(net);
  float best = 0;
  std::size_t hops = static_cast<std::size_t>(-1);
  for (int gpu = 0; gpu < gpus_; gpu++) {
    const Path& path = system_.path(node, gpu_node(gpu));
    if (path.bandwidth > best) {
      best = path.bandwidth;
      hops = path.hops.size();
    } else if (path.bandwidth == best && !path.hops.empty() && path.hops.size() < hops) {
      hops = path.hops.size();
    }
  }
  if (best < static_cast<float>(static_cast<int>(now_.bw_inter)))
    return;
  const bool rotate = system_.switches.nvswitch_neighbours;
  // 2.18 prefers GPUs whose PCIe link is not used up, in a first round.
  for (int round = 0; round < (rotate ? 1 : 2); round++) {
    for (int i = 0; i < gpus_; i++) {
      const int gpu = rotate ? (now_.channels + i) % gpus_ : i;
      const Path& path = system_.path(node, gpu_node(gpu));
      if (path.bandwidth != best || path.hops.size() != hops)
        continue;
      if (rotate || (pci_bandwidth(gpu) > 0 ? 0 : 1) == round)
        enter({node, gpu, 0}, start_walk(Order::kFree), time);
    }
  }
}

void ChannelSearch::enter(const Step& step, const Walk& walk, int& time) {
  const int node = gpu_node(step.gpu);
  if (step.from >= 0 && !reserve(step.from, node, 1))
    return;
  const std::uint64_t bit = std::uint64_t{1} << now_.channels;
  used_[at(step.gpu)] ^= bit;
  visit(step, walk, time);
  used_[at(step.gpu)] ^= bit;
  if (step.from >= 0)
    release(step.from, node, 1);
}

void ChannelSearch::visit(const Step& step, const Walk& walk, int& time) {
  if (time <= 0)
    return;
  time--;
  if (step.position == gpus_) {
    complete(time);
    return;
  }
  now_.order[at(now_.channels * gpus_ + step.position)] =
      system_.node(NodeType::kGpu, step.gpu).gpu.rank;
  if (step.position == walk.back_to_net)
    return_to_net(step, walk, time);
  else if (now_.pattern == Pattern::kNvls)
    try_nvls(step.gpu, time);
  else if (now_.pattern == Pattern::kCollNetDirect)
    try_collnet_direct(step.gpu, time);
  else if (step.position < gpus_ - 1)
    next_gpus(step, walk, time);
  else if (step.position == walk.back_to_first)
    return_to_first(step, walk, time);
  else
    visit({-1, step.gpu, gpus_}, {-1, -1, walk.order}, time);
}

void ChannelSearch::complete(int& time) {
  now_.channels++;
  if (better()) {
    best_ = now_;
    if (now_.channels == now_.most_channels)
      time = -1;
  }
  if (now_.channels < now_.most_channels)
    next_channel(time);
  now_.channels--;
}

bool ChannelSearch::better() const {
  if (now_.channels < now_.least_channels)
    return false;
  const auto n = static_cast<float>(now_.channels);
  const auto best_n = static_cast<float>(best_.channels);
  if (now_.pattern == Pattern::kNvls) {
    if (now_.channels > best_.channels && now_.channels <= gpus_)
      return true;
    return system_.switches.nvswitch_neighbours && n * now_.bw_inter > best_n * best_.bw_inter;
  }
  const float own = n * now_.bw_intra;
  float target = best_n * best_.bw_intra;
  if (!system_.switches.cross_nic_rules) {
    const auto bonus = static_cast<float>(1.0 - (best_.cross_nic - now_.cross_nic) * .15);
    target *= bonus;
  }
  if (own != target)
    return own > target;
  return now_.pattern == best_.pattern && now_.cross_nic == best_.cross_nic &&
         now_.hops < best_.hops;
}

bool ChannelSearch::may_return_to(int net, int position) const {
  const Net& end = system_.node(NodeType::kNet, net).net;
  const int start_node = now_.net(now_.channels, 0);
  const Net& start = system_.nodes[at(start_node)].net;
  const int node = net_node(net);
  const bool ring = now_.pattern == Pattern::kRing;
  const bool odd = (now_.channels & 1) != 0;
  if (now_.pattern == Pattern::kTree && node != start_node)
    return false;
  if (end.plane >= 0 && start.plane >= 0 && end.plane != start.plane)
    return false;
  const bool same_card = end.rail >= 0 && start.rail >= 0
                             ? end.rail == start.rail
                             : end.asic == start.asic && end.port == start.port;
  if (system_.switches.cross_nic_pairs && ring && now_.cross_nic == 2) {
    if (odd && node != now_.net(now_.channels - 1, 0))
      return false;
  } else {
    if (!system_.switches.cross_nic_pairs && system_.switches.cross_nic_rules && ring && odd &&
        now_.cross_nic != 0 && node != now_.net(now_.channels - 1, 0))
      return false;
    if (now_.cross_nic == 0 && !same_card)
      return false;
  }
  return now_.pattern != Pattern::kBalancedTree || position == 0 ||
         node == now_.net(now_.channels, 1);
}

void ChannelSearch::return_to_net(const Step& step, const Walk& walk, int& time) {
  const float whole = now_.bw_inter;
  const bool balanced = now_.pattern == Pattern::kBalancedTree;
  // A balanced tree puts half of the traffic on each of its first two GPUs.
  const float share = balanced ? whole / 2 : whole;
  const Walk rest{balanced && step.position == 0 ? 1 : -1, walk.back_to_first, walk.order};
  for (const int net : nets_for(step.gpu)) {
    if (!may_return_to(net, step.position))
      continue;
    now_.bw_inter = share;
    const bool fits = reserve(gpu_node(step.gpu), net_node(net), 1);
    now_.bw_inter = whole;
    if (!fits)
      continue;
    now_.nets[at(now_.channels * 2 + 1)] = net_node(net);
    visit(step, rest, time);
    now_.bw_inter = share;
    release(gpu_node(step.gpu), net_node(net), 1);
    now_.bw_inter = whole;
  }
}

void ChannelSearch::next_gpus(const Step& step, const Walk& walk, int& time) {
  const std::size_t first = stack_.size();
  if (walk.order == Order::kPci) {
    stack_.push_back(step.position + 1);
  } else if (walk.order == Order::kReplay) {
    stack_.push_back(replayed_gpu(step.position + 1));
  } else if (system_.count(NodeType::kNvs) > 0 && system_.switches.nvswitch_neighbours) {
    push_neighbours(step);
  } else {
    const int sort_net = walk.back_to_net == -1                  ? 0
                         : walk.back_to_net == step.position + 1 ? 1
                                                                 : -1;
    push_candidates(step, sort_net);
  }
  const std::size_t last = stack_.size();
  for (std::size_t i = first; i < last; i++)
    enter({gpu_node(step.gpu), stack_[i], step.position + 1}, walk, time);
  stack_.resize(first);
}

void ChannelSearch::return_to_first(const Step& step, const Walk& walk, int& time) {
  const int first = gpu_of_rank_[at(now_.rank(now_.channels, 0))];
  if (!reserve(gpu_node(step.gpu), gpu_node(first), 1))
    return;
  visit({-1, first, step.position + 1}, {walk.back_to_net, -1, walk.order}, time);
  release(gpu_node(step.gpu), gpu_node(first), 1);
}

void ChannelSearch::try_nvls(int head, int& time) {
  const int nvs = system_.node_of(NodeType::kNvs, 0);
  const auto share = [&](int gpu) { return gpu == head ? 2.0F : 1.0F; };
  int down = 0;
  while (down < gpus_ && reserve(nvs, gpu_node(down), share(down)))
    down++;
  if (down == gpus_) {
    int up = 0;
    while (up < gpus_ && reserve(gpu_node(up), nvs, share(up)))
      up++;
    if (up == gpus_)
      visit({-1, head, gpus_}, {}, time);
    while (up-- > 0)
      release(gpu_node(up), nvs, share(up));
  }
  while (down-- > 0)
    release(nvs, gpu_node(down), share(down));
}

/// The head exchanges an equal part of the data with every GPU, itself included.
void ChannelSearch::try_collnet_direct(int head, int& time) {
  const float share = 1.0F / static_cast<float>(gpus_ - 1);
  int out = 0;
  while (out < gpus_ && reserve(gpu_node(head), gpu_node(out), share))
    out++;
  if (out == gpus_) {
    int in = 0;
    while (in < gpus_ && reserve(gpu_node(in), gpu_node(head), share))
      in++;
    if (in == gpus_) {
      int position = 1;
      for (int gpu = 0; gpu < gpus_; gpu++) {
        if (gpu != head)
          now_.order[at(now_.channels * gpus_ + position++)] =
              system_.node(NodeType::kGpu, gpu).gpu.rank;
      }
      visit({-1, head, gpus_}, {}, time);
    }
    while (in-- > 0)
      release(gpu_node(in), gpu_node(head), share);
  }
  while (out-- > 0)
    release(gpu_node(head), gpu_node(out), share);
}

void ChannelSearch::push_candidates(const Step& step, int sort_net) {
  const std::uint64_t bit = std::uint64_t{1} << now_.channels;
  scores_.clear();
  bool alike = true;
  for (int i = 1; i < gpus_; i++) {
    const int gpu = (step.gpu + i) % gpus_;
    const PairFacts& pair = gpu_pairs_[at(step.gpu * gpus_ + gpu)];
    if (pair.hops == 0 || (used_[at(gpu)] & bit) != 0)
      continue;
    Score score;
    score.gpu = gpu;
    score.distance = i;
    score.intra = pair;
    if (sort_net != 0) {
      const Path& from_net = system_.path(now_.net(now_.channels, 0), gpu_node(gpu));
      score.net = {static_cast<int>(from_net.hops.size()), static_cast<int>(from_net.bandwidth)};
      score.pci_bandwidth = static_cast<int>(pci_bandwidth(gpu));
    }
    scores_.push_back(score);
    alike = alike && pair.bandwidth == scores_.front().intra.bandwidth &&
            pair.hops == scores_.front().intra.hops;
  }
  std::sort(scores_.begin(), scores_.end());
  if (sort_net == -1 && alike)
    std::reverse(scores_.begin(), scores_.end());
  for (const Score& score : scores_)
    stack_.push_back(score.gpu);
}

/// With an NVSwitch all GPUs are alike, so only the neighbours in index order are tried.
void ChannelSearch::push_neighbours(const Step& step) {
  const std::uint64_t bit = std::uint64_t{1} << now_.channels;
  const auto push = [&](int gpu) {
    if ((used_[at(gpu)] & bit) == 0 && gpu_pairs_[at(step.gpu * gpus_ + gpu)].hops > 0)
      stack_.push_back(gpu);
  };
  const int before = (step.gpu - 1 + gpus_) % gpus_;
  const int after = (step.gpu + 1) % gpus_;
  const bool both = before != after;
  if (both && now_.pattern == Pattern::kRing)
    push(before);
  push(after);
  if (both && (now_.pattern == Pattern::kBalancedTree || now_.pattern == Pattern::kSplitTree))
    push(before);
}

}  // namespace busbw::nccl::graph
