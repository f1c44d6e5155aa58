// Breadth-first search and its corrections. Source: NCCL 2.18 to 2.30.7, src/graph/paths.cc.
#include "models/nccl/graph/paths.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/core/check.h"
#include "sim/core/errors.h"

namespace busbw::nccl::graph {
namespace {

constexpr float kLocal = 5000.0F;
constexpr int kOwnerChannels = 64;

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

/// Breadth-first search from one target over the reversed links.
class PathSearch {
 public:
  PathSearch(System& system, bool nvb) : system_(system), nvb_(nvb) {
    reverse_.resize(system.links.size());
    for (std::size_t l = 0; l < system.links.size(); l++)
      reverse_[l] = system.reverse(static_cast<int>(l));
  }

  void run(int target) {
    target_ = target;
    std::vector<Path>& row = system_.paths[at(system_.target_slot[at(target)])];
    row.assign(system_.nodes.size(), Path{});
    row[at(target)] = Path{PathType::kLoc, kLocal, {}};
    free_passes_ =
        system_.nodes[at(target)].type == NodeType::kGpu && system_.switches.device_nodes ? 2 : 1;
    std::vector<int> now{target};
    while (!now.empty()) {
      std::vector<int> next;
      for (const int node : now)
        expand(row, node, next);
      now = std::move(next);
    }
  }

 private:
  void expand(std::vector<Path>& row, int node, std::vector<int>& next) {
    for (const int l : system_.nodes[at(node)].links) {
      const Link& link = system_.links[at(l)];
      const Path& path = row[at(node)];
      if (!may_pass(node, link, path))
        continue;
      const PathType type = std::max(path.type, step_type(node, link, path));
      const float bandwidth = std::min(path.bandwidth, link.bandwidth);
      Path& other = row[at(link.to)];
      if (!better(other, path, type, bandwidth))
        continue;
      if (reverse_[at(l)] < 0)
        throw InputError({{system_.where, describe(node, link.to)}});
      std::vector<int> hops{reverse_[at(l)]};
      hops.insert(hops.end(), path.hops.begin(), path.hops.end());
      other = Path{type, bandwidth, std::move(hops)};
      if (std::find(next.begin(), next.end(), link.to) == next.end())
        next.push_back(link.to);
    }
  }

  [[nodiscard]] std::string describe(int node, int other) const {
    const Node& here = system_.nodes[at(node)];
    const Node& there = system_.nodes[at(other)];
    return fmt::format("the link from {} {:x} to {} {:x} has none back", to_string(here.type),
                       here.id, to_string(there.type), there.id);
  }

  [[nodiscard]] bool better(const Path& other, const Path& path, PathType type,
                            float bandwidth) const {
    if (!system_.switches.better_path_by_type) {
      return bandwidth > other.bandwidth &&
             (other.bandwidth == 0 || other.hops.size() > path.hops.size());
    }
    if (type != other.type)
      return type < other.type;
    if (bandwidth != other.bandwidth)
      return bandwidth > other.bandwidth;
    return other.hops.size() > path.hops.size() + 1;
  }

  /// A path runs through a GPU only as one hop of NVLink, or at the GPU that is its own end.
  [[nodiscard]] bool may_pass(int node, const Link& link, const Path& path) const {
    const Node& here = system_.nodes[at(node)];
    if (here.type != system_.device_type() || node == target_ ||
        node == system_.nodes[at(target_)].gpu.device)
      return true;
    const Node& there = system_.nodes[at(link.to)];
    if (there.type == NodeType::kGpu && there.gpu.device == node)
      return true;
    return nvb_ && link.kind == LinkKind::kNvl && there.type == system_.device_type() &&
           path.hops.size() <= free_passes_;
  }

  [[nodiscard]] PathType step_type(int node, const Link& link, const Path& path) const {
    const NodeType here = system_.nodes[at(node)].type;
    const NodeType there = system_.nodes[at(link.to)].type;
    PathType type = PathType::kLoc;
    switch (link.kind) {
      case LinkKind::kNvl:
        type = PathType::kNvl;
        break;
      case LinkKind::kC2c:
        type = system_.switches.c2c ? PathType::kC2c : PathType::kNvl;
        break;
      case LinkKind::kPci:
        type = PathType::kPix;
        break;
      case LinkKind::kSys:
        type = PathType::kSys;
        break;
      default:
        break;
    }
    if (here == NodeType::kPci && there == NodeType::kPci)
      type = PathType::kPxb;
    if (link.kind == LinkKind::kPci && (here == NodeType::kCpu || there == NodeType::kCpu))
      type = PathType::kPhb;
    const bool through =
        here == system_.device_type() && path.type == PathType::kNvl && type == PathType::kNvl;
    if (through && (!system_.switches.device_nodes || path.hops.size() == free_passes_))
      type = PathType::kNvb;
    return type;
  }

