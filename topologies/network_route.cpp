// See network_route.h.
#include "topologies/network_route.h"

#include <utility>

#include "sim/core/check.h"
#include "topologies/build.h"

namespace busbw::topologies {
namespace {

NetworkWay refuse(std::string why) {
  return {{}, std::move(why), {}};
}

NetworkWay lose(std::string why) {
  return {{}, {}, std::move(why)};
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

bool share_partition(const Wire& a, const Wire& b, int index) {
  const auto entry = static_cast<std::size_t>(index);
  return index >= 0 && entry < a.pkeys.size() && entry < b.pkeys.size() &&
         networks::keys_match(a.pkeys[entry], b.pkeys[entry]);
}

void PresentRoutes::avoid(LinkId link, bool avoided) {
  if (avoided) {
    avoided_.insert(link);
  } else {
    avoided_.erase(link);
  }
  tables_.clear();
}

const PresentRoutes::Tables* PresentRoutes::present(Place place, const RoutedSubnet& routed) {
  if (avoided_.empty()) {
    return nullptr;
  }
  const auto [entry, fresh] = tables_.try_emplace(place);
  if (fresh) {
    networks::Subnet left = routed.subnet;
    bool changed = false;
    for (std::size_t i = 0; i < left.cables.size(); i++) {
      networks::Cable& cable = left.cables[i];
      const auto& links = routed.links[i];
      const bool avoided =
          links && (avoided_.count(links->first) > 0 || avoided_.count(links->second) > 0);
      if (cable.a.at_switch && cable.up && avoided) {
        cable.up = false;
        changed = true;
      }
    }
    if (changed) {
      const networks::Engine asked = routed.routes.asked;
      networks::PortMap map(left);
      networks::Routes routes = networks::route(
          left, map, asked == networks::Engine::kTables ? networks::Engine::kMinHop : asked);
      entry->second.emplace(Tables{std::move(map), std::move(routes)});
    }
  }
  return entry->second ? &*entry->second : nullptr;
}

NetworkWay PresentRoutes::way(const Wire& from, const Wire& to, std::uint64_t flow) {
  if (!from.place && !to.place) {
    return shortest_way(built_, from, to);
  }
  const RoutedSubnet* routed = common_subnet(built_, from, to);
  if (routed == nullptr) {
    const bool network = from.place && to.place && from.place->network == to.place->network;
    return refuse(network ? "they are in different subnets of the network"
                          : "they are on different networks");
  }
  const networks::Subnet& subnet = routed->subnet;
  if (!subnet.managed || subnet.hosts_init) {
    return lose(subnet.managed ? "their ports came up after the subnet manager had gone: INIT"
                               : "no subnet manager has set up the subnet: its ports are INIT");
  }
  const Tables* now = present({from.place->network, from.place->subnet}, *routed);
  const networks::EndpointId target = to.place->endpoint;
  const auto lids = std::uint64_t{1} << subnet.lmc;
  const networks::Lid lid(subnet.at(target).lid.value() + static_cast<std::int32_t>(flow % lids));
  const networks::Way found = networks::follow(
      subnet, now == nullptr ? routed->map : now->map,
      now == nullptr ? routed->routes.lfts : now->routes.lfts, from.place->endpoint, {target, lid});
  if (!found.broken.empty()) {
    return lose(found.broken);
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
  return PresentRoutes(built).way(from, to, flow);
}

}  // namespace busbw::topologies
