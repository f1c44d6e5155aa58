// See topo_print.h.
#include "models/facts/print/topo_print.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/core/check.h"

namespace busbw::facts {
namespace {

constexpr const char* kLegend =
    "\nLegend:\n\n"
    "  X    = Self\n"
    "  SYS  = PCIe, and the link between two NUMA nodes\n"
    "  NODE = PCIe, and two host bridges of one NUMA node\n"
    "  PHB  = PCIe, and one host bridge (usually the CPU)\n"
    "  PXB  = several PCIe bridges, but no host bridge\n"
    "  PIX  = one PCIe bridge at most\n"
    "  NV#  = # NVLinks together\n";

/// nvidia-smi sets off the cell of a device with itself by blanks.
std::string cell_text(const TopoCell& cell) {
  return cell.link == TopoLink::kSelf ? " X " : to_string(cell);
}

}  // namespace

std::string print_topo(const TopoMatrix& matrix, const std::vector<std::string>& cpus) {
  const std::vector<int> nics = matrix.nics();
  const auto is_nic = [&](std::size_t row) {
    return std::find(nics.begin(), nics.end(), static_cast<int>(row)) != nics.end();
  };
  std::vector<std::string> names;
  std::string legend;
  for (std::size_t row = 0; row < matrix.devices.size(); ++row) {
    if (!is_nic(row)) {
      names.push_back(matrix.devices[row]);
      continue;
    }
    names.push_back(fmt::format("NIC{}", row - (matrix.devices.size() - nics.size())));
    legend += fmt::format("  {}: {}\n", names.back(), matrix.devices[row]);
  }
  std::string text;
  for (const std::string& name : names) {
    text += "\t" + name;
  }
  text += "\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n";
  for (std::size_t row = 0; row < matrix.cells.size(); ++row) {
    CHECK(matrix.cells[row].size() == names.size(), "row {}", row);
    text += names[row];
    for (const TopoCell& cell : matrix.cells[row]) {
      text += "\t" + cell_text(cell);
    }
    if (is_nic(row)) {
      text += "\t\t\t\t\n";
      continue;
    }
    const std::string affinity = row < cpus.size() ? cpus[row] : "N/A";
    const bool said = row < matrix.numa.size() && !matrix.numa[row].empty();
    text += fmt::format("\t{}\t{}\t\tN/A\n", affinity, said ? matrix.numa[row] : "N/A");
  }
  text += kLegend;
  return legend.empty() ? text : text + "\nNIC Legend:\n\n" + legend;
}

}  // namespace busbw::facts
