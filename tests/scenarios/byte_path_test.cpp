// The path of a byte, hop by hop, by hand: NVLink, InfiniBand with GPUDirect, PXN, sockets.
#include "scenarios/byte_path.h"

#include <gtest/gtest.h>

#include "scenarios/equal_hosts.h"
#include "sim/core/text.h"
#include "tests/scenarios/library.h"

namespace busbw::scenarios {
namespace {

Variant hosts_of(const std::string& name, std::int32_t hosts) {
  Variant variant;
  variant.name = name;
  variant.version = *nccl::parse_version("2.27");
  HostsOptions options;
  options.hosts = hosts;
  set_equal_hosts(machine(name), options, library().catalog, variant);
  return variant;
}

Variant case_variant(const std::string& name) {
  Problems problems;
  Scenario scenario =
      load_scenario(std::string(BUSBW_SOURCE_DIR) + "/scenarios/catalog/nic-misselection.yaml",
                    library(), problems);
  problems.throw_if_any();
  for (Variant& variant : scenario.variants) {
    if (variant.name == name) {
      return variant;
    }
  }
  throw InputError("no variant " + name);
}

BytePath path_of(const Variant& variant, int from, int to) {
  return byte_path(variant, context(), {RankId(from), RankId(to), ChannelId(0)});
}

/// "node0/gpu0 NVLink node0/nvswitch" a hop; what is no link by its name.
std::vector<std::string> hops(const BytePath& path) {
  std::vector<std::string> texts;
  for (const PathHop& hop : path.hops) {
    texts.push_back(hop.from.empty() ? hop.over : hop.from + " " + hop.over + " " + hop.to);
  }
  return texts;
}

std::string layers(const BytePath& path) {
  std::string text;
  for (const PathHop& hop : path.hops) {
    text += hop.layer.substr(0, 2);
  }
  return text;
}

// 18 NVLinks of 25 GB/s are 450 GB/s one way, on both hops.
TEST(BytePath, ByNvSwitch) {
  const BytePath path = path_of(hosts_of("dgx-h100", 1), 0, 7);
  EXPECT_EQ(path.transport, "nvlink");
  EXPECT_EQ(hops(path),
            (std::vector<std::string>{"node0/gpu0 NVLink node0/nvswitch",
                                      "node0/nvswitch NVLink node0/gpu7", "posting and noticing"}));
  EXPECT_EQ(layers(path), "phphco");
  EXPECT_EQ(path.hops[0].rate, Bandwidth::gigabytes_per_second(450));
  EXPECT_EQ(path.hops[1].carrier, "GPU kernel of rank 0");
}

// GPU -> PCIe switch -> ConnectX-7 -> leaf -> ConnectX-7 -> PCIe switch -> GPU. PCIe Gen5 x16 is
// 32 GT/s x 16 x 128/130 / 8 = 63.015 GB/s; NDR is 50 GB/s, less headers of the payload the
// narrowest.
TEST(BytePath, ByGpuDirectOverInfiniBand) {
  const BytePath path = path_of(hosts_of("dgx-h100", 2), 0, 8);
  EXPECT_EQ(path.transport, "ib");
  ASSERT_EQ(path.hops.size(), 7U);
  EXPECT_EQ(layers(path), "phphphphphphpr");
  EXPECT_EQ(path.hops[0].from, "node0/gpu0");
  EXPECT_EQ(path.hops[1].to, "node0/mlx5_0");
  EXPECT_EQ(path.hops[3].to, "node1/mlx5_0");
  EXPECT_EQ(path.hops[5].to, "node1/gpu0");
  for (const std::size_t pcie : {0U, 1U, 4U, 5U}) {
    EXPECT_NEAR(path.hops[pcie].rate->as_gigabytes_per_second(), 63.015, 0.001);
    EXPECT_EQ(path.hops[pcie].over, "PCIe");
  }
  EXPECT_EQ(path.hops[2].rate, Bandwidth::gigabytes_per_second(50));
  EXPECT_EQ(path.payload, *path.hops[2].payload);
  EXPECT_LT(path.payload, Bandwidth::gigabytes_per_second(50));
  EXPECT_EQ(path.hops[0].carrier, "RDMA by the NIC");
}

// Rank 0 sends to GPU 1 of the other host by NVLink to its own GPU 1 and the NIC beside that one.
TEST(BytePath, ByPxn) {
  const BytePath path = path_of(hosts_of("dgx-h100", 2), 0, 9);
  const std::vector<std::string> found = hops(path);
  ASSERT_EQ(found.size(), 9U);
  EXPECT_EQ(found[0], "node0/gpu0 NVLink node0/nvswitch");
  EXPECT_EQ(found[1], "node0/nvswitch NVLink node0/gpu1");
  EXPECT_EQ(found[2], "node0/gpu1 PCIe node0/pcie1");
  EXPECT_EQ(path.hops[1].carrier, "GPU kernel of rank 0");
  EXPECT_EQ(path.hops[2].carrier, "RDMA by the NIC");
}

// Without a NIC in use the bytes cross the memory of each host twice more than the GPU asks for:
// NCCL's host buffer and the kernel's. Every PCIe hop of a GPU kernel shares both directions; the
// proxy threads are NCCL's, sockets the protocol's.
TEST(BytePath, BySockets) {
  const BytePath path = path_of(case_variant("before"), 0, 4);
  EXPECT_EQ(path.transport, "socket");
  EXPECT_EQ(hops(path), (std::vector<std::string>{"node0/gpu0 PCIe node0/pcie0",
                                                  "node0/pcie0 PCIe node0/cpu0",
                                                  "node0/gpu0->node0/pcie0 both ways",
                                                  "node0/pcie0->node0/cpu0 both ways",
                                                  "node0/cpu0 memory node0/memory0",
                                                  "node0/memory0 memory node0/cpu0",
                                                  "node0/cpu0 memory node0/memory0",
                                                  "node0/memory0 memory node0/cpu0",
                                                  "node0/cpu0 PCIe node0/eth0",
                                                  "node0/eth0 network management/leaf0",
                                                  "management/leaf0 network node1/eth0",
                                                  "node1/eth0 PCIe node1/cpu0",
                                                  "node1/cpu0 memory node1/memory0",
                                                  "node1/memory0 memory node1/cpu0",
                                                  "node1/cpu0 memory node1/memory0",
                                                  "rank 0 proxy thread",
                                                  "rank 4 proxy thread",
                                                  "node1/memory0 memory node1/cpu0",
                                                  "node1/cpu0 PCIe node1/pcie0",
                                                  "node1/pcie0 PCIe node1/gpu0",
                                                  "node1/cpu0->node1/pcie0 both ways",
                                                  "node1/pcie0->node1/gpu0 both ways",
                                                  "sockets of one connection",
                                                  "posting and noticing"}));
  EXPECT_EQ(path.hops[15].layer, "collective");
  EXPECT_EQ(path.hops[22].layer, "protocol");
  // 10 GbE with 1500-byte frames: 1.25 GB/s x 1448/1538 less what is never reached.
  EXPECT_LE(path.payload.as_gigabytes_per_second(), 1.25 * 1448 / 1538);
  EXPECT_GE(path.payload.as_gigabytes_per_second(), 1.1);
}

// The fix: the same two GPUs over the HCA, five to ten times as wide.
TEST(BytePath, TheFixIsWiderAndShorter) {
  const BytePath before = path_of(case_variant("before"), 0, 4);
  const BytePath fixed = path_of(case_variant("fixed"), 0, 4);
  EXPECT_EQ(fixed.transport, "ib");
  EXPECT_GT(fixed.payload.bps(), before.payload.bps() * 5);
  EXPECT_GT(before.latency.ps(), fixed.latency.ps() * 2);
  EXPECT_LT(fixed.hops.size(), before.hops.size());
}

TEST(BytePath, HopsAddUpAndFollowEachOther) {
  for (const auto& [name, hosts] : {std::pair{"dgx-h100", 2}, std::pair{"a100-40gb-x4", 2},
                                    std::pair{"l40s-x8", 1}, std::pair{"rtx4090-x8", 1}}) {
    const Variant variant = hosts_of(name, hosts);
    const auto gpus = static_cast<int>(variant.cluster.hosts.front().gpus.size());
    for (int to = 1; to < gpus * hosts; ++to) {
      const BytePath path = path_of(variant, 0, to);
      Duration sum;
      std::string at = "node0/gpu0";
      for (const PathHop& hop : path.hops) {
        sum += hop.latency;
        if (!hop.from.empty()) {
          EXPECT_EQ(hop.from, at) << name << " " << to;
          at = hop.to;
          EXPECT_LE(*hop.payload, *hop.rate) << name << " " << hop.from;
        }
        EXPECT_GE(hop.latency, Duration()) << name << " " << hop.over;
      }
      EXPECT_EQ(at, "node" + std::to_string(to / gpus) + "/gpu" + std::to_string(to % gpus));
      EXPECT_EQ(sum, path.latency);
    }
  }
}

TEST(BytePath, OfAJobThatDoesNotRun) {
  try {
    static_cast<void>(path_of(case_variant("demand IB"), 0, 4));
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()).rfind("error: variant 'demand IB' does not run: ", 0), 0U)
        << error.what();
  }
}

}  // namespace
}  // namespace busbw::scenarios
