// The matrix of `nvidia-smi topo -m` without nvidia-smi: NVLinks by NVML, the rest from sysfs.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "real/collect/nvml.h"
#include "real/collect/pci.h"

namespace busbw::real::collect {

/// An HCA and the address of its PCI device.
struct HcaPlace {
  std::string name;
  std::string address;
};

/// The text of the matrix: GPUs in NVML's order, then HCAs. Devices that sysfs does not list are
/// left out. "" without a GPU.
std::string topology_text(const std::vector<NvmlGpu>& gpus, const std::vector<HcaPlace>& hcas,
                          const std::vector<PciDevice>& devices);

}  // namespace busbw::real::collect
