// From texts to machines: boards, NVLink that is denied, names of CPUs.
#include "scenarios/accuracy/machine_for.h"

#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "scenarios/accuracy/describe.h"
#include "tests/scenarios/accuracy/built.h"

namespace busbw::scenarios::accuracy {
namespace {

// A board of modules has its PCIe switches whatever the CPU; the CPU is the record's.
TEST(BuildSystem, BoardsOfModulesKeepTheirSwitches) {
  const BuiltSystem unsaid = build(hopper(8, 2, kEight));
  for (const char* more :
       {R"j(, "cpu": "2x AMD EPYC 9554 64-Core")j", R"j(, "conditions": {"gpu_nic_path": "PIX"})j",
        R"j(, "cpu": "EPYC 9554", "conditions": {"gpu_nic_path": "PXB"})j"}) {
    const BuiltSystem said = build(hopper(8, 2, kEight, more));
    EXPECT_EQ(places(host(said)), places(host(unsaid))) << more;
    EXPECT_EQ(host(said).pcie_switches.size(), host(unsaid).pcie_switches.size()) << more;
    for (const topologies::MachineNic& nic : host(said).nics) {
      if (nic.rdma) {
        EXPECT_EQ(nic.attach->rfind("cpu", 0), std::string::npos) << more;
      }
    }
  }
  EXPECT_EQ(host(build(hopper(8, 2, kEight, R"j(, "cpu": "2x AMD EPYC 9554")j"))).cpu_model,
            "AMD Genoa");
  const BuiltSystem far =
      build(hopper(8, 2, kEight, R"j(, "conditions": {"gpu_nic_path": "SYS"})j"));
  EXPECT_NE(places(host(far)), places(host(unsaid)));
}

TEST(BuildSystem, NoNvLinkIsSaidInWords) {
  for (const char* word : {"none", "None", "no", "no NVLink", "n/a", "0"}) {
    const BuiltSystem built = build(fmt::format(
        R"j({{"gpu": "A100-PCIE-40GB", "gpus_per_node": 2, "nodes": 1, "intra": {{"nvlink": "{}",
            "switch": "none", "kind": "PCIe"}}}})j",
        word));
    EXPECT_EQ(host(built).wiring, topologies::NvLinkWiring::kNone) << word;
  }
  const BuiltSystem numbered = build(
      R"j({"gpu": "A100-PCIE-40GB", "gpus_per_node": 2, "nodes": 1, "intra": {"nvlink": "NV12",
          "kind": "bridged pair"}})j");
  EXPECT_EQ(host(numbered).wiring, topologies::NvLinkWiring::kPairs);
}

TEST(Describe, GenerationOfACpuIsInItsNumber) {
  const std::map<std::string, std::string> models = {
      {"2x AMD EPYC 9575F (Turin)", "AMD Turin"},
      {"AMD EPYC 9554 64-Core Processor", "AMD Genoa"},
      {"EPYC 7543", "AMD Milan"},
      {"AMD EPYC 7402P", "AMD Rome"},
      {"EPYC 75F3", "AMD Milan"},
      {"Intel(R) Xeon(R) Platinum 8480C CPU @ 2.00GHz", "Intel Sapphire Rapids"},
      {"Xeon Gold 6530", "Intel Emerald Rapids"},
      {"Sapphire Rapids", "Intel Sapphire Rapids"},
      {"Intel(R) Xeon(R) Gold 6248 CPU", "Intel Cascade Lake-SP"},
      {"Xeon(R) CPU E5-2680 v4", "Intel Broadwell-EP"}};
  for (const auto& [text, name] : models) {
    const topologies::CpuModel* cpu = cpu_in(text, library().catalog);
    ASSERT_NE(cpu, nullptr) << text;
    EXPECT_EQ(cpu->name, name) << text;
  }
  for (const char* text : {"EPYC 7551", "Xeon Gold 65300", "EPYC 95750", "Core i9-13900K"}) {
    EXPECT_EQ(cpu_in(text, library().catalog), nullptr) << text;
  }
}

}  // namespace
}  // namespace busbw::scenarios::accuracy
