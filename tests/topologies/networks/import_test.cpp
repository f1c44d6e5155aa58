// Imports of real tool output, where the reference samples are there, and of what we export.
#include "topologies/networks/import.h"

#include <algorithm>
#include <filesystem>

#include "sim/core/text.h"
#include "tests/topologies/networks/small_fabric.h"
#include "topologies/networks/export.h"
#include "topologies/networks/lft_dump.h"

namespace busbw::networks {
namespace {

const std::string kSamples = std::string(BUSBW_SHARED_DIR) + "/tool-outputs/";

Imported imported(const std::string& text, const std::string& file, Problems& problems) {
  switch (kind_of(text)) {
    case FileKind::kIbNetDiscover:
      return read_ibnetdiscover(text, file, shipped_catalog(), problems);
    case FileKind::kIbLinkInfo:
      return read_iblinkinfo(text, file, shipped_catalog(), problems);
    case FileKind::kEdges:
      return read_edges(text, file, shipped_catalog(), problems);
    default:
      ADD_FAILURE() << "no kind: " << file;
      return {};
  }
}

Imported imported(const std::string& text) {
  Problems problems;
  Imported found = imported(text, "t", problems);
  problems.throw_if_any();
  return found;
}

class Samples : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::is_directory(kSamples)) {
      GTEST_SKIP() << "no reference samples here";
    }
  }
  static std::string text(const std::string& name) { return read_file(kSamples + name); }
};

// Two leaves and the eight spines that they name; 17 hosts and an aggregation node on the first
// leaf, 16 hosts on the second; the second record is cut after nine cables up.
TEST_F(Samples, IbNetDiscoverOfNdr) {
  const Imported found = imported(text("ibnetdiscover_ndr_leaf_spine.txt"));
  const Subnet& subnet = found.subnet;
  EXPECT_EQ(subnet.switches.size(), 10U);
  EXPECT_EQ(subnet.endpoints.size(), 34U);
  EXPECT_EQ(subnet.cables.size(), 34U + 16 + 9);
  EXPECT_EQ(subnet.switches[0].name, "MF0;ibLEAF04-04:MQM9701/U1");
  EXPECT_EQ(subnet.switches[0].model, "MQM9701");
  EXPECT_EQ(subnet.switches[0].guid, 0x5a40b3eab63f3f1dU);
  EXPECT_EQ(subnet.switches[0].lid, Lid(73));
  EXPECT_EQ(subnet.endpoints[0].name(), "node0401/mlx5_5");
  EXPECT_EQ(subnet.endpoints[0].lid, Lid(647));
  for (const Cable& cable : subnet.cables) {
    EXPECT_EQ(cable.rate, gbits(400));
    EXPECT_EQ(cable.speed, "NDR");
  }
  EXPECT_EQ(found.remarks,
            std::vector<std::string>{
                "8 switches are only named by others: their further ports are not known"});
}

TEST_F(Samples, IbNetDiscoverOfHdr) {
  const Subnet subnet = imported(text("ibnetdiscover_hdr_faked.txt")).subnet;
  for (const Cable& cable : subnet.cables) {
    EXPECT_EQ(cable.rate, gbits(200));
  }
  const PortMap map(subnet);
  EXPECT_EQ(check_pairs(subnet, map, min_hop(subnet, map)).unreachable, 0);
}

// Three hosts at 4x EDR and an aggregation node at 4x HDR on one switch.
TEST_F(Samples, IbLinkInfo) {
  const Subnet subnet = imported(text("iblinkinfo_edr.txt")).subnet;
  ASSERT_EQ(subnet.switches.size(), 1U);
  EXPECT_EQ(subnet.switches[0].name, "MF0;ibsw1:MQM8700/U1");
  ASSERT_EQ(subnet.endpoints.size(), 4U);
  EXPECT_EQ(subnet.endpoints[0].name(), "node3/HCA-1");
  Bandwidth sum;
  for (const Cable& cable : subnet.cables) {
    sum = sum + cable.rate;
  }
  EXPECT_EQ(sum, gbits(3 * 100 + 200));
}

TEST_F(Samples, TheBadOneHasLocatedErrors) {
  Problems problems;
  imported(text("ibnetdiscover_bad.txt"), "bad.txt", problems);
  ASSERT_EQ(problems.all().size(), 2U);
  EXPECT_EQ(to_string(problems.all()[0]), "bad.txt:10:1: error: 'H-5ad8273e2f4a7c0a' has no cable");
  EXPECT_EQ(to_string(problems.all()[1]), "bad.txt:1:1: error: no switch in the file");
}

TEST(Export, ComesBackAsItWas) {
  const BuiltFabric built = shipped_fabric("fat-tree-2tier-128");
  const Subnet& before = built.subnets.at(0);
  for (const std::string& text : {to_ibnetdiscover(before), to_edges(built), to_ibsim(before)}) {
    const Subnet after = imported(text).subnet;
    EXPECT_EQ(after.switches.size(), before.switches.size());
    EXPECT_EQ(after.endpoints.size(), before.endpoints.size());
    ASSERT_EQ(after.cables.size(), before.cables.size());
    const PortMap map(after);
    const PortMap old(before);
    const PairReport pairs = check_pairs(after, map, min_hop(after, map));
    EXPECT_EQ(pairs.hops, check_pairs(before, old, min_hop(before, old)).hops);
    EXPECT_EQ(std::count_if(after.switches.begin(), after.switches.end(),
                            [](const Switch& node) { return node.tier == 0; }),
              8);
  }
  const Subnet discovered = imported(to_ibnetdiscover(before)).subnet;
  EXPECT_EQ(discovered.endpoints[5].name(), "node5/mlx5_0");
  EXPECT_EQ(discovered.endpoints[5].port_guid, before.endpoints[5].port_guid);
  EXPECT_EQ(discovered.endpoints[5].lid, before.endpoints[5].lid);
  EXPECT_EQ(bisect(discovered, 128).rate, bisect(before, 128).rate);
}

TEST(Export, TablesComeBackAsTheyWere) {
  const Subnet subnet = shipped_fabric("fat-tree-2tier-128").subnets.at(0);
  const PortMap map(subnet);
  const Lfts lfts = route(subnet, map, Engine::kFtree).lfts;
  Problems problems;
  EXPECT_EQ(read_lft_dump(write_lft_dump(subnet, lfts), "t", subnet, problems), lfts);
  EXPECT_TRUE(problems.empty());
}

}  // namespace
}  // namespace busbw::networks
