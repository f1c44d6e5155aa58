// See inventory.h.
#include "models/nccl/machine/inventory.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/core/check.h"

namespace busbw::nccl {
namespace {

using topologies::Machine;
using topologies::MachineNic;

constexpr std::int64_t kAmazon = 0x1d0f;
constexpr std::int64_t kHpe = 0x17db;
constexpr std::int64_t kGoogle = 0x1ae0;

std::int64_t megabits(Bandwidth rate) {
  return rate.bps() / 1'000'000;
}

std::optional<std::int64_t> vendor_of(const MachineNic& nic, const topologies::Catalog& catalog) {
  const topologies::NicModel* model = catalog.nic(nic.model);
  return model != nullptr ? model->pci_vendor : std::nullopt;
}

std::string plugin_of(const MachineNic& nic, const topologies::Catalog& catalog) {
  const topologies::NicModel* model = catalog.nic(nic.model);
  return nic.rdma && model != nullptr ? model->nccl_plugin : "";
}

/// What the verbs library says of a port. EFA reports neither InfiniBand nor Ethernet, so NCCL's IB
/// network passes it over. Source: Linux drivers/infiniband/hw/efa/efa_verbs.c,
/// efa_port_link_layer.
LinkLayer verbs_link_layer(const MachineNic& nic, const topologies::Catalog& catalog) {
  if (vendor_of(nic, catalog) == kAmazon)
    return LinkLayer::kOther;
  return nic.link_layer == topologies::NicLinkLayer::kInfiniBand ? LinkLayer::kInfiniBand
                                                                 : LinkLayer::kEthernet;
}

}  // namespace

std::string interface_name(const MachineNic& nic) {
  return nic.netdev.value_or(nic.name);
}

std::string machine_pci_path(const Machine& machine, std::size_t nic) {
  const std::optional<std::string>& attach = machine.nics.at(nic).attach;
  return attach ? fmt::format("/sys/devices/{}/0000:{:02x}:00.0", *attach, nic + 1) : "";
}

Interface machine_interface(const Machine& machine, std::size_t nic,
                            const topologies::Catalog& catalog) {
  const MachineNic& described = machine.nics.at(nic);
  Interface interface;
  interface.name = interface_name(described);
  interface.speed_mbit = megabits(described.reported_speed.value_or(described.rate));
  interface.wire_rate = described.send_rate.value_or(described.rate);
  if (described.attach)
    interface.pci_path = machine_pci_path(machine, nic);
  interface.pci_vendor = vendor_of(described, catalog);
  return interface;
}

Interface loopback_interface() {
  Interface interface;
  interface.name = "lo";
  interface.loopback = true;
  interface.mtu = 65536;
  interface.addresses = {*parse_address("127.0.0.1/8")};
  return interface;
}

/// Slingshot has RDMA through its own library, libcxi, alone: NCCL reaches it by sockets or an
/// external plugin. Source: HPE, shs-libcxi; aws-ofi-nccl, README. gVNIC reaches GPU memory through
/// Google's plugins alone (Google Cloud documentation, GPUDirect-TCPX and -TCPXO).
bool has_verbs(const MachineNic& nic, const topologies::Catalog& catalog) {
  const std::optional<std::int64_t> vendor = vendor_of(nic, catalog);
  return nic.rdma && vendor != kHpe && vendor != kGoogle;
}

Hca machine_hca(const Machine& machine, std::size_t nic, std::int32_t host,
                const topologies::Catalog& catalog) {
  const MachineNic& described = machine.nics.at(nic);
  Hca hca;
  hca.name = described.name;
  hca.model = described.model;
  hca.pci_path = machine_pci_path(machine, nic);
  hca.guid = (static_cast<std::uint64_t>(host) + 1) * 0x100 + nic;
  for (int port = 1; port <= described.ports; ++port) {
    HcaPort entry;
    entry.number = port;
    entry.link_layer = verbs_link_layer(described, catalog);
    entry.speed_mbit = megabits(described.rate);
    entry.netdev = described.netdev;
    hca.ports.push_back(std::move(entry));
  }
  return hca;
}

Address derived_address(std::size_t nic, std::int32_t host) {
  const std::int32_t number = host + 1;
  return *parse_address(fmt::format("10.{}.{}.{}/16", nic % 256, number / 256, number % 256));
}

Inventory machine_inventory(const Machine& machine, std::int32_t host,
                            const topologies::Catalog& catalog) {
  Inventory inventory;
  inventory.host = fmt::format("node{}", host);
  inventory.interfaces.push_back(loopback_interface());
  for (std::size_t i = 0; i < machine.nics.size(); i++) {
    const MachineNic& nic = machine.nics[i];
    inventory.interfaces.push_back(machine_interface(machine, i, catalog));
    inventory.interfaces.back().addresses = {derived_address(i, host)};
    if (has_verbs(nic, catalog))
      inventory.hcas.push_back(machine_hca(machine, i, host, catalog));
    const std::string plugin = plugin_of(nic, catalog);
    std::vector<std::string>& plugins = inventory.external_plugins;
    if (!plugin.empty() && std::find(plugins.begin(), plugins.end(), plugin) == plugins.end())
      plugins.push_back(plugin);
  }
  return inventory;
}

void add_plugin_devices(const Machine& machine, const Inventory& inventory,
                        const topologies::Catalog& catalog, HostDecision& host) {
  if (!host.network || !host.data_devices.empty())
    return;
  for (const MachineNic& nic : machine.nics) {
    if (plugin_of(nic, catalog) != *host.network)
      continue;
    NetDevice device;
    device.index = static_cast<int>(host.data_devices.size());
    device.name = nic.name;
    device.port = 1;
    device.speed_mbit = megabits(nic.rate);
    device.gdr = inventory.exposure.peer_memory;
    host.data_devices.push_back(device);
  }
}

HostDecision machine_network(const Machine& machine, const Inventory& inventory,
                             const topologies::Catalog& catalog, const Environment& environment,
                             Version version) {
  HostDecision host = select({version, environment, {inventory}}).hosts.front();
  add_plugin_devices(machine, inventory, catalog, host);
  return host;
}

}  // namespace busbw::nccl
