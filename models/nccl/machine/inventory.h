// What a machine of ours offers to NCCL: the inventory of a host of that kind with everything in
// order, and the network that NCCL takes on it.
#pragma once
#include <cstddef>
#include <string>

#include "models/nccl/selection.h"
#include "topologies/machine.h"

namespace busbw::nccl {

/// "rdma0" for an HCA with an interface, else the NIC's own name.
std::string interface_name(const topologies::MachineNic& nic);

/// The interface of NIC `nic` (its position in the machine), up, without address.
Interface machine_interface(const topologies::Machine& machine, std::size_t nic,
                            const topologies::Catalog& catalog);

/// lo with 127.0.0.1/8.
Interface loopback_interface();

/// Whether libibverbs lists the NIC.
bool has_verbs(const topologies::MachineNic& nic, const topologies::Catalog& catalog);

/// The HCA of NIC `nic` on host number `host` (from 0), all ports active.
Hca machine_hca(const topologies::Machine& machine, std::size_t nic, std::int32_t host,
                const topologies::Catalog& catalog);

/// A bus of its own for each NIC of the machine: NCCL takes addresses that differ in device and
/// function only for ports of one card and fuses them. "" for a virtual NIC.
std::string machine_pci_path(const topologies::Machine& machine, std::size_t nic);

/// Address of NIC `nic` on host `host` (from 0): 10.nic.(n / 256).(n % 256)/16 with n = host + 1.
Address derived_address(std::size_t nic, std::int32_t host);

/// The inventory of host `host` (from 0), "node0": lo, then an interface a NIC in the machine's
/// order; HCAs; the plugins that NCCL needs for RDMA of NICs which its own IB does not drive.
Inventory machine_inventory(const topologies::Machine& machine, std::int32_t host,
                            const topologies::Catalog& catalog);

/// The devices of an external plugin that `host` chose: the machine's NICs that need it, in the
/// machine's order. Nothing to do for another network.
void add_plugin_devices(const topologies::Machine& machine, const Inventory& inventory,
                        const topologies::Catalog& catalog, HostDecision& host);

/// What NCCL decides on one host of that kind, with the devices of an external plugin.
HostDecision machine_network(const topologies::Machine& machine, const Inventory& inventory,
                             const topologies::Catalog& catalog, const Environment& environment,
                             Version version);

}  // namespace busbw::nccl
