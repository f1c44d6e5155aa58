// Merge over the nodes, numbers of channels, rings and trees. Source: NCCL, src/init.cc and
// src/graph/{connect,rings,trees,paths}.cc.
#include "models/nccl/graph/channels.h"

#include <algorithm>
#include <set>

#include "sim/core/check.h"

namespace busbw::nccl::graph {
namespace {

constexpr float kGrowAbove = 45.0F;   // GB/s per ring channel
constexpr int kP2pChannelSpeed = 14;  // GB/s a p2p channel carries over the network
constexpr long long kUnset = -2;
constexpr long long kMostWanted = 1 << 20;  // ours: larger numbers count as this one

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

int power_of_two_up(int value) {
  int power = 1;
  while (power < value && power < (1 << 30))
    power *= 2;
  return power;
}

int rounded_up(int value, int divisor) {
  return static_cast<int>((static_cast<std::int64_t>(value) + divisor - 1) / divisor);
}

int most_channels(Version version) {
  return version >= Version{2, 25, 1} ? 64 : 32;
}

MergedGraph merged(const std::vector<Group>& groups, const std::vector<NodePlace>& nodes,
                   Graph Group::*which) {
  MergedGraph all;
  bool first = true;
  for (const NodePlace& node : nodes) {
    const Graph& graph = groups[at(node.group)].*which;
    if (first) {
      all = {graph.pattern,    graph.channels,      graph.bw_intra,
             graph.bw_inter,   graph.latency_inter, graph.type_intra,
             graph.type_inter, graph.cross_nic,     graph.same_channels};
      first = false;
      continue;
    }
    all.pattern = std::max(all.pattern, graph.pattern);
    all.channels = std::min(all.channels, graph.channels);
    all.bw_intra = std::min(all.bw_intra, graph.bw_intra);
    all.bw_inter = std::min(all.bw_inter, graph.bw_inter);
    all.type_intra = std::max(all.type_intra, graph.type_intra);
    all.type_inter = std::max(all.type_inter, graph.type_inter);
    all.cross_nic = std::max(all.cross_nic, graph.cross_nic);
    all.same_channels = all.same_channels && graph.same_channels;
  }
  return all;
}

/// Smallest bandwidth between a GPU of the system and one of its own NICs.
float slowest_own_nic(const System& system, const PathRules& rules) {
  float slowest = 1e9F;
  for (int gpu = 0; gpu < system.count(NodeType::kGpu); gpu++) {
    for (const int net : channel_nets(system, gpu, rules))
      slowest = std::min(slowest, system.path(NodeType::kGpu, gpu, NodeType::kNet, net).bandwidth);
  }
  return slowest;
}

class Counter {
 public:
  Counter(const std::vector<Group>& groups, const std::vector<NodePlace>& nodes,
          const Environment& environment, Communicator& comm)
      : groups_(groups),
        nodes_(nodes),
        environment_(environment),
        switches_(groups.front().system.switches),
        rules_(path_rules(environment, switches_)),
        comm_(comm) {}

  void run() {
    const int most = most_channels(switches_.version);
    int channels = std::min(most, comm_.search_channels * 2);
    if (comm_.collnet && comm_.collnet_chain.bw_intra > comm_.collnet_chain.bw_inter &&
        comm_.ranks > comm_.nodes) {
      channels = std::min(most, channels + channels / 2);
      comm_.collnet_channels = channels;
    }
    const bool new_enough =
        switches_.version >= Version{2, 25, 1} ? comm_.smallest_sm >= 90 : comm_.smallest_sm == 90;
    const bool room = switches_.cross_nic_rules ? channels < 16 : channels * 2 <= 32;
    if (new_enough && comm_.nodes > 1 && comm_.ring.bw_intra > kGrowAbove && room)
      channels *= 2;
    const auto limit = [&](const char* name, const char* old, long long fallback) {
      return numeric(environment_, name, numeric(environment_, old, fallback));
    };
    const auto most_wanted =
        std::min(limit("NCCL_MAX_NCHANNELS", "NCCL_MAX_NRINGS", kUnset) == kUnset
                     ? most
                     : std::max(1LL, static_cast<long long>(
                                         limit("NCCL_MAX_NCHANNELS", "NCCL_MAX_NRINGS", most))),
                 most_ctas());
    const auto least_wanted = std::max<long long>(
        std::max(0LL, static_cast<long long>(limit("NCCL_MIN_NCHANNELS", "NCCL_MIN_NRINGS", 0))),
        least_ctas());
    channels = static_cast<int>(std::min<long long>(channels, most_wanted));
    comm_.original_channels = channels;
    channels =
        static_cast<int>(std::max<long long>(channels, std::min<long long>(least_wanted, most)));
    comm_.coll_channels = channels;
    comm_.nvls_channels = nvls_channels();
    if (switches_.raise_to_nvls)
      channels = std::max(channels, comm_.nvls_channels);
    comm_.channels = channels;
    count_p2p();
  }

