// minhop, updn and d-mod-k, and the choice between engines. ftree has a file of its own.
#include "topologies/networks/routing.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "sim/core/check.h"

namespace busbw::networks {
namespace {

std::uint64_t bytes_reversed(std::uint64_t guid) {
  std::uint64_t result = 0;
  for (int i = 0; i < 8; i++) {
    result = (result << 8) | (guid & 0xff);
    guid >>= 8;
  }
  return result;
}

/// Hops to `to` over links that `admit` allows, from each switch; kFar where there is no way.
template <class Admit>
std::vector<std::int32_t> hops_to(const PortMap& map, std::size_t switches, SwitchId to,
                                  const Admit& admit) {
  std::vector<std::int32_t> hops(switches, NextPorts::kFar);
  std::vector<std::int32_t> queue;
  queue.reserve(switches);
  hops[to.index()] = 0;
  queue.push_back(to.value());
  for (std::size_t head = 0; head < queue.size(); head++) {
    const SwitchId here(queue[head]);
    for (const Neighbour& neighbour : map.of(here)) {
      const End& from = neighbour.there;
      if (!from.at_switch || !admit(SwitchId(from.node), here)) {
        continue;
      }
      std::int32_t& distance = hops[static_cast<std::size_t>(from.node)];
      if (distance == NextPorts::kFar) {
        distance = hops[here.index()] + 1;
        queue.push_back(from.node);
      }
    }
  }
  return hops;
}

/// A switch all of whose hosts, but for a few, are equally far away is a root of the tree.
/// Source of the two shares: OpenSM 3.3.23, doc/current-routing.txt.
std::vector<SwitchId> find_roots(const Subnet& subnet, const PortMap& map) {
  std::vector<std::map<std::int32_t, std::int64_t>> bars(subnet.switches.size());
  std::int64_t hosts = 0;
  for (std::size_t i = 0; i < subnet.switches.size(); i++) {
    const SwitchId leaf(static_cast<std::int32_t>(i));
    const auto count = static_cast<std::int64_t>(map.endpoints_on(leaf).size());
    if (count == 0) {
      continue;
    }
    hosts += count;
    const auto all = [](SwitchId, SwitchId) { return true; };
    const std::vector<std::int32_t> hops = hops_to(map, subnet.switches.size(), leaf, all);
    for (std::size_t from = 0; from < hops.size(); from++) {
      bars[from][hops[from]] += count;
    }
  }
  std::vector<SwitchId> roots;
  for (std::size_t i = 0; i < bars.size(); i++) {
    std::int64_t over_most = 0;
    std::int64_t over_few = 0;
    for (const auto& [hops, count] : bars[i]) {
      over_most += count * 100 > hosts * 90 ? 1 : 0;
      over_few += count * 100 > hosts * 5 ? 1 : 0;
    }
    if (over_most == 1 && over_few == 1) {
      roots.emplace_back(static_cast<std::int32_t>(i));
    }
  }
  return roots;
}

/// Numbers the switches by distance from the roots; equals in order of GUID.
Ranks ranks_from(const Subnet& subnet, const PortMap& map, const std::vector<SwitchId>& roots) {
  std::vector<std::int32_t> distance(subnet.switches.size(), NextPorts::kFar);
  std::deque<SwitchId> queue(roots.begin(), roots.end());
  for (const SwitchId root : roots) {
    distance[root.index()] = 0;
  }
  for (; !queue.empty(); queue.pop_front()) {
    for (const Neighbour& neighbour : map.of(queue.front())) {
      if (!neighbour.there.at_switch) {
        continue;
      }
      const SwitchId next(neighbour.there.node);
      if (distance[next.index()] == NextPorts::kFar) {
        distance[next.index()] = distance[queue.front().index()] + 1;
        queue.push_back(next);
      }
    }
  }
  std::vector<SwitchId> order = switch_order(subnet);
  std::stable_sort(order.begin(), order.end(), [&](SwitchId a, SwitchId b) {
    return distance[a.index()] < distance[b.index()];
  });
  Ranks ranks(order.size());
  for (std::size_t i = 0; i < order.size(); i++) {
    ranks[order[i].index()] = static_cast<std::int32_t>(i);
  }
  return ranks;
}

/// Destinations in the order in which the ports are filled: those on switches with many hosts
/// first.
std::vector<SwitchId> destination_order(const Subnet& subnet, const PortMap& map) {
  std::vector<SwitchId> order = switch_order(subnet);
  std::stable_sort(order.begin(), order.end(), [&](SwitchId a, SwitchId b) {
    return map.endpoints_on(a).size() > map.endpoints_on(b).size();
  });
  return order;
}

/// Chooses ports for the LIDs of one destination after the other and counts what each port got.
class Spreader {
 public:
  Spreader(const Subnet& subnet, const PortMap& map)
      : subnet_(subnet),
        map_(map),
        lfts_(subnet.switches.size(), subnet.top_lid()),
        used_(subnet.switches.size()) {}

