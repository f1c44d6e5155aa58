// What is near what: the rules that the environment sets, GPUs that reach one another, the CPU and
// the NICs next to a GPU. Source: NCCL 2.18 to 2.30.7, src/graph/paths.cc and topo.cc.
#include <algorithm>

#include "models/nccl/graph/paths.h"

namespace busbw::nccl::graph {
namespace {

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

/// The lowest bits of `value` below the power of two `size`, in reverse order.
int mirrored(int value, int size) {
  int result = 0;
  for (int low = 1, high = size / 2; low < size; low *= 2, high /= 2) {
    if ((value & low) != 0)
      result |= high;
  }
  return result;
}

}  // namespace

PathRules path_rules(const Environment& environment, const Switches& switches) {
  PathRules rules;
  rules.nvb = numeric(environment, "NCCL_NVB_DISABLE", 0) == 0;
  rules.pxn = numeric(environment, "NCCL_PXN_DISABLE", 0) != 1;
  rules.pxn_c2c =
      numeric(environment, "NCCL_PXN_C2C", switches.version >= Version{2, 28, 3} ? 1 : 0) != 0;
  rules.gdr_c2c =
      numeric(environment, "NCCL_NET_GDR_C2C", switches.version >= Version{2, 27, 3} ? 1 : 0) != 0;
  rules.shm = numeric(environment, "NCCL_SHM_DISABLE", 0) != 1;
  rules.net_intra = numeric(environment, "NCCL_NET_DISABLE_INTRA", 0) != 1;
  rules.gdr_read = numeric(environment, "NCCL_NET_GDR_READ", -2);
  rules.gdr_level = level(environment, "NCCL_NET_GDR_LEVEL", switches);
  if (numeric(environment, "NCCL_P2P_DISABLE", 0) == 1) {
    rules.p2p_level = PathType::kLoc;
  } else {
    rules.p2p_level = level(environment, "NCCL_P2P_LEVEL", switches);
  }
  rules.netdevs_policy = text(environment, "NCCL_NETDEVS_POLICY").value_or("AUTO");
  return rules;
}

std::vector<std::vector<int>> domains(const System& system) {
  const int gpus = system.count(NodeType::kGpu);
  std::vector<int> label(at(gpus));
  for (int gpu = 0; gpu < gpus; gpu++) {
    label[at(gpu)] = gpu;
    for (int earlier = 0; earlier < gpu; earlier++) {
      if (system.path(NodeType::kGpu, gpu, NodeType::kGpu, earlier).type < PathType::kNet)
        label[at(gpu)] = std::min(label[at(gpu)], label[at(earlier)]);
    }
  }
  std::vector<std::vector<int>> result;
  for (int first = 0; first < gpus; first++) {
    std::vector<int> members;
    for (int gpu = 0; gpu < gpus; gpu++) {
      if (label[at(gpu)] == first)
        members.push_back(gpu);
    }
    if (!members.empty())
      result.push_back(std::move(members));
  }
  return result;
}

void keep_gpus(System& system, const std::vector<int>& keep) {
  std::vector<int>& gpus = system.by_type[at(static_cast<int>(NodeType::kGpu))];
  std::vector<int> rest;
  std::vector<bool> gone(system.nodes.size(), false);
  for (std::size_t i = 0; i < gpus.size(); i++) {
    if (std::find(keep.begin(), keep.end(), static_cast<int>(i)) != keep.end()) {
      rest.push_back(gpus[i]);
    } else {
      gone[at(gpus[i])] = true;
    }
  }
  gpus = std::move(rest);
  for (Node& node : system.nodes) {
    node.links.erase(std::remove_if(node.links.begin(), node.links.end(),
                                    [&](int l) {
                                      const Link& link = system.links[at(l)];
                                      return gone[at(link.to)] || gone[at(link.from)];
                                    }),
                     node.links.end());
  }
}

std::vector<int> local_nodes(const System& system, NodeType type, int index, NodeType result) {
  float best = 0;
  PathType nearest = PathType::kDis;
  std::vector<int> found;
  for (int i = 0; i < system.count(result); i++) {
    const Path& path = system.path(type, index, result, i);
    if (path.bandwidth > best || (path.bandwidth == best && path.type < nearest)) {
      best = path.bandwidth;
      nearest = path.type;
      found.clear();
    }
    if (path.bandwidth == best && path.type == nearest)
      found.push_back(i);
  }
  return found;
}

int local_cpu(const System& system, int gpu) {
  std::vector<int> cpus;
  if (system.switches.local_cpu_by_bandwidth) {
    cpus = local_nodes(system, NodeType::kGpu, gpu, NodeType::kCpu);
  } else {
    for (int cpu = 0; cpu < system.count(NodeType::kCpu); cpu++)
      cpus.push_back(cpu);
  }
  int best = -1;
  std::size_t hops = 0;
  for (const int cpu : cpus) {
    const Path& path = system.path(NodeType::kGpu, gpu, NodeType::kCpu, cpu);
    if (path.bandwidth == 0)
      continue;
    if (best < 0 || path.hops.size() < hops) {
      best = cpu;
      hops = path.hops.size();
    }
  }
  return best;
}

int local_net(const System& system, int gpu, int channel, const PathRules& rules) {
  const std::vector<int> nets = local_nodes(system, NodeType::kGpu, gpu, NodeType::kNet);
  if (nets.empty())
    return -1;
  const auto net_count = static_cast<int>(nets.size());
  const auto gpu_count = std::max<int>(
      1,
      static_cast<int>(local_nodes(system, NodeType::kNet, nets.front(), NodeType::kGpu).size()));
  int index = system.node(NodeType::kGpu, gpu).gpu.dev;
  if (system.switches.device_number_modulo)
    index %= gpu_count;
  if ((net_count & (net_count - 1)) == 0)
    index = mirrored(index, net_count);
  int spread = (net_count + gpu_count - 1) / gpu_count;
  if (system.switches.version >= Version{2, 28, 3}) {
    if (rules.netdevs_policy == "ALL")
      spread = net_count;
    if (rules.netdevs_policy.rfind("MAX:", 0) == 0) {
      const auto most = numeric({{"n", rules.netdevs_policy.substr(4)}}, "n", 0);
      if (most > 0)
        spread = static_cast<int>(std::min<long long>(most, net_count));
    }
  }
  index += channel % spread;
  return nets[at(index % net_count)];
}

int sending_net(const System& system, PairQuestion question, const PathRules& rules,
                const Environment& environment) {
  const int own = local_net(system, question.gpu, question.channel, rules);
  const bool pxn = rules.pxn && numeric(environment, "NCCL_P2P_PXN_LEVEL", 2) != 0;
  const bool crosses = numeric(environment, "NCCL_CROSS_NIC", 2) != 0;
  if (own < 0 || (crosses && !pxn))
    return own;
  for (int twin = 0; twin < system.count(NodeType::kGpu); twin++) {
    if (system.node(NodeType::kGpu, twin).gpu.dev != question.peer_dev)
      continue;
    const int net = local_net(system, twin, question.channel, rules);
    const PathType way = system.path(NodeType::kGpu, question.gpu, NodeType::kNet, net).type;
    return !crosses || way <= PathType::kPxn ? net : own;
  }
  return own;
}

std::vector<int> channel_nets(const System& system, int gpu, const PathRules& rules) {
  std::vector<int> nets;
  for (int channel = 0;; channel++) {
    const int net = local_net(system, gpu, channel, rules);
    if (net < 0 || (!nets.empty() && net == nets.front()))
      return nets;
    nets.push_back(net);
  }
}

bool p2p_allowed(const System& system, int from, int to, const PathRules& rules) {
  const PathType type = system.path(NodeType::kGpu, from, NodeType::kGpu, to).type;
  PathType limit = PathType::kPxb;
  if (system.count(NodeType::kCpu) > 0) {
    const Cpu& cpu = system.node(NodeType::kCpu, 0).cpu;
    const bool amd = cpu.arch == CpuArch::kX86 && cpu.vendor == CpuVendor::kAmd;
    if (system.switches.p2p_level_pxb) {
      if (amd && system.count(system.device_type()) <= 2)
        limit = PathType::kSys;
    } else if (amd || cpu.arch == CpuArch::kPower) {
      limit = PathType::kSys;
    }
  }
  return type <= rules.p2p_level.value_or(limit);
}

bool net_faster(const System& system, int from, int to, const PathRules& rules) {
  if (!rules.net_intra)
    return false;
  const float direct = system.path(NodeType::kGpu, from, NodeType::kGpu, to).bandwidth;
  const auto fastest = [&](int gpu) {
    float best = 0;
    for (int net = 0; net < system.count(NodeType::kNet); net++) {
      const Path& path = system.path(NodeType::kGpu, gpu, NodeType::kNet, net);
      if (path.type <= PathType::kPxb)
        best = std::max(best, path.bandwidth);
    }
    return best;
  };
  return fastest(from) > direct && fastest(to) > direct;
}

}  // namespace busbw::nccl::graph
