// Bus numbers of GPUs: how they are read, shared among records of one document, and what they tell.
#include "scenarios/accuracy/gpu_buses.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "scenarios/accuracy/build_system.h"
#include "tests/scenarios/accuracy/library.h"

namespace busbw::scenarios::accuracy {
namespace {

using Buses = std::vector<std::int32_t>;

TEST(GpuBuses, AreAListOfTwoDigitsInParentheses) {
  EXPECT_EQ(buses_in("PCIe, GPUs on different sockets (1a,b2)"), (Buses{0x1a, 0xb2}));
  EXPECT_EQ(buses_in("behind switches (PIX), buses (3D, 3E)"), (Buses{0x3d, 0x3e}));
  EXPECT_EQ(buses_in("NVLink2 hybrid cube mesh (NV1/NV2)"), Buses());
  EXPECT_EQ(buses_in("two of four (1a,1b,none)"), Buses());
  EXPECT_EQ(buses_in("(123,4)"), Buses());
  EXPECT_EQ(buses_in("left open (1a,1b"), (Buses{0x1a, 0x1b}));
  EXPECT_EQ(buses_in(""), Buses());
}

// Root port 17: a card right on it has bus 18; of a switch bus 18 is the upstream and 19 the
// downstream side, 1a and 1b are cards. b2 is the second card behind root port ae.
TEST(GpuBuses, TellTheCpuWhoseRootPortsExplainThem) {
  const topologies::Catalog& catalog = library().catalog;
  const auto cpu = [&](const Buses& buses) {
    const topologies::CpuModel* found = cpu_with_buses(buses, catalog);
    return found == nullptr ? std::string("none") : found->name;
  };
  EXPECT_EQ(cpu({0x1a, 0x1b}), "Intel Skylake-SP");
  EXPECT_EQ(cpu({0x1a, 0xb2}), "Intel Skylake-SP");
  EXPECT_EQ(cpu({0x18, 0xaf}), "Intel Skylake-SP");
  EXPECT_EQ(cpu({0x19, 0x1a}), "none");              // 19 is inside the switch
  EXPECT_EQ(cpu({0x1a}), "none");                    // one alone may be an accident
  EXPECT_EQ(cpu({0x01, 0x41}), "none");              // as EPYC numbers them
  EXPECT_EQ(cpu({0x07, 0x0f, 0x47, 0x4e}), "none");  // DGX A100
}

Record card(const std::string& id, const std::string& source, const std::string& kind,
            const std::string& more = "") {
  Record record = record_of(R"j({"gpu": "RTX 4090", "gpus_per_node": 2, "nodes": 1,
      "intra": {"kind": ")j" + kind +
                                R"j(", "p2p": false}, "nic": null)j" + more + "}",
                            R"j("source": ")j" + source + R"j(")j");
  record.id = id;
  return record;
}

TEST(GpuBuses, HoldForRecordsOfTheSameDocumentThatSayNothing) {
  const std::string page = "github.com/a/b:README.md";
  std::vector<Record> records = {
      card("silent", page + " (lines 30-40)", "PCIe, two pairs behind switches"),
      card("says", page + " (lines 1-20)", "PCIe (1a,1b)"),
      card("other page", "github.com/a/b:OTHER.md (lines 1-20)", "PCIe"),
      card("says PCIe", page + " (lines 50-60)", "PCIe", R"j(, "pcie": "Gen4 x16")j"),
      card("no document", "public file", "PCIe"),
      card("no document either", "public file", "PCIe (1a,1b)")};
  share_buses(records);
  EXPECT_EQ(records[0].system.gpu_buses, (Buses{0x1a, 0x1b}));
  EXPECT_EQ(records[0].system.gpu_buses_of, "says");
  EXPECT_EQ(records[1].system.gpu_buses_of, "");
  EXPECT_EQ(records[2].system.gpu_buses, Buses());
  EXPECT_EQ(records[3].system.gpu_buses, Buses());
  EXPECT_EQ(records[4].system.gpu_buses, Buses());
}

TEST(GpuBuses, AreAnInputOfTheMachine) {
  const auto pcie = [](const Record& record) {
    const BuiltSystem built = build_system(record, library());
    EXPECT_TRUE(built.modelled) << built.reason;
    return built.variant.cluster.hosts.at(0).pcie_generation;
  };
  EXPECT_EQ(pcie(card("r", "x", "PCIe")), 4);
  EXPECT_EQ(pcie(card("r", "x", "PCIe (1a,b2)")), 3);
  EXPECT_EQ(pcie(card("r", "x", "PCIe (1a,b2)", R"j(, "pcie": "Gen4")j")), 4);
  const BuiltSystem built = build_system(card("r", "x", "PCIe (1a,b2)"), library());
  EXPECT_EQ(built.variant.cluster.hosts.at(0).cpu_model, "Intel Skylake-SP");
  EXPECT_EQ(std::count(built.assumptions.begin(), built.assumptions.end(),
                       "the bus numbers of the GPUs are those of hosts with Intel Skylake-SP: "
                       "PCIe Gen3"),
            1);
}

}  // namespace
}  // namespace busbw::scenarios::accuracy