  void add(SwitchId to, const NextPorts& next) {
    for (const EndpointId endpoint : map_.endpoints_on(to)) {
      add_endpoint(to, endpoint, next);
    }
    for (std::size_t i = 0; i < next.ports.size(); i++) {
      const SwitchId at(static_cast<std::int32_t>(i));
      if (at == to) {
        lfts_.set(at, subnet_.at(to).lid, 0);
      } else if (!next.ports[i].empty()) {  // ways to switches carry no data: not counted
        lfts_.set(at, subnet_.at(to).lid, least_used(at, next.ports[i]));
      }
    }
  }
  [[nodiscard]] Lfts take() { return std::move(lfts_); }

 private:
  void add_endpoint(SwitchId to, EndpointId endpoint, const NextPorts& next) {
    const std::int32_t base = subnet_.at(endpoint).lid.value();
    const std::int32_t block = 1 << subnet_.lmc;
    for (std::size_t i = 0; i < next.ports.size(); i++) {
      const SwitchId at(static_cast<std::int32_t>(i));
      taken_.clear();
      for (std::int32_t k = 0; k < block; k++) {
        if (at == to) {
          lfts_.set(at, Lid(base + k), static_cast<std::uint8_t>(map_.of(endpoint)->there.port));
        } else if (!next.ports[i].empty()) {
          const std::uint8_t port =
              block == 1 ? least_used(at, next.ports[i]) : another(at, next.ports[i]);
          used_[i][port]++;
          lfts_.set(at, Lid(base + k), port);
        }
      }
    }
  }
  [[nodiscard]] std::uint8_t least_used(SwitchId at, const std::vector<std::uint8_t>& ports) const {
    const std::array<std::uint32_t, 256>& used = used_[at.index()];
    return *std::min_element(ports.begin(), ports.end(),
                             [&](std::uint8_t a, std::uint8_t b) { return used[a] < used[b]; });
  }
  /// With several LIDs a host: by another switch than those that its other LIDs went by.
  std::uint8_t another(SwitchId at, const std::vector<std::uint8_t>& ports) {
    const std::array<std::uint32_t, 256>& used = used_[at.index()];
    const auto times = [&](std::uint8_t port) {
      return std::count(taken_.begin(), taken_.end(), map_.at(at, port)->there.node);
    };
    const std::uint8_t best =
        *std::min_element(ports.begin(), ports.end(), [&](std::uint8_t a, std::uint8_t b) {
          return std::pair(times(a), used[a]) < std::pair(times(b), used[b]);
        });
    taken_.push_back(map_.at(at, best)->there.node);
    return best;
  }

