// The frame of the search: speeds, relaxations, budgets, doubling, second pass. Source: NCCL,
// src/graph/search.cc.
#include "models/nccl/graph/search.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "models/nccl/graph/channel_search.h"
#include "models/nccl/graph/release_tables.h"

namespace busbw::nccl::graph {
namespace {

constexpr int kMostCollNetHeads = 8;
constexpr int kTryBudget = 1 << 14;
constexpr int kSameChannelsBudget = 1 << 8;
constexpr long long kGlobalBudget = 1LL << 19;
constexpr long long kGlobalBudgetOld = 327'680;  // 2.18

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

/// Smallest or largest type among the paths of the GPUs to the nodes of a type.
PathType extreme_type(const System& system, NodeType type, bool largest) {
  PathType result = largest ? PathType::kLoc : PathType::kSys;
  for (int gpu = 0; gpu < system.count(NodeType::kGpu); gpu++) {
    for (int other = 0; other < system.count(type); other++) {
      if (type == NodeType::kGpu && gpu == other)
        continue;
      const PathType found = system.path(NodeType::kGpu, gpu, type, other).type;
      result = largest ? std::max(result, found) : std::min(result, found);
    }
  }
  return result;
}

/// Two groups of GPUs, each joined by NVLink, with something slower between them.
bool split_nvlink(const System& system) {
  const int gpus = system.count(NodeType::kGpu);
  std::vector<int> label(at(gpus));
  for (int gpu = 0; gpu < gpus; gpu++)
    label[at(gpu)] = gpu;
  for (int gpu = 0; gpu < gpus; gpu++) {
    for (int later = gpu + 1; later < gpus; later++) {
      if (system.path(NodeType::kGpu, gpu, NodeType::kGpu, later).type == PathType::kNvl)
        label[at(later)] = label[at(gpu)];
    }
  }
  int groups = 0;
  for (int gpu = 0; gpu < gpus; gpu++) {
    if (std::count(label.begin(), label.end(), gpu) > 1)
      groups++;
  }
  return groups == 2;
}

class GraphSearch {
 public:
  GraphSearch(System& system, const PathRules& rules, const SearchLimits& limits)
      : system_(system), rules_(rules), limits_(limits), search_(system, rules, best_) {}

  Graph run(Pattern pattern) {
    best_.pattern = pattern;
    best_.gpus = system_.count(NodeType::kGpu);
    best_.least_channels = limits_.least_channels;
    best_.most_channels = limits_.most_channels;
    best_.collnet = limits_.collnet;
    set_start(pattern);
    if (pattern == Pattern::kNvls &&
        (system_.count(NodeType::kNvs) == 0 || system_.smallest_sm() < 90)) {
      best_ = Graph{};
      best_.pattern = Pattern::kNvls;
      return std::move(best_);
    }
    adjust_limits();
    tmp_ = best_;
    set_speed_start();
    collect_types();
    first_pass();
    second_pass();
    if (best_.channels == 0 && pattern != Pattern::kNvls && !best_.collnet)
      simple_order();
    return std::move(best_);
  }

 private:
  void set_start(Pattern pattern) {
    const bool crossable = system_.count(NodeType::kNet) > 1 &&
                           (pattern == Pattern::kRing || pattern == Pattern::kBalancedTree ||
                            pattern == Pattern::kSplitTree);
    cross_nic_ = crossable ? limits_.cross_nic : 0;
    best_.cross_nic = cross_nic_ == 1 ? 1 : 0;
    const Switches& switches = system_.switches;
    const bool several = system_.count(NodeType::kGpu) > 1;
    start_intra_ = several ? PathType::kNvl : PathType::kLoc;
    start_inter_ = PathType::kPix;
    limit_intra_ = PathType::kSys;
    limit_inter_ = PathType::kSys;
    if (switches.existing_types) {
      if (several) {
        start_intra_ = extreme_type(system_, NodeType::kGpu, false);
        limit_intra_ = extreme_type(system_, NodeType::kGpu, true);
      }
      if (system_.inter) {
        start_inter_ = extreme_type(system_, NodeType::kNet, false);
        if (!switches.inter_limit_by_age || system_.smallest_sm() >= 90)
          limit_inter_ = extreme_type(system_, NodeType::kNet, true);
      }
    }
    best_.type_intra = start_intra_;
    best_.type_inter = start_inter_;
    tries_same_ = pattern != Pattern::kNvls;
    best_.same_channels = tries_same_;
  }

