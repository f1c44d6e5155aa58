// The part of the search that looks things up and takes bandwidth from links.
#include <algorithm>
#include <cmath>

#include "models/nccl/graph/channel_search.h"

namespace busbw::nccl::graph {
namespace {

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

bool is_tree(Pattern pattern) {
  return pattern == Pattern::kBalancedTree || pattern == Pattern::kSplitTree ||
         pattern == Pattern::kTree;
}

/// Difference rounded to three decimals, in single precision.
float minus_rounded(float bandwidth, float taken) {
  const double thousandths = static_cast<double>(bandwidth - taken) * 1000.0;
  const double whole = std::trunc(thousandths + (thousandths < 0 ? -0.5 : 0.5));
  return static_cast<float>(whole / 1000.0);
}

}  // namespace

void ChannelSearch::look_up_facts() {
  gpu_of_node_.assign(system_.nodes.size(), -1);
  for (int gpu = 0; gpu < gpus_; gpu++)
    gpu_of_node_[at(gpu_node(gpu))] = gpu;
  for (std::size_t l = 0; l < system_.links.size(); l++) {
    const Link& link = system_.links[l];
    const Node& there = system_.nodes[at(link.to)];
    LinkFacts facts;
    facts.reverse = system_.reverse(static_cast<int>(l));
    facts.pci = link.kind == LinkKind::kPci;
    facts.enters_old_gpu = there.type == system_.device_type() && there.gpu.sm < 80;
    facts.enters_power_cpu = there.type == NodeType::kCpu && there.cpu.arch == CpuArch::kPower &&
                             link.kind == LinkKind::kNvl;
    link_facts_.push_back(facts);
  }
  for (int gpu = 0; gpu < gpus_; gpu++) {
    for (int other = 0; other < gpus_; other++) {
      const Path& path = system_.path(gpu_node(gpu), gpu_node(other));
      gpu_pairs_.push_back({static_cast<int>(path.hops.size()), static_cast<int>(path.bandwidth)});
    }
    PciLinks pci;
    for (const int l : system_.nodes[at(system_.node(NodeType::kGpu, gpu).gpu.device)].links) {
      if (pci.up < 0 && link_facts_[at(l)].pci)
        pci = {l, link_facts_[at(l)].reverse};
    }
    pci_links_.push_back(pci);
  }
  intel_.assign(system_.paths.size() * at(gpus_), false);
  for (std::size_t node = 0; node < system_.nodes.size(); node++) {
    const int slot = system_.target_slot[node];
    for (int gpu = 0; gpu < gpus_ && slot >= 0; gpu++)
      intel_[at(slot * gpus_ + gpu)] = crosses_intel(gpu_node(gpu), static_cast<int>(node));
  }
}

bool ChannelSearch::crosses_intel(int from, int to) const {
  const Path& path = system_.path(from, to);
  if (path.type != PathType::kPhb)
    return false;
  return std::any_of(path.hops.begin(), path.hops.end(), [&](int l) {
    const Node& node = system_.nodes[at(system_.links[at(l)].to)];
    return node.type == NodeType::kCpu && node.cpu.arch == CpuArch::kX86 &&
           node.cpu.vendor == CpuVendor::kIntel;
  });
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

float ChannelSearch::pci_bandwidth(int gpu) const {
  const PciLinks& pci = pci_links_[at(gpu)];
  if (pci.up < 0)
    return -1;
  const float up = system_.links[at(pci.up)].bandwidth;
  return pci.down < 0 ? up : std::min(up, system_.links[at(pci.down)].bandwidth);
}

bool ChannelSearch::reserve(int from, int to, float multiple) {
  const auto inside = [&](int node) {
    const NodeType type = system_.nodes[at(node)].type;
    return type == NodeType::kGpu || type == NodeType::kNvs;
  };
  const bool intra = inside(from) && inside(to);
  const Path& path = system_.path(from, to);
  const PathType limit = intra ? now_.type_intra : now_.type_inter;
  const bool always_free = !system_.switches.nvswitch_neighbours && path.hops.empty();
  if (path.type == PathType::kDis && !always_free)
    return false;
  if (multiple == 1 && !always_free &&
      (path.type > limit || (is_tree(now_.pattern) && system_.path(to, from).type > limit)))
    return false;
  const float bandwidth = (intra ? now_.bw_intra : now_.bw_inter) * multiple;
  const std::size_t taken = take({from, to}, path.hops.size(), bandwidth);
  if (taken < path.hops.size()) {
    take({from, to}, taken, -bandwidth);
    return false;
  }
  count_hops(multiple * static_cast<float>(path.hops.size()));
  return true;
}

void ChannelSearch::count_hops(float more) {
  now_.hops = static_cast<int>(static_cast<float>(now_.hops) + more);
}

void ChannelSearch::release(int from, int to, float multiple) {
  const auto inside = [&](int node) {
    const NodeType type = system_.nodes[at(node)].type;
    return type == NodeType::kGpu || type == NodeType::kNvs;
  };
  const float speed = inside(from) && inside(to) ? now_.bw_intra : now_.bw_inter;
  const Path& path = system_.path(from, to);
  take({from, to}, path.hops.size(), -speed * multiple);
  count_hops(-multiple * static_cast<float>(path.hops.size()));
}

std::size_t ChannelSearch::take(const Ends& ends, std::size_t hops, float bandwidth) {
  const Path& path = system_.path(ends.from, ends.to);
  const int gpu = gpu_of_node_[at(ends.from)];
  float pci = bandwidth;
  // GPU to GPU through an Intel root complex costs more.
  if (gpu >= 0 && intel_[at(system_.target_slot[at(ends.to)] * gpus_ + gpu)])
    pci = bandwidth * 6 / 5;
  for (std::size_t i = 0; i < hops; i++) {
    Link& link = system_.links[at(path.hops[i])];
    const LinkFacts& facts = link_facts_[at(path.hops[i])];
    const float forward = facts.pci ? pci : bandwidth;
    float back = 0;
    if (facts.enters_old_gpu && gpu < 0)
      back += forward / 8;
    if (facts.enters_power_cpu)
      back += forward;
    Link* reverse = back == 0 ? nullptr : &system_.links[at(facts.reverse)];
    if (link.bandwidth < forward || (reverse != nullptr && reverse->bandwidth < back))
      return i;
    link.bandwidth = minus_rounded(link.bandwidth, forward);
    if (reverse != nullptr)
      reverse->bandwidth = minus_rounded(reverse->bandwidth, back);
  }
  return hops;
}

}  // namespace busbw::nccl::graph
