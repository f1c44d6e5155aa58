// The topology matrix of an emulated host.
#include <algorithm>

#include <fmt/format.h>

#include "models/facts/print/emulated.h"

namespace busbw::facts {
namespace {

using topologies::Machine;

/// A device of the matrix and where it hangs.
struct Device {
  std::string name;
  std::optional<std::size_t> gpu;
  std::string attach;
};

/// The PCIe switches above an element, the nearest first.
std::vector<std::string> switches_above(const Machine& machine, std::string element) {
  std::vector<std::string> names;
  for (;;) {
    const auto found = std::find_if(
        machine.pcie_switches.begin(), machine.pcie_switches.end(),
        [&](const topologies::PcieSwitch& candidate) { return candidate.name == element; });
    if (found == machine.pcie_switches.end()) {
      return names;
    }
    names.push_back(element);
    element = found->attach;  // it stands earlier in the list, so this ends
  }
}

/// NVLinks between two GPUs; 0 without.
int nvlinks(const Machine& machine, std::size_t a, std::size_t b) {
  if (machine.wiring == topologies::NvLinkWiring::kNvSwitch) {
    return machine.nvlink_links_per_gpu;
  }
  return machine.nvlink_matrix.empty() ? 0 : machine.nvlink_matrix[a][b];
}

TopoLink pcie_link(const Machine& machine, const Device& a, const Device& b) {
  if (machine.cpu_above(a.attach) != machine.cpu_above(b.attach)) {
    return TopoLink::kSys;
  }
  const std::vector<std::string> ways_a = switches_above(machine, a.attach);
  const std::vector<std::string> ways_b = switches_above(machine, b.attach);
  for (std::size_t at = 0; at < ways_a.size(); ++at) {
    const auto common = std::find(ways_b.begin(), ways_b.end(), ways_a[at]);
    if (common != ways_b.end()) {
      return at == 0 && common == ways_b.begin() ? TopoLink::kPix : TopoLink::kPxb;
    }
  }
  return TopoLink::kNode;
}

TopoCell cell(const Machine& machine, const Device& a, const Device& b) {
  if (a.gpu && b.gpu) {
    const int links = nvlinks(machine, *a.gpu, *b.gpu);
    if (links > 0) {
      return {TopoLink::kNvLink, links};
    }
  }
  return {pcie_link(machine, a, b), 0};
}

std::vector<Device> devices_of(const EmulatedHost& host) {
  std::vector<Device> devices;
  for (std::size_t gpu = 0; gpu < host.machine.gpus.size(); ++gpu) {
    devices.push_back({fmt::format("GPU{}", gpu), gpu, host.machine.gpus[gpu].attach});
  }
  if (!host.inventory.exposure.sysfs) {
    return devices;
  }
  for (const nccl::Hca& hca : host.inventory.hcas) {
    const std::optional<std::size_t> nic = host.machine.find_nic(hca.name);
    if (nic && host.machine.nics[*nic].attach) {
      devices.push_back({hca.name, std::nullopt, *host.machine.nics[*nic].attach});
    }
  }
  return devices;
}

}  // namespace

TopoMatrix emulated_topo(const EmulatedHost& host) {
  TopoMatrix matrix;
  const std::vector<Device> devices = devices_of(host);
  for (const Device& row : devices) {
    matrix.devices.push_back(row.name);
    matrix.numa.push_back(row.gpu ? std::to_string(host.machine.cpu_above(row.attach)) : "");
    std::vector<TopoCell>& cells = matrix.cells.emplace_back();
    for (const Device& column : devices) {
      cells.push_back(&row == &column ? TopoCell{} : cell(host.machine, row, column));
    }
  }
  return matrix;
}

}  // namespace busbw::facts
