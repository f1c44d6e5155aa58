// Puts the switches and cables of a fabric file into the cluster's graph and routes its subnets.
//
// Hosts of the fabric that the cluster does not have leave their places empty: their cables are
// left out, everything else stands. A cable that is down becomes two links of capacity 0, so that
// it can come up later.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "sim/core/check.h"
#include "topologies/build_network.h"

namespace busbw::topologies {
namespace {

using networks::Cable;
using networks::End;
using networks::EndpointId;
using networks::Subnet;

class SubnetLayer {
 public:
  SubnetLayer(Fabric& fabric, const std::string& network, const Subnet& subnet)
      : fabric_(fabric), subnet_(subnet) {
    for (const networks::Switch& node : subnet.switches) {
      switches_.push_back(
          fabric.add_node({NodeKind::kSwitch, fmt::format("{}/{}", network, node.name),
                           std::nullopt, static_cast<std::int32_t>(switches_.size())}));
    }
  }

  /// `port` is the NIC at a host cable; null between switches.
  std::pair<LinkId, LinkId> lay(const Cable& cable, const NicPort* port) {
    CHECK(cable.b.at_switch, "a cable that ends at no switch");
    const NodeId b = node_of(cable.b);
    const NodeId a = port == nullptr ? node_of(cable.a) : port->nic;
    const Bandwidth there = port == nullptr ? cable.rate : std::min(cable.rate, port->out);
    const Bandwidth back = port == nullptr ? cable.rate : std::min(cable.rate, port->in);
    const Duration nic = port == nullptr ? Duration() : port->latency;
    const LinkId out = fabric_.add_link(LinkKind::kNetwork, a, b, cable.up ? there : Bandwidth(),
                                        cable.latency + nic + latency_from(cable.a));
    const LinkId in = fabric_.add_link(LinkKind::kNetwork, b, a, cable.up ? back : Bandwidth(),
                                       cable.latency + nic + latency_from(cable.b));
    return {out, in};
  }
  [[nodiscard]] NodeId node_of(const End& end) const {
    return switches_.at(static_cast<std::size_t>(end.node));
  }

 private:
  [[nodiscard]] Duration latency_from(const End& end) const {
    return end.at_switch ? subnet_.at(networks::SwitchId(end.node)).latency : Duration();
  }

  Fabric& fabric_;
  const Subnet& subnet_;
  std::vector<NodeId> switches_;
};

using PortKey = std::pair<std::int32_t, std::int32_t>;  // host of the fabric, port in it

/// Where a port of the cluster hangs in the fabric.
PortKey key_of(const Network& network, const NicPort& port) {
  const std::size_t host = port.host.index();
  return {host < network.places.size() ? network.places[host] : port.host.value(), port.in_host};
}

/// Places of all endpoints of a fabric.
std::map<PortKey, FabricPlace> places_of(const networks::BuiltFabric& plan, std::size_t network) {
  std::map<PortKey, FabricPlace> places;
  for (std::size_t s = 0; s < plan.subnets.size(); s++) {
    for (std::size_t i = 0; i < plan.subnets[s].endpoints.size(); i++) {
      const networks::Endpoint& endpoint = plan.subnets[s].endpoints[i];
      places[{endpoint.host_index, endpoint.nic_index}] = {
          network, s, EndpointId(static_cast<std::int32_t>(i))};
    }
  }
  return places;
}

bool check_places(const Network& network, const std::map<PortKey, FabricPlace>& places,
                  const std::vector<NicPort>& ports, Problems& problems) {
  std::map<std::int32_t, std::size_t> taken;  // host of the fabric -> of the cluster
  for (std::size_t host = 0; host < network.places.size(); host++) {
    if (!taken.try_emplace(network.places[host], host).second) {
      problems.add(network.where, fmt::format("two hosts at place {} of network '{}'",
                                              network.places[host], network.name));
      return false;
    }
  }
  for (const NicPort& port : ports) {
    if (places.count(key_of(network, port)) == 0) {
      problems.add(
          network.where,
          fmt::format("the fabric '{}' of network '{}' has no place for port {} of host "
                      "{}",
                      network.fabric->name, network.name, port.in_host + 1, port.host.value() + 1));
      return false;
    }
  }
  return true;
}

}  // namespace

std::vector<Wire> build_routed(BuiltCluster& built, const Network& network, const Catalog& catalog,
                               const std::vector<NicPort>& ports, Problems& problems) {
  const std::size_t before = problems.all().size();
  networks::BuiltFabric plan = networks::build_fabric(*network.fabric, catalog, problems);
  const std::map<PortKey, FabricPlace> places = places_of(plan, built.routed.size());
  if (problems.all().size() > before || !check_places(network, places, ports, problems)) {
    return {};
  }
  std::map<PortKey, const NicPort*> nics;
  for (const NicPort& port : ports) {
    nics[key_of(network, port)] = &port;
  }
  RoutedNetwork routed;
  routed.name = network.name;
  const networks::FabricSpec& spec = *network.fabric;
  routed.by_tables = spec.routing || !spec.tables.empty() || plan.subnets.empty() ||
                     plan.subnets.front().layer == networks::LinkLayer::kInfiniBand;
  std::map<PortKey, Wire> wires;
  for (Subnet& subnet : plan.subnets) {
    SubnetLayer layer(built.fabric, network.name, subnet);
    std::vector<std::optional<std::pair<LinkId, LinkId>>> links;
    for (const Cable& cable : subnet.cables) {
      const NicPort* port = nullptr;
      if (!cable.a.at_switch) {
        const networks::Endpoint& endpoint = subnet.at(EndpointId(cable.a.node));
        const PortKey key{endpoint.host_index, endpoint.nic_index};
        const auto nic = nics.find(key);
        if (nic == nics.end()) {
          links.emplace_back(std::nullopt);
          continue;
        }
        port = nic->second;
        links.emplace_back(layer.lay(cable, port));
        wires[key] = {links.back()->first, links.back()->second, layer.node_of(cable.b),
                      places.at(key), endpoint.pkeys};
        continue;
      }
      links.emplace_back(layer.lay(cable, port));
    }
    networks::PortMap map(subnet);
    networks::Routes routes = networks::routes_of(plan, subnet, map);
    routed.subnets.push_back(
        {std::move(subnet), std::move(map), std::move(routes), std::move(links)});
  }
  built.routed.push_back(std::move(routed));
  std::vector<Wire> result;
  result.reserve(ports.size());
  for (const NicPort& port : ports) {
    result.push_back(wires.at(key_of(network, port)));
  }
  return result;
}

}  // namespace busbw::topologies
