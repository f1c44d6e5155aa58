// Wiring of ranks: builds each connection once and adds its links to the engine.
#include "models/transport/wiring.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "models/transport/layers.h"
#include "sim/core/check.h"
#include "sim/core/errors.h"

namespace busbw::transport {

using topologies::Link;
using topologies::LinkKind;
using topologies::Node;
using topologies::NodeKind;

namespace {

FlowOptions flow_options(const WiringOptions& options) {
  FlowOptions flows;
  flows.tcp = options.network == Network::kSocket;
  flows.ethernet = options.network != Network::kInfiniBand;
  flows.flows = options.queue_pairs;
  flows.split = options.split_data;
  if (flows.tcp) {  // without helper threads the data goes over the control socket
    flows.flows = std::max(1, options.socket_threads * options.sockets_per_thread);
    flows.split = true;
  }
  return flows;
}

}  // namespace

Wiring::Wiring(engine::Engine& engine, const topologies::Cluster& cluster,
               const topologies::BuiltCluster& built, const params::Transports& transports,
               WiringOptions options)
    : engine_(engine),
      cluster_(cluster),
      built_(built),
      transports_(transports),
      options_(std::move(options)),
      limits_(engine, cluster, built, transports),
      networks_(cluster, built.fabric, options_.traffic, flow_options(options_)),
      routes_(built),
      links_(built.fabric.link_count()) {}

Wiring::Gpu Wiring::gpu_of(RankId rank) const {
  std::size_t left = rank.index();
  for (std::size_t host = 0; host < built_.gpus.size(); ++host) {
    if (left < built_.gpus[host].size()) {
      return {host, left};
    }
    left -= built_.gpus[host].size();
  }
  CHECK(false, "no GPU for rank {}", rank.value());
}

topologies::NodeId Wiring::node_of(Gpu gpu) const {
  return built_.gpus[gpu.host][gpu.local];
}

std::int32_t Wiring::ranks() const {
  std::size_t count = 0;
  for (const std::vector<topologies::NodeId>& host : built_.gpus) {
    count += host.size();
  }
  return static_cast<std::int32_t>(count);
}

Connection Wiring::connect(RankId from, RankId to, ChannelId channel) {
  CHECK(from != to, "rank {}", from.value());
  if (std::max(from, to).value() >= ranks()) {
    return connect_switch(from, to, channel);
  }
  return by_network(from, to) ? connect_network(from, to, channel) : connect_inside(from, to);
}

bool Wiring::by_network(RankId from, RankId to) const {
  const Gpu source = gpu_of(from);
  const Gpu target = gpu_of(to);
  if (cluster_.domain_of(source.host) != cluster_.domain_of(target.host)) {
    return true;
  }
  const bool one_host = source.host == target.host;
  if (one_host && options_.shm) {
    return false;
  }
  if (options_.p2p && !options_.p2p(from, to)) {
    return true;
  }
  // P2P between hosts goes by NVLink.
  return one_host && !cluster_.hosts[source.host].peer_to_peer &&
         !built_.fabric.route(node_of(source), node_of(target), topologies::nvlink_only());
}

Connection Wiring::start(const params::Transport& transport, const std::string& name) const {
  const auto protocol = static_cast<std::size_t>(options_.protocol);
  Connection connection;
  connection.transport = name;
  connection.latency = (options_.tree ? transport.tree_latency : transport.latency)[protocol];
  if (&transport != &transports_.rdma && &transport != &transports_.socket) {
    connection.latency = Duration::picoseconds(scale(connection.latency.ps(), options_.slower));
  }
  connection.per_message = transport.per_message;
  connection.share = transport.share[protocol];
  return connection;
}

Connection Wiring::connect_inside(RankId from, RankId to) {
  const Gpu source = gpu_of(from);
  const Gpu target = gpu_of(to);
  const topologies::NodeId a = node_of(source);
  const topologies::NodeId b = node_of(target);
  Connection connection;
  if (!options_.p2p || options_.p2p(from, to)) {
    if (const auto nvlink = built_.fabric.route(a, b, topologies::nvlink_only())) {
      connection = start(transports_.nvlink, "nvlink");
      append(connection.fill, connection.latency, *nvlink);
    } else if (cluster_.hosts[source.host].peer_to_peer) {
      connection = start(transports_.pcie, "pcie-p2p");
      append(connection.fill, connection.latency, host_route(a, b));
    }
  }
  if (connection.transport.empty()) {
    // The buffer lies in the receiver's NUMA node.
    const auto numa = static_cast<std::size_t>(built_.gpu_numa[target.host][target.local]);
    const topologies::NodeId cpu = built_.cpus[target.host][numa];
    connection = start(transports_.shm, "shm");
    append_host(connection.fill, connection, host_route(a, cpu));
    append(connection.fill, connection.latency, to_memory(target.host, numa));
    append(connection.drain, connection.latency, from_memory(target.host, numa));
    append_host(connection.drain, connection, host_route(cpu, b));
  }
  connection.name =
      fmt::format("rank {} -> rank {} by {}", from.value(), to.value(), connection.transport);
  return connection;
}

Connection Wiring::start_network() const {
  Connection connection =
      options_.network == Network::kSocket
          ? start(transports_.socket, "socket")
          : start(transports_.rdma, options_.network == Network::kRoce ? "roce" : "ib");
  connection.carried = true;
  return connection;
}

Connection Wiring::connect_switch(RankId from, RankId to, ChannelId channel) {
  const bool up = from < to;
  const RankId rank = std::min(from, to);
  const auto index = static_cast<std::size_t>(std::max(from, to).value() - ranks());
  CHECK(rank.value() < ranks() && index < options_.switches.size(), "switch {} of {}", index,
        options_.switches.size());
  Connection connection;
  std::string place = "the network";
  if (const std::optional<std::size_t> host = options_.switches[index].host) {
    const auto domain = static_cast<std::size_t>(cluster_.domain_of(*host));
    const auto hosts = static_cast<std::size_t>(std::max(1, cluster_.hosts_per_nvlink_domain));
    const topologies::NodeId nv_switch = nv_switch_of(domain * hosts);
    const auto route =
        up ? built_.fabric.route(node_of(gpu_of(rank)), nv_switch, topologies::nvlink_only())
           : built_.fabric.route(nv_switch, node_of(gpu_of(rank)), topologies::nvlink_only());
    CHECK(route.has_value(), "no NVLink between rank {} and its NVSwitch", rank.value());
    connection = start(transports_.nvls, "nvls");
    connection.share = {connection.share.numerator * options_.nvls_share.numerator,
                        connection.share.denominator * options_.nvls_share.denominator};
    connection.carried = !up;
    append(up ? connection.fill : connection.path, connection.latency, *route);
    place = built_.fabric.node(nv_switch).name;
  } else {
    const NetPort& port = options_.ports.at(rank.index()).at(channel.index());
    const topologies::Wire& wire = wire_of(port, gpu_of(rank).host);
    connection = start_network();
    if (up) {
      append_sender(connection, rank, port, Meeting::kOnTheWire);
      append(connection.path, connection.latency, {wire.out});
    } else {
      append(connection.path, connection.latency, {wire.in});
      append_receiver(connection, rank, port, Meeting::kOnTheWire);
    }
    place += " over " + port.device;
  }
  connection.name = up ? fmt::format("rank {} -> {}", rank.value(), place)
                       : fmt::format("{} -> rank {}", place, rank.value());
  return connection;
}

topologies::NodeId Wiring::nv_switch_of(std::size_t host) const {
  for (std::size_t node = 0; node < built_.fabric.node_count(); ++node) {
    const topologies::NodeId id(static_cast<std::int32_t>(node));
    const Node& candidate = built_.fabric.node(id);
    if (candidate.kind == NodeKind::kNvSwitch &&
        candidate.host == HostId(static_cast<std::int32_t>(host))) {
      return id;
    }
  }
  CHECK(false, "host {} has no NVSwitch", host);
}

/// From the GPU of `rank` to its NIC. With GPU Direct the block fills a buffer in its own memory,
/// with PXN in that of the GPU next to the NIC, else one in host memory.
void Wiring::append_sender(Connection& connection, RankId rank, const NetPort& port,
                           Meeting meeting) {
  const Gpu gpu = gpu_of(rank);
  const topologies::NodeId nic = built_.nics[gpu.host][port.nic];
  const bool socket = options_.network == Network::kSocket;
  if (!socket) {
    append_verbs(connection, gpu.host, port);
  }
  if (!sends_from_host(port)) {
    topologies::NodeId near = node_of(gpu);
    if (port.relay) {
      near = node_of(gpu_of(*port.relay));
      const auto nvlink = built_.fabric.route(node_of(gpu), near, topologies::nvlink_only());
      CHECK(nvlink.has_value(), "no NVLink between rank {} and its relay", rank.value());
      append(connection.fill, connection.latency, *nvlink);
    }
    append_peers(connection, near, nic, nic);
    return;
  }
  const auto numa = static_cast<std::size_t>(built_.gpu_numa[gpu.host][gpu.local]);
  const topologies::NodeId cpu = built_.cpus[gpu.host][numa];
  append_host(connection.fill, connection, host_route(node_of(gpu), cpu));
  append(connection.fill, connection.latency, to_memory(gpu.host, numa));
  append(connection.path, connection.latency, from_memory(gpu.host, numa));
  if (socket) {  // the kernel copies from NCCL's host buffer to its own
    append(connection.path, connection.latency, to_memory(gpu.host, numa));
    append(connection.path, connection.latency, from_memory(gpu.host, numa));
  }
  if (meeting != Meeting::kInTheKernel) {
    append(connection.path, connection.latency, host_route(cpu, nic));
  }
}

bool Wiring::sends_from_host(const NetPort& port) const {
  return options_.network == Network::kSocket || !port.gdr_send ||
         options_.protocol == params::Protocol::kLowLatency;
}

/// The same on the receiving side, where there is no PXN.
void Wiring::append_receiver(Connection& connection, RankId rank, const NetPort& port,
                             Meeting meeting) {
  const Gpu gpu = gpu_of(rank);
  const topologies::NodeId nic = built_.nics[gpu.host][port.nic];
  const bool socket = options_.network == Network::kSocket;
  if (!socket) {
    append_verbs(connection, gpu.host, port);
  }
  if (!socket && port.gdr_receive) {
    append_peers(connection, nic, node_of(gpu), nic);
    return;
  }
  const auto numa = static_cast<std::size_t>(built_.gpu_numa[gpu.host][gpu.local]);
  const topologies::NodeId cpu = built_.cpus[gpu.host][numa];
  if (meeting != Meeting::kInTheKernel) {
    append(connection.path, connection.latency, host_route(nic, cpu));
  }
  if (socket && meeting == Meeting::kOnTheWire) {  // the NIC writes what the kernel copies
    append(connection.path, connection.latency, to_memory(gpu.host, numa));
    append(connection.path, connection.latency, from_memory(gpu.host, numa));
  }
  append(connection.path, connection.latency, to_memory(gpu.host, numa));
  append(connection.drain, connection.latency, from_memory(gpu.host, numa));
  append_host(connection.drain, connection, host_route(cpu, node_of(gpu)));
}

Wiring::FabricPath Wiring::host_route(topologies::NodeId from, topologies::NodeId to) const {
  const auto path = built_.fabric.route(from, to, topologies::host_only());
  CHECK(path.has_value(), "no way inside the host from {} to {}", built_.fabric.node(from).name,
        built_.fabric.node(to).name);
  return *path;
}

Wiring::FabricPath Wiring::to_memory(std::size_t host, std::size_t numa) const {
  return {*built_.fabric.find_link(built_.cpus[host][numa], built_.memories[host][numa])};
}

Wiring::FabricPath Wiring::from_memory(std::size_t host, std::size_t numa) const {
  return {*built_.fabric.find_link(built_.memories[host][numa], built_.cpus[host][numa])};
}

const topologies::Wire* Wiring::cable(const NetPort& port, std::size_t host) const {
  const auto& ports = built_.wires[host][port.nic];
  return port.port < ports.size() && ports[port.port] ? &*ports[port.port] : nullptr;
}

const topologies::Wire& Wiring::wire_of(const NetPort& port, std::size_t host) const {
  const topologies::Wire* wire = cable(port, host);
  if (wire == nullptr) {
    throw InputError(
        fmt::format("'{}' of host {} is not cabled; list it in one of the 'networks' "
                    "of 'cluster'",
                    port.device, host + 1));
  }
  return *wire;
}

void Wiring::append(std::vector<engine::LinkId>& leg, Duration& latency, const FabricPath& path) {
  for (const topologies::LinkId id : path) {
    leg.push_back(engine_link(id));
    latency += built_.fabric.link(id).latency;
  }
  if (const std::optional<engine::LinkId> limit = limits_.of_translation(path)) {
    leg.push_back(*limit);
  }
}

void Wiring::append_host(std::vector<engine::LinkId>& leg, Connection& connection,
                         const FabricPath& path) {
  append(leg, connection.latency, path);
  // `append` has counted the requests of a DMA engine; a path that names a link again uses it
  // again.
  if (const std::optional<engine::LinkId> limit = limits_.of_translation(path)) {
    const auto more = transports_.pcie_share.translated_by_blocks - 1;
    leg.insert(leg.end(), static_cast<std::size_t>(more), *limit);
  }
  const std::vector<engine::LinkId> limits = limits_.of_blocks(path);
  leg.insert(leg.end(), limits.begin(), limits.end());
  if (&leg == &connection.drain && !limits.empty()) {
    connection.read_round_trip = transports_.blocks.host_round_trip;
  }
}

void Wiring::append_peers(Connection& connection, topologies::NodeId from, topologies::NodeId to,
                          topologies::NodeId nic) {
  const FabricPath path = host_route(from, to);
  append(connection.path, connection.latency, path);
  const std::vector<engine::LinkId> limits = limits_.of_peers(path, nic);
  connection.path.insert(connection.path.end(), limits.begin(), limits.end());
}

void Wiring::append_verbs(Connection& connection, std::size_t host, const NetPort& port) {
  if (const std::optional<engine::LinkId> limit = limits_.of_verbs(host, port.nic)) {
    connection.path.push_back(*limit);
  }
}

engine::LinkId Wiring::proxy_of(RankId rank, Bandwidth rate) {
  const auto [entry, is_new] = proxies_.try_emplace(rank);
  if (is_new) {
    entry->second = engine_.add_link(proxy_thread_name(rank), rate);
  }
  return entry->second;
}

void Wiring::limit_sockets(Connection& connection) {
  const params::SocketCpu& cpu = transports_.socket_cpu;
  // Without helper threads the data goes over the control socket.
  const std::int64_t sockets =
      options_.socket_threads == 0
          ? 1
          : static_cast<std::int64_t>(options_.socket_threads) * options_.sockets_per_thread;
  Bandwidth limit = std::min(cpu.connection, cpu.socket * sockets);
  if (options_.socket_threads > 0) {
    limit = std::min(limit, cpu.helper_thread * options_.socket_threads);
  }
  connection.rate_cap = connection.rate_cap ? std::min(*connection.rate_cap, limit) : limit;
}

engine::LinkId Wiring::engine_link(topologies::LinkId link) {
  std::optional<engine::LinkId>& known = links_[link.index()];
  if (!known) {
    known = engine_.add_link(built_.fabric.link(link).name, present_rate(link));
  }
  return *known;
}

Bandwidth Wiring::payload_rate(const Link& link) const {
  switch (link.kind) {
    case LinkKind::kNvLink:
      return link.capacity * options_.nvlink_share.value_or(transports_.nvlink_share.share);
    case LinkKind::kChipToChip:
      return link.capacity * transports_.chip_to_chip_share.share;
    case LinkKind::kPcie:
      return link.capacity * transports_.pcie_share.share;
    case LinkKind::kCpuInterconnect:
      return link.capacity * transports_.interconnect_share.share;
    case LinkKind::kMemory:
    case LinkKind::kVirtual:
      return link.capacity * transports_.memory_share.share;
    case LinkKind::kNetwork:
      return link.capacity * network_share(is_shaped(link));
  }
  CHECK(false, "link kind {}", static_cast<int>(link.kind));
}

bool Wiring::is_shaped(const Link& link) const {
  const Node& from = built_.fabric.node(link.from);
  return from.kind == NodeKind::kNic && cluster_.hosts[from.host->index()]
                                            .nics[static_cast<std::size_t>(from.index)]
                                            .send_rate.has_value();
}

Ratio Wiring::network_share(bool shaped) const {
  switch (options_.network) {
    case Network::kSocket:
      return params::tcp_share(transports_.tcp, options_.mtu, shaped);
    case Network::kInfiniBand:
      return params::infiniband_share(transports_.infiniband, options_.path_mtu);
    case Network::kRoce:
      return params::roce_share(transports_.roce, options_.mtu, shaped);
    case Network::kNone:
      break;
  }
  CHECK(false, "a network link without a network");
}

}  // namespace busbw::transport
