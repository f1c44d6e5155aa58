// Machines of the catalogue against records of what NCCL's own code decided on the XML of the same
// machine. The records are not part of the repository; without them the test is skipped.
#include "tests/models/nccl/graph/oracle.h"

#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "models/nccl/graph/to_value.h"
#include "models/nccl/machine/document.h"
#include "models/nccl/machine/inventory.h"
#include "sim/core/yaml.h"
#include "tests/models/nccl/build_input.h"
#include "tests/models/nccl/machine/catalog_machine.h"

namespace busbw::nccl {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the builders are this file's
                          // vocabulary

const std::string kRecords = std::string(BUSBW_SHARED_DIR) + "/oracle";
constexpr double kTolerance = 1e-6;  // single precision

/// Compares all fields but `paths` and `system`, which count and name the nodes of the tree.
void expect_equal(const Value& record, const graph::Element& document, const std::string& name) {
  graph::DecideInput input =
      graph::equal_hosts(document, static_cast<int>(record.find("nNodesGiven")->as_integer()));
  input.version = parse_version(record.find("nccl")->as_string()).value();
  if (const Value* environment = record.find("env")) {
    for (const auto& [variable, value] : environment->as_object())
      input.environment[variable] = value.as_string();
  }
  const Value ours = graph::to_value(graph::decide(input));
  for (const auto& [field, difference] : graph::compare(record, ours, kTolerance)) {
    if (field != "paths" && field != "system") {
      EXPECT_EQ(difference, "") << name;
    }
  }
}

/// The inventory that a file's name stands for: "sockets-eth0-10G-rdma0-100G-2-nccl-2.18.1.json".
SelectionInput case_input(const std::string& file, Version version) {
  SelectionInput input = the_case(version);
  for (Inventory& host : input.hosts) {
    if (file.rfind("hca-", 0) == 0)
      host.hcas = {hca("mlx5_0", file.rfind("hca-100G", 0) == 0 ? 100'000 : 200'000)};
    if (file.rfind("sockets-two-equal-10G", 0) == 0)
      host.interfaces[2].speed_mbit = 10'000;
    if (file.rfind("sockets-eth0-10G-2", 0) == 0)
      host.interfaces.erase(host.interfaces.begin() + 2);
    if (file.rfind("sockets-rdma0-100G-2", 0) == 0)
      host.interfaces.erase(host.interfaces.begin() + 1);
  }
  return input;
}

/// The machine of the socket records: Ice Lake, the GPUs on the CPUs themselves and the interfaces
/// without a place in the PCI tree.
topologies::Machine socket_machine() {
  topologies::Machine machine = machine_called("a100-40gb-x4");
  machine.cpu_model = "Intel Ice Lake-SP";
  for (topologies::MachineGpu& gpu : machine.gpus)
    gpu.attach = gpu.index < 2 ? "cpu0" : "cpu1";
  for (topologies::MachineNic& nic : machine.nics)
    nic.attach.reset();
  machine.pcie_switches.clear();
  return machine;
}

TEST(MachineOracle, TheCase) {
  const std::vector<graph::RecordFile> files =
      graph::record_files(kRecords, "case-machine", "case-machine");
  if (files.empty())
    GTEST_SKIP() << "no records in " << kRecords;
  EXPECT_GE(files.size(), 16U);
  for (const graph::RecordFile& file : files) {
    const std::string name = std::filesystem::path(file.path).filename().string();
    const Value record = graph::load_json(file.path);
    const Version version = parse_version(record.find("nccl")->as_string()).value();
    const SelectionInput input = case_input(name, version);
    const Decision decision = select(input);
    expect_equal(record,
                 machine_document(
                     name.rfind("hca-", 0) == 0 ? machine_called("a100-40gb-x4") : socket_machine(),
                     catalog(), input.hosts[0], decision.hosts[0], version),
                 file.path);
  }
}

topologies::Machine machine_of(const std::string& text) {
  Problems problems;
  topologies::Machine machine =
      topologies::read_machine(parse_yaml(text, "machine.yaml", problems), catalog(), problems);
  problems.throw_if_any();
  return machine;
}

/// Machines of the records that the catalogue does not have, from the same descriptions.
topologies::Machine described(const std::string& name) {
  if (name == "l40s, four switches") {
    return machine_of(R"(
name: l40s
gpus: {model: L40S, count: 8, attach: [a, a, b, b, c, c, d, d]}
cpus: {model: Intel Ice Lake-SP, sockets: 2}
pcie:
  generation: 4
  switches:
    - {name: a, attach: cpu0}
    - {name: b, attach: cpu0}
    - {name: c, attach: cpu1}
    - {name: d, attach: cpu1}
nics:
  - {name: mlx5_0, model: ConnectX-7 200G, link_layer: infiniband, attach: a}
  - {name: mlx5_1, model: ConnectX-7 200G, link_layer: infiniband, attach: c}
)");
  }
  if (name == "h200, virtual machine") {
    return machine_of(R"(
name: h200
gpus: {model: H200-SXM5-141GB, count: 8, attach: [cpu0, cpu0, cpu0, cpu0, cpu1, cpu1, cpu1, cpu1]}
nvlink: {wiring: nvswitch}
cpus: {model: Intel Emerald Rapids, sockets: 2}
pcie: {generation: 5}
nics:
  - {name: eth0, attach: virtual, rate: 10 Gb/s}
)");
  }
  return machine_called(name);
}

graph::Element document_of(const topologies::Machine& machine, Version version) {
  const Inventory inventory = machine_inventory(machine, 0, catalog());
  return machine_document(machine, catalog(), inventory,
                          machine_network(machine, inventory, catalog(), {}, version), version);
}

struct Pair {
  const char* machine;
  const char* topology;
  std::optional<Version> writer = std::nullopt;  // release that dumped the XML; nothing: no matter
};

void PrintTo(const Pair& pair, std::ostream* out) {
  *out << pair.machine;
}

class MachineOracle : public ::testing::TestWithParam<Pair> {};

TEST_P(MachineOracle, DecidesAsOnTheXml) {
  const topologies::Machine machine = described(GetParam().machine);
  std::size_t compared = 0;
  for (const char* folder :
       {"nccl-2.18.6", "nccl-2.19.3", "nccl-2.20.5", "nccl-2.21.5", "nccl-2.23.4", "nccl-2.26.2",
        "nccl-2.28.9", "nccl-2.30.7", "nccl-2.30.7-env"}) {
    for (const graph::RecordFile& file : graph::record_files(kRecords, folder, "topologies")) {
      if (std::filesystem::path(file.topology).stem() != GetParam().topology)
        continue;
      const Value record = graph::load_json(file.path);
      const Version version = parse_version(record.find("nccl")->as_string()).value();
      expect_equal(record, document_of(machine, GetParam().writer.value_or(version)), file.path);
      compared++;
    }
  }
  if (compared == 0)
    GTEST_SKIP() << "no records in " << kRecords;
  EXPECT_GE(compared, 40U);
}

constexpr Pair kPairs[] = {
    {"azure-ndv5", "h100x8_azure_ndv5"},
    {"azure-ndv4", "a100x8_azure_ndv4"},
    {"aws-p4d", "a100x8_aws_p4d"},
    {"perlmutter", "a100x4_perlmutter", Version{2, 29, 7}},
    {"dgx-1v", "v100x8_dgx1_derived"},
    {"dgx-b200", "b200x8_cx7_derived"},
    {"dgx-h100", "h100x8_azure_ndv5"},  // the same tree without a vendor's file
    {"l40s, four switches", "l40sx8_intel_pcie_derived"},
    {"h200, virtual machine", "h200x8_vastai"},
};
INSTANTIATE_TEST_SUITE_P(Catalog, MachineOracle, ::testing::ValuesIn(kPairs),
                         [](const ::testing::TestParamInfo<Pair>& info) {
                           std::string name = info.param.machine;
                           for (char& c : name) {
                             if (c == '-' || c == ',' || c == ' ')
                               c = '_';
                           }
                           return name;
                         });

/// The virtual machines whose topology NCCL 2.28.9 dumped: the dump and our document give the same
/// decisions in full, paths included.
TEST(MachineOracle, DumpOfVirtualMachines) {
  for (const int gpus : {1, 2}) {
    const std::string path =
        std::string(BUSBW_SHARED_DIR) + fmt::format("/h200/nccl-topology-{}gpu.xml", gpus);
    if (!std::filesystem::exists(path))
      GTEST_SKIP() << "no dump " << path;
    const topologies::Machine machine = machine_called(fmt::format("h200-vm-x{}", gpus));
    for (const Version version : {Version{2, 18, 6}, Version{2, 23, 4}, Version{2, 30, 7}}) {
      for (const int hosts : {1, 2}) {
        graph::DecideInput dumped = graph::equal_hosts(graph::load_topology(path), hosts);
        graph::DecideInput ours = graph::equal_hosts(document_of(machine, version), hosts);
        dumped.version = ours.version = version;
        const Value want = graph::to_value(graph::decide(dumped));
        for (const auto& [field, difference] :
             graph::compare(want, graph::to_value(graph::decide(ours)), kTolerance)) {
          if (field != "system") {
            EXPECT_EQ(difference, "") << path << " " << to_string(version) << " " << hosts;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace busbw::nccl
