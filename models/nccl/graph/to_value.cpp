// A decision as values. Numbers are cut to the digits that single precision holds.
#include "models/nccl/graph/to_value.h"

#include <cmath>

#include <fmt/format.h>

#include "sim/core/text.h"

namespace busbw::nccl::graph {
namespace {

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

/// A number with so many significant digits, as a number again.
Value shortened(float number, int digits) {
  return parse_number(fmt::format("{:.{}g}", number, digits)).value_or(0);
}

Value integers(const std::vector<int>& numbers) {
  Value array = Value::array();
  for (const int number : numbers)
    array.push(number);
  return array;
}

Value path_text(const Path& path) {
  return fmt::format("{}/{:g}/{}", to_string(path.type), path.bandwidth, path.hops.size());
}

Value paths_value(const System& system) {
  Value gpu_gpu = Value::array();
  Value gpu_net = Value::array();
  Value ranks = Value::array();
  Value devs = Value::array();
  for (const int gpu : system.all(NodeType::kGpu)) {
    Value to_gpus = Value::array();
    Value to_nets = Value::array();
    for (const int other : system.all(NodeType::kGpu))
      to_gpus.push(path_text(system.path(gpu, other)));
    for (const int net : system.all(NodeType::kNet))
      to_nets.push(path_text(system.path(gpu, net)));
    gpu_gpu.push(to_gpus);
    gpu_net.push(to_nets);
    ranks.push(system.nodes[at(gpu)].gpu.rank);
  }
  for (const int net : system.all(NodeType::kNet))
    devs.push(system.nodes[at(net)].net.dev);
  Value value = Value::object();
  value.set("gpu_gpu", gpu_gpu).set("gpu_net", gpu_net).set("gpu_ranks", ranks);
  return value.set("net_devs", devs);
}

Value graph_value(const System& system, const Graph& graph) {
  Value channels = Value::array();
  for (int c = 0; c < graph.channels; c++) {
    Value channel = Value::object();
    Value gpus = Value::array();
    const int count = graph.pattern == Pattern::kNvls ? 1 : graph.gpus;
    for (int i = 0; i < count; i++)
      gpus.push(graph.rank(c, i));
    channel.set("gpus", gpus);
    if (system.inter) {
      Value nets = Value::array();
      for (int side = 0; side < 2; side++) {
        const int net = graph.net(c, side);
        nets.push(net < 0 ? -1 : system.nodes[at(net)].net.dev);
      }
      channel.set("netDev", nets);
    }
    channels.push(channel);
  }
  Value value = Value::object();
  value.set("pattern", to_string(graph.pattern)).set("nChannels", graph.channels);
  value.set("bwIntra", shortened(graph.bw_intra, 6)).set("bwInter", shortened(graph.bw_inter, 6));
  value.set("typeIntra", to_string(graph.type_intra));
  value.set("typeInter", to_string(graph.type_inter));
  value.set("crossNic", graph.cross_nic).set("sameChannels", graph.same_channels ? 1 : 0);
  return value.set("channels", channels);
}

Value system_value(const System& system) {
  Value value = Value::object();
  value.set("maxBw", shortened(system.max_bandwidth, 6));
  value.set("totalBw", shortened(system.total_bandwidth, 6));
  value.set("inter", system.inter ? 1 : 0).set("gpus", system.count(NodeType::kGpu));
  value.set("devs", system.count(system.device_type())).set("nets", system.count(NodeType::kNet));
  value.set("nvs", system.count(NodeType::kNvs)).set("cpus", system.count(NodeType::kCpu));
  return value.set("pcis", system.count(NodeType::kPci));
}

Value comm_value(const Communicator& comm) {
  Value buffers = Value::object();
  for (std::size_t p = 0; p < kProtocols; p++)
    buffers.set(to_string(static_cast<Protocol>(p)), comm.buffer_bytes[p]);
  Value value = Value::object();
  value.set("nChannels", comm.channels).set("collChannels", comm.coll_channels);
  value.set("nvlsChannels", comm.nvls_channels).set("p2pnChannels", comm.p2p_channels);
  value.set("p2pnChannelsPerPeer", comm.p2p_channels_per_peer);
  return value.set("p2pChunkSize", comm.p2p_chunk_bytes).set("buffSizes", buffers);
}

Value tuning_value(const Tuning& tuning) {
  Value value = Value::object();
  for (std::size_t c = 0; c < kCollectives; c++) {
    const auto collective = static_cast<Collective>(c);
    Value algorithms = Value::object();
    for (std::size_t a = 0; a < kAlgorithms; a++) {
      const auto algorithm = static_cast<Algorithm>(a);
      Value protocols = Value::object();
      bool any = false;
      for (std::size_t p = 0; p < kProtocols; p++) {
        const Cost& cost = tuning.cost(collective, algorithm, static_cast<Protocol>(p));
        any = any || cost.latency_us != 0 || cost.bandwidth != 0;
        Value pair = Value::array();
        pair.push(shortened(cost.latency_us, 9)).push(shortened(cost.bandwidth, 9));
        protocols.set(to_string(static_cast<Protocol>(p)), pair);
      }
      if (any)
        algorithms.set(to_string(algorithm), protocols);
    }
    value.set(to_string(collective), algorithms);
  }
  return value;
}

Value choices_value(const Decision& decision) {
  Value value = Value::object();
  if (decision.comm.ranks <= 1)
    return value;
  for (std::size_t c = 0; c < kCollectives; c++) {
    const auto collective = static_cast<Collective>(c);
    Value rows = Value::array();
    for (const std::int64_t bytes : choice_sizes()) {
      const std::vector<Choice> found =
          choices(decision.tuning, decision.comm, decision.switches, collective, bytes);
      if (found.empty())
        continue;
      const Choice& best = found.front();
      Value row = Value::array();
      row.push(bytes).push(to_string(best.algorithm)).push(to_string(best.protocol));
      row.push(parse_number(fmt::format("{:.4f}", best.time_us)).value_or(0)).push(best.channels);
      rows.push(row);
    }
    value.set(to_string(collective), rows);
  }
  return value;
}

Value rings_value(const Rings& rings) {
  Value orders = Value::array();
  for (const std::vector<int>& order : rings.orders)
    orders.push(integers(order));
  Value value = Value::object();
  return value.set("channelToOrder", integers(rings.channel_to_order)).set("orders", orders);
}

Value trees_value(const Trees& trees) {
  Value parents = Value::array();
  for (const std::vector<int>& tree : trees.parents)
    parents.push(integers(tree));
  Value value = Value::object();
  value.set("channelToTree", integers(trees.channel_to_tree)).set("depth", trees.depth);
  return value.set("parents", parents);
}

}  // namespace

std::vector<std::int64_t> choice_sizes() {
  std::vector<std::int64_t> sizes;
  for (std::int64_t bytes = 8; bytes <= (std::int64_t{1} << 33); bytes *= 2)
    sizes.push_back(bytes);
  return sizes;
}

Value to_value(const Decision& decision) {
  const Group& first = decision.groups[at(decision.nodes.front().group)];
  Value value = Value::object();
  value.set("nccl", busbw::nccl::to_string(decision.version)).set("nNodesGiven", decision.hosts);
  value.set("gpusPerNode", decision.gpus_per_host).set("nRanks", decision.comm.ranks);
  value.set("nNodes", decision.comm.nodes).set("mnnvl", decision.mnnvl ? 1 : 0);
  value.set("mnnvlDomainNodes", decision.hosts_per_nvlink_domain);
  if (!decision.environment.empty()) {
    Value environment = Value::object();
    for (const auto& [name, text] : decision.environment)
      environment.set(name, text);
    value.set("env", environment);
  }
  value.set("system", system_value(first.system)).set("paths", paths_value(first.system));
  Value graphs = Value::object();
  graphs.set("ring", graph_value(first.system, first.ring));
  graphs.set("tree", graph_value(first.system, first.tree));
  graphs.set("nvls", graph_value(first.system, first.nvls));
  if (first.collnet) {
    graphs.set("collnetChain", graph_value(first.system, first.collnet_chain));
    graphs.set("collnetDirect", graph_value(first.system, first.collnet_direct));
  }
  value.set("graphs", graphs).set("comm", comm_value(decision.comm));
  value.set("rings", rings_value(decision.rings));
  if (decision.comm.ranks > 1)
    value.set("trees", trees_value(decision.trees));
  return value.set("tuning", tuning_value(decision.tuning)).set("choices", choices_value(decision));
}

}  // namespace busbw::nccl::graph
