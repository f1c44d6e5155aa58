// `nvidia-smi topo -m` of emulated hosts: a whole text by hand, and all machines against the paths
// that NCCL's own search finds on their topology.
#include "models/facts/print/topo_print.h"

#include <map>

#include <gtest/gtest.h>

#include "models/nccl/graph/decide.h"
#include "models/nccl/machine/document.h"
#include "tests/models/facts/print/emulated_case.h"

namespace busbw::facts {
namespace {

// GPU 0, 1 and the HCA under pcie0, GPU 2, 3 under pcie1 of the other socket; four NVLinks between
// any two GPUs. The processors of GPU 0 alone are known.
TEST(TopoPrint, TheHostOfTheCase) {
  const EmulatedCase host;
  const std::string text = print_topo(emulated_topo(host.host()), {"0-63,128-191"});
  EXPECT_EQ(text.substr(0, text.find("\nLegend:")),
            "\tGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
            "GPU0\t X \tNV4\tNV4\tNV4\tPIX\t0-63,128-191\t0\t\tN/A\n"
            "GPU1\tNV4\t X \tNV4\tNV4\tPIX\tN/A\t0\t\tN/A\n"
            "GPU2\tNV4\tNV4\t X \tNV4\tSYS\tN/A\t1\t\tN/A\n"
            "GPU3\tNV4\tNV4\tNV4\t X \tSYS\tN/A\t1\t\tN/A\n"
            "NIC0\tPIX\tPIX\tSYS\tSYS\t X \t\t\t\t\n");
  EXPECT_NE(text.find("\nNIC Legend:\n\n  NIC0: mlx5_0\n"), std::string::npos);
}

TEST(TopoPrint, WithoutNicsThereIsNoLegendOfThem) {
  EmulatedCase host;
  host.inventory.hcas.clear();
  const std::string text = print_topo(emulated_topo(host.host()), {});
  EXPECT_EQ(text.find("NIC"), std::string::npos);
  EXPECT_NE(text.find("GPU0\t X \tNV4\tNV4\tNV4\tN/A\t0\t\tN/A\n"), std::string::npos) << text;
}

/// NCCL's names of the same relations; it knows host bridges by their CPU alone.
const std::map<nccl::graph::PathType, TopoLink>& relations() {
  static const std::map<nccl::graph::PathType, TopoLink> kRelations = {
      {nccl::graph::PathType::kNvl, TopoLink::kNvLink},
      {nccl::graph::PathType::kPix, TopoLink::kPix},
      {nccl::graph::PathType::kPxb, TopoLink::kPxb},
      {nccl::graph::PathType::kPhb, TopoLink::kNode},
      {nccl::graph::PathType::kSys, TopoLink::kSys}};
  return kRelations;
}

/// Compares every pair of GPUs and of a GPU and a NIC; returns how many were compared.
int compare_with_nccl(const topologies::Machine& machine) {
  const topologies::Catalog& catalog = nccl::testing::catalog();
  const nccl::Inventory inventory = nccl::machine_inventory(machine, 0, catalog);
  const nccl::Environment environment = {{"NCCL_PXN_DISABLE", "1"},
                                         {"NCCL_P2P_LEVEL", "SYS"},
                                         {"NCCL_NVB_DISABLE", "1"},
                                         {"NCCL_IGNORE_DISABLED_P2P", "1"}};
  const nccl::HostDecision host =
      nccl::machine_network(machine, inventory, catalog, environment, nccl::kNewest);
  nccl::graph::DecideInput input = nccl::graph::equal_hosts(
      nccl::machine_document(machine, catalog, inventory, host, nccl::kNewest), 2);
  input.environment = environment;
  const nccl::graph::Decision decision = nccl::graph::decide(input);
  const nccl::graph::System& system = decision.groups.front().system;
  const TopoMatrix matrix = emulated_topo({machine, catalog, inventory, 0});
  int compared = 0;
  const auto compare = [&](nccl::graph::PathType theirs, std::size_t row, std::size_t column) {
    const auto known = relations().find(theirs);
    if (known == relations().end()) {
      return;  // C2C and pairs without a path have no word in the matrix
    }
    EXPECT_EQ(to_string(TopoCell{known->second, matrix.cells[row][column].nvlinks}),
              to_string(matrix.cells[row][column]))
        << machine.name << " " << matrix.devices[row] << " " << matrix.devices[column];
    ++compared;
  };
  using nccl::graph::NodeType;
  for (int a = 0; a < system.count(NodeType::kGpu); ++a) {
    const auto row = static_cast<std::size_t>(system.node(NodeType::kGpu, a).gpu.dev);
    for (int b = 0; b < system.count(NodeType::kGpu); ++b) {
      if (a != b) {
        compare(system.path(NodeType::kGpu, a, NodeType::kGpu, b).type, row,
                static_cast<std::size_t>(system.node(NodeType::kGpu, b).gpu.dev));
      }
    }
    for (int net = 0; net < system.count(NodeType::kNet); ++net) {
      const std::string& name = system.node(NodeType::kNet, net).net.name;
      const auto column = std::find(matrix.devices.begin(), matrix.devices.end(), name);
      if (column != matrix.devices.end()) {
        compare(system.path(NodeType::kGpu, a, NodeType::kNet, net).type, row,
                static_cast<std::size_t>(column - matrix.devices.begin()));
      }
    }
  }
  return compared;
}

TEST(TopoPrint, AgreesWithThePathsThatNcclFinds) {
  int machines = 0;
  int pairs = 0;
  for (const topologies::Machine& machine : nccl::testing::machines()) {
    const int compared = compare_with_nccl(machine);
    machines += compared > 0 ? 1 : 0;
    pairs += compared;
  }
  EXPECT_GE(machines, 25);
  EXPECT_GE(pairs, 2000);
}

}  // namespace
}  // namespace busbw::facts
