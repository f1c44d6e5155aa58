// Wiring of ranks: builds each connection once and adds its links to the engine.
#include "models/transport/wiring.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/core/check.h"
#include "sim/core/errors.h"

namespace busbw::transport {

using topologies::Link;
using topologies::LinkKind;
using topologies::Node;
using topologies::NodeKind;

Wiring::Wiring(engine::Engine& engine, const topologies::Cluster& cluster,
               const topologies::BuiltCluster& built, const params::Transports& transports,
               WiringOptions options)
    : engine_(engine),
      cluster_(cluster),
      built_(built),
      transports_(transports),
      options_(std::move(options)),
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

Connection Wiring::connect(RankId from, RankId to, ChannelId channel) {
  CHECK(from != to, "rank {}", from.value());
  const bool inside = cluster_.domain_of(gpu_of(from).host) == cluster_.domain_of(gpu_of(to).host);
  return inside ? connect_inside(from, to) : connect_hosts(from, to, channel);
}

Connection Wiring::start(const params::Transport& transport, const std::string& name) const {
  Connection connection;
  connection.transport = name;
  connection.latency = transport.latency[static_cast<std::size_t>(options_.protocol)];
  connection.per_message = transport.per_message;
  connection.rate_cap = transport.channel_limit;
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
      append(connection, *nvlink);
    } else if (cluster_.hosts[source.host].peer_to_peer) {
      connection = start(transports_.pcie, "pcie-p2p");
      append(connection, host_route(a, b));
    }
  }
  if (connection.transport.empty()) {
    if (!options_.shm) {
      throw InputError(
          fmt::format("rank {} and rank {} share a host, but NCCL may use neither P2P "
                      "nor shared memory between them",
                      from.value(), to.value()));
    }
    const auto numa = static_cast<std::size_t>(built_.gpu_numa[target.host][target.local]);
    connection = start(transports_.shm, "shm");
    append(connection, through_memory(a, b, {target.host, numa, 1}));
  }
  connection.name =
      fmt::format("rank {} -> rank {} by {}", from.value(), to.value(), connection.transport);
  return connection;
}

Connection Wiring::connect_hosts(RankId from, RankId to, ChannelId channel) {
  const std::size_t source = gpu_of(from).host;
  const std::size_t target = gpu_of(to).host;
  CHECK(options_.network != Network::kNone, "rank {} and rank {} are on two hosts", from.value(),
        to.value());
  const NetPort& out = options_.ports.at(from.index()).at(channel.index());
  const NetPort& in = options_.ports.at(to.index()).at(channel.index());
  const bool socket = options_.network == Network::kSocket;
  Connection connection =
      socket ? start(transports_.socket, "socket")
             : start(transports_.rdma, options_.network == Network::kRoce ? "roce" : "ib");
  // The kernel's thread block copies between the GPU and the host buffer, as it does for shared
  // memory.
  CHECK(transports_.shm.channel_limit.has_value(), "shm needs a channel limit");
  connection.staging = *transports_.shm.channel_limit;
  append_staged(connection, from, out, Direction::kSend);
  append(connection, network_path(out, source, in, target));
  append_staged(connection, to, in, Direction::kReceive);
  if (socket) {
    if (options_.socket_threads == 0) {
      append_proxy(connection, from);
      append_proxy(connection, to);
    }
    limit_sockets(connection);
  }
  connection.name = fmt::format("rank {} -> rank {} by {} over {}", from.value(), to.value(),
                                connection.transport, out.device);
  return connection;
}

/// Between the GPU of `rank` and its NIC: straight with GPU Direct, else through host memory.
void Wiring::append_staged(Connection& connection, RankId rank, const NetPort& port,
                           Direction direction) {
  const bool send = direction == Direction::kSend;
  const bool socket = options_.network == Network::kSocket;
  if (!socket && (send ? port.gdr_send : port.gdr_receive)) {
    append(connection, nic_route(rank, port, direction));
    return;
  }
  const Gpu gpu = gpu_of(rank);
  const topologies::NodeId nic = built_.nics[gpu.host][port.nic];
  const auto numa = static_cast<std::size_t>(built_.gpu_numa[gpu.host][gpu.local]);
  // TCP: the kernel copies between NCCL's host buffer and its own socket buffers.
  const Staging staging{gpu.host, numa, socket ? 2 : 1};
  append(connection, send ? through_memory(node_of(gpu), nic, staging)
                          : through_memory(nic, node_of(gpu), staging));
  ++connection.staged_copies;
}

