// HCAs of a tree as the tools print them, and what verbs add.
#include "real/collect/hcas.h"

#include "models/facts/ibstat_text.h"
#include "tests/real/collect/fake_root.h"
#include "tests/real/verbs/fake_verbs.h"

namespace busbw::real::collect {
namespace {

class HcasTest : public FakeRoot {};

TEST_F(HcasTest, AsTheToolsPrintThem) {
  add_hca("mlx5_0", "0000:17:00.0");
  const std::vector<facts::PrintedHca> hcas = read_hcas(root());
  ASSERT_EQ(hcas.size(), 1U);
  EXPECT_EQ(print_ibstat(hcas),
            "CA 'mlx5_0'\n"
            "\tCA type: MT4129\n"
            "\tNumber of ports: 1\n"
            "\tFirmware version: 28.43.2026\n"
            "\tHardware version: 0\n"
            "\tNode GUID: 0x98039b0300abcd10\n"
            "\tSystem image GUID: 0x98039b0300abcd10\n"
            "\tPort 1:\n"
            "\t\tState: Active\n"
            "\t\tPhysical state: LinkUp\n"
            "\t\tRate: 400\n"
            "\t\tBase lid: 28\n"
            "\t\tLMC: 0\n"
            "\t\tSM lid: 1\n"
            "\t\tCapability mask: 0xa751e848\n"
            "\t\tPort GUID: 0x98039b0300abcd10\n"
            "\t\tLink layer: InfiniBand\n");
  EXPECT_NE(print_ibstatus(hcas).find("\tphys state:\t 5: LinkUp\n"
                                      "\trate:\t\t 400 Gb/sec (4X NDR)\n"),
            std::string::npos);
  EXPECT_NE(print_ibv_devinfo(hcas).find("\tvendor_id:\t\t\t0x02c9\n\tvendor_part_id:\t\t\t4129\n"),
            std::string::npos);
  EXPECT_EQ(read_pkeys(root()), "/sys/class/infiniband/mlx5_0/ports/1/pkeys/0: 0xffff\n");
  EXPECT_EQ(device_of(root(), "mlx5_0"), "/sys/devices/pci0000:00/0000:17:00.0");
}

TEST_F(HcasTest, PortsThatAreDownAndOfEthernet) {
  add_hca("mlx5_0", "0000:17:00.0");
  const std::string port = "/sys/class/infiniband/mlx5_0/ports/1";
  write(port + "/state", "1: DOWN\n");
  write(port + "/phys_state", "3: Disabled\n");
  write(port + "/link_layer", "Ethernet\n");
  write(port + "/gid_attrs/ndevs/0", "eth4\n");
  write("/sys/class/net/eth4/operstate", "down\n");
  const std::vector<facts::PrintedHca> hcas = read_hcas(root());
  const std::vector<facts::IbstatAdapter> parsed =
      facts::parse_ibstat(print_ibstat(hcas), "ibstat");
  ASSERT_EQ(parsed.size(), 1U);
  EXPECT_EQ(parsed[0].ports.at(0).state, "Down");
  EXPECT_EQ(parsed[0].ports.at(0).physical_state, "Disabled");
  EXPECT_EQ(parsed[0].ports.at(0).link_layer, "Ethernet");
  EXPECT_EQ(print_ibdev2netdev(hcas), "mlx5_0 port 1 ==> eth4 (Down)\n");
  EXPECT_EQ(print_rdma_link(hcas),
            "link mlx5_0/1 state DOWN physical_state DISABLED netdev eth4\n");
}

TEST_F(HcasTest, DamagedFilesGiveNoCrash) {
  add_hca("mlx5_0", "0000:17:00.0");
  for (const char* file : {"/state", "/phys_state", "/rate", "/lid", "/gids/0", "/link_layer"})
    write(std::string("/sys/class/infiniband/mlx5_0/ports/1") + file, "\xff\xfe: x\n");
  write("/sys/class/infiniband/mlx5_0/ports/two/state", "4: ACTIVE\n");
  const std::vector<facts::PrintedHca> hcas = read_hcas(root());
  ASSERT_EQ(hcas.size(), 1U);
  EXPECT_EQ(hcas[0].ports.size(), 1U);
  EXPECT_EQ(hcas[0].ports[0].base_lid, 0U);
  EXPECT_TRUE(read_hcas(Root("/none")).empty());
}

// Of two devices in sysfs the library opens one: the other's file is not in the container.
TEST_F(HcasTest, VerbsTellWhichDevicesOpenAndTheMtu) {
  add_hca("mlx5_0", "0000:17:00.0");
  add_hca("mlx5_1", "0000:18:00.0");
  const auto network = std::make_shared<verbs::FakeNetwork>();
  verbs::FakeDevice device = verbs::infiniband_device(0);
  device.name = "mlx5_0";
  device.port.active_mtu = 2048;
  network->add(device);
  const std::shared_ptr<verbs::Api> api = verbs::make_fake_verbs(network);
  std::vector<facts::PrintedHca> hcas = read_hcas(root());
  add_verbs(hcas, *api);
  EXPECT_TRUE(hcas[0].opens);
  EXPECT_EQ(hcas[0].ports[0].active_mtu, 2048);
  EXPECT_EQ(network->alive(), 0);
  EXPECT_FALSE(hcas[1].opens);
  const std::string text = print_ibv_devinfo(hcas);
  EXPECT_EQ(text.substr(text.size() - 22), "Failed to open device\n");
}

}  // namespace
}  // namespace busbw::real::collect
