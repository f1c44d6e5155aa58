// What this machine offers, read from the devices themselves, in the form the NCCL model decides
// on.
//
// Interfaces by getifaddrs() in kernel order, speed and PCI path from /sys/class/net; HCAs by
// verbs, their PCI path from /sys/class/infiniband. Selection then runs the same code as the
// simulator.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/nccl/connection_settings.h"
#include "models/nccl/inventory.h"
#include "models/nccl/network.h"
#include "real/verbs/resources.h"

namespace busbw::real::verbs {

/// Interfaces of this network name space. `sysfs`: "/sys", or another root in tests.
std::vector<nccl::Interface> read_interfaces(const std::string& sysfs = "/sys");

/// HCAs in libibverbs order. Devices that cannot be opened throw SystemError.
std::vector<nccl::Hca> read_hcas(const std::shared_ptr<Api>& api,
                                 const std::string& sysfs = "/sys");

/// The GID table of a port; entries that cannot be read are marked so.
std::vector<nccl::GidTableEntry> read_gid_table(const Device& device, int port);

/// A port that NCCL's rules admit, with the GID index they lead to.
struct UsablePort {
  std::string device;
  int port = 1;
  int gid_index = 0;
  std::int64_t speed_mbit = 0;
  std::vector<nccl::Reason> reasons;  // of the GID index
};

struct PortSelection {
  std::vector<UsablePort> ports;  // in NCCL's order; ports of one card are not fused
  std::vector<nccl::Reason> reasons;
};

/// NCCL_IB_DISABLE, NCCL_IB_HCA, port states, order and GID index, decided by the NCCL model from
/// the interfaces and HCAs of `host`. Opens the devices that come into question for their GIDs.
PortSelection select_ports(const std::shared_ptr<Api>& api, const nccl::Inventory& host,
                           const nccl::Environment& environment, nccl::Version version);
/// The same from what this machine offers now.
PortSelection select_ports(const std::shared_ptr<Api>& api, const nccl::Environment& environment,
                           nccl::Version version, const std::string& sysfs = "/sys");

/// The port of rank `local_rank` of its host: they take turns. Throws SystemError with every reason
/// when there is none.
const UsablePort& port_of(const PortSelection& selection, int local_rank);

}  // namespace busbw::real::verbs
