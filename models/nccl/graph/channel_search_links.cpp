// What the search looks up once: paths, NICs and GPUs near one another, sort keys.
#include <algorithm>

#include "models/nccl/graph/channel_search.h"
#include "sim/core/check.h"

namespace busbw::nccl::graph {
namespace {

constexpr int kMostKey = 0xffff;  // keys of candidates have 16 bits a part

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

/// Number of each bandwidth among the distinct ones, the largest is 0.
class Ranking {
 public:
  void add(float bandwidth) { distinct_.push_back(whole(bandwidth)); }
  void sort() {
    std::sort(distinct_.rbegin(), distinct_.rend());
    distinct_.erase(std::unique(distinct_.begin(), distinct_.end()), distinct_.end());
    CHECK(distinct_.size() <= kMostKey, "{} bandwidths", distinct_.size());
  }
  [[nodiscard]] std::uint64_t rank(float bandwidth) const {
    return static_cast<std::uint64_t>(
        std::lower_bound(distinct_.begin(), distinct_.end(), whole(bandwidth), std::greater<>()) -
        distinct_.begin());
  }

 private:
  std::vector<int> distinct_;
};

}  // namespace

void ChannelSearch::look_up_facts() {
  for (int gpu = 0; gpu < gpus_; gpu++) {
    PciLinks pci;
    for (const int l : system_.nodes[at(system_.node(NodeType::kGpu, gpu).gpu.device)].links) {
      if (pci.up < 0 && system_.links[at(l)].kind == LinkKind::kPci)
        pci = {l, system_.reverse(l)};
    }
    pci_links_.push_back(pci);
  }
  net_of_node_.assign(system_.nodes.size(), -1);
  for (int net = 0; net < system_.count(NodeType::kNet); net++)
    net_of_node_[at(net_node(net))] = net;
  for (const int a : system_.all(NodeType::kNet)) {
    const Net& start = system_.nodes[at(a)].net;
    std::vector<int> card;
    for (const int b : system_.all(NodeType::kNet)) {
      const Net& end = system_.nodes[at(b)].net;
      const bool same = end.asic == start.asic && end.port == start.port;
      if (same)
        card.push_back(b);
      same_plane_.push_back(end.plane < 0 || start.plane < 0 || end.plane == start.plane);
      same_card_.push_back(end.rail >= 0 && start.rail >= 0 ? end.rail == start.rail : same);
    }
    card_nets_.push_back(std::move(card));
  }
  look_up_keys();
}

void ChannelSearch::look_up_keys() {
  CHECK(gpus_ <= kMostKey, "{} GPUs in a node", gpus_);
  const int nets = system_.count(NodeType::kNet);
  const auto to_gpu = [&](int from, int gpu) -> const Path& {
    const Path& path = system_.path(from, gpu_node(gpu));
    CHECK(path.hops.size() <= kMostKey, "a path of {} hops", path.hops.size());
    return path;
  };
  Ranking pairs;
  Ranking from_nets;
  for (int gpu = 0; gpu < gpus_; gpu++) {
    for (int from = 0; from < gpus_; from++)
      pairs.add(to_gpu(gpu_node(from), gpu).bandwidth);
    for (int net = 0; net < nets; net++)
      from_nets.add(to_gpu(net_node(net), gpu).bandwidth);
  }
  pairs.sort();
  from_nets.sort();
  for (int from = 0; from < gpus_; from++) {
    for (int gpu = 0; gpu < gpus_; gpu++) {
      const Path& path = to_gpu(gpu_node(from), gpu);
      const auto distance = static_cast<std::uint64_t>((gpu - from + gpus_) % gpus_);
      gpu_keys_.push_back(gpu == from || path.hops.empty()
                              ? 0
                              : pairs.rank(path.bandwidth) << 48 |
                                    std::uint64_t{path.hops.size()} << 32 | distance << 16 |
                                    static_cast<std::uint64_t>(gpu));
    }
  }
  for (int net = 0; net < nets; net++) {
    for (int gpu = 0; gpu < gpus_; gpu++) {
      const Path& path = to_gpu(net_node(net), gpu);
      net_keys_.push_back(from_nets.rank(path.bandwidth) << 48 | std::uint64_t{path.hops.size()});
    }
  }
}

const std::vector<int>& ChannelSearch::nets_for(int gpu) {
  const auto types = static_cast<std::size_t>(PathType::kDis) + 1;
  net_lists_.resize(types * at(gpus_ + 1));
  auto& list = net_lists_[static_cast<std::size_t>(now_.type_inter) * at(gpus_ + 1) + at(gpu + 1)];
  if (!list)
    list = net_list(system_, now_.type_inter, gpu, rules_);
  return *list;
}

const std::vector<int>& ChannelSearch::gpus_near(int net) {
  near_gpus_.resize(at(system_.count(NodeType::kNet)));
  auto& list = near_gpus_[at(net)];
  if (!list)
    list = local_nodes(system_, NodeType::kNet, net, NodeType::kGpu);
  return *list;
}

const ChannelSearch::Nearest& ChannelSearch::nearest_gpus(int net) {
  nearest_gpus_.resize(at(system_.count(NodeType::kNet)));
  auto& known = nearest_gpus_[at(net)];
  if (known)
    return *known;
  Nearest nearest;
  std::size_t hops = static_cast<std::size_t>(-1);
  for (int gpu = 0; gpu < gpus_; gpu++) {
    const Path& path = system_.path(net_node(net), gpu_node(gpu));
    if (path.bandwidth > nearest.bandwidth) {
      nearest.bandwidth = path.bandwidth;
      hops = path.hops.size();
    } else if (path.bandwidth == nearest.bandwidth && !path.hops.empty() &&
               path.hops.size() < hops) {
      hops = path.hops.size();
    }
  }
  for (int gpu = 0; gpu < gpus_; gpu++) {
    const Path& path = system_.path(net_node(net), gpu_node(gpu));
    nearest.gpus.push_back(path.bandwidth == nearest.bandwidth && path.hops.size() == hops);
  }
  known = std::move(nearest);
  return *known;
}

int ChannelSearch::whole_pci_bandwidth(int gpu) const {
  const PciLinks& pci = pci_links_[at(gpu)];
  if (pci.up < 0)
    return -1;
  return reservations_.whole_left(pci.up, pci.down < 0 ? pci.up : pci.down);
}

bool ChannelSearch::pci_used_up(int gpu) const {
  const PciLinks& pci = pci_links_[at(gpu)];
  return pci.up < 0 || reservations_.left(pci.up) <= 0 ||
         (pci.down >= 0 && reservations_.left(pci.down) <= 0);
}

}  // namespace busbw::nccl::graph
