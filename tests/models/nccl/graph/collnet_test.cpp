// Reduction in the network: graphs, channels and costs worked out by hand, and off unless asked
// for.
#include <gtest/gtest.h>

#include "models/nccl/graph/decide.h"
#include "models/nccl/graph/to_value.h"
#include "tests/models/nccl/graph/topologies.h"

namespace busbw::nccl::graph {
namespace {

Decision decided(int hosts, const Environment& environment, bool flag = true,
                 Version version = kNewest, const std::string& topology = two_gpus_one_nic()) {
  DecideInput input = equal_hosts(parsed(topology), hosts);
  input.environment = environment;
  input.collnet = flag;
  input.version = version;
  return decide(input);
}

const Environment kOn{{"NCCL_COLLNET_ENABLE", "1"}};

Cost cost(const Decision& d, Collective collective, Algorithm algorithm) {
  return d.tuning.cost(collective, algorithm, Protocol::kSimple);
}

TEST(CollNet, GraphsChannelsAndCostsOfTwoHosts) {
  const Decision d = decided(2, kOn);
  ASSERT_TRUE(d.comm.collnet);
  // One NIC: one chain of 24 GB/s whose speed inside is raised to 48, and one head.
  EXPECT_EQ(d.comm.collnet_chain.channels, 1);
  EXPECT_FLOAT_EQ(d.comm.collnet_chain.bw_inter, 24.0F);
  EXPECT_FLOAT_EQ(d.comm.collnet_chain.bw_intra, 48.0F);
  EXPECT_EQ(d.comm.collnet_direct.pattern, Pattern::kCollNetDirect);
  EXPECT_EQ(d.comm.collnet_direct.channels, 1);
  EXPECT_EQ(d.comm.collnet_heads, 1);
  // 2 channels, half as many again since 48 > 24; the third repeats the first.
  EXPECT_EQ(d.comm.channels, 3);
  EXPECT_EQ(d.rings.channel_to_order, (std::vector<int>{0, 0, 0}));
  EXPECT_EQ(d.trees.channel_to_tree[2], d.trees.channel_to_tree[0]);
  // Chain: 48 / 2 GB/s, 2 x 2.8 + 30 us.
  const Cost chain = cost(d, Collective::kAllReduce, Algorithm::kCollNetChain);
  EXPECT_FLOAT_EQ(chain.bandwidth, 24.0F);
  EXPECT_FLOAT_EQ(chain.latency_us, 35.6F);
  // Direct: 2 GPUs a NIC count as 1.5: 48 / 1.5 / 2 GB/s; 2 x (3.7 + 0.4) + 31 us.
  const Cost direct = cost(d, Collective::kAllReduce, Algorithm::kCollNetDirect);
  EXPECT_FLOAT_EQ(direct.bandwidth, 16.0F);
  EXPECT_FLOAT_EQ(direct.latency_us, 39.2F);
  // One head for two GPUs: no gathering by CollNet.
  EXPECT_EQ(cost(d, Collective::kAllGather, Algorithm::kCollNetDirect).bandwidth, 0);
}

TEST(CollNet, ChannelsOfACall) {
  // 3 channels, one head, 640 threads of 512 bytes: all from 960 KiB on. At 3 = 2 + 1 channels a
  // thread's share halves to 256: 2 channels from 320 KiB on, else 1.
  const Decision d = decided(2, kOn);
  const auto channels = [&](std::int64_t bytes) {
    for (const Choice& call :
         choices(d.tuning, d.comm, d.switches, Collective::kAllReduce, bytes)) {
      if (call.algorithm == Algorithm::kCollNetDirect)
        return call.channels;
    }
    return 0;
  };
  EXPECT_EQ(channels(3 * 640 * 512), 3);
  EXPECT_EQ(channels(3 * 640 * 512 - 4), 2);
  EXPECT_EQ(channels(2 * 640 * 256), 2);
  EXPECT_EQ(channels(2 * 640 * 256 - 4), 1);
  EXPECT_EQ(channels(8), 1);
}

TEST(CollNet, GatheringNeedsAHeadPerGpu) {
  const std::string links = "<nvlink target=\"0000:c1:00.0\" count=\"12\" tclass=\"0x068000\"/>";
  const auto pair = [&](int n) {
    return fmt::format(
        "<pci busid=\"0000:f{}:00.0\" class=\"0x060400\" vendor=\"0x10b5\" device=\"0x8747\" "
        "link_speed=\"16.0 GT/s PCIe\" link_width=\"16\">{}{}</pci>",
        n, gpu_xml(n, 80, links), nic_xml(n, 100'000));
  };
  const Decision d = decided(2, kOn, true, kNewest, system_xml(pair(0) + pair(1)));
  EXPECT_EQ(d.comm.collnet_heads, 2);
  // 2 GPUs x min(intra, 0.9 x 12) GB/s.
  EXPECT_FLOAT_EQ(cost(d, Collective::kAllGather, Algorithm::kCollNetDirect).bandwidth,
                  2 * 0.9F * d.comm.collnet_direct.bw_inter);
  EXPECT_FLOAT_EQ(d.comm.collnet_direct.bw_inter, 12.0F);
}

TEST(CollNet, OffWithoutVariableNicNodesOrNvSwitch) {
  EXPECT_FALSE(decided(2, {}).comm.collnet);
  EXPECT_FALSE(decided(2, kOn, false).comm.collnet);
  EXPECT_FALSE(decided(1, kOn).comm.collnet);
  EXPECT_FALSE(decided(2, {{"NCCL_COLLNET_ENABLE", "yes"}}).comm.collnet);  // the number 0
  EXPECT_FALSE(decided(2, {{"NCCL_COLLNET_ENABLE", "1"}, {"NCCL_COLLNET_NODE_THRESHOLD", "3"}})
                   .comm.collnet);
  // The attribute of the NIC does what the flag does.
  std::string topology = two_gpus_one_nic();
  topology.replace(topology.find("port=\"1\""), 8, "port=\"1\" coll=\"1\"");
  EXPECT_TRUE(decided(2, kOn, false, kNewest, topology).comm.collnet);
  // Without NVSwitch the chain only.
  const std::string plain = system_xml(gpu_xml(0, 80, "") + nic_xml(0, 200'000));
  const Decision d = decided(2, kOn, true, kNewest, plain);
  EXPECT_GT(cost(d, Collective::kAllReduce, Algorithm::kCollNetChain).bandwidth, 0);
  EXPECT_EQ(cost(d, Collective::kAllReduce, Algorithm::kCollNetDirect).bandwidth, 0);
}

TEST(CollNet, OldReleasesTakeTheChainForBoth) {
  const Decision d = decided(2, kOn, true, {2, 21, 5});
  EXPECT_EQ(d.comm.collnet_direct.pattern, d.comm.collnet_chain.pattern);
  EXPECT_EQ(d.comm.collnet_direct.channels, d.comm.collnet_chain.channels);
}

TEST(CollNet, JsonShowsItsGraphsOnlyWhenSearched) {
  EXPECT_NE(to_value(decided(2, kOn)).find("graphs")->find("collnetDirect"), nullptr);
  EXPECT_EQ(to_value(decided(2, {})).find("graphs")->find("collnetDirect"), nullptr);
}

}  // namespace
}  // namespace busbw::nccl::graph
