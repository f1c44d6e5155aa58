// See ways.h.
#include "models/transport/ways.h"

#include <algorithm>
#include <utility>

#include "sim/core/check.h"

namespace busbw::transport {

using topologies::LinkId;
using topologies::LinkKind;
using topologies::NodeId;
using topologies::NodeKind;

std::uint64_t hash_number(std::uint64_t number, std::uint64_t seed) {
  std::uint64_t z = number + seed * 0x9e3779b97f4a7c15U + 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

std::uint64_t hash_flow(const FlowKey& key, std::uint64_t seed) {
  const std::uint64_t addresses = (static_cast<std::uint64_t>(key.source) << 32U) | key.destination;
  const std::uint64_t ports = (static_cast<std::uint64_t>(key.source_port) << 32U) |
                              (static_cast<std::uint64_t>(key.destination_port) << 8U) |
                              key.protocol;
  return hash_number(ports, hash_number(addresses, seed));
}

std::uint16_t roce_source_port(std::uint32_t local, std::uint32_t remote) {
  constexpr std::uint64_t kLabel = 0xfffff;
  constexpr std::uint64_t kLow = 0x03fff;
  constexpr std::uint64_t kLeast = 0xc000;
  std::uint64_t value = static_cast<std::uint64_t>(local) * remote;
  value ^= value >> 20U;
  value ^= value >> 40U;
  const std::uint64_t label = value & kLabel;
  return static_cast<std::uint16_t>(((label & kLow) ^ (label >> 14U)) | kLeast);
}

std::size_t draw_way(const Connection& connection, std::size_t number) {
  return static_cast<std::size_t>(hash_number(number, connection.draw) % connection.ways.size());
}

Ways::Ways(const topologies::Fabric& fabric) : fabric_(fabric) {
  for (std::size_t i = 0; i < fabric.link_count(); ++i) {
    const LinkId id(static_cast<std::int32_t>(i));
    const topologies::Link& link = fabric.link(id);
    if (link.kind == LinkKind::kNetwork && link.capacity > Bandwidth() &&
        fabric.node(link.from).kind == NodeKind::kSwitch &&
        fabric.node(link.to).kind == NodeKind::kSwitch) {
      links_from_[link.from].push_back(id);
      links_to_[link.to].push_back(id);
    }
  }
}

void Ways::avoid(LinkId link, bool avoided) {
  if (avoided) {
    avoided_.insert(link);
  } else {
    avoided_.erase(link);
  }
  distances_.clear();
  all_.clear();
}

bool Ways::avoids(const FabricPath& way) const {
  return std::any_of(way.begin(), way.end(),
                     [this](LinkId link) { return avoided_.count(link) > 0; });
}

const std::vector<std::int32_t>& Ways::distances(NodeId to) {
  const auto [entry, fresh] = distances_.try_emplace(to);
  std::vector<std::int32_t>& distance = entry->second;
  if (!fresh) {
    return distance;
  }
  distance.assign(fabric_.node_count(), -1);
  distance[to.index()] = 0;
  std::vector<NodeId> queue{to};
  for (std::size_t next = 0; next < queue.size(); ++next) {
    const NodeId at = queue[next];
    for (const LinkId link : links_to_[at]) {
      const NodeId before = fabric_.link(link).from;
      if (avoided_.count(link) == 0 && distance[before.index()] < 0) {
        distance[before.index()] = distance[at.index()] + 1;
        queue.push_back(before);
      }
    }
  }
  return distance;
}

Ways::FabricPath Ways::nearer(NodeId at, const std::vector<std::int32_t>& distance) const {
  FabricPath found;
  const auto links = links_from_.find(at);
  if (links == links_from_.end()) {
    return found;
  }
  for (const LinkId link : links->second) {
    const std::int32_t left = distance[fabric_.link(link).to.index()];
    if (avoided_.count(link) == 0 && left >= 0 && left + 1 == distance[at.index()]) {
      found.push_back(link);
    }
  }
  return found;
}

std::uint64_t Ways::count(NodeId at, const std::vector<std::int32_t>& distance,
                          std::map<NodeId, std::uint64_t>& known) const {
  constexpr std::uint64_t kMany = std::uint64_t{1} << 40U;
  if (distance[at.index()] == 0) {
    return 1;
  }
  const auto found = known.find(at);
  if (found != known.end()) {
    return found->second;
  }
  std::uint64_t ways = 0;
  for (const LinkId link : nearer(at, distance)) {
    ways = std::min(kMany, ways + count(fabric_.link(link).to, distance, known));
  }
  known.emplace(at, ways);
  return ways;
}

const std::vector<Ways::FabricPath>& Ways::all(NodeId from, NodeId to, std::size_t most) {
  const auto [entry, fresh] = all_.try_emplace({from, to, most});
  std::vector<FabricPath>& ways = entry->second;
  const std::vector<std::int32_t>& distance = distances(to);
  if (!fresh || distance[from.index()] < 0) {
    return ways;
  }
  std::map<NodeId, std::uint64_t> known;
  const std::uint64_t total = count(from, distance, known);
  const std::uint64_t picks = std::min<std::uint64_t>(most, total);
  const std::uint64_t stride = total / picks;
  const std::uint64_t seed =
      (static_cast<std::uint64_t>(from.value()) << 32U) | static_cast<std::uint64_t>(to.value());
  for (std::uint64_t pick = 0; pick < picks; ++pick) {
    // One of each stretch of equal length, so that all switches of a tier get their part.
    std::uint64_t number = pick * stride + hash_number(pick, seed) % stride;
    FabricPath way;
    for (NodeId at = from; at != to; at = fabric_.link(way.back()).to) {
      for (const LinkId link : nearer(at, distance)) {
        const std::uint64_t beyond = count(fabric_.link(link).to, distance, known);
        if (number < beyond) {
          way.push_back(link);
          break;
        }
        number -= beyond;
      }
    }
    ways.push_back(std::move(way));
  }
  return ways;
}

Ways::FabricPath Ways::hashed(NodeId from, NodeId to, std::uint64_t hash) {
  const std::vector<std::int32_t>& distance = distances(to);
  FabricPath way;
  if (distance[from.index()] < 0) {
    return way;
  }
  for (NodeId at = from; at != to;) {
    const FabricPath next = nearer(at, distance);
    CHECK(!next.empty(), "no way on from '{}'", fabric_.node(at).name);
    const std::uint64_t own = hash_number(static_cast<std::uint64_t>(at.value()), hash);
    way.push_back(next[static_cast<std::size_t>(own % next.size())]);
    at = fabric_.link(way.back()).to;
  }
  return way;
}

}  // namespace busbw::transport
