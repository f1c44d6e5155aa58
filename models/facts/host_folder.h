// Builds a host's inventory from the tool output that lies in a folder, one folder a host:
//   ip-addr.txt   `ip addr`             addresses and order (needed, or ip-link.txt)
//   ip-link.txt   `ip link`             flags and MTU; wins over ip-addr.txt in these
//   ibstat.txt    `ibstat`              HCAs and ports
//   topo.txt      `nvidia-smi topo -m`  how GPUs and NICs reach each other
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "models/facts/ibstat_text.h"
#include "models/facts/ip_text.h"
#include "models/facts/topo_text.h"
#include "models/nccl/inventory.h"
#include "sim/core/errors.h"

namespace busbw::facts {

struct HostFolder {
  nccl::Inventory inventory;  // speeds of interfaces stay unknown: `ip` does not print them
  std::optional<TopoMatrix> topology;  // nothing without topo.txt
  std::vector<std::string> remarks;    // contradictions a person should see
  std::vector<std::string> files;      // which of the four were read
};

/// Interfaces of `ip` as NCCL would see them. Problems: an address that is none.
std::vector<nccl::Interface> to_interfaces(const std::vector<IpInterface>& interfaces,
                                           Problems& problems);
/// HCAs of `ibstat`. Problems: an unknown state, link layer or rate of a port. The PCI path stays
/// empty.
std::vector<nccl::Hca> to_hcas(const std::vector<IbstatAdapter>& adapters, Problems& problems);

/// Reads `folder` (its last part is the host's name). A folder without ip-addr.txt and ip-link.txt,
/// an unreadable file, and a file that holds nothing of its kind are problems of that file.
HostFolder read_host_folder(const std::string& folder, Problems& problems);

}  // namespace busbw::facts
