// Traffic between rails where each rail is a network of its own: by NVLink to the GPU beside the
// right NIC (PXN), or through CPU and PCIe to that NIC, or not at all.
#include <gtest/gtest.h>

#include "scenarios/simulate.h"
#include "scenarios/spec/load.h"
#include "sim/core/errors.h"
#include "tests/scenarios/library.h"

namespace busbw::scenarios {
namespace {

VariantResult run(const std::string& collective, const std::string& environment) {
  std::string networks;
  for (int rail = 0; rail < 8; ++rail) {
    networks += "    - {name: rail" + std::to_string(rail) + ", nics: [mlx5_" +
                std::to_string(rail) + "]}\n";
  }
  const std::string text =
      "schema: busbw.scenario/1\nname: rails\nnccl: 2.28.9\ncluster:\n  hosts: 2\n  machine: "
      "dgx-h100\n  networks:\n    - {name: management, nics: [eth0]}\n" +
      networks + "workload: {collective: " + collective + ", sizes: [256 MiB]}\nenvironment: {" +
      environment + "}\n";
  Problems problems;
  const Scenario scenario = parse_scenario(text, "rails.yaml", library(), problems);
  problems.throw_if_any();
  Context with = context();
  with.hottest_links = 1;
  return simulate(scenario, with, {}).variants.front();
}

SizeResult call(const std::string& collective, const std::string& environment) {
  return run(collective, environment).results.front();
}

const char* const kByCpu = R"(NCCL_PXN_DISABLE: "1", NCCL_CROSS_NIC: "0")";

TEST(RailOnly, RingsOfTheRailsRunAtTheFullRate) {
  // Eight NICs of 400 Gb/s; a ring over two hosts of eight keeps to its rail.
  EXPECT_GT(call("all_reduce", R"(NCCL_ALGO: Ring)").busbw_GBps, 8 * 50 * 0.8);
}

TEST(RailOnly, AllToAllGoesByNvLinkToTheRightRail) {
  // Each NIC carries what the eight ranks of its host have for the GPU beside its twin: 8 x S/16.
  const SizeResult pxn = call("alltoall", "");
  ASSERT_EQ(pxn.chosen.hottest.size(), 1U);
  EXPECT_EQ(pxn.chosen.hottest.front().link, "node0/mlx5_0->rail0/leaf0");
  EXPECT_EQ(pxn.chosen.hottest.front().carried, Bytes::mib(128));
  EXPECT_EQ(pxn.chosen.hottest.front().users.size(), 8U);
}

TEST(RailOnly, ThroughCpuAndPcieItLoses) {
  // Seven of the eight parts that a GPU sends to the other host are for other rails, and are staged
  // in its socket's memory: 4 GPUs x 7 x S/16 a socket, which is now the busiest link.
  const SizeResult pxn = call("alltoall", "");
  const SizeResult cpu = call("alltoall", kByCpu);
  ASSERT_EQ(cpu.chosen.hottest.size(), 1U);
  EXPECT_EQ(cpu.chosen.hottest.front().link, "node0/cpu0->node0/memory0");
  EXPECT_EQ(cpu.chosen.hottest.front().carried, Bytes::mib(4 * 7 * 16));
  EXPECT_LT(cpu.busbw_GBps, pxn.busbw_GBps * 0.95);
}

TEST(RailOnly, WithoutEitherRailsDoNotReachEachOther) {
  try {
    static_cast<void>(run("alltoall", R"(NCCL_PXN_DISABLE: "1")"));
    FAIL() << "rails reach each other";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("they are on different networks"), std::string::npos);
  }
}

}  // namespace
}  // namespace busbw::scenarios
