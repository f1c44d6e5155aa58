// See network_route.h.
#include "topologies/network_route.h"

#include <fmt/format.h>

#include "sim/core/check.h"
#include "topologies/build.h"

namespace busbw::topologies {
namespace {

NetworkWay refuse(std::string why) {
  return {{}, std::move(why)};
}

NetworkWay shortest_way(const BuiltCluster& built, const Wire& from, const Wire& to) {
  const auto between = built.fabric.route(from.leaf, to.leaf, network_only());
  if (!between) {
    return refuse("they are on different networks");
  }
  NetworkWay way;
  way.links.push_back(from.out);
  way.links.insert(way.links.end(), between->begin(), between->end());
  way.links.push_back(to.in);
  return way;
}

}  // namespace

const RoutedSubnet* common_subnet(const BuiltCluster& built, const Wire& from, const Wire& to) {
  if (!from.place || !to.place || from.place->network != to.place->network ||
      from.place->subnet != to.place->subnet) {
    return nullptr;
  }
  return &built.routed[from.place->network].subnets[from.place->subnet];
}

NetworkWay known_way(const BuiltCluster& built, const Wire& from, const Wire& to,
                     std::uint64_t flow) {
  if (!from.place && !to.place) {
    return shortest_way(built, from, to);
  }
  const RoutedSubnet* routed = common_subnet(built, from, to);
  if (routed == nullptr) {
    const bool network = from.place && to.place && from.place->network == to.place->network;
    return refuse(network ? "they are in different subnets of the network"
                          : "they are on different networks");
  }
  const networks::Subnet& subnet = routed->subnet;
  if (!subnet.managed) {
    return refuse("no subnet manager has set up the subnet: its ports are INIT");
  }
  const networks::EndpointId target = to.place->endpoint;
  const auto lids = std::uint64_t{1} << subnet.lmc;
  const networks::Lid lid(subnet.at(target).lid.value() + static_cast<std::int32_t>(flow % lids));
  const networks::Way found =
      networks::follow(subnet, routed->map, routed->routes.lfts, from.place->endpoint, target, lid);
  if (!found.broken.empty()) {
    return refuse(found.broken);
  }
  NetworkWay way;
  for (const networks::Hop& hop : found.hops) {
    const auto& links = routed->links[hop.cable.index()];
    CHECK(links.has_value(), "cable {} of a way is not in the graph", hop.cable.value());
    way.links.push_back(hop.forward ? links->first : links->second);
  }
  return way;
}

NetworkWay network_way(const BuiltCluster& built, const Wire& from, const Wire& to,
                       std::uint64_t flow) {
  const RoutedSubnet* routed = common_subnet(built, from, to);
  if (routed != nullptr && routed->subnet.layer == networks::LinkLayer::kInfiniBand) {
    const networks::Subnet& subnet = routed->subnet;
    if (subnet.managed && !subnet.answering) {
      return refuse("the subnet manager does not answer: no path record for a new connection");
    }
    if (!networks::share_partition(subnet.at(from.place->endpoint),
                                   subnet.at(to.place->endpoint))) {
      return refuse("they share no P_Key with a full member");
    }
  }
  return known_way(built, from, to, flow);
}

}  // namespace busbw::topologies
