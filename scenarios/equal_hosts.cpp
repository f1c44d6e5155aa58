// See equal_hosts.h.
#include "scenarios/equal_hosts.h"

#include <algorithm>

#include "models/nccl/machine/inventory.h"
#include "scenarios/spec/port_states.h"
#include "scenarios/spec/read_traffic.h"
#include "sim/core/errors.h"

namespace busbw::scenarios {
namespace {

using topologies::Catalog;
using topologies::Machine;
using topologies::MachineNic;
using topologies::Network;
using topologies::NicLinkLayer;

/// Latency of the slowest-rate switch of the catalogue that does `rate` in that fabric; 0 for
/// virtual NICs and beyond the catalogue.
Duration switch_latency(const MachineNic& nic, const Catalog& catalog) {
  if (!nic.attach) {
    return {};
  }
  const char* fabric = nic.link_layer == NicLinkLayer::kInfiniBand ? "InfiniBand" : "Ethernet";
  const topologies::SwitchModel* best = nullptr;
  for (const topologies::SwitchModel& model : catalog.switches) {
    if (model.fabric == fabric && model.port_rate >= nic.rate &&
        (best == nullptr || model.port_rate < best->port_rate)) {
      best = &model;
    }
  }
  return best == nullptr ? Duration() : best->latency;
}

Network network_of(const std::string& name, const std::vector<const MachineNic*>& nics,
                   std::int32_t hosts, const Catalog& catalog) {
  Network network;
  network.name = name;
  std::int32_t ports = 0;
  Bandwidth fastest;
  for (const MachineNic* nic : nics) {
    network.nics.push_back(nic->name);
    ports += nic->ports;
    fastest = std::max(fastest, nic->rate);
  }
  network.leaf_switches = ports;
  network.trunk = ports > 1 ? fastest * hosts : Bandwidth();
  network.cable_latency = switch_latency(*nics.front(), catalog) / 2;
  return network;
}

/// The InfiniBand NICs hang on an InfiniBand fabric, the others on an Ethernet one.
bool fits(const networks::FabricSpec& fabric, NicLinkLayer layer, const Catalog& catalog) {
  const topologies::SwitchModel* model =
      fabric.switches.empty() ? nullptr : catalog.network_switch(fabric.switches.front());
  return model != nullptr && (model->fabric == "Ethernet") == (layer == NicLinkLayer::kEthernet);
}

std::vector<Network> networks_of(const Machine& machine, const HostsOptions& options,
                                 const Catalog& catalog) {
  std::vector<Network> networks;
  for (const NicLinkLayer layer : {NicLinkLayer::kInfiniBand, NicLinkLayer::kEthernet}) {
    std::vector<const MachineNic*> rails;
    for (const MachineNic& nic : machine.nics) {
      if (nic.rdma && nic.link_layer == layer) {
        rails.push_back(&nic);
      }
    }
    if (!rails.empty()) {
      const bool infiniband = layer == NicLinkLayer::kInfiniBand;
      networks.push_back(network_of(infiniband ? "ib" : "rails", rails, options.hosts, catalog));
      if (options.fabric && fits(*options.fabric, layer, catalog)) {
        networks.back().fabric = options.fabric;
        networks.back().places = options.places;
      }
    }
  }
  for (const MachineNic& nic : machine.nics) {
    if (!nic.rdma) {
      networks.push_back(network_of(nic.name + "-net", {&nic}, options.hosts, catalog));
    }
  }
  return networks;
}

}  // namespace

Machine with_gpus(const Machine& machine, const std::vector<std::size_t>& gpus) {
  Machine cut = machine;
  cut.gpus.clear();
  for (const std::size_t index : gpus) {
    cut.gpus.push_back({static_cast<std::int32_t>(cut.gpus.size()), machine.gpus.at(index).attach});
  }
  if (machine.nvlink_matrix.empty()) {
    return cut;
  }
  cut.nvlink_matrix.clear();
  for (const std::size_t a : gpus) {
    std::vector<std::int32_t>& row = cut.nvlink_matrix.emplace_back();
    for (const std::size_t b : gpus) {
      row.push_back(machine.nvlink_matrix[a][b]);
    }
  }
  return cut;
}

void set_equal_hosts(const Machine& machine, const HostsOptions& options, const Catalog& catalog,
                     Variant& variant) {
  variant.cluster = {};
  variant.inventories.clear();
  variant.cluster.hosts.assign(static_cast<std::size_t>(options.hosts), machine);
  variant.cluster.hosts_per_nvlink_domain = options.hosts_per_nvlink_domain;
  variant.cluster.networks = networks_of(machine, options, catalog);
  const bool laid = std::any_of(variant.cluster.networks.begin(), variant.cluster.networks.end(),
                                [](const Network& network) { return network.fabric.has_value(); });
  if (options.fabric && !laid && options.hosts > 1) {
    throw InputError("machine '" + machine.name +
                     "' has no RDMA NIC that fits the switches of fabric '" + options.fabric->name +
                     "'");
  }
  variant.traffic.clear();
  if (options.traffic) {
    Problems problems;
    for (const Network& network : variant.cluster.networks) {
      variant.traffic.push_back(network.fabric ? *options.traffic : params::Traffic());
      check_traffic(variant.traffic.back(), network, variant.cluster, problems);
    }
    problems.throw_if_any();
  }
  for (std::int32_t host = 0; host < options.hosts; ++host) {
    nccl::Inventory inventory = nccl::machine_inventory(machine, host, catalog);
    inventory.exposure.peer_memory = options.gpudirect;
    for (const MachineNic& nic : machine.nics) {
      for (nccl::Interface& interface : inventory.interfaces) {
        const bool rdma = nic.rdma && nic.link_layer == NicLinkLayer::kEthernet;
        if (rdma && options.rdma_mtu && interface.name == nccl::interface_name(nic)) {
          interface.mtu = *options.rdma_mtu;
        }
      }
    }
    variant.inventories.push_back(std::move(inventory));
  }
  set_port_states(catalog, variant);
}

}  // namespace busbw::scenarios