  void adjust_limits() {
    const int gpus = best_.gpus;
    if (best_.pattern == Pattern::kNvls) {
      best_.most_channels = std::min(best_.most_channels, gpus);
      if (!system_.inter)
        best_.least_channels = best_.most_channels;
    }
    if (best_.pattern == Pattern::kCollNetDirect)
      best_.most_channels = std::min({best_.most_channels, gpus, kMostCollNetHeads});
    if (gpus == 1 && best_.pattern != Pattern::kRing)
      best_.pattern = Pattern::kTree;
    if (system_.switches.split_nvlink && best_.pattern == Pattern::kRing &&
        best_.most_channels >= 2 && best_.least_channels == 1 && split_nvlink(system_))
      best_.least_channels = 2;
  }

  void set_speed_start() {
    speeds_ = search_speeds(system_.smallest_sm(), system_.inter, system_.switches.version);
    const int devices = system_.count(system_.device_type());
    double total = system_.total_bandwidth;
    if (devices > 1 && best_.pattern != Pattern::kRing)
      total = static_cast<float>(total * (devices * 1.0 / (devices - 1)));
    if (devices == 1 && !system_.switches.single_gpu_total && !system_.inter)
      total = 1e30;  // 0 scaled by 1/0
    index_ = 0;
    while (
        index_ + 1 < speeds_.size() &&
        (speeds_[index_] > system_.max_bandwidth ||
         static_cast<double>(speeds_[index_] * static_cast<float>(best_.least_channels)) > total))
      index_++;
    tmp_.bw_intra = tmp_.bw_inter = speeds_[index_];
  }

  /// One try. True when nothing better can come.
  bool try_once() {
    const int budget = tmp_.same_channels ? kSameChannelsBudget : kTryBudget;
    account_ -= budget;
    left_ = search_.run(tmp_, budget);
    return left_ == -1 ||
           static_cast<float>(best_.channels) * best_.bw_inter >= system_.total_bandwidth;
  }

  void first_pass() {
    account_ = system_.switches.second_ring_pass ? kGlobalBudget : kGlobalBudgetOld;
    // Types that do not exist change nothing: such a try repeats an earlier one step by step and
    // finds nothing better. Heads (NVLS, CollNet) and the penalty of old releases compare in ways
    // in which it may, unless the best graph is the same as then.
    const bool ordered = best_.pattern != Pattern::kNvls &&
                         best_.pattern != Pattern::kCollNetDirect &&
                         system_.switches.cross_nic_rules;
    std::map<Settings, Outcome> known;
    do {
      const auto found = known.find(settings());
      if (found != known.end() &&
          (ordered || found->second.improvements == search_.improvements())) {
        left_ = found->second.left;
        account_ -= tmp_.same_channels ? kSameChannelsBudget : kTryBudget;
        continue;
      }
      if (try_once())
        return;
      if (search_.links_kept())
        known[settings()] = {left_, search_.improvements()};
    } while (relax());
  }
  struct Outcome {
    int left = 0;
    int improvements = 0;  // of the best graph until then
  };

  /// Everything a try depends on in the first pass, types as the largest that exists.
  using Settings = std::tuple<Pattern, bool, PathType, PathType, int, float>;
  [[nodiscard]] Settings settings() const {
    return {tmp_.pattern,
            tmp_.same_channels,
            largest_up_to(intra_types_, tmp_.type_intra),
            largest_up_to(inter_types_, tmp_.type_inter),
            tmp_.cross_nic,
            tmp_.bw_inter};
  }
  static PathType largest_up_to(const std::set<PathType>& types, PathType limit) {
    const auto beyond = types.upper_bound(limit);
    return beyond == types.begin() ? PathType::kLoc : *std::prev(beyond);
  }
  void collect_types() {
    for (const int gpu : system_.all(NodeType::kGpu)) {
      for (const NodeType type : {NodeType::kGpu, NodeType::kNvs, NodeType::kNet}) {
        std::set<PathType>& types = type == NodeType::kNet ? inter_types_ : intra_types_;
        for (const int other : system_.all(type)) {
          types.insert(system_.path(gpu, other).type);
          types.insert(system_.path(other, gpu).type);
        }
      }
    }
  }

  [[nodiscard]] bool amd_cpu() const {
    if (system_.count(NodeType::kCpu) == 0)
      return false;
    const Cpu& cpu = system_.node(NodeType::kCpu, 0).cpu;
    return cpu.arch == CpuArch::kX86 && cpu.vendor == CpuVendor::kAmd;
  }