  System& system_;
  bool nvb_;
  int target_ = 0;
  std::size_t free_passes_ = 1;
  std::vector<int> reverse_;
};

/// The first GPU near the NIC that takes it for some channel, -1: none.
int owner_of(const System& system, int net, const PathRules& rules) {
  std::vector<int> gpus;
  if (system.switches.owner_is_near) {
    gpus = local_nodes(system, NodeType::kNet, net, NodeType::kGpu);
  } else {
    for (int gpu = 0; gpu < system.count(NodeType::kGpu); gpu++)
      gpus.push_back(gpu);
  }
  for (int channel = 0; channel < kOwnerChannels; channel++) {
    for (const int gpu : gpus) {
      if (local_net(system, gpu, channel, rules) == net)
        return gpu;
    }
  }
  return -1;
}

/// Corrections after the search, in NCCL's order.
class Correction {
 public:
  Correction(System& system, const PathRules& rules) : system_(system), rules_(rules) {}

  void run() {
    for (int to = 0; to < system_.count(NodeType::kGpu); to++)
      correct_peers(to);
    if (system_.switches.p2c)
      correct_c2c();
    for (int net = 0; net < system_.count(NodeType::kNet); net++)
      correct_net(net);
  }

 private:
  Path& path(NodeType a, int i, NodeType b, int j) {
    return system_.path(system_.node_of(a, i), system_.node_of(b, j));
  }
  [[nodiscard]] int gpu_node(int gpu) const { return system_.node_of(NodeType::kGpu, gpu); }
  [[nodiscard]] int net_node(int net) const { return system_.node_of(NodeType::kNet, net); }

  /// Replaces the path from a to b by the one over `via`.
  void detour(int via, int a, int b) {
    const Path first = system_.path(a, via);
    const Path second = system_.path(via, b);
    Path whole;
    whole.hops = first.hops;
    whole.hops.insert(whole.hops.end(), second.hops.begin(), second.hops.end());
    whole.type = std::max(first.type, second.type);
    if (system_.switches.p2c && ((first.type == PathType::kC2c && second.type == PathType::kPhb) ||
                                 (first.type == PathType::kPhb && second.type == PathType::kC2c)))
      whole.type = PathType::kP2c;
    if (system_.nodes[at(via)].type == NodeType::kGpu)
      whole.type = PathType::kPxn;
    whole.bandwidth = std::min(first.bandwidth, second.bandwidth);
    system_.path(a, b) = std::move(whole);
  }

  void correct_peers(int to) {
    for (int from = 0; from < system_.count(NodeType::kGpu); from++) {
      if (p2p_allowed(system_, from, to, rules_))
        continue;
      const int cpu = local_cpu(system_, to);
      if (cpu >= 0)
        detour(system_.node_of(NodeType::kCpu, cpu), gpu_node(from), gpu_node(to));
    }
    for (int from = 0; from < system_.count(NodeType::kGpu); from++) {
      if (from == to)
        continue;
      const bool by_net = net_faster(system_, from, to, rules_);
      if (p2p_allowed(system_, from, to, rules_) && !by_net)
        continue;
      const bool same_host =
          system_.node(NodeType::kGpu, from).host == system_.node(NodeType::kGpu, to).host;
      if (!same_host || !rules_.shm || by_net) {
        path(NodeType::kGpu, from, NodeType::kGpu, to).type =
            system_.switches.unreachable_is_net ? PathType::kNet : PathType::kDis;
      }
    }
  }

  void correct_c2c() {
    for (int gpu = 0; gpu < system_.count(NodeType::kGpu); gpu++) {
      const int cpu = local_cpu(system_, gpu);
      if (cpu < 0 || path(NodeType::kGpu, gpu, NodeType::kCpu, cpu).type != PathType::kC2c)
        continue;
      std::vector<int> nets;
      if (system_.switches.p2c_local_only) {
        nets = local_nodes(system_, NodeType::kGpu, gpu, NodeType::kNet);
      } else {
        for (int net = 0; net < system_.count(NodeType::kNet); net++)
          nets.push_back(net);
      }
      for (const int net : nets) {
        if (path(NodeType::kNet, net, NodeType::kCpu, cpu).type != PathType::kPhb)
          continue;
        Path& out = path(NodeType::kGpu, gpu, NodeType::kNet, net);
        Path& in = path(NodeType::kNet, net, NodeType::kGpu, gpu);
        out.type = std::min(out.type, PathType::kP2c);
        in.type = std::min(in.type, PathType::kP2c);
      }
    }
  }

