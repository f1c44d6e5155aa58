// The part of Wiring that goes by the network: its ways, and what changes on them.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "models/transport/wiring.h"
#include "sim/core/check.h"
#include "sim/core/errors.h"

namespace busbw::transport {

std::optional<PortPair> Wiring::ports(RankId from, RankId to, ChannelId channel) const {
  if (options_.network == Network::kNone || std::max(from, to).value() >= ranks() ||
      !by_network(from, to)) {
    return std::nullopt;
  }
  return options_.pair_ports ? options_.pair_ports(from, to, channel)
                             : PortPair{options_.ports.at(from.index()).at(channel.index()),
                                        options_.ports.at(to.index()).at(channel.index())};
}

Connection Wiring::connect_network(RankId from, RankId to, ChannelId channel) {
  const std::optional<PortPair> pair = ports(from, to, channel);
  if (!pair) {
    CHECK(gpu_of(from).host == gpu_of(to).host, "rank {} and rank {} are on two hosts",
          from.value(), to.value());
    throw InputError(
        fmt::format("rank {} and rank {} share a host, but NCCL may use neither P2P "
                    "nor shared memory between them, and there is no network",
                    from.value(), to.value()));
  }
  const Meeting meeting = meeting_of(from, to, *pair);
  Connection connection = start_network();
  append_sender(connection, from, pair->out, meeting);
  if (meeting == Meeting::kOnTheWire) {
    append_network(connection, from, to, channel, *pair);
  } else {
    append_meeting(connection, from, to, *pair, meeting);
    append_receiver(connection, to, pair->in, meeting);
  }
  std::vector<engine::LinkId> threads;
  if (options_.network == Network::kSocket) {
    if (options_.socket_threads == 0) {
      const params::SocketCpu& cpu = transports_.socket_cpu;
      const Bandwidth rate = cluster_.hosts.size() == 1 ? cpu.loopback : cpu.proxy_thread;
      threads = {proxy_of(from, rate), proxy_of(to, rate)};
    }
    limit_sockets(connection);
  } else if (options_.protocol == params::Protocol::kLowLatency) {
    threads = {proxy_of(from, transports_.host.flag_check)};
  }
  connection.path.insert(connection.path.end(), threads.begin(), threads.end());
  for (std::vector<engine::LinkId>& way : connection.ways) {
    way.insert(way.end(), threads.begin(), threads.end());
  }
  connection.name = fmt::format("rank {} -> rank {} by {} over {}", from.value(), to.value(),
                                connection.transport, pair->out.device);
  return connection;
}

void Wiring::append_network(Connection& connection, RankId from, RankId to, ChannelId channel,
                            const PortPair& pair) {
  const NetworkEnds ends = ends_of(from, to, channel, pair);
  const NetworkWays ways = network_ways(ends, pair);
  const NetworkChoice::Chosen& chosen = ways.chosen;
  const std::vector<engine::LinkId> before = connection.path;
  append(connection.path, connection.latency, chosen.ways.front());
  const auto between = static_cast<std::ptrdiff_t>(connection.path.size());
  append_receiver(connection, to, pair.in, Meeting::kOnTheWire);
  for (std::size_t way = 0; chosen.ways.size() > 1 && way < chosen.ways.size(); ++way) {
    std::vector<engine::LinkId> links = before;
    for (const topologies::LinkId link : chosen.ways[way]) {
      links.push_back(engine_link(link));
    }
    links.insert(links.end(), connection.path.begin() + between, connection.path.end());
    connection.ways.push_back(std::move(links));
  }
  connection.spread = chosen.spread;
  connection.draw = chosen.draw;
  connection.passes = ways.dropped ? Bytes() : passes(ends);
}

Wiring::Meeting Wiring::meeting_of(RankId from, RankId to, const PortPair& pair) const {
  if (gpu_of(from).host != gpu_of(to).host) {
    return Meeting::kOnTheWire;
  }
  if (options_.network == Network::kSocket) {
    return Meeting::kInTheKernel;
  }
  const bool same = pair.out.nic == pair.in.nic && pair.out.port == pair.in.port;
  return same ? Meeting::kInTheHca : Meeting::kOnTheWire;
}

void Wiring::append_meeting(Connection& connection, RankId from, RankId to, const PortPair& pair,
                            Meeting meeting) {
  const Gpu source = gpu_of(from);
  const Gpu target = gpu_of(to);
  if (meeting == Meeting::kInTheHca) {
    connection.path.push_back(loopback_of(source.host, pair.out));
    return;
  }
  // What the sender copied into the kernel lies in its NUMA node.
  const auto numa = [&](const Gpu& gpu) {
    return static_cast<std::size_t>(built_.gpu_numa[gpu.host][gpu.local]);
  };
  if (numa(source) != numa(target)) {
    append(
        connection.path, connection.latency,
        host_route(built_.cpus[source.host][numa(source)], built_.cpus[target.host][numa(target)]));
  }
}

engine::LinkId Wiring::loopback_of(std::size_t host, const NetPort& port) {
  const auto [entry, is_new] = loopbacks_.try_emplace({host, port.nic, port.port});
  if (is_new) {
    const std::string& name = built_.fabric.node(built_.nics[host][port.nic]).name;
    entry->second = engine_.add_link(
        name + " loopback", cluster_.hosts[host].nics[port.nic].rate * network_share(false));
  }
  return entry->second;
}

NetworkEnds Wiring::ends_of(RankId from, RankId to, ChannelId channel, const PortPair& pair) const {
  NetworkEnds ends{from, to, channel, {}, {}, {}, {}};
  ends.out = {gpu_of(from).host, pair.out.nic, pair.out.port};
  ends.in = {gpu_of(to).host, pair.in.nic, pair.in.port};
  const topologies::Wire* out = cable(pair.out, ends.out.host);
  const topologies::Wire* in = cable(pair.in, ends.in.host);
  if (out == nullptr || in == nullptr) {
    throw InputError(
        fmt::format("'{}' of host {} cannot reach '{}' of host {}: not cabled; list "
                    "them in one of the 'networks' of 'cluster'",
                    pair.out.device, ends.out.host + 1, pair.in.device, ends.in.host + 1));
  }
  ends.out_leaf = out->leaf;
  ends.in_leaf = in->leaf;
  return ends;
}

Wiring::NetworkWays Wiring::network_ways(const NetworkEnds& ends, const PortPair& pair) {
  const topologies::Wire& out = *cable(pair.out, ends.out.host);
  const topologies::Wire& in = *cable(pair.in, ends.in.host);
  const auto flow = static_cast<std::uint64_t>(ends.channel.value());
  // The way of the tables or, without any, of the graph: also what is left where all ways are to be
  // avoided, so that what goes there fails.
  topologies::NetworkWay way = routes_.way(out, in, flow);
  if (!way.refused.empty()) {
    throw InputError(fmt::format("'{}' of host {} cannot reach '{}' of host {}: {}",
                                 pair.out.device, ends.out.host + 1, pair.in.device,
                                 ends.in.host + 1, way.refused));
  }
  NetworkWays found;
  NetworkChoice::Chosen& chosen = found.chosen;
  const bool by_tables = out.place && built_.routed[out.place->network].by_tables &&
                         !networks_.traffic_at(ends.out_leaf).balance;
  if (!by_tables) {
    chosen = networks_.choose(ends);
  }
  found.dropped = options_.network == Network::kInfiniBand &&
                  !topologies::share_partition(out, in, options_.pkey_index);
  for (FabricPath& between : chosen.ways) {
    between.insert(between.begin(), out.out);
    between.push_back(in.in);
  }
  if (chosen.ways.empty()) {
    found.dropped = found.dropped || !way.lost.empty();
    chosen.ways.push_back(way.lost.empty() ? std::move(way.links) : FabricPath{out.out, in.in});
  }
  const bool meets = options_.network == Network::kSocket || networks_.unfair();
  for (const FabricPath& chosen_way : chosen.ways) {
    for (std::size_t i = 0; meets && i < chosen_way.size(); ++i) {
      pairs_[chosen_way[i]].insert({ends.out, ends.in});
    }
  }
  return found;
}

std::optional<Bytes> Wiring::passes(const NetworkEnds& ends) const {
  const params::Traffic& traffic = networks_.traffic_at(ends.out_leaf);
  if (!traffic.mtu || *traffic.mtu >= options_.mtu) {
    return std::nullopt;
  }
  if (options_.network == Network::kRoce) {
    // Packets of the path MTU, which both ends agree on and no switch is asked about.
    const std::int64_t headers = transports_.roce.headers.count();
    return params::roce_path_mtu(transports_.roce, options_.mtu) + headers <= *traffic.mtu
               ? std::nullopt
               : std::optional(Bytes(*traffic.mtu - headers));
  }
  return options_.network == Network::kSocket
             ? std::optional(Bytes(*traffic.mtu) - transports_.tcp.headers)
             : std::nullopt;
}

Bandwidth Wiring::present_rate(topologies::LinkId link) const {
  Bandwidth rate = payload_rate(built_.fabric.link(link));
  const auto least = [](Bandwidth left) {
    return std::max(left, Bandwidth::bits_per_second(1));  // 0 would be down
  };
  if (const auto settled = settled_.find(link); settled != settled_.end()) {
    rate = least(rate * settled->second);
  }
  if (const auto left = degraded_.find(link); left != degraded_.end()) {
    rate = left->second.numerator == 0 ? Bandwidth() : least(rate * left->second);
  }
  return rate;
}

void Wiring::degrade(topologies::LinkId link, Ratio share) {
  degraded_[link] = share;
  if (const std::optional<engine::LinkId> known = find(link)) {
    engine_.set_capacity(*known, present_rate(link));
  }
}

void Wiring::settle(Bytes block) {
  if (pairs_.empty()) {
    return;
  }
  IncastNetwork network;
  network.tcp = options_.network == Network::kSocket;
  network.packet = network.tcp ? Bytes(options_.mtu) - transports_.tcp.headers
                               : Bytes(params::roce_path_mtu(transports_.roce, options_.mtu));
  network.largest_block = block;
  settled_ = incast_shares(built_.fabric, pairs_, networks_, transports_, network);
  for (const auto& [link, share] : settled_) {
    if (const std::optional<engine::LinkId> known = find(link)) {
      engine_.set_capacity(*known, present_rate(link));
    }
  }
}

}  // namespace busbw::transport
