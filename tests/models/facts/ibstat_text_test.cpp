// `ibstat`, also as a report about a misselected NIC printed it: two blanks of indentation, a
// remark behind the rate, and a state that contradicts the physical state.
#include "models/facts/ibstat_text.h"

#include <gtest/gtest.h>

namespace busbw::facts {
namespace {

TEST(IbstatText, ReadsAdaptersAndPorts) {
  const std::vector<IbstatAdapter> adapters = parse_ibstat(
      "CA 'mlx5_0'\n\tCA type: MT4115\n\tNumber of ports: 2\n"
      "\tNode GUID: 0x5ad8273e2f4a7c0a\n\tSystem image GUID: 0x5ad8273e2f4a7c0b\n"
      "\tPort 1:\n\t\tState: Active\n\t\tPhysical state: LinkUp\n\t\tRate: 56\n"
      "\t\tBase lid: 13\n\t\tLMC: 0\n\t\tSM lid: 9\n\t\tLink layer: InfiniBand\n"
      "\tPort 2:\n\t\tState: Down\n\t\tPhysical state: Disabled\n\t\tRate: 10\n"
      "\t\tLink layer: Ethernet\n"
      "CA 'mlx5_1'\n\tCA type: MT4123\n",
      "ibstat.txt");
  ASSERT_EQ(adapters.size(), 2U);
  EXPECT_EQ(adapters[0].name, "mlx5_0");
  EXPECT_EQ(adapters[0].type, "MT4115");
  EXPECT_EQ(adapters[0].node_guid, 0x5ad8273e2f4a7c0aU);
  EXPECT_EQ(adapters[0].system_image_guid, 0x5ad8273e2f4a7c0bU);
  ASSERT_EQ(adapters[0].ports.size(), 2U);
  EXPECT_EQ(adapters[0].ports[0].state, "Active");
  EXPECT_EQ(adapters[0].ports[0].rate, 56.0);
  EXPECT_EQ(adapters[0].ports[0].base_lid, 13);
  EXPECT_EQ(adapters[0].ports[0].sm_lid, 9);
  EXPECT_EQ(adapters[0].ports[1].number, 2);
  EXPECT_EQ(adapters[0].ports[1].link_layer, "Ethernet");
  EXPECT_TRUE(adapters[1].ports.empty());
  EXPECT_TRUE(contradictions(adapters[0], adapters[0].ports[0]).empty());
  EXPECT_TRUE(contradictions(adapters[0], adapters[0].ports[1]).empty());
}

TEST(IbstatText, ReportsStateActiveWithPhysicalStatePolling) {
  const std::vector<IbstatAdapter> adapters = parse_ibstat(
      "# CA 'mlx5_9' in a comment\nCA 'mlx5_0'\n  CA type: MT4123\n  Number of ports: 1\n  Port "
      "1:\n"
      "    State: Active\n    Physical state: Polling\n"
      "    Rate: 200 Gb/s    <- InfiniBand HDR\n    Link layer: InfiniBand\n",
      "ibstat.txt");
  ASSERT_EQ(adapters.size(), 1U);
  ASSERT_EQ(adapters[0].ports.size(), 1U);
  EXPECT_EQ(adapters[0].ports[0].rate, 200.0);
  EXPECT_EQ(contradictions(adapters[0], adapters[0].ports[0]),
            (std::vector<std::string>{
                "mlx5_0 port 1: state Active with physical state Polling: an active port is always "
                "LinkUp, so the two were not read at one time or were edited"}));
}

TEST(IbstatText, ReportsAnActivePortWithoutSubnetManager) {
  const std::vector<IbstatAdapter> adapters = parse_ibstat(
      "CA 'a'\nPort 1:\nState: Active\nPhysical state: LinkUp\nRate: 100\nSM lid: 0\n"
      "Link layer: InfiniBand\n",
      "x");
  ASSERT_EQ(adapters.size(), 1U);
  ASSERT_EQ(adapters[0].ports.size(), 1U);
  EXPECT_EQ(
      contradictions(adapters[0], adapters[0].ports[0]),
      (std::vector<std::string>{"a port 1: state Active without a subnet manager (SM lid 0)"}));
}

TEST(IbstatText, OtherTextHoldsNoAdapter) {
  EXPECT_TRUE(parse_ibstat("", "x").empty());
  EXPECT_TRUE(parse_ibstat("ibpanic: no IB devices\nState: Active\nCA ''\nCA x\n", "x").empty());
}

}  // namespace
}  // namespace busbw::facts