 private:
  [[nodiscard]] long long most_ctas() const {
    const long long most = most_channels(switches_.version);
    const long long wanted = numeric(environment_, "NCCL_MAX_CTAS", kUnset);
    return wanted <= 0 ? most : std::min(most, wanted);
  }
  [[nodiscard]] long long least_ctas() const {
    return std::clamp<long long>(numeric(environment_, "NCCL_MIN_CTAS", 1), 1, kMostWanted);
  }

  [[nodiscard]] int nvls_channels() const {
    if (comm_.nvls.channels == 0)
      return 0;
    int channels = 16;
    if (comm_.smallest_sm >= 100 && switches_.version >= Version{2, 25, 1}) {
      channels = comm_.nodes > 1 || switches_.version < Version{2, 27, 3} ? 32 : 24;
      if (comm_.nodes > 1 && switches_.nvls_by_nic)
        channels = nvls_channels_by_nic();
    }
    const long long wanted = numeric(environment_, "NCCL_NVLS_NCHANNELS", kUnset);
    if (wanted >= 0)
      channels = static_cast<int>(std::min<long long>(wanted, most_channels(switches_.version)));
    return static_cast<int>(std::max(least_ctas(), std::min<long long>(channels, most_ctas())));
  }

  [[nodiscard]] int nvls_channels_by_nic() const {
    const System& system = groups_[at(nodes_.front().group)].system;
    const float slowest = slowest_own_nic(system, rules_);
    if (comm_.nodes == 2 && slowest >= 48)
      return 32;
    if (slowest >= 96)
      return system.count(NodeType::kGpu) <= 8 ? 24 : 32;
    return slowest >= 48 ? 24 : 32;
  }

  void count_p2p() {
    const int most = most_channels(switches_.version);
    const auto upper = numeric(environment_, "NCCL_MAX_P2P_NCHANNELS", most);
    const auto lower =
        std::min<long long>(numeric(environment_, "NCCL_MIN_P2P_NCHANNELS", 1), kMostWanted);
    int channels =
        static_cast<int>(std::max<long long>(lower, std::min<long long>(comm_.channels, upper)));
    comm_.p2p_channels = channels;
    int per_peer = switches_.p2p_channels_by_speed ? most : channels;
    std::vector<bool> seen(groups_.size(), false);
    for (const NodePlace& node : nodes_) {
      if (seen[at(node.group)])
        continue;
      seen[at(node.group)] = true;
      const System& system = groups_[at(node.group)].system;
      for (int gpu = 0; gpu < system.count(NodeType::kGpu); gpu++)
        per_peer = std::min(per_peer, fewest_to_peers(system, gpu, per_peer));
    }
    comm_.p2p_channels = power_of_two_up(channels);
    per_peer = power_of_two_up(per_peer);
    if (comm_.nodes == 1 || !switches_.p2p_channels_by_speed) {
      per_peer = std::min(per_peer, comm_.p2p_channels);
    } else {
      while (per_peer * ((comm_.ranks + 7) / 8) > comm_.p2p_channels && per_peer > 1)
        per_peer /= 2;
    }
    comm_.p2p_channels_per_peer = per_peer;
  }

