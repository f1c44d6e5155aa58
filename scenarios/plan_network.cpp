// Ports of ranks, sockets and pairs with P2P, from the graph decision.
#include "scenarios/plan_network.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "models/collectives/make_schedule.h"
#include "models/nccl/connection_settings.h"
#include "models/nccl/reach.h"
#include "sim/core/check.h"
#include "sim/core/errors.h"
#include "sim/core/text.h"

namespace busbw::scenarios {
namespace {

using nccl::graph::NodeType;

/// An external plugin moves data between NIC and GPU memory as NCCL's own IB network does: what
/// differs, latency and rate, is the NIC's.
transport::Network plugin_network(const nccl::Decision& decision, const Variant& variant) {
  const nccl::HostDecision& host = decision.hosts.front();
  const topologies::Machine& machine = variant.cluster.hosts.front();
  const std::optional<std::size_t> nic =
      host.data_devices.empty() ? std::nullopt : machine.find_nic(host.data_devices.front().name);
  if (!nic) {
    throw InputError("network '" + *host.network + "' of variant '" + variant.name +
                     "' is an external plugin for which machine '" + machine.name +
                     "' has no NIC (nccl_plugin in the catalogue)");
  }
  return machine.nics[*nic].link_layer == topologies::NicLinkLayer::kInfiniBand
             ? transport::Network::kInfiniBand
             : transport::Network::kRoce;
}

transport::Network network_of(const nccl::Decision& decision, const Variant& variant) {
  const std::optional<std::string>& network = decision.hosts.front().network;
  CHECK(network.has_value(), "a job that runs has a network");
  if (*network == "Socket") {
    return transport::Network::kSocket;
  }
  if (*network != "IB") {
    return plugin_network(decision, variant);
  }
  const std::string& device = decision.hosts.front().data_devices.front().name;
  for (const nccl::Hca& hca : variant.inventories.front().hcas) {
    if (hca.name == device.substr(0, device.find('+')) && !hca.ports.empty() &&
        hca.ports.front().link_layer == nccl::LinkLayer::kEthernet) {
      return transport::Network::kRoce;
    }
  }
  return transport::Network::kInfiniBand;
}

const nccl::NetDevice& device_of(const nccl::HostDecision& host, std::size_t index) {
  CHECK(!host.data_devices.empty(), "host '{}' has no data device", host.host);
  for (const nccl::NetDevice& device : host.data_devices) {
    if (static_cast<std::size_t>(device.index) == index) {
      return device;
    }
  }
  return host.data_devices[index % host.data_devices.size()];
}

/// The NIC port behind a device, for the `turn`-th channel that uses it. A device of several ports
/// ("mlx5_0+mlx5_1") gives them its channels in turn; NCCL cuts each message over all of them,
/// which loads them alike.
transport::NetPort port_of(const nccl::NetDevice& device, const topologies::Machine& machine,
                           std::size_t turn) {
  const std::vector<std::string_view> parts = split(device.name, '+');
  const std::size_t chosen = turn % parts.size();
  const std::string name(parts[chosen]);
  const std::optional<std::size_t> nic = machine.find_nic(name);
  if (!nic) {
    throw InputError("NCCL sends over '" + name + "', which is no NIC of machine '" + machine.name +
                     "': add it to the machine to simulate its traffic");
  }
  transport::NetPort port;
  port.device = name;
  port.nic = *nic;
  // Ports of one HCA stand in order: "mlx5_0+mlx5_0" are the first and the second.
  const auto same_before =
      std::count(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(chosen), parts[chosen]);
  const bool first_of_hca = parts.front() == parts[chosen];
  port.port = static_cast<std::size_t>(same_before) +
              (first_of_hca ? static_cast<std::size_t>(std::max(0, device.port - 1)) : 0);
  return port;
}

/// `device` as the kernel uses it: data of a socket leaves by the first interface of its subnet.
nccl::NetDevice as_routed(nccl::NetDevice device, transport::Network network,
                          const nccl::Inventory& inventory) {
  if (network == transport::Network::kSocket) {
    device.name = nccl::sending_interface(inventory, device.name);
  }
  return device;
}

constexpr std::int64_t kLargestMtu = 65536;

/// Smallest MTU of the interfaces behind the devices of a host.
std::int64_t smallest_mtu(const topologies::Machine& machine, const nccl::HostDecision& host,
                          const nccl::Inventory& inventory) {
  std::int64_t mtu = kLargestMtu;
  for (const nccl::NetDevice& device : host.data_devices) {
    const std::optional<std::size_t> nic = machine.find_nic(device.name);
    const std::string interface =
        nic && machine.nics[*nic].netdev ? *machine.nics[*nic].netdev : device.name;
    for (const nccl::Interface& known : inventory.interfaces) {
      if (known.name == interface) {
        mtu = std::min(mtu, known.mtu);
      }
    }
  }
  return mtu;
}

/// GPU and node of each rank, as the graph decision numbers them.
struct RankPlace {
  std::size_t group = 0;
  int gpu = 0;  // index in the system of the group
};

std::vector<RankPlace> places_of(const nccl::graph::Decision& graph) {
  std::vector<RankPlace> places(static_cast<std::size_t>(graph.comm.ranks));
  for (const nccl::graph::NodePlace& node : graph.nodes) {
    const auto group = static_cast<std::size_t>(node.group);
    const nccl::graph::System& system = graph.groups[group].system;
    for (int gpu = 0; gpu < system.count(NodeType::kGpu); ++gpu) {
      const int rank = node.first_rank + system.node(NodeType::kGpu, gpu).gpu.rank;
      places[static_cast<std::size_t>(rank)] = {group, gpu};
    }
  }
  return places;
}

/// Position of NET node `node` among the NICs of the system.
int net_index(const nccl::graph::System& system, int node) {
  const std::vector<int>& nets = system.all(NodeType::kNet);
  return static_cast<int>(std::find(nets.begin(), nets.end(), node) - nets.begin());
}

/// The ports of all ranks for one graph. A GPU that stands first in the order of the channel uses
/// the NIC by which the channel enters, every other the one by which it leaves. Source: NCCL 2.18
/// to 2.30.7, src/graph/search.cc, ncclTopoGetNetDev.
class PortTable {
 public:
  PortTable(const Variant& variant, const Job& job, transport::Network network)
      : variant_(variant),
        job_(job),
        graph_(*job.graph),
        network_(network),
        rules_(path_rules(graph_.environment, graph_.switches)),
        places_(places_of(graph_)) {}

