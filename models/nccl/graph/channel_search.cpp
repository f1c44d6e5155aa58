// The recursion of one try: channels, start NICs, GPUs. Source: NCCL, src/graph/search.cc.
#include "models/nccl/graph/channel_search.h"

#include <algorithm>

namespace busbw::nccl::graph {
namespace {

constexpr int kPciOrderBudget = 1 << 10;
constexpr int kMostWhole = 1 << 30;
constexpr int kAlikeShift = 32;  // keys of GPUs: bandwidth and hops are above, index below

/// PCIe bandwidth (-1 or more) as part of a key, the larger one first.
std::uint64_t pci_key(int whole_bandwidth) {
  return static_cast<std::uint64_t>(kMostWhole - std::max(-1, whole_bandwidth)) << 16;
}

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

}  // namespace

ChannelSearch::ChannelSearch(System& system, const PathRules& rules, Graph& best)
    : system_(system),
      rules_(rules),
      best_(best),
      gpus_(system.count(NodeType::kGpu)),
      words_(at(gpus_ + 63) / 64),
      reservations_(system) {
  for (int gpu = 0; gpu < gpus_; gpu++) {
    const int rank = system.node(NodeType::kGpu, gpu).gpu.rank;
    if (rank >= static_cast<int>(gpu_of_rank_.size()))
      gpu_of_rank_.resize(at(rank) + 1, -1);
    gpu_of_rank_[at(rank)] = gpu;
  }
  candidates_.resize(at(gpus_));
  look_up_facts();
}

int ChannelSearch::run(const Graph& wanted, int budget) {
  now_ = wanted;
  now_.channels = 0;
  now_.order.assign(at(now_.most_channels * gpus_), -1);
  now_.nets.assign(at(now_.most_channels * 2), -1);
  used_.assign(at(now_.most_channels) * words_, 0);
  reservations_.start(wanted);
  int time = budget;
  next_channel(time);
  links_kept_ = reservations_.finish();
  return time;
}

ChannelSearch::Walk ChannelSearch::start_walk(Order order) const {
  Walk walk;
  walk.order = order;
  if (system_.inter) {
    if (now_.pattern == Pattern::kRing) {
      walk.back_to_net = gpus_ - 1;
    } else {
      walk.back_to_net = now_.pattern == Pattern::kSplitTree ? 1 : 0;
    }
  } else if (now_.pattern == Pattern::kRing) {
    walk.back_to_first = gpus_ - 1;
  }
  return walk;
}

void ChannelSearch::next_channel(int& time) {
  if (system_.inter) {
    start_at_nets(time);
  } else {
    start_at_gpus(time);
  }
}

int ChannelSearch::replayed_gpu(int position) const {
  return gpu_of_rank_[at(now_.rank(now_.channels - 1, position))];
}

void ChannelSearch::start_at_gpus(int& time) {
  if (now_.pattern == Pattern::kNvls) {
    enter({-1, now_.channels, 0}, start_walk(Order::kFree), time);
    return;
  }
  if (now_.channels == 0) {
    enter({-1, 0, 0}, start_walk(Order::kPci), time);
  } else {
    enter({-1, replayed_gpu(0), 0}, start_walk(Order::kReplay), time);
  }
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
  for (const int node : card_nets_[at(net)])
    system_.nodes[at(node)].net.bandwidth += change;
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
  enter({reserve_from_net ? reservations_.net(net) : -1, head, 0}, start_walk(Order::kFree), time);
  return true;
}

void ChannelSearch::start_gpus_of(int net, int& time) {
  const int node = reservations_.net(net);
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
  const int node = reservations_.net(net);
  const Nearest& nearest = nearest_gpus(net);
  if (nearest.bandwidth < static_cast<float>(static_cast<int>(now_.bw_inter)))
    return;
  const bool rotate = system_.switches.nvswitch_neighbours;
  // 2.18 prefers GPUs whose PCIe link is not used up, in a first round.
  for (int round = 0; round < (rotate ? 1 : 2); round++) {
    for (int i = 0; i < gpus_; i++) {
      const int gpu = rotate ? (now_.channels + i) % gpus_ : i;
      if (nearest.gpus[at(gpu)] && (rotate || (pci_used_up(gpu) ? 1 : 0) == round))
        enter({node, gpu, 0}, start_walk(Order::kFree), time);
    }
  }
}

void ChannelSearch::enter(const Step& step, const Walk& walk, int& time) {
  const int to = Reservations::gpu(step.gpu);
  if (step.from >= 0 && !(step.looked ? reservations_.take_looked(step.from, to)
                                      : reservations_.take(step.from, to, Share::kWhole)))
    return;
  const std::uint64_t bit = std::uint64_t{1} << (step.gpu % 64);
  std::uint64_t& word = used_[at(now_.channels) * words_ + at(step.gpu) / 64];
  word |= bit;
  visit(step, walk, time);
  word &= ~bit;
  if (step.from >= 0)
    reservations_.give_back(step.from, to, Share::kWhole);
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
  if (step.position == walk.back_to_net) {
    return_to_net(step, walk, time);
  } else if (now_.pattern == Pattern::kNvls) {
    try_nvls(step.gpu, time);
  } else if (now_.pattern == Pattern::kCollNetDirect) {
    try_collnet_direct(step.gpu, time);
  } else if (step.position < gpus_ - 1) {
    next_gpus(step, walk, time);
  } else if (step.position == walk.back_to_first) {
    return_to_first(step, walk, time);
  } else {
    visit({-1, step.gpu, gpus_}, {-1, -1, walk.order}, time);
  }
}

void ChannelSearch::complete(int& time) {
  now_.channels++;
  now_.hops = reservations_.hops();
  if (better()) {
    best_ = now_;
    improvements_++;
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
  const int start_node = now_.net(now_.channels, 0);
  const std::size_t pair = at(net_of_node_[at(start_node)] * system_.count(NodeType::kNet) + net);
  const int node = net_node(net);
  const bool ring = now_.pattern == Pattern::kRing;
  const bool odd = (now_.channels & 1) != 0;
  if ((now_.pattern == Pattern::kTree && node != start_node) || !same_plane_[pair])
    return false;
  if (system_.switches.cross_nic_pairs && ring && now_.cross_nic == 2) {
    if (odd && node != now_.net(now_.channels - 1, 0))
      return false;
  } else {
    if (!system_.switches.cross_nic_pairs && system_.switches.cross_nic_rules && ring && odd &&
        now_.cross_nic != 0 && node != now_.net(now_.channels - 1, 0))
      return false;
    if (now_.cross_nic == 0 && !same_card_[pair])
      return false;
  }
  return now_.pattern != Pattern::kBalancedTree || position == 0 ||
         node == now_.net(now_.channels, 1);
}

void ChannelSearch::return_to_net(const Step& step, const Walk& walk, int& time) {
  const bool balanced = now_.pattern == Pattern::kBalancedTree;
  // A balanced tree puts half of the traffic on each of its first two GPUs.
  const Share share = balanced ? Share::kHalf : Share::kWhole;
  const Walk rest{balanced && step.position == 0 ? 1 : -1, walk.back_to_first, walk.order};
  const int from = Reservations::gpu(step.gpu);
  for (const int net : nets_for(step.gpu)) {
    const int to = reservations_.net(net);
    if (!may_return_to(net, step.position) || !reservations_.take(from, to, share))
      continue;
    now_.nets[at(now_.channels * 2 + 1)] = net_node(net);
    visit(step, rest, time);
    reservations_.give_back(from, to, share);
  }
}

void ChannelSearch::next_gpus(const Step& step, const Walk& walk, int& time) {
  const std::size_t first = stack_.size();
  bool looked = false;
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
    looked = true;
  }
  const std::size_t last = stack_.size();
  for (std::size_t i = first; i < last; i++)
    enter({Reservations::gpu(step.gpu), stack_[i], step.position + 1, looked}, walk, time);
  stack_.resize(first);
}

void ChannelSearch::return_to_first(const Step& step, const Walk& walk, int& time) {
  const int first = gpu_of_rank_[at(now_.rank(now_.channels, 0))];
  const int to = Reservations::gpu(first);
  if (!reservations_.take(Reservations::gpu(step.gpu), to, Share::kWhole))
    return;
  visit({-1, first, step.position + 1}, {walk.back_to_net, -1, walk.order}, time);
  reservations_.give_back(Reservations::gpu(step.gpu), to, Share::kWhole);
}

void ChannelSearch::try_nvls(int head, int& time) {
  const int nvs = reservations_.nvswitch();
  const auto share = [&](int gpu) { return gpu == head ? Share::kDouble : Share::kWhole; };
  int down = 0;
  while (down < gpus_ && reservations_.take(nvs, Reservations::gpu(down), share(down)))
    down++;
  if (down == gpus_) {
    int up = 0;
    while (up < gpus_ && reservations_.take(Reservations::gpu(up), nvs, share(up)))
      up++;
    if (up == gpus_)
      visit({-1, head, gpus_}, {}, time);
    while (up-- > 0)
      reservations_.give_back(Reservations::gpu(up), nvs, share(up));
  }
  while (down-- > 0)
    reservations_.give_back(nvs, Reservations::gpu(down), share(down));
}

/// The head exchanges an equal part of the data with every GPU, itself included.
void ChannelSearch::try_collnet_direct(int head, int& time) {
  const int center = Reservations::gpu(head);
  int out = 0;
  while (out < gpus_ && reservations_.take(center, Reservations::gpu(out), Share::kPart))
    out++;
  if (out == gpus_) {
    int in = 0;
    while (in < gpus_ && reservations_.take(Reservations::gpu(in), center, Share::kPart))
      in++;
    if (in == gpus_) {
      int position = 1;
      for (int gpu = 0; gpu < gpus_; gpu++) {
        if (gpu != head) {
          now_.order[at(now_.channels * gpus_ + position++)] =
              system_.node(NodeType::kGpu, gpu).gpu.rank;
        }
      }
      visit({-1, head, gpus_}, {}, time);
    }
    while (in-- > 0)
      reservations_.give_back(Reservations::gpu(in), center, Share::kPart);
  }
  while (out-- > 0)
    reservations_.give_back(center, Reservations::gpu(out), Share::kPart);
}

void ChannelSearch::push_candidates(const Step& step, int sort_net) {
  const std::uint64_t* keys = &gpu_keys_[at(step.gpu * gpus_)];
  const std::uint64_t* net_keys =
      sort_net == 0 ? nullptr
                    : &net_keys_[at(net_of_node_[at(now_.net(now_.channels, 0))] * gpus_)];
  const std::uint64_t* used = &used_[at(now_.channels) * words_];
  std::size_t count = 0;
  bool alike = true;
  std::uint64_t first_key = 0;
  for (int gpu = 0; gpu < gpus_; gpu++) {
    const std::uint64_t key = keys[gpu];
    if (key == 0 || (used[gpu / 64] >> (gpu % 64) & 1) != 0)
      continue;
    first_key = first_key == 0 ? key : first_key;
    alike = alike && (key ^ first_key) >> kAlikeShift == 0;
    // Those that cannot be entered cost no step, so they need not be tried.
    if (!reservations_.may_take(Reservations::gpu(step.gpu), Reservations::gpu(gpu)))
      continue;
    Candidate candidate{0, key};
    if (net_keys != nullptr)
      candidate.net = net_keys[gpu] + pci_key(whole_pci_bandwidth(gpu));
    // Few candidates, already nearly sorted: each is moved to its place.
    std::size_t place = count++;
    for (; place > 0 && candidate < candidates_[place - 1]; place--)
      candidates_[place] = candidates_[place - 1];
    candidates_[place] = candidate;
  }
  if (sort_net == -1 && alike)
    std::reverse(candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(count));
  for (std::size_t i = 0; i < count; i++)
    stack_.push_back(static_cast<int>(candidates_[i].gpu & 0xffff));
}

/// With an NVSwitch all GPUs are alike, so only the neighbours in index order are tried.
void ChannelSearch::push_neighbours(const Step& step) {
  const auto push = [&](int gpu) {
    if (!used(gpu) && gpu_keys_[at(step.gpu * gpus_ + gpu)] != 0)
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