  [[nodiscard]] int fewest_to_peers(const System& system, int gpu, int start) const {
    int fewest = start;
    for (int peer = 0; peer < system.count(NodeType::kGpu); peer++) {
      if (peer == gpu)
        continue;
      const Path& path = system.path(NodeType::kGpu, peer, NodeType::kGpu, gpu);
      const bool nvlink = path.type == PathType::kNvl ||
                          (path.type == PathType::kNvb && switches_.nvb_peers_by_links);
      const float one = nvlink_bandwidth(system.node(NodeType::kGpu, gpu).gpu.sm, switches_);
      fewest = std::min(fewest, nvlink ? 2 * std::max(1, whole(path.bandwidth / one)) : 2);
    }
    if (system.count(NodeType::kGpu) < comm_.ranks)
      fewest = std::min(fewest, to_remote_peers(system, gpu));
    return fewest;
  }

  [[nodiscard]] int to_remote_peers(const System& system, int gpu) const {
    const long long wanted = numeric(environment_, "NCCL_NCHANNELS_PER_NET_PEER", kUnset);
    if (wanted > 0)
      return static_cast<int>(std::min<long long>(wanted, most_channels(switches_.version)));
    if (!switches_.p2p_by_nic_count)
      return 2;
    if (!switches_.p2p_channels_by_speed)
      return std::max(nics_for_cpu_link(system, gpu), scaled_default());
    const int cpu = local_cpu(system, gpu);
    const float enough =
        cpu < 0 ? 0 : system.path(NodeType::kGpu, gpu, NodeType::kCpu, cpu).bandwidth;
    float sum = 0;
    int nics = 0;
    for (const int net : channel_nets(system, gpu, rules_)) {
      sum += system.path(NodeType::kGpu, gpu, NodeType::kNet, net).bandwidth;
      nics++;
      if (sum >= enough)
        break;
    }
    const auto speed = static_cast<int>(std::clamp<long long>(
        numeric(environment_, "NCCL_P2P_PER_CHANNEL_NET_BW", kP2pChannelSpeed), 0, kMostWanted));
    return std::max(nics, speed <= 0 ? 1 : rounded_up(whole(sum), speed));
  }

  /// Before 2.29.2: NICs needed to reach the bandwidth of the GPU's own link to a CPU.
  [[nodiscard]] static int nics_for_cpu_link(const System& system, int gpu) {
    float link_bandwidth = 0;
    const Node& node = system.node(NodeType::kGpu, gpu);
    for (const int l : node.links) {
      const Link& link = system.links[at(l)];
      if (system.nodes[at(link.to)].type == NodeType::kCpu)
        link_bandwidth = link.bandwidth;
    }
    float sum = 0;
    int nics = 0;
    for (const int net : local_nodes(system, NodeType::kGpu, gpu, NodeType::kNet)) {
      if (sum >= link_bandwidth)
        break;
      sum += system.path(NodeType::kGpu, gpu, NodeType::kNet, net).bandwidth;
      nics++;
    }
    return nics;
  }

  [[nodiscard]] int scaled_default() const {
    int channels = 2;
    while (channels * comm_.ranks > comm_.p2p_channels * 4 && channels > 1)
      channels /= 2;
    return channels;
  }

