// NICs of what goes point to point between hosts, by hand for two machines with a NIC for each GPU
// and NVLink between them.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "scenarios/equal_hosts.h"
#include "scenarios/plan.h"
#include "tests/scenarios/library.h"

namespace busbw::scenarios {
namespace {

using collectives::Collective;
using transport::PortPair;

/// Two hosts of `machine`, NCCL 2.27.
struct TwoHosts {
  Variant variant;
  Plan plan;

  TwoHosts(const std::string& name, nccl::Environment environment,
           Collective collective = Collective::kAllToAll) {
    variant.name = name;
    variant.version = *nccl::parse_version("2.27");
    variant.environment = std::move(environment);
    variant.workload.collective = collective;
    HostsOptions options;
    options.hosts = 2;
    set_equal_hosts(machine(name), options, library().catalog, variant);
    plan = make_plan(variant, decide(variant, library().catalog));
  }
  [[nodiscard]] PortPair ports(int from, int to, int channel = 0) const {
    return plan.pair_ports(RankId(from), RankId(to), ChannelId(channel));
  }
};

/// The NIC next to a GPU: the one by which it receives.
std::size_t rail(const TwoHosts& job, int gpu) {
  return job.ports(8, gpu).in.nic;
}

TEST(PairPorts, EachGpuReceivesByItsOwnNic) {
  const TwoHosts job("dgx-h100", {});
  for (int gpu = 0; gpu < 8; ++gpu) {
    for (int other = 0; other < gpu; ++other) {
      EXPECT_NE(rail(job, gpu), rail(job, other)) << gpu << " " << other;
    }
    for (int from = 8; from < 16; ++from) {
      EXPECT_EQ(job.ports(from, gpu).in.nic, rail(job, gpu));
    }
    EXPECT_TRUE(job.ports(8, gpu).in.gdr_receive);
    EXPECT_FALSE(job.ports(8, gpu).in.relay.has_value());
  }
}

// Rank 0 sends to rank 9, GPU 1 of the other host: by NVLink to rank 1, and on from its NIC.
TEST(PairPorts, DataLeavesOnTheRailOfThePeer) {
  const TwoHosts job("dgx-h100", {});
  const PortPair crossing = job.ports(0, 9);
  EXPECT_EQ(crossing.out.nic, rail(job, 1));
  EXPECT_EQ(crossing.in.nic, rail(job, 1));
  EXPECT_EQ(crossing.out.relay, RankId(1));
  EXPECT_TRUE(crossing.out.gdr_send);
  const PortPair straight = job.ports(0, 8);
  EXPECT_EQ(straight.out.nic, rail(job, 0));
  EXPECT_FALSE(straight.out.relay.has_value());
  // The other host's ranks relay by their own ranks.
  EXPECT_EQ(job.ports(15, 2).out.relay, RankId(10));
}

TEST(PairPorts, WithoutPxnDataCrossesRails) {
  for (const char* name : {"NCCL_PXN_DISABLE", "NCCL_P2P_PXN_LEVEL"}) {
    const std::string value = std::string(name) == "NCCL_PXN_DISABLE" ? "1" : "0";
    const TwoHosts job("dgx-h100", {{name, value}});
    const PortPair pair = job.ports(0, 9);
    EXPECT_EQ(pair.out.nic, rail(job, 0)) << name;
    EXPECT_EQ(pair.in.nic, rail(job, 1)) << name;
    EXPECT_FALSE(pair.out.relay.has_value()) << name;
  }
}

TEST(PairPorts, CrossNicZeroKeepsTheRailEvenSo) {
  const TwoHosts job("dgx-h100", {{"NCCL_PXN_DISABLE", "1"}, {"NCCL_CROSS_NIC", "0"}});
  EXPECT_EQ(job.ports(0, 9).out.nic, rail(job, 1));
  EXPECT_FALSE(job.ports(0, 9).out.relay.has_value());
}

TEST(PairPorts, RingsHaveNone) {
  EXPECT_EQ(TwoHosts("dgx-h100", {}, Collective::kAllReduce).plan.pair_ports, nullptr);
}

// Every NIC carries the same: alltoall on 2 x 8 moves 8 of 16 parts of each rank to the other host,
// S/2 a host and direction over 8 NICs.
TEST(PairPorts, LoadTheNicsEvenly) {
  const TwoHosts job("dgx-h100", {});
  std::vector<int> messages(16);
  for (int from = 0; from < 8; ++from) {
    for (int to = 8; to < 16; ++to) {
      ++messages.at(job.ports(from, to).out.nic);
    }
  }
  EXPECT_EQ(std::count(messages.begin(), messages.end(), 8), 8);
}

}  // namespace
}  // namespace busbw::scenarios
