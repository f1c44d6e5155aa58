// Machines as values: NVLink wirings and look-ups in the element tree. Reading is in
// machine_reader.cpp.
//
// The hybrid cube mesh is the published wiring of DGX-1 with V100; the mesh of four A100 is that of
// the boards without NVSwitch (three neighbours, four links each). Other wirings are given as a
// matrix.
#include "topologies/machine.h"

#include <algorithm>
#include <array>

#include "sim/core/check.h"
#include "sim/core/text.h"

namespace busbw::topologies {
namespace {

LinkMatrix empty_matrix(std::int32_t gpus) {
  const std::size_t size = static_cast<std::size_t>(gpus);
  return LinkMatrix(size, std::vector<std::int32_t>(size, 0));
}

void join(LinkMatrix& matrix, std::size_t a, std::size_t b, std::int32_t links) {
  matrix[a][b] = links;
  matrix[b][a] = links;
}

const PcieSwitch* find_switch(const Machine& machine, const std::string& name) {
  const auto found =
      std::find_if(machine.pcie_switches.begin(), machine.pcie_switches.end(),
                   [&](const PcieSwitch& candidate) { return candidate.name == name; });
  return found == machine.pcie_switches.end() ? nullptr : &*found;
}

}  // namespace

std::string to_string(NvLinkWiring wiring) {
  switch (wiring) {
    case NvLinkWiring::kNone:
      return "none";
    case NvLinkWiring::kPairs:
      return "pairs";
    case NvLinkWiring::kMesh:
      return "mesh";
    case NvLinkWiring::kHybridCubeMesh:
      return "hybrid cube mesh";
    case NvLinkWiring::kNvSwitch:
      return "nvswitch";
    case NvLinkWiring::kMatrix:
      return "matrix";
  }
  CHECK(false, "wiring {}", static_cast<int>(wiring));
}

LinkMatrix pairs_matrix(std::int32_t gpus, std::int32_t links) {
  CHECK(gpus % 2 == 0, "{} GPUs", gpus);
  LinkMatrix matrix = empty_matrix(gpus);
  for (std::size_t a = 0; a < matrix.size(); a += 2) {
    join(matrix, a, a + 1, links);
  }
  return matrix;
}

LinkMatrix mesh_matrix(std::int32_t gpus, std::int32_t links) {
  LinkMatrix matrix = empty_matrix(gpus);
  for (std::size_t a = 0; a < matrix.size(); a++) {
    for (std::size_t b = a + 1; b < matrix.size(); b++) {
      join(matrix, a, b, links);
    }
  }
  return matrix;
}

LinkMatrix hybrid_cube_mesh_matrix() {
  constexpr std::size_t kQuad = 4;
  LinkMatrix matrix = mesh_matrix(2 * static_cast<std::int32_t>(kQuad), 0);
  for (const std::size_t quad : {std::size_t{0}, kQuad}) {
    for (std::size_t a = 0; a < kQuad; a++) {
      for (std::size_t b = a + 1; b < kQuad; b++) {
        const bool twice = (a == 0 && b == 3) || (a == 1 && b == 2) || (a == 2 && b == 3);
        join(matrix, quad + a, quad + b, twice ? 2 : 1);
      }
    }
  }
  constexpr std::array<std::int32_t, kQuad> kAcross = {2, 2, 1, 1};
  for (std::size_t a = 0; a < kQuad; a++) {
    join(matrix, a, kQuad + a, kAcross.at(a));
  }
  return matrix;
}

std::int32_t Machine::cpu_above(const std::string& element) const {
  std::string at = element;
  // Each step goes to a switch that stands earlier in the list, so this ends.
  while (const PcieSwitch* parent = find_switch(*this, at)) {
    at = parent->attach;
  }
  CHECK(at.rfind("cpu", 0) == 0, "'{}' hangs on '{}'", element, at);
  const std::optional<std::int64_t> number = parse_integer(at.substr(3));
  CHECK(number && *number >= 0 && *number < numa_nodes, "'{}' hangs on '{}'", element, at);
  return static_cast<std::int32_t>(*number);
}

std::int32_t Machine::pcie_generation_at(const std::string& element) const {
  const PcieSwitch* parent = find_switch(*this, element);
  return parent != nullptr ? parent->generation : pcie_generation;
}

std::optional<std::size_t> Machine::find_nic(const std::string& nic) const {
  for (std::size_t i = 0; i < nics.size(); i++) {
    if (nics[i].name == nic || nics[i].netdev == nic) {
      return i;
    }
  }
  return std::nullopt;
}

}  // namespace busbw::topologies
