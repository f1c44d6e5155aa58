// See subnet.h.
#include "topologies/networks/subnet.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/core/check.h"

namespace busbw::networks {

std::string to_string(PortState state) {
  switch (state) {
    case PortState::kDown:
      return "DOWN";
    case PortState::kInit:
      return "INIT";
    case PortState::kArmed:
      return "ARMED";
    case PortState::kActive:
      return "ACTIVE";
  }
  CHECK(false, "port state {}", static_cast<int>(state));
}

std::string Endpoint::name() const {
  const std::string base = hca.empty() ? host : host + "/" + hca;
  return port == 1 ? base : fmt::format("{}:{}", base, port);
}

std::string Subnet::name_of(const End& end) const {
  return end.at_switch ? at(SwitchId(end.node)).name : at(EndpointId(end.node)).name();
}

PortState Subnet::state_of(const Cable& cable) const {
  if (!cable.up) {
    return PortState::kDown;
  }
  const bool at_host = !cable.a.at_switch || !cable.b.at_switch;
  return !managed || (hosts_init && at_host) ? PortState::kInit : PortState::kActive;
}

Lid Subnet::top_lid() const {
  std::int32_t top = 0;
  for (const Switch& node : switches) {
    top = std::max(top, node.lid.value());
  }
  for (const Endpoint& endpoint : endpoints) {
    if (endpoint.lid.value() > 0) {
      top = std::max(top, endpoint.lid.value() + (1 << lmc) - 1);
    }
  }
  return Lid(top);
}

std::optional<std::int64_t> assign_lids(Subnet& subnet) {
  const std::int64_t block = std::int64_t{1} << subnet.lmc;
  const auto ports = static_cast<std::int64_t>(subnet.endpoints.size());
  const auto switches = static_cast<std::int64_t>(subnet.switches.size());
  const std::int64_t last = block + ports * block + switches - 1;
  if (last > kTopLid) {
    return last - kTopLid;
  }
  auto next = static_cast<std::int32_t>(block);
  for (Endpoint& endpoint : subnet.endpoints) {
    endpoint.lid = Lid(next);
    next += static_cast<std::int32_t>(block);
  }
  for (Switch& node : subnet.switches) {
    node.lid = Lid(next++);
  }
  return std::nullopt;
}

bool keys_match(Pkey a, Pkey b) {
  return ((a ^ b) & ~kFullMember & 0xffff) == 0 && ((a | b) & kFullMember) != 0;
}

bool share_partition(const Endpoint& a, const Endpoint& b) {
  return std::any_of(a.pkeys.begin(), a.pkeys.end(), [&](Pkey mine) {
    return std::any_of(b.pkeys.begin(), b.pkeys.end(),
                       [&](Pkey theirs) { return keys_match(mine, theirs); });
  });
}

std::vector<PortState> endpoint_states(const Subnet& subnet) {
  std::vector<PortState> states(subnet.endpoints.size(), PortState::kDown);
  for (const Cable& cable : subnet.cables) {
    for (const End& end : {cable.a, cable.b}) {
      if (!end.at_switch) {
        states[static_cast<std::size_t>(end.node)] = subnet.state_of(cable);
      }
    }
  }
  return states;
}

PortMap::PortMap(const Subnet& subnet)
    : switches_(subnet.switches.size()),
      by_port_(subnet.switches.size()),
      endpoints_(subnet.endpoints.size()),
      on_switch_(subnet.switches.size()) {
  for (std::size_t i = 0; i < subnet.cables.size(); i++) {
    const Cable& cable = subnet.cables[i];
    const bool loopback = cable.a.at_switch && cable.b.at_switch && cable.a.node == cable.b.node;
    if (!cable.up || loopback) {
      continue;
    }
    const CableId id(static_cast<std::int32_t>(i));
    for (const auto& [here, there] : {std::pair(cable.a, cable.b), std::pair(cable.b, cable.a)}) {
      const Neighbour neighbour{here.port, there, id};
      if (here.at_switch) {
        switches_[static_cast<std::size_t>(here.node)].push_back(neighbour);
      } else if (there.at_switch) {
        endpoints_[static_cast<std::size_t>(here.node)] = neighbour;
      }
    }
  }
  for (std::size_t i = 0; i < switches_.size(); i++) {
    std::vector<Neighbour>& ports = switches_[i];
    std::sort(ports.begin(), ports.end(),
              [](const Neighbour& a, const Neighbour& b) { return a.port < b.port; });
    by_port_[i].assign(static_cast<std::size_t>(subnet.switches[i].ports) + 1, -1);
    for (std::size_t k = 0; k < ports.size(); k++) {
      by_port_[i].at(static_cast<std::size_t>(ports[k].port)) = static_cast<std::int32_t>(k);
      if (!ports[k].there.at_switch) {
        on_switch_[i].push_back(EndpointId(ports[k].there.node));
      }
    }
  }
}

const Neighbour* PortMap::at(SwitchId id, std::int32_t port) const {
  const std::vector<std::int32_t>& ports = by_port_[id.index()];
  if (port < 0 || static_cast<std::size_t>(port) >= ports.size() ||
      ports[static_cast<std::size_t>(port)] < 0) {
    return nullptr;
  }
  return &switches_[id.index()][static_cast<std::size_t>(ports[static_cast<std::size_t>(port)])];
}

}  // namespace busbw::networks
