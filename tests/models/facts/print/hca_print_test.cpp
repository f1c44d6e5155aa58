// `ibstat`, `ibstatus`, `ibv_devinfo`, `rdma link` and the scripts beside them, whole texts.
#include "models/facts/print/hca_print.h"

#include <gtest/gtest.h>

#include "tests/models/facts/print/emulated_case.h"

namespace busbw::facts {
namespace {

std::vector<PrintedHca> hcas(const EmulatedCase& host) {
  return emulated_hcas(host.host());
}

// ConnectX-6 has device id 0x101b = 4123; 100 Gb/s are four lanes of EDR. LID 1 is the subnet
// manager's, so the first port has 2.
TEST(HcaPrint, IbstatOfTheCase) {
  EXPECT_EQ(print_ibstat(hcas(EmulatedCase{})),
            "CA 'mlx5_0'\n"
            "\tCA type: MT4123\n"
            "\tNumber of ports: 1\n"
            "\tFirmware version: \n"
            "\tHardware version: 0\n"
            "\tNode GUID: 0x0000000000000101\n"
            "\tSystem image GUID: 0x0000000000000101\n"
            "\tPort 1:\n"
            "\t\tState: Active\n"
            "\t\tPhysical state: LinkUp\n"
            "\t\tRate: 100\n"
            "\t\tBase lid: 2\n"
            "\t\tLMC: 0\n"
            "\t\tSM lid: 1\n"
            "\t\tCapability mask: 0x2651e848\n"
            "\t\tPort GUID: 0x0000000000000101\n"
            "\t\tLink layer: InfiniBand\n");
}

TEST(HcaPrint, IbstatusOfAPortThatPolls) {
  EmulatedCase host;
  host.port().state = nccl::PortState::kDown;
  host.port().physical_state = "Polling";
  EXPECT_EQ(print_ibstatus(hcas(host)),
            "Infiniband device 'mlx5_0' port 1 status:\n"
            "\tdefault gid:\t fe80:0000:0000:0000:0000:0000:0000:0101\n"
            "\tbase lid:\t 0xffff\n"
            "\tsm lid:\t\t 0x0\n"
            "\tstate:\t\t 1: DOWN\n"
            "\tphys state:\t 2: Polling\n"
            "\trate:\t\t 100 Gb/sec (4X EDR)\n"
            "\tlink_layer:\t InfiniBand\n\n");
  host.port().physical_state = "Broken";
  EXPECT_NE(print_ibstatus(hcas(host)).find("\tphys state:\t Broken\n"), std::string::npos);
}

// RoCE: no LID; EUI-64 of 02:00:00:00:00:02 is 0000:00ff:fe00:0002; 1500 bytes hold 1024 and the 96
// of the headers, 9000 hold 4096.
TEST(HcaPrint, DevinfoOfRoce) {
  EmulatedCase host;
  host.port().link_layer = nccl::LinkLayer::kEthernet;
  EXPECT_EQ(print_ibv_devinfo(hcas(host)),
            "hca_id:\tmlx5_0\n"
            "\ttransport:\t\t\tInfiniBand (0)\n"
            "\tnode_guid:\t\t\t0000:0000:0000:0101\n"
            "\tsys_image_guid:\t\t\t0000:0000:0000:0101\n"
            "\tvendor_id:\t\t\t0x02c9\n"
            "\tvendor_part_id:\t\t\t4123\n"
            "\thw_ver:\t\t\t\t0x0\n"
            "\tphys_port_cnt:\t\t\t1\n"
            "\t\tport:\t1\n"
            "\t\t\tstate:\t\t\tPORT_ACTIVE (4)\n"
            "\t\t\tmax_mtu:\t\t4096 (5)\n"
            "\t\t\tactive_mtu:\t\t1024 (3)\n"
            "\t\t\tsm_lid:\t\t\t0\n"
            "\t\t\tport_lid:\t\t0\n"
            "\t\t\tport_lmc:\t\t0x00\n"
            "\t\t\tlink_layer:\t\tEthernet\n\n");
  EXPECT_EQ(hcas(host)[0].ports[0].default_gid, "fe80:0000:0000:0000:0000:00ff:fe00:0002");
  host.interface(2).mtu = 9000;
  EXPECT_NE(print_ibv_devinfo(hcas(host)).find("active_mtu:\t\t4096 (5)\n"), std::string::npos);
}

TEST(HcaPrint, WhatAContainerDoesNotShow) {
  EmulatedCase host;
  host.inventory.exposure.uverbs_devices = false;
  EXPECT_EQ(print_ibv_devinfo(hcas(host)), "Failed to open device\n");
  EXPECT_NE(print_ibstat(hcas(host)).find("State: Active"), std::string::npos);  // of sysfs
  host.inventory.exposure.sysfs = false;
  EXPECT_EQ(print_ibstat(hcas(host)),
            "ibpanic: [1] main: can't list IB device names: (No such file or directory)\n");
  EXPECT_EQ(print_ibstatus(hcas(host)), "Fatal error:  No devices\n");
  EXPECT_EQ(print_ibv_devinfo(hcas(host)), "No IB devices found\n");
  EXPECT_EQ(print_rdma_link(hcas(host)), "");
}

struct NamedRate {
  std::int64_t megabits;
  nccl::LinkLayer layer;
  const char* text;
};

// Names of rates: infiniband.yaml by lanes; 40, 10 and 25 GbE as recorded of ConnectX ports.
TEST(HcaPrint, RatesWithTheirWidths) {
  constexpr auto kIb = nccl::LinkLayer::kInfiniBand;
  constexpr auto kEth = nccl::LinkLayer::kEthernet;
  for (const NamedRate& rate :
       {NamedRate{400'000, kIb, "400 Gb/sec (4X NDR)"},
        NamedRate{200'000, kIb, "200 Gb/sec (4X HDR)"},
        NamedRate{56'000, kIb, "56 Gb/sec (4X FDR)"}, NamedRate{40'000, kIb, "40 Gb/sec (4X QDR)"},
        NamedRate{10'000, kIb, "10 Gb/sec (4X)"}, NamedRate{2'500, kIb, "2.5 Gb/sec (1X)"},
        NamedRate{25'000, kIb, "25 Gb/sec (1X EDR)"}, NamedRate{10'000, kEth, "10 Gb/sec (1X QDR)"},
        NamedRate{25'000, kEth, "25 Gb/sec (1X EDR)"},
        NamedRate{40'000, kEth, "40 Gb/sec (4X QDR)"},
        NamedRate{100'000, kEth, "100 Gb/sec (4X EDR)"}, NamedRate{12'500, kEth, "12.5 Gb/sec"}}) {
    EmulatedCase host;
    host.port().speed_mbit = rate.megabits;
    host.port().link_layer = rate.layer;
    EXPECT_EQ(hcas(host)[0].ports[0].rate, rate.text);
  }
}

TEST(HcaPrint, RdmaLinkAndItsScripts) {
  EmulatedCase host;
  EXPECT_EQ(print_rdma_link(hcas(host)),
            "link mlx5_0/1 subnet_prefix fe80:0000:0000:0000 lid 2 sm_lid 1 lmc 0 state ACTIVE "
            "physical_state LINK_UP netdev rdma0\n");
  EXPECT_EQ(print_ibdev2netdev(hcas(host)), "mlx5_0 port 1 ==> rdma0 (Up)\n");
  std::vector<PrintedHca> shown = hcas(host);
  shown[0].ports[0].gids = {{3, "0000:0000:0000:0000:0000:ffff:0a00:0101", "RoCE v2", "net1"},
                            {0, "fe80:0000:0000:0000:0000:00ff:fe00:0002", "IB/RoCE v1", ""}};
  const std::string gids = print_show_gids(shown);
  EXPECT_NE(gids.find("mlx5_0\t1\t3\t0000:0000:0000:0000:0000:ffff:0a00:0101\t10.0.1.1  "
                      "\tv2\tnet1\n"),
            std::string::npos)
      << gids;
  EXPECT_NE(gids.find("mlx5_0\t1\t0\tfe80:0000:0000:0000:0000:00ff:fe00:0002\t\t\tv1\t\n"
                      "n_gids_found=2\n"),
            std::string::npos)
      << gids;
}

TEST(HcaPrint, TwoDevicesOfOneCardAndTwoPorts) {
  EmulatedCase host;
  host.inventory.hcas.push_back(host.inventory.hcas[0]);
  host.inventory.hcas[1].name = "mlx5_1";
  host.inventory.hcas[1].ports.push_back(host.port());
  host.inventory.hcas[1].ports[1].number = 2;
  const std::vector<PrintedHca> shown = hcas(host);
  EXPECT_EQ(shown[1].system_image_guid, shown[0].system_image_guid);
  EXPECT_EQ(shown[1].node_guid, shown[0].node_guid + 1);
  EXPECT_EQ(shown[1].ports[1].guid, shown[1].ports[0].guid + 1);
  EXPECT_EQ(shown[0].ports[0].base_lid, 2U);
  EXPECT_EQ(shown[1].ports[0].base_lid, 3U);
  EXPECT_EQ(shown[1].ports[1].base_lid, 4U);
}

}  // namespace
}  // namespace busbw::facts