  [[nodiscard]] RankPorts ports(nccl::graph::Graph nccl::graph::Group::*graph,
                                const std::vector<std::int32_t>& host_of) const {
    RankPorts table;
    for (std::size_t rank = 0; rank < places_.size(); ++rank) {
      std::map<int, std::size_t> turns;  // channels so far, by device
      std::vector<transport::NetPort>& row = table.emplace_back();
      for (int channel = 0; channel < graph_.comm.channels; ++channel) {
        const nccl::graph::Group& group = graph_.groups[places_[rank].group];
        row.push_back(port(rank, net_of(rank, group.*graph, channel),
                           static_cast<std::size_t>(host_of[rank]), turns));
      }
    }
    return table;
  }

  /// NVLS: a head uses the NIC of the channel of the search that begins with it, on all channels;
  /// other ranks use none.
  [[nodiscard]] RankPorts head_ports(const std::vector<std::int32_t>& host_of) const {
    RankPorts table;
    for (std::size_t rank = 0; rank < places_.size(); ++rank) {
      std::vector<transport::NetPort>& row = table.emplace_back();
      const nccl::graph::Group& group = graph_.groups[places_[rank].group];
      const int local = group.system.node(NodeType::kGpu, places_[rank].gpu).gpu.rank;
      for (int head = 0; head < group.nvls.channels; ++head) {
        if (group.nvls.rank(head, 0) != local || group.nvls.net(head, 0) < 0) {
          continue;
        }
        std::map<int, std::size_t> turns;
        const int channels = std::max(graph_.comm.nvls_channels, graph_.comm.channels);
        for (int channel = 0; channel < channels; ++channel) {
          row.push_back(
              port(rank, group.nvls.net(head, 0), static_cast<std::size_t>(host_of[rank]), turns));
        }
        break;
      }
    }
    return table;
  }

  /// Ports of a connection that goes point to point.
  [[nodiscard]] transport::PortPair pair(RankId from, RankId to, ChannelId channel,
                                         const std::vector<std::int32_t>& host_of) const {
    const nccl::graph::System& source = system_of(from.index());
    const nccl::graph::System& target = system_of(to.index());
    const int sender = places_[from.index()].gpu;
    const int receiver = places_[to.index()].gpu;
    const int peer_dev = target.node(NodeType::kGpu, receiver).gpu.dev;
    const int out =
        sending_net(source, {sender, peer_dev, channel.value()}, rules_, graph_.environment);
    const int in = local_net(target, receiver, channel.value(), rules_);
    CHECK(out >= 0 && in >= 0, "rank {} or rank {} has no NIC", from.value(), to.value());
    const auto end = [&](RankId rank, const nccl::graph::System& system, int net) {
      // Channels take the ports of a device in turn.
      std::map<int, std::size_t> turns;
      for (const int node : system.all(NodeType::kNet)) {
        turns[static_cast<int>(system.nodes[static_cast<std::size_t>(node)].net.dev)] =
            channel.index();
      }
      return port(rank.index(), system.all(NodeType::kNet)[static_cast<std::size_t>(net)],
                  static_cast<std::size_t>(host_of[rank.index()]), turns);
    };
    return {end(from, source, out), end(to, target, in)};
  }