  void correct_net(int net) {
    for (int gpu = 0; gpu < system_.count(NodeType::kGpu); gpu++) {
      const int owner = owner_of(system_, net, rules_);  // earlier detours may have moved it
      if (owner >= 0 && owner != gpu && rules_.pxn && relays(owner, gpu, net))
        detour(gpu_node(owner), gpu_node(gpu), net_node(net));
      const Path& way = path(NodeType::kGpu, gpu, NodeType::kNet, net);
      const bool ask = !system_.switches.reroute_below_phb || way.type < PathType::kPhb;
      if (!ask || gdr_allowed(system_, {gpu, net, false}, rules_))
        continue;
      const int cpu = local_cpu(system_, gpu);
      if (cpu < 0)
        continue;
      const int cpu_node = system_.node_of(NodeType::kCpu, cpu);
      detour(cpu_node, net_node(net), gpu_node(gpu));
      detour(cpu_node, gpu_node(gpu), net_node(net));
    }
  }

  /// PXN: the owner relays for `gpu` to `net`.
  bool relays(int owner, int gpu, int net) {
    const PathType nearest =
        system_.switches.p2c && rules_.pxn_c2c ? PathType::kP2c : PathType::kPxb;
    const PathType worse = system_.switches.p2c ? PathType::kPxn : PathType::kPxb;
    const Path& relayed = path(NodeType::kGpu, owner, NodeType::kNet, net);
    const Path& own = path(NodeType::kGpu, gpu, NodeType::kNet, net);
    if (relayed.type > nearest ||
        path(NodeType::kGpu, owner, NodeType::kGpu, gpu).type > PathType::kNvl ||
        system_.node(NodeType::kGpu, owner).host != system_.node(NodeType::kGpu, gpu).host)
      return false;
    if (system_.switches.owner_needs_gdr && !gdr_allowed(system_, {owner, net, true}, rules_))
      return false;
    return relayed.bandwidth > own.bandwidth || own.type > worse;
  }

  System& system_;
  const PathRules& rules_;
};

int set_targets(System& system) {
  int rows = 0;
  system.target_slot.assign(system.nodes.size(), -1);
  for (const NodeType type :
       {NodeType::kGpu, NodeType::kDev, NodeType::kNet, NodeType::kCpu, NodeType::kNvs}) {
    for (const int node : system.all(type))
      system.target_slot[at(node)] = rows++;
  }
  return rows;
}

void set_bandwidths(System& system) {
  const NodeType device = system.device_type();
  system.max_bandwidth = 0;
  system.total_bandwidth = 0;
  if (!system.inter && system.count(NodeType::kGpu) == 1) {
    system.max_bandwidth = kLocal;
    system.total_bandwidth = system.switches.single_gpu_total ? kLocal : 0;
    return;
  }
  const NodeType far = system.inter ? NodeType::kNet : device;
  for (const int node : system.all(device)) {
    for (const int target : system.all(far)) {
      const Path& path = system.path(node, target);
      if (!path.hops.empty())
        system.max_bandwidth = std::max(system.max_bandwidth, path.bandwidth);
    }
    float nvlinks = 0;
    float pcie = 0;
    for (const int l : system.nodes[at(node)].links) {
      const Link& link = system.links[at(l)];
      if (link.kind == LinkKind::kNvl)
        nvlinks += link.bandwidth;
      if (link.kind == LinkKind::kPci)
        pcie = link.bandwidth;
    }
    system.total_bandwidth = std::max({system.total_bandwidth, nvlinks, pcie});
  }
}

}  // namespace

void compute_paths(System& system, const PathRules& rules) {
  system.paths.assign(at(set_targets(system)), {});
  PathSearch search(system, rules.nvb);
  for (std::size_t node = 0; node < system.nodes.size(); node++) {
    if (system.target_slot[node] >= 0)
      search.run(static_cast<int>(node));
  }
  if (system.switches.device_nodes)
    set_bandwidths(system);
  Correction(system, rules).run();
  if (!system.switches.device_nodes)
    set_bandwidths(system);
  system.owner.clear();
  for (int net = 0; net < system.count(NodeType::kNet); net++)
    system.owner.push_back(owner_of(system, net, rules));
}

}  // namespace busbw::nccl::graph
