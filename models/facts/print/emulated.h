// What the tools of an emulated host show: from a machine of the catalogue and an inventory to the
// values that the printers of this folder take.
//
// What neither of them says is made up in one way for all hosts: hardware addresses are locally
// administered and count hosts and interfaces, port GUIDs follow from them or from the HCA's GUID,
// the subnet manager has LID 1, and LIDs count the ports from there. Firmware and board have no
// version: the lines stay empty, as on emulated devices. Two PCIe devices that meet at a CPU are
// taken to hang on two of its host bridges (NODE), those of two NUMA nodes are SYS.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "models/facts/print/hca_print.h"
#include "models/facts/print/ip_print.h"
#include "models/facts/topo_text.h"
#include "models/nccl/inventory.h"
#include "topologies/catalog.h"
#include "topologies/machine.h"

namespace busbw::facts {

/// Refers to what it is made from.
struct EmulatedHost {
  const topologies::Machine& machine;
  const topologies::Catalog& catalog;
  const nccl::Inventory& inventory;
  std::int32_t number = 0;      // from 0
  std::uint32_t first_lid = 2;  // of the host's first HCA port
};

std::vector<PrintedInterface> emulated_interfaces(const EmulatedHost& host);

/// None where the container does not show /sys. Devices do not open without their files, library
/// or driver.
std::vector<PrintedHca> emulated_hcas(const EmulatedHost& host);

/// GPUs, then HCAs that have a place in the PCI tree.
TopoMatrix emulated_topo(const EmulatedHost& host);

}  // namespace busbw::facts
