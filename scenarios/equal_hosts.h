// A job of equal hosts: the cluster and what each host shows to NCCL, from one machine.
//
// Networks: the RDMA NICs of one link layer are one network with a leaf switch for each NIC of a
// host (a rail) and a spine without oversubscription; every other NIC has a network of its own.
// Switches are of any size; half the latency of the usual switch of that rate stands for each
// cable. With a fabric file its switches and cables stand in place of those of the RDMA NICs.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "scenarios/spec/scenario.h"
#include "topologies/catalog.h"
#include "topologies/machine.h"

namespace busbw::scenarios {

struct HostsOptions {
  std::int32_t hosts = 1;
  std::int32_t hosts_per_nvlink_domain = 0;  // as topologies::Cluster
  std::optional<std::int64_t> rdma_mtu;      // of the Ethernet interfaces of RDMA NICs; else 1500
  /// Of the network of the RDMA NICs, in place of a leaf switch for each and a spine.
  std::optional<networks::FabricSpec> fabric;
  std::vector<std::int32_t> places;  // with `fabric`, as topologies::Network
  /// With `fabric`, how its switches treat packets; nothing: as their link layer does.
  std::optional<params::Traffic> traffic;
  bool gpudirect = true;  // NICs may reach GPU memory (peer-memory driver)
};

/// The machine with these GPUs of it alone, in this order, numbered anew; everything else stays.
topologies::Machine with_gpus(const topologies::Machine& machine,
                              const std::vector<std::size_t>& gpus);

/// Sets cluster and inventories of `variant`. Addresses and names are derived from the machine's
/// NICs (models/nccl/machine/inventory.h).
void set_equal_hosts(const topologies::Machine& machine, const HostsOptions& options,
                     const topologies::Catalog& catalog, Variant& variant);

}  // namespace busbw::scenarios
