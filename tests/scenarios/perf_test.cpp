// A collective over equal hosts: nccl-tests' sizes by hand, the cluster that stands for a machine,
// and what must hold whatever the numbers are.
#include "scenarios/perf.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "sim/core/errors.h"
#include "tests/scenarios/library.h"

namespace busbw::scenarios {
namespace {

using collectives::Collective;

PerfResult run(const std::string& name, std::int32_t nodes, std::vector<Bytes> sizes,
               std::size_t gpus = 0) {
  PerfRequest request;
  request.machine = machine(name);
  if (gpus > 0) {
    std::vector<std::size_t> first(gpus);
    for (std::size_t i = 0; i < gpus; ++i) {
      first[i] = i;
    }
    request.machine = with_gpus(request.machine, first);
  }
  request.hosts.hosts = nodes;
  request.hosts.rdma_mtu = 9000;
  request.version = *nccl::parse_version("2.27");
  request.sizes = std::move(sizes);
  return perf(request, context());
}

void expect_size(Collective collective, std::int64_t asked, std::int32_t ranks, std::int64_t bytes,
                 std::int64_t count) {
  const TestSize size = test_size(collective, Bytes(asked), Bytes(4), ranks);
  EXPECT_EQ(size.bytes, Bytes(bytes)) << to_string(collective) << " " << asked;
  EXPECT_EQ(size.count, count) << to_string(collective) << " " << asked;
}

// Floats. all_reduce rounds to elements. One part a rank: 1000 B on 3 ranks are 250 / 3 = 83
// elements, down to 80 (16 bytes): 960 B. 8 B on 8 ranks leave nothing.
TEST(TestSizes, AsNcclTestsRoundsThem) {
  expect_size(Collective::kAllReduce, 1002, 3, 1000, 250);
  expect_size(Collective::kBroadcast, 8, 8, 8, 2);
  expect_size(Collective::kAllGather, 1000, 3, 960, 80);
  expect_size(Collective::kReduceScatter, 1 << 20, 8, 1 << 20, 1 << 15);
  expect_size(Collective::kAllToAll, 8, 8, 0, 0);
}

TEST(Perf, AverageIsOverTheSizes) {
  const PerfResult result = run("dgx-a100", 1, {Bytes::kib(1), Bytes::mib(1), Bytes::mib(64)});
  ASSERT_EQ(result.sizes.size(), 3U);
  double sum = 0;
  for (const SizeResult& size : result.sizes) {
    sum += size.busbw_GBps;
  }
  EXPECT_DOUBLE_EQ(result.average_busbw_GBps, sum / 3);
  EXPECT_EQ(result.ranks, 8);
}

// busbw of 2(n-1)/n S / t never exceeds what a GPU's NVLinks carry one way.
TEST(Perf, NeverAboveNvLink) {
  for (const char* name : {"dgx-1v", "dgx-2", "dgx-a100", "dgx-h100", "dgx-b200", "alps-gh200"}) {
    const PerfResult result = run(name, 1, {Bytes::mib(256)});
    const topologies::Machine host = machine(name);
    const topologies::NvLinkGeneration* generation =
        library().catalog.nvlink_generation(host.nvlink_generation);
    const double links =
        (generation->per_link * host.nvlink_links_per_gpu).as_gigabytes_per_second();
    EXPECT_LE(result.average_busbw_GBps, links) << name;
    EXPECT_GT(result.average_busbw_GBps, links / 20) << name;
  }
}

// A ring sends 2(n-1)/n S out of every host, which is what busbw counts: at most the sum of its
// NICs. A tree over two hosts sends S out of each: busbw up to 2(n-1)/n of that sum.
TEST(Perf, NeverAboveTheNics) {
  for (const char* name : {"dgx-a100", "dgx-h100", "aws-p5", "oci-bm-gpu-b4-8", "gcp-a3-mega"}) {
    const topologies::Machine host = machine(name);
    double nics = 0;
    for (const topologies::MachineNic& nic : host.nics) {
      nics += nic.rdma ? nic.rate.as_gigabytes_per_second() * nic.ports : 0;
    }
    for (const std::int32_t nodes : {2, 4}) {
      const PerfResult result = run(name, nodes, {Bytes::mib(256)});
      const double tree = 2.0 * (result.ranks - 1) / result.ranks;
      EXPECT_LE(result.average_busbw_GBps, nics * (nodes == 2 ? tree : 1)) << name << nodes;
    }
  }
}

TEST(Perf, LongerMessagesTakeLonger) {
  std::vector<Bytes> sizes;
  for (std::int64_t bytes = 1 << 10; bytes <= 1 << 28; bytes *= 4) {
    sizes.emplace_back(bytes);
  }
  const PerfResult result = run("dgx-h100", 2, sizes);
  for (std::size_t i = 1; i < result.sizes.size(); ++i) {
    // NCCL changes algorithm and protocol on the way, not always for the better.
    EXPECT_GT(result.sizes[i].chosen.time * 2, result.sizes[i - 1].chosen.time) << i;
  }
  EXPECT_GT(result.sizes.back().chosen.time, result.sizes.front().chosen.time);
}

// NVSwitch machines look alike from every GPU: the same ring whatever GPUs take part.
TEST(Perf, OtherGpusOfAnNvSwitchAreAsFast) {
  PerfRequest request;
  request.machine = with_gpus(machine("dgx-h100"), {0, 1, 2, 3});
  request.sizes = {Bytes::mib(64)};
  const PerfResult first = perf(request, context());
  request.machine = with_gpus(machine("dgx-h100"), {7, 2, 5, 0});
  const PerfResult other = perf(request, context());
  EXPECT_NEAR(first.average_busbw_GBps, other.average_busbw_GBps, 0.01 * first.average_busbw_GBps);
}

TEST(Perf, OneRankIsNearlyFree) {
  const PerfResult result = run("dgx-h100", 1, {Bytes::mib(1)}, 1);
  ASSERT_EQ(result.sizes.size(), 1U);
  EXPECT_LT(result.sizes.front().chosen.time, Duration::microseconds(50));
}

TEST(Perf, AJobThatNcclRefuses) {
  PerfRequest request;
  request.machine = machine("dgx-h100");
  request.hosts.hosts = 2;
  request.environment = {{"NCCL_NET", "nothing"}};
  request.sizes = {Bytes::mib(1)};
  const PerfResult result = perf(request, context());
  EXPECT_TRUE(result.error.has_value());
  EXPECT_TRUE(result.sizes.empty());
}

TEST(EqualHosts, RailsAndPlainNics) {
  Variant variant;
  HostsOptions options;
  options.hosts = 3;
  set_equal_hosts(machine("dgx-a100"), options, library().catalog, variant);
  ASSERT_EQ(variant.cluster.networks.size(), 2U);
  const topologies::Network& rails = variant.cluster.networks.front();
  EXPECT_EQ(rails.nics.size(), 8U);
  EXPECT_EQ(rails.leaf_switches, 8);
  EXPECT_EQ(rails.trunk, Bandwidth::gigabits_per_second(600));  // three hosts of 200 Gb/s
  EXPECT_EQ(variant.cluster.networks.back().nics, std::vector<std::string>{"eth0"});
  EXPECT_EQ(variant.inventories.size(), 3U);
}

}  // namespace
}  // namespace busbw::scenarios