 private:
  [[nodiscard]] const nccl::graph::System& system_of(std::size_t rank) const {
    return graph_.groups[places_[rank].group].system;
  }

  /// NET node by which `rank` uses the network on a channel.
  [[nodiscard]] int net_of(std::size_t rank, const nccl::graph::Graph& graph, int channel) const {
    const RankPlace& place = places_[rank];
    const nccl::graph::System& system = graph_.groups[place.group].system;
    const int searched = channel % graph_.comm.search_channels;
    const bool first = graph.rank(searched, 0) == system.node(NodeType::kGpu, place.gpu).gpu.rank;
    const int node = graph.net(searched, first ? 0 : 1);
    CHECK(node >= 0, "channel {} of rank {} has no NIC", channel, rank);
    return node;
  }

  [[nodiscard]] transport::NetPort port(std::size_t rank, int node, std::size_t host,
                                        std::map<int, std::size_t>& turns) const {
    const RankPlace& place = places_[rank];
    const nccl::graph::System& system = graph_.groups[place.group].system;
    const int net = net_index(system, node);
    const nccl::NetDevice device =
        device_of(job_.selection.hosts[host],
                  static_cast<std::size_t>(system.node(NodeType::kNet, net).net.dev));
    transport::NetPort port = port_of(as_routed(device, network_, variant_.inventories[host]),
                                      variant_.cluster.hosts[host], turns[device.index]++);
    port.gdr_send = gdr_allowed(system, {place.gpu, net, true}, rules_);
    port.gdr_receive = gdr_allowed(system, {place.gpu, net, false}, rules_);
    const int relay = relay_of(system, place.gpu, net);
    if (relay >= 0) {
      port.relay =
          RankId(static_cast<std::int32_t>(rank) + system.node(NodeType::kGpu, relay).gpu.rank -
                 system.node(NodeType::kGpu, place.gpu).gpu.rank);
    }
    return port;
  }

  const Variant& variant_;
  const Job& job_;
  const nccl::graph::Decision& graph_;
  transport::Network network_;
  nccl::graph::PathRules rules_;
  std::vector<RankPlace> places_;
};

/// NCCL's defaults of NCCL_SOCKET_NTHREADS and NCCL_NSOCKS_PERTHREAD by NIC vendor; limits 16
/// threads, 64 sockets. Source: NCCL 2.18 to 2.30, src/transport/net_socket.cc.
void set_sockets(const Variant& variant, const nccl::Decision& decision, Plan& plan) {
  constexpr std::int64_t kAws = 0x1d0f;
  constexpr std::int64_t kGoogle = 0x1ae0;
  constexpr std::int64_t kMostThreads = 16;
  constexpr std::int64_t kMostSockets = 64;
  std::int64_t threads = 0;
  std::int64_t sockets = 1;
  const std::string& first = decision.hosts.front().data_devices.front().name;
  for (const nccl::Interface& interface : variant.inventories.front().interfaces) {
    if (interface.name == first && interface.pci_vendor == kAws) {
      threads = 2;
      sockets = 8;
    } else if (interface.name == first && interface.pci_vendor == kGoogle) {
      threads = 4;
    }
  }
  const nccl::Environment& environment = variant.environment;
  threads = std::clamp<std::int64_t>(nccl::numeric(environment, "NCCL_SOCKET_NTHREADS", threads), 0,
                                     kMostThreads);
  sockets = std::max<std::int64_t>(1, nccl::numeric(environment, "NCCL_NSOCKS_PERTHREAD", sockets));
  if (threads * sockets > kMostSockets) {
    sockets = kMostSockets / threads;
  }
  plan.wiring.socket_threads = static_cast<std::int32_t>(threads);
  plan.wiring.sockets_per_thread = static_cast<std::int32_t>(sockets);
}

/// A job with the table of its ports, for as long as the plan needs them.
struct PairPorts {
  PairPorts(const Variant& variant, const Job& decided, transport::Network network)
      : job(decided), table(variant, job, network) {}
  PairPorts(const PairPorts&) = delete;
  PairPorts& operator=(const PairPorts&) = delete;

