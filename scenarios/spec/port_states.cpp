// See port_states.h.
#include "scenarios/spec/port_states.h"

#include <algorithm>
#include <map>
#include <utility>

#include "models/nccl/machine/inventory.h"
#include "sim/core/check.h"

namespace busbw::scenarios {
namespace {

using topologies::CabledPort;
using topologies::Network;

nccl::PortState as_seen(networks::PortState state) {
  switch (state) {
    case networks::PortState::kDown:
      return nccl::PortState::kDown;
    case networks::PortState::kInit:
      return nccl::PortState::kInit;
    case networks::PortState::kArmed:
      return nccl::PortState::kArmed;
    case networks::PortState::kActive:
      return nccl::PortState::kActive;
  }
  CHECK(false, "port state {}", static_cast<int>(state));
}

void set_state(const topologies::MachineNic& nic, std::size_t port, nccl::PortState state,
               nccl::Inventory& inventory) {
  for (nccl::Hca& hca : inventory.hcas) {
    if (hca.name == nic.name && port < hca.ports.size()) {
      hca.ports[port].state = state;
      if (state == nccl::PortState::kDown) {
        hca.ports[port].physical_state = "Polling";
      }
    }
  }
  for (nccl::Interface& interface : inventory.interfaces) {
    if (port == 0 && interface.name == nccl::interface_name(nic)) {
      interface.running = false;
      interface.speed_mbit.reset();
    }
  }
}

/// [host of the fabric, port of it]: its state.
using States = std::map<std::pair<std::int32_t, std::int32_t>, networks::PortState>;

States states_of(const networks::FabricSpec& spec, const topologies::Catalog& catalog) {
  States states;
  if (spec.manager == networks::Manager::kRunning && spec.faults.empty()) {
    return states;
  }
  Problems problems;
  const networks::BuiltFabric built = networks::build_fabric(spec, catalog, problems);
  for (std::size_t i = 0; problems.empty() && i < built.subnets.size(); ++i) {
    const networks::Subnet& subnet = built.subnets[i];
    const std::vector<networks::PortState> ports = networks::endpoint_states(subnet);
    for (std::size_t k = 0; k < ports.size(); ++k) {
      const networks::Endpoint& endpoint = subnet.endpoints[k];
      states[{endpoint.host_index, endpoint.nic_index}] = ports[k];
    }
  }
  return states;
}

void by_fabric(const Network& network, const topologies::Catalog& catalog, Variant& variant) {
  const States states = states_of(*network.fabric, catalog);
  for (std::size_t host = 0; !states.empty() && host < variant.inventories.size(); ++host) {
    const topologies::Machine& machine = variant.cluster.hosts[host];
    const std::int32_t place =
        host < network.places.size() ? network.places[host] : static_cast<std::int32_t>(host);
    std::int32_t in_host = 0;
    for (const CabledPort& port : topologies::cabled_ports(machine, network)) {
      const auto known = states.find({place, in_host++});
      if (known != states.end() && known->second != networks::PortState::kActive) {
        set_state(machine.nics[port.nic], port.port, as_seen(known->second),
                  variant.inventories[host]);
      }
    }
  }
}

void by_event(const Network& network, nccl::PortState state, Variant& variant) {
  for (std::size_t host = 0; host < variant.inventories.size(); ++host) {
    const topologies::Machine& machine = variant.cluster.hosts[host];
    for (const CabledPort& port : topologies::cabled_ports(machine, network)) {
      if (machine.nics[port.nic].link_layer == topologies::NicLinkLayer::kInfiniBand) {
        set_state(machine.nics[port.nic], port.port, state, variant.inventories[host]);
      }
    }
  }
}

}  // namespace

void set_port_states(const topologies::Catalog& catalog, Variant& variant) {
  for (const Network& network : variant.cluster.networks) {
    if (network.fabric) {
      by_fabric(network, catalog, variant);
    }
    for (const Fault& fault : variant.events) {
      if (fault.kind == FaultKind::kSubnetManagerDown && fault.network == network.name &&
          fault.ports != nccl::PortState::kActive) {
        by_event(network, fault.ports, variant);
      }
    }
  }
}

}  // namespace busbw::scenarios