  const Subnet& subnet_;
  const PortMap& map_;
  Lfts lfts_;
  std::vector<std::array<std::uint32_t, 256>> used_;  // [switch][port]
  std::vector<std::int32_t> taken_;                   // switches that other LIDs go by
};

/// Ports by which a switch may go on to those neighbours that `admit` allows.
template <class Admit>
void collect_ports(const PortMap& map, SwitchId at, const Admit& admit,
                   std::vector<std::uint8_t>& ports) {
  for (const Neighbour& neighbour : map.of(at)) {
    if (neighbour.there.at_switch && admit(SwitchId(neighbour.there.node))) {
      ports.push_back(static_cast<std::uint8_t>(neighbour.port));
    }
  }
}

void clear(NextPorts& next, std::size_t switches) {
  next.ports.resize(switches);
  for (std::vector<std::uint8_t>& ports : next.ports) {
    ports.clear();
  }
}

}  // namespace

std::string to_string(Engine engine) {
  switch (engine) {
    case Engine::kFtree:
      return "ftree";
    case Engine::kUpDown:
      return "updn";
    case Engine::kMinHop:
      return "minhop";
    case Engine::kDModK:
      return "d-mod-k";
    case Engine::kTables:
      return "tables";
  }
  CHECK(false, "routing engine {}", static_cast<int>(engine));
}

std::optional<Engine> parse_engine(const std::string& text) {
  for (const Engine engine : {Engine::kFtree, Engine::kUpDown, Engine::kMinHop, Engine::kDModK}) {
    if (text == to_string(engine)) {
      return engine;
    }
  }
  return std::nullopt;
}

std::vector<SwitchId> switch_order(const Subnet& subnet) {
  std::vector<SwitchId> order;
  for (std::size_t i = 0; i < subnet.switches.size(); i++) {
    order.emplace_back(static_cast<std::int32_t>(i));
  }
  std::stable_sort(order.begin(), order.end(), [&](SwitchId a, SwitchId b) {
    return bytes_reversed(subnet.at(a).guid) < bytes_reversed(subnet.at(b).guid);
  });
  return order;
}

void min_hop_ports(const Subnet& subnet, const PortMap& map, SwitchId to, NextPorts& next) {
  const std::size_t switches = subnet.switches.size();
  clear(next, switches);
  next.hops = hops_to(map, switches, to, [](SwitchId, SwitchId) { return true; });
  for (std::size_t i = 0; i < switches; i++) {
    const std::int32_t hops = next.hops[i];
    if (hops == 0 || hops == NextPorts::kFar) {
      continue;
    }
    collect_ports(
        map, SwitchId(static_cast<std::int32_t>(i)),
        [&](SwitchId other) { return next.hops[other.index()] + 1 == hops; }, next.ports[i]);
  }
}

void up_down_ports(const Subnet& subnet, const PortMap& map, const Ranks& ranks, SwitchId to,
                   NextPorts& next) {
  const std::size_t switches = subnet.switches.size();
  clear(next, switches);
  // A switch from which the destination lies below goes down: what came down may not go up again.
  next.hops = hops_to(map, switches, to, [&](SwitchId from, SwitchId here) {
    return ranks[from.index()] < ranks[here.index()];
  });
  std::vector<SwitchId> order(switches);
  for (std::size_t i = 0; i < switches; i++) {
    order[static_cast<std::size_t>(ranks[i])] = SwitchId(static_cast<std::int32_t>(i));
  }
  for (const SwitchId at : order) {  // from the roots on: what is above is known
    std::int32_t& hops = next.hops[at.index()];
    const bool down = hops != NextPorts::kFar;
    const auto leads = [&](SwitchId other) {
      return (ranks[other.index()] > ranks[at.index()]) == down;
    };
    if (!down) {
      for (const Neighbour& neighbour : map.of(at)) {
        if (neighbour.there.at_switch && leads(SwitchId(neighbour.there.node))) {
          hops = std::min(hops, next.hops[static_cast<std::size_t>(neighbour.there.node)] + 1);
        }
      }
    }
    if (hops == 0 || hops >= NextPorts::kFar) {
      hops = std::min(hops, NextPorts::kFar);
      continue;
    }
    collect_ports(
        map, at,
        [&](SwitchId other) { return leads(other) && next.hops[other.index()] + 1 == hops; },
        next.ports[at.index()]);
  }
}

Lfts spread(const Subnet& subnet, const PortMap& map,
            const std::function<void(SwitchId, NextPorts&)>& fill) {
  Spreader spreader(subnet, map);
  NextPorts next;
  for (const SwitchId to : destination_order(subnet, map)) {
    fill(to, next);
    spreader.add(to, next);
  }
  return spreader.take();
}

Lfts min_hop(const Subnet& subnet, const PortMap& map) {
  return spread(subnet, map,
                [&](SwitchId to, NextPorts& next) { min_hop_ports(subnet, map, to, next); });
}

EngineResult up_down(const Subnet& subnet, const PortMap& map) {
  const std::vector<SwitchId> roots = find_roots(subnet, map);
  if (roots.empty()) {
    return {{}, "no switch is equally far from nearly all hosts: there is no root"};
  }
  const Ranks ranks = ranks_from(subnet, map, roots);
  return {
      spread(subnet, map,
             [&](SwitchId to, NextPorts& next) { up_down_ports(subnet, map, ranks, to, next); }),
      ""};
}

EngineResult d_mod_k(const Subnet& subnet, const PortMap& map) {
  std::int32_t top = 0;
  std::size_t hosts = 1;                    // places of a leaf
  std::array<std::size_t, 3> ups{1, 1, 1};  // most ports up of a switch of each tier
  for (std::size_t i = 0; i < subnet.switches.size(); i++) {
    const SwitchId at(static_cast<std::int32_t>(i));
    const std::int32_t tier = subnet.at(at).tier;
    if (tier > 2 || (tier > 0 && !map.endpoints_on(at).empty())) {
      return {{}, fmt::format("'{}' has hosts but is no leaf", subnet.at(at).name)};
    }
    top = std::max(top, tier);
    hosts = std::max(hosts, map.endpoints_on(at).size());
    std::vector<std::uint8_t> ports;
    collect_ports(
        map, at, [&](SwitchId other) { return subnet.at(other).tier > tier; }, ports);
    ups[static_cast<std::size_t>(tier)] =
        std::max(ups[static_cast<std::size_t>(tier)], ports.size());
  }
  const std::array<std::size_t, 3> divisor{1, ups[0], ups[0] * ups[1]};
  Ranks ranks(subnet.switches.size());
  std::vector<SwitchId> order = switch_order(subnet);
  std::stable_sort(order.begin(), order.end(),
                   [&](SwitchId a, SwitchId b) { return subnet.at(a).tier > subnet.at(b).tier; });
  for (std::size_t i = 0; i < order.size(); i++) {
    ranks[order[i].index()] = static_cast<std::int32_t>(i);
  }
  Lfts lfts(subnet.switches.size(), subnet.top_lid());
  NextPorts next;
  std::size_t leaf = 0;
  for (std::size_t i = 0; i < subnet.switches.size(); i++) {
    const SwitchId to(static_cast<std::int32_t>(i));
    up_down_ports(subnet, map, ranks, to, next);
    const std::vector<EndpointId>& on_leaf = map.endpoints_on(to);
    const auto set = [&](Lid lid, std::size_t place) {
      for (std::size_t at = 0; at < next.ports.size(); at++) {
        const std::vector<std::uint8_t>& ports = next.ports[at];
        if (ports.empty()) {
          continue;
        }
        // Down over parallel cables as the switch below counts its ports up.
        const Neighbour* first = map.at(SwitchId(static_cast<std::int32_t>(at)), ports.front());
        const std::int32_t lower =
            std::min(subnet.switches[at].tier, subnet.at(SwitchId(first->there.node)).tier);
        const std::size_t k = place / divisor.at(static_cast<std::size_t>(lower)) % ports.size();
        lfts.set(SwitchId(static_cast<std::int32_t>(at)), lid, ports[k]);
      }
    };
    for (std::size_t place = 0; place < on_leaf.size(); place++) {
      const std::int32_t base = subnet.at(on_leaf[place]).lid.value();
      for (std::int32_t k = 0; k < 1 << subnet.lmc; k++) {
        set(Lid(base + k), leaf * hosts + place + static_cast<std::size_t>(k));
        lfts.set(to, Lid(base + k), static_cast<std::uint8_t>(map.of(on_leaf[place])->there.port));
      }
    }
    set(subnet.at(to).lid, i);
    lfts.set(to, subnet.at(to).lid, 0);
    leaf += on_leaf.empty() ? 0 : 1;
  }
  return {std::move(lfts), ""};
}

Routes route(const Subnet& subnet, const PortMap& map, Engine engine) {
  Routes routes;
  routes.asked = engine;
  routes.used = engine;
  if (!subnet.managed) {
    return routes;
  }
  EngineResult result;
  switch (engine) {
    case Engine::kFtree:
      result = ftree(subnet, map);
      break;
    case Engine::kUpDown:
      result = up_down(subnet, map);
      break;
    case Engine::kDModK:
      result = d_mod_k(subnet, map);
      break;
    case Engine::kMinHop:
      result.lfts = min_hop(subnet, map);
      break;
    case Engine::kTables:
      CHECK(false, "tables are not computed");
  }
  if (!result.refused.empty()) {
    routes.used = Engine::kMinHop;
    routes.why = result.refused;
    result.lfts = min_hop(subnet, map);
  }
  routes.lfts = std::move(result.lfts);
  return routes;
}

}  // namespace busbw::networks
