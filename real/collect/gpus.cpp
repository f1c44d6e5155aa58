// See gpus.h.
#include "real/collect/gpus.h"

#include <algorithm>

#include <fmt/format.h>

#include "models/facts/print/topo_print.h"
#include "sim/core/text.h"

namespace busbw::real::collect {
namespace {

const PciDevice* find(const std::vector<PciDevice>& devices, const std::string& address) {
  const auto found = std::find_if(devices.begin(), devices.end(), [&](const PciDevice& device) {
    return device.address == lower(address);
  });
  return found == devices.end() ? nullptr : &*found;
}

struct Row {
  std::string name;
  const NvmlGpu* gpu = nullptr;
  const PciDevice* device = nullptr;
};

/// NVLinks that join two GPUs: direct ones or, over NVSwitches, as many as both have to them.
int nvlinks(const NvmlGpu& a, const NvmlGpu& b) {
  const auto direct = std::count(a.peers.begin(), a.peers.end(), b.address);
  return static_cast<int>(direct) + std::min(a.switch_links, b.switch_links);
}

}  // namespace

std::string topology_text(const std::vector<NvmlGpu>& gpus, const std::vector<HcaPlace>& hcas,
                          const std::vector<PciDevice>& devices) {
  std::vector<Row> rows;
  for (std::size_t index = 0; index < gpus.size(); ++index) {
    if (const PciDevice* device = find(devices, gpus[index].address))
      rows.push_back({fmt::format("GPU{}", index), &gpus[index], device});
  }
  if (rows.empty())
    return "";
  for (const HcaPlace& hca : hcas) {
    if (const PciDevice* device = find(devices, hca.address))
      rows.push_back({hca.name, nullptr, device});
  }
  facts::TopoMatrix matrix;
  std::vector<std::string> cpus;
  for (const Row& row : rows) {
    matrix.devices.push_back(row.name);
    const bool placed = row.gpu != nullptr && row.device->numa != "-1";
    matrix.numa.push_back(placed ? row.device->numa : "");
    cpus.push_back(row.device->cpus.empty() ? "N/A" : row.device->cpus);
    std::vector<facts::TopoCell>& cells = matrix.cells.emplace_back();
    for (const Row& column : rows) {
      const int links =
          row.gpu != nullptr && column.gpu != nullptr ? nvlinks(*row.gpu, *column.gpu) : 0;
      if (&row == &column) {
        cells.push_back({facts::TopoLink::kSelf, 0});
      } else if (links > 0) {
        cells.push_back({facts::TopoLink::kNvLink, links});
      } else {
        cells.push_back({pci_distance(*row.device, *column.device), 0});
      }
    }
  }
  return print_topo(matrix, cpus);
}

}  // namespace busbw::real::collect