  /// Loosens the next condition; false when all are exhausted.
  bool relax() {
    const Switches& switches = system_.switches;
    const bool none = best_.channels == 0;
    const bool amd_far =
        switches.second_ring_pass && amd_cpu() && tmp_.type_intra == PathType::kSys;
    if (tmp_.same_channels && !amd_far) {
      tmp_.same_channels = false;
      return true;
    }
    tmp_.same_channels = tries_same_;
    account_ += left_;
    if (account_ < 0 && !none)
      return false;
    if (system_.smallest_sm() >= 90 && tmp_.pattern == Pattern::kBalancedTree) {
      tmp_.pattern = Pattern::kTree;
      return true;
    }
    tmp_.pattern = best_.pattern;
    if (relax_types(none))
      return true;
    if (cross_nic_ == 2 && tmp_.cross_nic == 0 &&
        (!switches.cross_nic_pairs || best_.pattern == Pattern::kRing ||
         best_.pattern == Pattern::kBalancedTree)) {
      tmp_.cross_nic = switches.cross_nic_pairs ? 2 : 1;
      return true;
    }
    tmp_.cross_nic = cross_nic_ == 1 ? 1 : 0;
    if (index_ + 1 < speeds_.size() &&
        (none || static_cast<double>(speeds_[index_ + 1] / best_.bw_inter) > .49)) {
      index_++;
      tmp_.bw_intra = tmp_.bw_inter = speeds_[index_];
      return true;
    }
    return false;
  }

  bool relax_types(bool none) {
    const PathType limit_intra = system_.inter ? tmp_.type_inter : limit_intra_;
    if (tmp_.type_intra < limit_intra && (none || tmp_.type_intra < best_.type_intra)) {
      tmp_.type_intra = next(tmp_.type_intra, system_.switches);
      if (tmp_.type_intra < PathType::kDis)
        return true;
    }
    tmp_.type_intra = start_intra_;
    if (system_.inter && tmp_.type_inter < limit_inter_ &&
        (none || tmp_.type_inter < best_.type_inter || tmp_.type_inter < PathType::kPxn)) {
      tmp_.type_inter = next(tmp_.type_inter, system_.switches);
      if (tmp_.type_inter < PathType::kDis)
        return true;
    }
    tmp_.type_inter = start_inter_;
    return false;
  }

  /// Twice the channels at half the speed.
  void double_channels() {
    if (best_.channels == 0 || best_.pattern == Pattern::kNvls || best_.bw_intra < 25.0F)
      return;
    if (system_.smallest_sm() > 80 && best_.bw_intra < 50.0F && best_.channels > 4)
      return;
    const int doubled = std::min(best_.channels * 2, best_.most_channels);
    const int old = best_.channels;
    for (int channel = old; channel < doubled; channel++) {
      for (int i = 0; i < best_.gpus; i++)
        best_.order[at(channel * best_.gpus + i)] = best_.rank(channel - old, i);
      best_.nets[at(channel * 2)] = best_.net(channel - old, 0);
      best_.nets[at(channel * 2 + 1)] = best_.net(channel - old, 1);
    }
    const int copies = (doubled + old - 1) / old;
    const auto share = static_cast<float>(copies);
    best_.bw_intra /= share;
    best_.bw_inter /= share;
    best_.channels = doubled;
  }

  void second_pass() {
    const Switches& switches = system_.switches;
    if (switches.second_ring_pass)
      double_channels();
    tmp_ = best_;
    index_ = 0;
    while (index_ + 1 < speeds_.size() && speeds_[index_] > best_.bw_inter)
      index_++;
    tmp_.bw_intra = tmp_.bw_inter = speeds_[index_];
    tmp_.least_channels = best_.channels;
    left_ = -1;
    while (left_ != 0 && index_ > 0 && raise())
      try_once();
    if (!switches.second_ring_pass)
      double_channels();
  }

  bool raise() {
    if (best_.pattern == Pattern::kRing) {
      if (!system_.switches.second_ring_pass)
        return false;
      tmp_.bw_intra = tmp_.bw_inter = speeds_[--index_];
      return true;
    }
    if (best_.pattern == Pattern::kNvls) {
      if (tmp_.bw_inter == best_.bw_inter && tmp_.bw_inter < tmp_.bw_intra * 2) {
        tmp_.least_channels = tmp_.most_channels = best_.channels;
        tmp_.bw_inter = speeds_[--index_];
        return true;
      }
    }
    if (tmp_.bw_intra == best_.bw_intra && tmp_.bw_intra < tmp_.bw_inter * 2) {
      tmp_.bw_intra = speeds_[--index_];
      return true;
    }
    return false;
  }

