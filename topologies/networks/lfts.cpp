// See lfts.h.
#include "topologies/networks/lfts.h"

#include <fmt/format.h>

namespace busbw::networks {
namespace {

Hop hop_over(const Subnet& subnet, CableId cable, const End& from) {
  return {cable, subnet.at(cable).a == from};
}

}  // namespace

Way follow(const Subnet& subnet, const PortMap& map, const Lfts& lfts, EndpointId from,
           const Address& to) {
  Way way;
  if (from == to.endpoint) {
    return way;
  }
  const std::optional<Neighbour>& first = map.of(from);
  if (!first) {
    way.broken = fmt::format("'{}' has no cable that is up", subnet.at(from).name());
    return way;
  }
  way.hops.push_back(hop_over(subnet, first->cable, {false, from.value(), first->port}));
  SwitchId at(first->there.node);
  // A way longer than there are switches goes round in a circle.
  for (std::size_t steps = 0; steps <= subnet.switches.size(); steps++) {
    const std::uint8_t port = lfts.port(at, to.lid);
    const Neighbour* next = port == Lfts::kNone ? nullptr : map.at(at, port);
    if (next == nullptr) {
      way.broken =
          port == Lfts::kNone
              ? fmt::format("'{}' has no entry for LID {}", subnet.at(at).name, to.lid.value())
              : fmt::format("'{}' sends LID {} to port {}, where no cable is up",
                            subnet.at(at).name, to.lid.value(), port);
      return way;
    }
    way.hops.push_back(hop_over(subnet, next->cable, {true, at.value(), next->port}));
    if (!next->there.at_switch) {
      if (next->there.node != to.endpoint.value()) {
        way.broken = fmt::format("LID {} arrives at '{}', not at '{}'", to.lid.value(),
                                 subnet.name_of(next->there), subnet.at(to.endpoint).name());
      }
      return way;
    }
    at = SwitchId(next->there.node);
  }
  way.broken =
      fmt::format("LID {} goes round in a circle at '{}'", to.lid.value(), subnet.at(at).name);
  return way;
}

}  // namespace busbw::networks
