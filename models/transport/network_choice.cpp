// See network_choice.h.
#include "models/transport/network_choice.h"

#include <algorithm>
#include <utility>

namespace busbw::transport {
namespace {

constexpr std::size_t kMostWays = 64;

/// 10.nic.host, as hosts get their addresses where a scenario gives none.
std::uint32_t address_of(const PortPlace& place) {
  constexpr std::uint32_t kTen = 10;
  return (kTen << 24U) | (static_cast<std::uint32_t>(place.nic) << 16U) |
         static_cast<std::uint32_t>(place.host + 1);
}

}  // namespace

NetworkChoice::NetworkChoice(const topologies::Cluster& cluster, const topologies::Fabric& fabric,
                             std::vector<params::Traffic> traffic, FlowOptions options)
    : cluster_(cluster),
      fabric_(fabric),
      traffic_(std::move(traffic)),
      options_(options),
      ways_(fabric) {}

const params::Traffic& NetworkChoice::traffic_at(topologies::NodeId node) const {
  static const params::Traffic kNothingSaid;
  const std::string& name = fabric_.node(node).name;
  for (std::size_t i = 0; i < traffic_.size() && i < cluster_.networks.size(); ++i) {
    if (name.rfind(cluster_.networks[i].name + "/", 0) == 0) {
      return traffic_[i];
    }
  }
  return kNothingSaid;
}

bool NetworkChoice::unfair() const {
  return std::any_of(traffic_.begin(), traffic_.end(),
                     [](const params::Traffic& traffic) { return traffic.unfair(); });
}

/// Numbers go up from connection to connection on each host, and stay.
std::uint32_t NetworkChoice::first_number(const NetworkEnds& ends) {
  constexpr std::uint32_t kFirst = 0x100;  // after those that the system keeps for itself
  const auto [entry, fresh] = numbers_.try_emplace({ends.from, ends.to, ends.channel});
  if (fresh) {
    std::uint32_t& next = numbers_of_host_.try_emplace(ends.out.host, kFirst).first->second;
    entry->second = next;
    next += static_cast<std::uint32_t>(options_.flows);
  }
  return entry->second;
}

FlowKey NetworkChoice::key_of(const NetworkEnds& ends, std::int32_t flow, std::uint64_t seed) {
  constexpr std::uint64_t kFirstPort = 32768;  // net.ipv4.ip_local_port_range
  constexpr std::uint64_t kPorts = 60999 - kFirstPort + 1;
  constexpr std::uint16_t kRoce = 4791;
  constexpr std::uint8_t kTcp = 6;
  constexpr std::uint8_t kUdp = 17;
  const std::uint32_t number = first_number(ends) + static_cast<std::uint32_t>(flow);
  const std::uint64_t drawn =
      hash_number((static_cast<std::uint64_t>(ends.out.host) << 32U) | number, seed);
  FlowKey key;
  key.source = address_of(ends.out);
  key.destination = address_of(ends.in);
  if (options_.tcp) {
    key.protocol = kTcp;
    key.source_port = static_cast<std::uint16_t>(kFirstPort + drawn % kPorts);
    key.destination_port = static_cast<std::uint16_t>(kFirstPort + (drawn >> 32U) % kPorts);
  } else {
    // The other end's queue pair: a number that its host has given out.
    constexpr std::uint64_t kNumbers = 1U << 14U;
    const auto remote = static_cast<std::uint32_t>(drawn % kNumbers) | 1U;
    key.protocol = kUdp;
    key.source_port = roce_source_port(number, remote);
    key.destination_port = kRoce;
  }
  return key;
}

NetworkChoice::Chosen NetworkChoice::choose(const NetworkEnds& ends) {
  Chosen chosen;
  chosen.ways = ways_.all(ends.out_leaf, ends.in_leaf, kMostWays);
  if (chosen.ways.size() <= 1) {
    return chosen;
  }
  const params::Traffic& traffic = traffic_at(ends.out_leaf);
  const params::Balance balance = traffic.balance.value_or(
      options_.ethernet ? params::Balance::kFlow : params::Balance::kDestination);
  switch (balance) {
    case params::Balance::kDestination: {
      const std::size_t number = ends.in.host + ends.in.nic + ends.in.port;
      chosen.ways = {chosen.ways[number % chosen.ways.size()]};
      break;
    }
    case params::Balance::kFlow:
      chosen.ways.clear();
      for (std::int32_t flow = 0; flow < options_.flows; ++flow) {
        const std::uint64_t hash = hash_flow(key_of(ends, flow, traffic.seed), traffic.seed);
        chosen.ways.push_back(ways_.hashed(ends.out_leaf, ends.in_leaf, hash));
      }
      chosen.spread = options_.split ? Spread::kCut : Spread::kInTurn;
      break;
    case params::Balance::kFlowlet:
      chosen.spread = Spread::kDrawn;
      chosen.draw = hash_flow(key_of(ends, 0, traffic.seed), traffic.seed);
      break;
    case params::Balance::kPacket:
      break;
  }
  return chosen;
}

}  // namespace busbw::transport