  /// Nothing fits: one channel through the GPUs in index order.
  void simple_order() {
    best_.order.assign(at(best_.gpus), 0);
    for (int gpu = 0; gpu < best_.gpus; gpu++)
      best_.order[at(gpu)] = system_.node(NodeType::kGpu, gpu).gpu.rank;
    best_.nets = {-1, -1};
    best_.bw_intra = best_.bw_inter = 0.1F;
    best_.type_intra = best_.type_inter = PathType::kSys;
    best_.channels = 1;
    if (!system_.inter) {
      if (system_.switches.fallback_own_nics) {
        best_.bw_inter = 0;
        best_.type_inter = PathType::kDis;
      }
      return;
    }
    const int first = system_.switches.fallback_own_nics ? local_net(system_, 0, 0, rules_) : 0;
    const int last =
        system_.switches.fallback_own_nics ? local_net(system_, best_.gpus - 1, 0, rules_) : 0;
    best_.nets = {first < 0 ? -1 : system_.node_of(NodeType::kNet, first),
                  last < 0 ? -1 : system_.node_of(NodeType::kNet, last)};
  }

  System& system_;
  const PathRules& rules_;
  const SearchLimits& limits_;
  Graph best_;
  Graph tmp_;
  ChannelSearch search_;
  long long cross_nic_ = 0;
  PathType start_intra_ = PathType::kLoc;
  PathType start_inter_ = PathType::kPix;
  PathType limit_intra_ = PathType::kSys;
  PathType limit_inter_ = PathType::kSys;
  bool tries_same_ = true;
  std::set<PathType> intra_types_;
  std::set<PathType> inter_types_;
  std::vector<float> speeds_;
  std::size_t index_ = 0;
  long long account_ = 0;
  int left_ = 0;
};

}  // namespace

const char* to_string(Pattern pattern) {
  switch (pattern) {
    case Pattern::kBalancedTree:
      return "BALANCED_TREE";
    case Pattern::kSplitTree:
      return "SPLIT_TREE";
    case Pattern::kTree:
      return "TREE";
    case Pattern::kNvls:
      return "NVLS";
    case Pattern::kCollNetDirect:
      return "COLLNET_DIRECT";
    default:
      return "RING";
  }
}

std::vector<int> net_list(const System& system, PathType limit, int gpu, const PathRules& rules) {
  std::vector<int> nets;
  std::vector<bool> listed(at(system.count(NodeType::kNet)), false);
  const auto add = [&](int net) {
    if (!listed[at(net)]) {
      listed[at(net)] = true;
      nets.push_back(net);
    }
  };
  const int first = gpu < 0 ? 0 : gpu;
  const int last = gpu < 0 ? system.count(NodeType::kGpu) : gpu + 1;
  std::vector<std::vector<int>> own;
  for (int g = first; g < last; g++)
    own.push_back(channel_nets(system, g, rules));
  const bool several_hosts = system.node(NodeType::kGpu, 0).host !=
                             system.nodes[at(system.all(NodeType::kGpu).back())].host;
  if (system.switches.interleave_nets && several_hosts) {
    for (std::size_t channel = 0; channel < at(system.count(NodeType::kNet)); channel++) {
      for (const std::vector<int>& list : own) {
        if (channel < list.size())
          add(list[channel]);
      }
    }
  } else {
    for (const std::vector<int>& list : own) {
      for (const int net : list)
        add(net);
    }
  }
  for (PathType type = PathType::kLoc; type <= limit;
       type = static_cast<PathType>(static_cast<int>(type) + 1)) {
    for (int g = first; g < last; g++) {
      for (int net = 0; net < system.count(NodeType::kNet); net++) {
        if (system.path(NodeType::kGpu, g, NodeType::kNet, net).type == type)
          add(net);
      }
    }
  }
  return nets;
}

Graph search_graph(System& system, Pattern pattern, const SearchLimits& limits,
                   const PathRules& rules) {
  return GraphSearch(system, rules, limits).run(pattern);
}

}  // namespace busbw::nccl::graph