  Job job;
  PortTable table;
};

bool is_point_to_point(collectives::Collective collective) {
  const std::vector<collectives::Algorithm> known = collectives::algorithms_of(collective);
  return std::find(known.begin(), known.end(), collectives::Algorithm::kDirect) != known.end();
}

}  // namespace

void set_network(const Variant& variant, const Job& job, Plan& plan) {
  transport::WiringOptions& wiring = plan.wiring;
  wiring.network = network_of(job.selection, variant);
  wiring.mtu = kLargestMtu;
  for (std::size_t host = 0; host < job.selection.hosts.size(); ++host) {
    wiring.mtu =
        std::min(wiring.mtu, smallest_mtu(variant.cluster.hosts[host], job.selection.hosts[host],
                                          variant.inventories[host]));
  }
  const PortTable table(variant, job, wiring.network);
  plan.ring_ports = table.ports(&nccl::graph::Group::ring, plan.shape.host_of);
  plan.tree_ports = table.ports(&nccl::graph::Group::tree, plan.shape.host_of);
  if (!plan.shape.heads.empty()) {
    plan.nvls_ports = table.head_ports(plan.shape.host_of);
  }
  if (is_point_to_point(variant.workload.collective)) {
    const auto pairs = std::make_shared<const PairPorts>(variant, job, wiring.network);
    plan.pair_ports = [pairs, host_of = plan.shape.host_of](RankId from, RankId to,
                                                            ChannelId channel) {
      return pairs->table.pair(from, to, channel, host_of);
    };
  }
  set_sockets(variant, job.selection, plan);
  const nccl::ConnectionSettings settings =
      nccl::connection_settings(variant.environment, variant.version);
  wiring.traffic = variant.traffic;
  wiring.queue_pairs = settings.queue_pairs;
  wiring.split_data = settings.split_data;
  wiring.pkey_index = settings.pkey_index;
}

std::vector<std::int32_t> nodes_of(const nccl::graph::Decision& graph) {
  std::vector<std::int32_t> nodes(static_cast<std::size_t>(graph.comm.ranks));
  for (std::size_t node = 0; node < graph.nodes.size(); ++node) {
    const nccl::graph::System& system =
        graph.groups[static_cast<std::size_t>(graph.nodes[node].group)].system;
    const auto first = static_cast<std::size_t>(graph.nodes[node].first_rank);
    const auto gpus = static_cast<std::size_t>(system.count(NodeType::kGpu));
    for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
      nodes[first + gpu] = static_cast<std::int32_t>(node);
    }
  }
  return nodes;
}

std::vector<std::vector<RankId>> nvls_heads(const nccl::graph::Decision& graph) {
  std::vector<std::vector<RankId>> heads;
  for (const nccl::graph::NodePlace& node : graph.nodes) {
    const nccl::graph::Graph& nvls = graph.groups[static_cast<std::size_t>(node.group)].nvls;
    if (nvls.channels == 0 || graph.comm.nvls_channels == 0) {
      return {};
    }
    std::vector<RankId>& list = heads.emplace_back();
    for (int channel = 0; channel < nvls.channels; ++channel) {
      const RankId head(node.first_rank + nvls.rank(channel, 0));
      if (std::find(list.begin(), list.end(), head) == list.end()) {
        list.push_back(head);
      }
    }
  }
  return heads;
}

/// Pairs of ranks between which NCCL takes P2P.
std::function<bool(RankId, RankId)> p2p_pairs(const nccl::graph::Decision& graph) {
  std::vector<RankPlace> places = places_of(graph);
  // One matrix for each group: the decision need not outlive the plan.
  std::vector<std::vector<std::vector<bool>>> allowed;
  const nccl::graph::PathRules rules = path_rules(graph.environment, graph.switches);
  for (const nccl::graph::Group& group : graph.groups) {
    const int gpus = group.system.count(NodeType::kGpu);
    std::vector<std::vector<bool>>& matrix = allowed.emplace_back();
    for (int from = 0; from < gpus; ++from) {
      std::vector<bool>& row = matrix.emplace_back();
      for (int to = 0; to < gpus; ++to) {
        row.push_back(from != to && p2p_allowed(group.system, from, to, rules));
      }
    }
  }
  return [places = std::move(places), allowed = std::move(allowed)](RankId from, RankId to) {
    const RankPlace& a = places[from.index()];
    const RankPlace& b = places[to.index()];
    return a.group == b.group &&
           allowed[a.group][static_cast<std::size_t>(a.gpu)][static_cast<std::size_t>(b.gpu)];
  };
}

}  // namespace busbw::scenarios
