// Limits inside a host beyond its links. See host_limits.h.
#include "models/transport/host_limits.h"

#include <algorithm>

#include "models/transport/layers.h"
#include "sim/core/check.h"

namespace busbw::transport {

using topologies::Link;
using topologies::LinkKind;
using topologies::Node;
using topologies::NodeKind;

HostLimits::HostLimits(engine::Engine& engine, const topologies::Cluster& cluster,
                       const topologies::BuiltCluster& built, const params::Transports& transports)
    : engine_(engine), cluster_(cluster), built_(built), pcie_(transports.pcie_share) {}

std::vector<engine::LinkId> HostLimits::of_blocks(const FabricPath& path) {
  std::vector<engine::LinkId> limits;
  for (const topologies::LinkId id : path) {
    const Link& link = built_.fabric.link(id);
    // A switch with ACS redirection has no way back: its two ways are two nodes.
    const auto back = built_.fabric.find_link(link.to, link.from);
    if (link.kind == LinkKind::kPcie) {
      limits.push_back(both_ways(id, back.value_or(id)));
    }
  }
  return limits;
}

engine::LinkId HostLimits::both_ways(topologies::LinkId link, topologies::LinkId back) {
  const auto [entry, is_new] = both_ways_.try_emplace(std::min(link, back));
  if (is_new) {
    const Link& medium = built_.fabric.link(link);
    const Bandwidth sum = (medium.capacity + built_.fabric.link(back).capacity) * pcie_.share;
    entry->second = engine_.add_link(medium.name + " both ways", sum * pcie_.host_both_ways);
  }
  return entry->second;
}

std::vector<engine::LinkId> HostLimits::of_peers(const FabricPath& path, topologies::NodeId nic) {
  std::vector<engine::LinkId> limits;
  const auto is_pcie = [&](topologies::LinkId id) {
    return built_.fabric.link(id).kind == LinkKind::kPcie;
  };
  const bool by_pcie = !path.empty() && is_pcie(path.front()) && is_pcie(path.back());
  if (!by_pcie || !meets_cpu(path)) {
    return limits;
  }
  const bool reads = built_.fabric.link(path.back()).to == nic;
  if (reads) {
    limits.push_back(named(peer_reads_, nic, "reads of peers", pcie_.peer_reads));
  }
  if (changes_socket(path)) {
    limits.push_back(
        named(peers_across_, nic, "peers of the other socket", pcie_.peers_across_sockets));
  }
  return limits;
}

bool HostLimits::meets_cpu(const FabricPath& path) const {
  return std::any_of(path.begin(), path.end(), [this](topologies::LinkId id) {
    return built_.fabric.node(built_.fabric.link(id).to).kind == NodeKind::kCpu;
  });
}

bool HostLimits::changes_socket(const FabricPath& path) const {
  return std::any_of(path.begin(), path.end(), [this](topologies::LinkId id) {
    const Link& link = built_.fabric.link(id);
    // The nodes of one socket meet in its socket node.
    return link.kind == LinkKind::kCpuInterconnect &&
           built_.fabric.node(link.from).kind == built_.fabric.node(link.to).kind;
  });
}

std::optional<engine::LinkId> HostLimits::of_translation(const FabricPath& path) {
  for (const topologies::LinkId id : path) {
    const Link& link = built_.fabric.link(id);
    const Node& from = built_.fabric.node(link.from);
    const Node& to = built_.fabric.node(link.to);
    const bool root =
        link.kind == LinkKind::kPcie && (from.kind == NodeKind::kCpu || to.kind == NodeKind::kCpu);
    if (!root || !cluster_.hosts[from.host->index()].dma_translation) {
      continue;
    }
    const Node& device = to.kind == NodeKind::kCpu ? from : to;
    const auto [entry, is_new] =
        translation_.try_emplace({*device.host, device.kind, device.index});
    if (is_new) {
      entry->second = engine_.add_link(device.name + " translation", pcie_.translated);
    }
    return entry->second;
  }
  return std::nullopt;
}

std::optional<engine::LinkId> HostLimits::of_verbs(std::size_t host, std::size_t nic) {
  const std::optional<Bandwidth>& rate = built_.nic_software_verbs[host][nic];
  if (!rate) {
    return std::nullopt;
  }
  return named(verbs_, built_.nics[host][nic], kSoftwareVerbs, *rate);
}

engine::LinkId HostLimits::named(std::map<topologies::NodeId, engine::LinkId>& known,
                                 topologies::NodeId node, const char* what, Bandwidth rate) {
  const auto [entry, is_new] = known.try_emplace(node);
  if (is_new) {
    entry->second = engine_.add_link(built_.fabric.node(node).name + " " + what, rate);
  }
  return entry->second;
}

}  // namespace busbw::transport
