// Output of the RDMA tools, whole, cut and garbled.
#include <gtest/gtest.h>

#include "tests/models/facts/read_text.h"

namespace busbw::facts {
namespace {

using Strings = std::vector<std::string>;

TEST(RdmaReaders, Ibstat) {
  const ReadText read = read_text(
      "CA 'mlx5_3'\n\tCA type: MT4123\n\tNumber of ports: 1\n\tPort 1:\n\t\tState: Initializing\n"
      "\t\tPhysical state: LinkUp\n\t\tRate: 200\n\t\tBase lid: 0\n\t\tSM lid: 0\n"
      "\t\tLink layer: InfiniBand\n",
      "ibstat.node-a.txt");
  EXPECT_EQ(read.report.kinds, Strings{"ibstat"});
  EXPECT_EQ(read.report.host, "node-a");
  ASSERT_EQ(read.count("rdma.port"), 1U);
  EXPECT_EQ(read.field("rdma.port", "hca"), "mlx5_3");
  EXPECT_EQ(read.field("rdma.port", "port"), "1");
  EXPECT_EQ(read.field("rdma.port", "state"), "init");
  EXPECT_EQ(read.field("rdma.port", "physical"), "linkup");
  EXPECT_EQ(read.field("rdma.port", "rate"), "200");
  EXPECT_EQ(read.field("rdma.port", "sm_lid"), "0");
  EXPECT_EQ(read.field("rdma.port", "link"), "ib");
  EXPECT_EQ(read.store.named("rdma.port")[0]->where.line, 5);
  EXPECT_EQ(read.store.named("rdma.port")[0]->host, "node-a");
}

TEST(RdmaReaders, IbstatThatContradictsItself) {
  const ReadText read = read_text(
      "# CA 'mlx5_0'\n#   Port 1:\n#     State: Active\n#     Physical state: Polling\n"
      "#     Rate: 200 Gb/s    <- 4X HDR\n#     Link layer: InfiniBand\n");
  EXPECT_EQ(read.field("rdma.port", "rate"), "200");
  EXPECT_NE(read.field("rdma.contradiction", "text").find("Polling"), std::string::npos);
}

TEST(RdmaReaders, Ibstatus) {
  const ReadText read = read_text(
      "Infiniband device 'mlx5_0' port 1 status:\n\tdefault gid:\t fe80:0:0:0:1:2:3:4\n"
      "\tbase lid:\t 0x22\n\tsm lid:\t\t 0x47\n\tstate:\t\t 4: ACTIVE\n\tphys state:\t 5: LinkUp\n"
      "\trate:\t\t 200 Gb/sec (4X HDR)\n\tlink_layer:\t InfiniBand\n\n"
      "Infiniband device 'mlx5_1' port 1 status:\n\tstate:\t\t 1: DOWN\n\tphys state:\t 3: "
      "Disabled\n"
      "\trate:\t\t 10 Gb/sec (4X)\n\tlink_layer:\t Ethernet\n");
  ASSERT_EQ(read.count("rdma.port"), 2U);
  EXPECT_EQ(read.field("rdma.port", "sm_lid"), "71");
  EXPECT_EQ(read.field("rdma.port", "rate"), "200");
  EXPECT_EQ(read.field("rdma.port", "state", 1), "down");
  EXPECT_EQ(read.field("rdma.port", "physical", 1), "disabled");
  EXPECT_EQ(read.field("rdma.port", "link", 1), "ethernet");
  EXPECT_EQ(read.report.kinds, Strings{"ibstatus"});
}

TEST(RdmaReaders, IbvDevinfoAndAnExcerptOfIt) {
  const ReadText read = read_text(
      "hca_id:\tmlx5_0\n\ttransport:\t\t\tInfiniBand (0)\n\tphys_port_cnt:\t\t\t2\n\t\tport:\t1\n"
      "\t\t\tstate:\t\t\tPORT_ACTIVE (4)\n\t\t\tmax_mtu:\t\t4096 (5)\n\t\t\tactive_mtu:\t\t1024 "
      "(3)\n"
      "\t\t\tsm_lid:\t\t\t1\n\t\t\tlink_layer:\t\tEthernet\n\t\tport:\t2\n"
      "\t\t\tstate:\t\t\tPORT_DOWN (1)\n");
  ASSERT_EQ(read.count("rdma.port"), 2U);
  EXPECT_EQ(read.field("rdma.port", "active_mtu"), "1024");
  EXPECT_EQ(read.field("rdma.port", "max_mtu"), "4096");
  EXPECT_EQ(read.field("rdma.port", "hca", 1), "mlx5_0");
  EXPECT_EQ(read.field("rdma.port", "port", 1), "2");
  EXPECT_EQ(read.field("rdma.port", "state", 1), "down");
  const ReadText part = read_text("\t\t\tmax_mtu:\t\t4096 (5)\n\t\t\tactive_mtu:\t\t2048 (4)\n");
  EXPECT_EQ(part.field("rdma.port", "active_mtu"), "2048");
}

TEST(RdmaReaders, RdmaLinkGidsNetdevsPkeys) {
  const ReadText read = read_text(
      "link mlx5_7/1 subnet_prefix fe80:0000:0000:0000 lid 101 sm_lid 1 lmc 0 state DOWN "
      "physical_state POLLING\n"
      "link mlx5_3/1 state ACTIVE physical_state LINK_UP netdev ens7\n"
      "DEV\tPORT\tINDEX\tGID\tIPv4\tVER\tDEV\n"
      "mlx5_3\t1\t3\t0000:0000:0000:0000:0000:ffff:0a00:0101\t10.0.1.1\tv2\tens7\n"
      "mlx5_3 port 1 ==> ens7 (Up)\n"
      "/sys/class/infiniband/mlx5_3/ports/1/pkeys/0: 0x7FFF\n");
  EXPECT_EQ(read.field("rdma.port", "physical"), "polling");
  EXPECT_EQ(read.field("rdma.port", "sm_lid"), "1");
  EXPECT_EQ(read.field("rdma.port", "state", 1), "active");
  EXPECT_EQ(read.field("rdma.netdev", "netdev"), "ens7");
  EXPECT_EQ(read.field("rdma.netdev", "state", 1), "up");
  EXPECT_EQ(read.field("rdma.gid", "ip"), "10.0.1.1");
  EXPECT_EQ(read.field("rdma.gid", "version"), "v2");
  EXPECT_EQ(read.field("rdma.gid", "index"), "3");
  EXPECT_EQ(read.field("rdma.pkey", "value"), "0x7fff");
  EXPECT_EQ(read.field("rdma.pkey", "hca"), "mlx5_3");
  EXPECT_EQ(read.report.kinds, (Strings{"rdma link", "show_gids", "ibdev2netdev", "P_Key table"}));
}

TEST(RdmaReaders, WhatHangsWhereByIbnetdiscover) {
  const ReadText read = read_text(
      "# Topology file: generated on Wed Aug  6 16:11:23 2025\n\nvendid=0x2c9\n"
      "switchguid=0x5a40(5a40)\n"
      "Switch\t65 \"S-0000000000005a40\"\t\t# \"MF0;leaf4:MQM9701/U1\" enhanced port 0 lid 73 lmc "
      "0\n"
      "[1]\t\"H-0000000000000001\"[1](1) \t\t# \"n41 mlx5_5\" lid 647 4xNDR\n"
      "[2]\t\"S-0000000000005a41\"[9]\t\t# \"MF0;spine1:MQM9701/U1\" lid 74 4xNDR\n"
      "[64]\t\"H-0000000000000009\"[1](9) \t\t# \"Mellanox Technologies Aggregation Node\" lid 3 "
      "4xNDR\n\n"
      "caguid=0x1\nCa\t1 \"H-0000000000000001\"\t\t# \"n41 mlx5_5\"\n"
      "[1](1) \t\"S-0000000000005a40\"[1]\t\t# lid 647 lmc 0 \"MF0;leaf4:MQM9701/U1\" lid 73 "
      "4xNDR\n"
      "[2](2) \t\"S-00\n");
  ASSERT_EQ(read.count("fabric.cable"), 1U);  // seen from both ends
  EXPECT_EQ(read.field("fabric.cable", "at"), "n41");
  EXPECT_EQ(read.field("fabric.cable", "hca"), "mlx5_5");
  EXPECT_EQ(read.field("fabric.cable", "switch"), "MF0;leaf4:MQM9701/U1");
  EXPECT_EQ(read.store.named("fabric.cable")[0]->count, 2);
  EXPECT_EQ(read.report.kinds, Strings{"ibnetdiscover"});
  EXPECT_EQ(read.notes(), Strings{"x.txt:13:1: error: port without its peer: the line is cut"});
}

TEST(RdmaReaders, FabricFilesCountersAndQualityOfService) {
  const ReadText read = read_text(
      "CA: node3 HCA-1:\n      0x1      6    1[  ] ==( 4X      25.78125 Gbps Active/  LinkUp)==>  "
      "     3    3[  ] \"MF0;sw1:MQM8700/U1\" ( Could be 53.125 Gbps )\n"
      "rdma_cm\nuverbs0\nuverbs3\n"
      " 0a:00.0 | mlx5_1 | ib1 | 2 | init | down | IB | 100 | x16 G4 | x8 >!< | MT4119\n"
      "symbol_error: 12\nlink_downed: 0\nLinkDownedCounter:.........3\n"
      "Priority trust state: dscp\n\tprio:3 dscp:31,30,26,\n\tpriority    0   1   2   3   4   5   "
      "6   7\n"
      "\tenabled     0   0   0   1   0   0   0   0\nGlobal tclass=106\n");
  EXPECT_EQ(read.field("fabric.link", "lane_gbps"), "25.78125");
  EXPECT_EQ(read.field("fabric.link", "state"), "active");
  EXPECT_EQ(read.field("fabric.link", "name"), "MF0;sw1:MQM8700/U1");
  EXPECT_EQ(read.field("fabric.link", "remark"), "Could be 53.125 Gbps");
  EXPECT_EQ(read.field("fabric.cable", "at"), "node3");
  EXPECT_EQ(read.field("fabric.cable", "hca"), "HCA-1");
  EXPECT_EQ(read.field("fabric.cable", "switch"), "MF0;sw1:MQM8700/U1");
  EXPECT_EQ(read.count("dev.uverbs"), 2U);
  EXPECT_EQ(read.field("hca.row", "state"), "init");
  EXPECT_EQ(read.field("hca.row", "width"), "8");
  EXPECT_EQ(read.field("hca.row", "width_max"), "16");
  ASSERT_EQ(read.count("counter"), 2U);
  EXPECT_EQ(read.field("counter", "name"), "symbol_error");
  EXPECT_EQ(read.field("counter", "value", 1), "3");
  EXPECT_EQ(read.field("qos.pfc", "enabled"), "0,0,0,1,0,0,0,0");
  EXPECT_EQ(read.field("qos.dscp", "priority"), "3");
  EXPECT_EQ(read.field("qos.trust", "mode"), "dscp");
  EXPECT_EQ(read.field("qos.traffic_class", "value"), "106");
}

TEST(RdmaReaders, CutAndGarbledOutputGivesNotesAndTheRest) {
  const ReadText read = read_text(
      "CA 'mlx5_0'\n\tPort 1:\n\t\tBase lid: 1\nCA 'mlx5_1'\n\tPort 1:\n\t\tState: Active\n"
      "\t\tRate: 2?0\nlink mlx5_7/1 subnet_prefix fe80::\n"
      "/sys/class/infiniband/mlx5_3/ports/1/pkeys/0\n"
      "  0x1 6 1[ ] ==( 4X 25.78125 Gbps Act\nsymbol_error: many\n");
  EXPECT_EQ(read.notes(),
            (Strings{"x.txt:2:1: error: port 1 of mlx5_0 has no state: the output is cut",
                     "x.txt:7:1: error: rate of mlx5_1: '2?0' is no number",
                     "x.txt:8:1: error: link of mlx5_7 has no state: the line is cut",
                     "x.txt:9:1: error: P_Key without value: the line is cut",
                     "x.txt:10:1: error: link without its other end: the line is cut",
                     "x.txt:11:1: error: counter symbol_error: 'many' is no number"}));
  ASSERT_EQ(read.count("rdma.port"), 1U);
  EXPECT_EQ(read.field("rdma.port", "hca"), "mlx5_1");
}

}  // namespace
}  // namespace busbw::facts