/// The way between a GPU and its NIC inside the host. With PXN data goes over NVLink to the
/// relaying GPU and from its memory to the NIC.
Wiring::FabricPath Wiring::nic_route(RankId rank, const NetPort& port, Direction direction) const {
  const Gpu gpu = gpu_of(rank);
  const topologies::NodeId nic = built_.nics[gpu.host][port.nic];
  const topologies::NodeId near = node_of(port.relay ? gpu_of(*port.relay) : gpu);
  const bool send = direction == Direction::kSend;
  FabricPath path = send ? host_route(near, nic) : host_route(nic, near);
  if (port.relay) {
    const topologies::NodeId own = node_of(gpu);
    const auto nvlink = send ? built_.fabric.route(own, near, topologies::nvlink_only())
                             : built_.fabric.route(near, own, topologies::nvlink_only());
    CHECK(nvlink.has_value(), "no NVLink between rank {} and its relay", rank.value());
    path.insert(send ? path.begin() : path.end(), nvlink->begin(), nvlink->end());
  }
  return path;
}

Wiring::FabricPath Wiring::host_route(topologies::NodeId from, topologies::NodeId to) const {
  const auto path = built_.fabric.route(from, to, topologies::host_only());
  CHECK(path.has_value(), "no way inside the host from {} to {}", built_.fabric.node(from).name,
        built_.fabric.node(to).name);
  return *path;
}

Wiring::FabricPath Wiring::through_memory(topologies::NodeId from, topologies::NodeId to,
                                          Staging staging) const {
  const topologies::NodeId cpu = built_.cpus[staging.host][staging.numa];
  const topologies::NodeId memory = built_.memories[staging.host][staging.numa];
  FabricPath path = host_route(from, cpu);
  for (std::int32_t buffer = 0; buffer < staging.buffers; ++buffer) {
    path.push_back(*built_.fabric.find_link(cpu, memory));
    path.push_back(*built_.fabric.find_link(memory, cpu));
  }
  const FabricPath rest = host_route(cpu, to);
  path.insert(path.end(), rest.begin(), rest.end());
  return path;
}

Wiring::FabricPath Wiring::network_path(const NetPort& from, std::size_t from_host,
                                        const NetPort& to, std::size_t to_host) const {
  const auto& out = built_.wires[from_host][from.nic];
  const auto& in = built_.wires[to_host][to.nic];
  const auto unreachable = [&](const char* why) {
    throw InputError(fmt::format("'{}' of host {} cannot reach '{}' of host {}: {}", from.device,
                                 from_host + 1, to.device, to_host + 1, why));
  };
  const auto cabled = [](const auto& ports, std::size_t port) {
    return port < ports.size() && ports[port].has_value();
  };
  if (!cabled(out, from.port) || !cabled(in, to.port)) {
    unreachable("not cabled; list them in one of the 'networks' of 'cluster'");
  }
  FabricPath path{out[from.port]->out};
  const auto between =
      built_.fabric.route(out[from.port]->leaf, in[to.port]->leaf, topologies::network_only());
  if (!between) {
    unreachable("they are on different networks");
  }
  path.insert(path.end(), between->begin(), between->end());
  path.push_back(in[to.port]->in);
  return path;
}

void Wiring::append(Connection& connection, const FabricPath& path) {
  for (const topologies::LinkId id : path) {
    connection.path.push_back(engine_link(id));
    connection.latency += built_.fabric.link(id).latency;
  }
}

void Wiring::append_proxy(Connection& connection, RankId rank) {
  const auto [entry, is_new] = proxies_.try_emplace(rank);
  if (is_new) {
    entry->second = engine_.add_link(fmt::format("rank {} proxy thread", rank.value()),
                                     transports_.socket_cpu.proxy_thread);
  }
  connection.path.push_back(entry->second);
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
    const Link& medium = built_.fabric.link(link);
    known = engine_.add_link(medium.name, payload_rate(medium));
  }
  return *known;
}

Bandwidth Wiring::payload_rate(const Link& link) const {
  switch (link.kind) {
    case LinkKind::kNvLink:
      return link.capacity * transports_.nvlink_share.share;
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
      return link.capacity * network_share(link);
  }
  CHECK(false, "link kind {}", static_cast<int>(link.kind));
}

Ratio Wiring::network_share(const Link& link) const {
  const Node& from = built_.fabric.node(link.from);
  const bool shaped = from.kind == NodeKind::kNic && cluster_.hosts[from.host->index()]
                                                         .nics[static_cast<std::size_t>(from.index)]
                                                         .send_rate.has_value();
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