  const std::vector<Group>& groups_;
  const std::vector<NodePlace>& nodes_;
  const Environment& environment_;
  const Switches& switches_;
  PathRules rules_;
  Communicator& comm_;
};

bool nvlink_everywhere(const System& system, bool all) {
  bool any = false;
  bool every = true;
  for (int a = 0; a < system.count(NodeType::kGpu); a++) {
    for (int b = 0; b < system.count(NodeType::kGpu); b++) {
      if (a == b)
        continue;
      const PathType type = system.path(NodeType::kGpu, a, NodeType::kGpu, b).type;
      const bool nvlink = type < PathType::kPix;
      any = any || nvlink;
      every = every && nvlink;
    }
  }
  return all ? every : any;
}

std::int64_t p2p_chunk(const Group& group, const Communicator& comm,
                       const Environment& environment) {
  if (comm.nodes > 1) {
    const bool large = comm.cpu.arch == CpuArch::kArm && comm.smallest_sm >= 100 &&
                       group.system.switches.version >= Version{2, 27, 3};
    return numeric(environment, "NCCL_P2P_NET_CHUNKSIZE", 131'072) * (large ? 2 : 1);
  }
  const System& system = group.system;
  if (nvlink_everywhere(system, system.switches.chunk_all_pairs))
    return numeric(environment, "NCCL_P2P_NVL_CHUNKSIZE", 524'288);
  return numeric(environment, "NCCL_P2P_PCI_CHUNKSIZE", 131'072);
}

std::int64_t buffer_bytes(const Environment& environment, const char* name, std::int64_t initial) {
  const std::int64_t wanted = numeric(environment, name, kUnset);
  return wanted <= 0 ? initial : wanted;
}

/// GPUs of the node in the order of channel `channel`, as ranks of the communicator.
std::vector<int> ranks_of(const Graph& graph, int channel, int first_rank) {
  std::vector<int> ranks;
  ranks.reserve(at(graph.gpus));
  for (int i = 0; i < graph.gpus; i++)
    ranks.push_back(first_rank + graph.rank(channel, i));
  return ranks;
}

/// Number of `item` among the distinct ones; added when new.
int number_of(const std::vector<int>& item, std::vector<std::vector<int>>& distinct) {
  const auto found = std::find(distinct.begin(), distinct.end(), item);
  if (found != distinct.end())
    return static_cast<int>(found - distinct.begin());
  distinct.push_back(item);
  return static_cast<int>(distinct.size()) - 1;
}

/// Whether reduction in the network is used, and its graphs.
void set_collnet(const std::vector<Group>& groups, const std::vector<NodePlace>& nodes,
                 const Environment& environment, Communicator& comm) {
  const Group& first = groups[at(nodes.front().group)];
  comm.nvswitch = first.system.count(NodeType::kNvs) > 0;
  if (!std::all_of(groups.begin(), groups.end(), [](const Group& g) { return g.collnet; }))
    return;
  comm.collnet_chain = merged(groups, nodes, &Group::collnet_chain);
  comm.collnet_direct = merged(groups, nodes, &Group::collnet_direct);
  comm.collnet = comm.collnet_chain.channels > 0 &&
                 comm.nodes >= numeric(environment, "NCCL_COLLNET_NODE_THRESHOLD", 2);
  std::set<int> heads;
  for (int channel = 0; channel < first.collnet_direct.channels; channel++)
    heads.insert(first.collnet_direct.rank(channel, 0));
  comm.collnet_heads = static_cast<int>(heads.size());
}

}  // namespace

int original_channel(const Communicator& comm, int channel) {
  channel = channel % comm.coll_channels % comm.original_channels;
  if (comm.collnet_channels > 0)
    channel %= comm.collnet_channels;
  return channel % (2 * comm.search_channels);
}

Communicator communicator(const std::vector<Group>& groups, const std::vector<NodePlace>& nodes,
                          int ranks, const Environment& environment) {
  Communicator comm;
  comm.ranks = ranks;
  comm.nodes = static_cast<int>(nodes.size());
  comm.ring = merged(groups, nodes, &Group::ring);
  comm.tree = merged(groups, nodes, &Group::tree);
  comm.nvls = merged(groups, nodes, &Group::nvls);
  comm.search_channels = std::min(comm.ring.channels, comm.tree.channels);
  comm.ring.channels = comm.tree.channels = comm.search_channels;
  comm.smallest_sm = 1'000'000;
  const System& first = groups[at(nodes.front().group)].system;
  if (first.count(NodeType::kCpu) > 0)
    comm.cpu = first.node(NodeType::kCpu, 0).cpu;
  for (const Group& group : groups) {
    const System& system = group.system;
    comm.most_local_gpus = std::max(comm.most_local_gpus, system.count(NodeType::kGpu));
    for (int gpu = 0; gpu < system.count(NodeType::kGpu); gpu++) {
      comm.smallest_sm = std::min(comm.smallest_sm, system.node(NodeType::kGpu, gpu).gpu.sm);
      comm.largest_sm = std::max(comm.largest_sm, system.node(NodeType::kGpu, gpu).gpu.sm);
    }
    if (system.count(NodeType::kCpu) > 0) {
      const Cpu& cpu = system.node(NodeType::kCpu, 0).cpu;
      comm.mixed_cpus = comm.mixed_cpus || cpu.vendor != comm.cpu.vendor;
    }
  }
  set_collnet(groups, nodes, environment, comm);
  Counter(groups, nodes, environment, comm).run();
  comm.p2p_chunk_bytes = p2p_chunk(groups[at(nodes.front().group)], comm, environment);
  comm.buffer_bytes[0] = buffer_bytes(environment, "NCCL_LL_BUFFSIZE", 524'288);
  comm.buffer_bytes[1] = buffer_bytes(environment, "NCCL_LL128_BUFFSIZE", 4'915'200);
  comm.buffer_bytes[2] = buffer_bytes(environment, "NCCL_BUFFSIZE", 4'194'304);
  return comm;
}

Rings rings(const std::vector<Group>& groups, const std::vector<NodePlace>& nodes,
            const Communicator& comm) {
  Rings result;
  const Switches& switches = groups.front().system.switches;
  const int n = comm.search_channels;
  for (int channel = 0; channel < n; channel++) {
    std::vector<int> order;
    order.reserve(at(comm.ranks));
    for (std::size_t node = 0; node < nodes.size(); node++) {
      const Graph& graph = groups[at(nodes[node].group)].ring;
      // Odd nodes swap each pair of channels, so that rails match although NICs cross.
      const bool swap = switches.cross_nic_rules && node % 2 == 1 && n % 2 == 0 &&
                        graph.cross_nic == (switches.cross_nic_pairs ? 2 : 1);
      for (const int rank : ranks_of(graph, swap ? channel ^ 1 : channel, nodes[node].first_rank))
        order.push_back(rank);
    }
    const auto zero = std::find(order.begin(), order.end(), 0);
    std::rotate(order.begin(), zero, order.end());
    result.channel_to_order.push_back(number_of(order, result.orders));
  }
  const std::vector<int> searched = std::move(result.channel_to_order);
  result.channel_to_order.clear();
  for (int channel = 0; channel < comm.channels; channel++)
    result.channel_to_order.push_back(searched[at(original_channel(comm, channel) % n)]);
  return result;
}

TreeParent tree_parent(int nodes, int node, int tree) {
  const bool mirrored = tree == 1 && nodes % 2 == 0;
  const bool shifted = tree == 1 && nodes % 2 == 1;
  const int own = mirrored ? nodes - 1 - node : shifted ? (node - 1 + nodes) % nodes : node;
  if (own == 0)
    return {};
  const int bit = own & -own;
  int parent = (own ^ bit) | (bit * 2);
  if (parent >= nodes)
    parent = own ^ bit;
  const int side = own < parent ? 0 : 1;
  if (mirrored)
    return {nodes - 1 - parent, side};
  return {shifted ? (parent + 1) % nodes : parent, side};
}

Trees trees(const std::vector<Group>& groups, const std::vector<NodePlace>& nodes,
            const Communicator& comm) {
  Trees result;
  const auto count = static_cast<int>(nodes.size());
  int log = 0;
  while ((2 << log) <= count)
    log++;
  result.depth = comm.ranks / count - 1 + log;
  const int n = comm.search_channels;
  std::vector<int> numbers;
  for (int tree = 0; tree < 2; tree++) {
    for (int channel = 0; channel < n; channel++) {
      std::vector<int> parents(at(comm.ranks), -1);
      for (int node = 0; node < count; node++) {
        const NodePlace& place = nodes[at(node)];
        const std::vector<int> own =
            ranks_of(groups[at(place.group)].tree, channel, place.first_rank);
        for (std::size_t i = 1; i < own.size(); i++)
          parents[at(own[i])] = own[i - 1];
        const TreeParent up = tree_parent(count, node, tree);
        if (up.parent < 0)
          continue;
        const NodePlace& above = nodes[at(up.parent)];
        const Graph& graph = groups[at(above.group)].tree;
        const bool second =
            graph.gpus > 1 && (graph.pattern == Pattern::kSplitTree ||
                               (graph.pattern == Pattern::kBalancedTree && up.side == 0));
        parents[at(own.front())] = above.first_rank + graph.rank(channel, second ? 1 : 0);
      }
      numbers.push_back(number_of(parents, result.parents));
    }
  }
  for (int channel = 0; channel < comm.channels; channel++)
    result.channel_to_tree.push_back(numbers[at(original_channel(comm, channel))]);
  return result;
}

}  // namespace busbw::nccl::graph
