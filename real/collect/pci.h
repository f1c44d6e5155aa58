// PCI devices that matter for GPU traffic: GPUs, NICs, switches and bridges, from /sys/bus/pci.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/facts/topo_text.h"
#include "real/collect/root.h"

namespace busbw::real::collect {

struct PciDevice {
  std::string address;             // "0000:17:00.0"
  std::uint32_t device_class = 0;  // 0x030200
  std::uint32_t vendor = 0;
  std::uint32_t device = 0;
  std::string speed;  // as sysfs has it: "16.0 GT/s PCIe"
  std::string width;
  std::string most_speed;
  std::string most_width;
  std::string numa;                  // "0"; "-1" where the firmware does not say
  std::string cpus;                  // "0-55,112-167"
  std::vector<std::string> path;     // from the host bridge down to the device itself
  std::optional<std::uint32_t> acs;  // control register; nothing: none, or not readable
};

/// Sorted by address.
std::vector<PciDevice> read_pci(const Root& root);

/// In the form of `lspci -vvv`, what diagnosis reads of it: classes, NUMA node, link capability and
/// state with "(downgraded)", access control. Names of vendors are left as numbers.
std::string print_lspci(const std::vector<PciDevice>& devices);

/// How two devices reach each other over PCIe, in the words of nvidia-smi.
facts::TopoLink pci_distance(const PciDevice& a, const PciDevice& b);

}  // namespace busbw::real::collect
