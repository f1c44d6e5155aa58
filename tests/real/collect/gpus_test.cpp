// PCI devices of a tree: distances as nvidia-smi tells them, links and access control as lspci
// prints them, the matrix.
#include "real/collect/gpus.h"

#include "models/facts/topo_text.h"
#include "tests/real/collect/fake_root.h"

namespace busbw::real::collect {
namespace {

using facts::TopoLink;

PciDevice device(const std::string& address, const std::string& numa,
                 std::vector<std::string> path) {
  PciDevice made;
  made.address = address;
  made.numa = numa;
  made.cpus = numa == "0" ? "0-7" : "8-15";
  made.path = std::move(path);
  made.path.push_back(address);
  return made;
}

/// Under host bridge 17 a switch (01:00.0 up, 02:00.0 and 02:01.0 down) with two GPUs, a second
/// switch below its port 02:02.0 with a NIC, and a NIC at the root port; a GPU under bridge 3a of
/// the same NUMA node, one of the other.
std::vector<PciDevice> tree() {
  const std::string host = "pci0000:17";
  const std::vector<std::string> up = {host, "0000:17:01.0", "0000:01:00.0"};
  const auto below = [&](const std::vector<std::string>& more) {
    std::vector<std::string> path = up;
    path.insert(path.end(), more.begin(), more.end());
    return path;
  };
  return {device("0000:03:00.0", "0", below({"0000:02:00.0"})),
          device("0000:04:00.0", "0", below({"0000:02:01.0"})),
          device("0000:07:00.0", "0", below({"0000:02:02.0", "0000:05:00.0", "0000:06:00.0"})),
          device("0000:18:00.0", "0", {host, "0000:17:02.0"}),
          device("0000:3b:00.0", "0", {"pci0000:3a", "0000:3a:01.0"}),
          device("0000:ba:00.0", "1", {"pci0000:b9", "0000:b9:01.0"})};
}

TEST(PciDistance, InTheWordsOfNvidiaSmi) {
  const std::vector<PciDevice> d = tree();
  EXPECT_EQ(pci_distance(d[0], d[1]), TopoLink::kPix);   // one switch
  EXPECT_EQ(pci_distance(d[0], d[2]), TopoLink::kPxb);   // two switches
  EXPECT_EQ(pci_distance(d[0], d[3]), TopoLink::kPhb);   // one host bridge
  EXPECT_EQ(pci_distance(d[0], d[4]), TopoLink::kNode);  // two of a NUMA node
  EXPECT_EQ(pci_distance(d[0], d[5]), TopoLink::kSys);
  // Two functions of one card.
  const PciDevice a = device("0000:18:00.0", "0", {"pci0000:17", "0000:17:02.0"});
  const PciDevice b = device("0000:18:00.1", "0", {"pci0000:17", "0000:17:02.0"});
  EXPECT_EQ(pci_distance(a, b), TopoLink::kPix);
  for (const PciDevice& x : d) {
    for (const PciDevice& y : d)
      EXPECT_EQ(pci_distance(x, y), pci_distance(y, x));
  }
}

// GPU 0 and 1 share four direct links; GPU 2 has 18 to a switch, GPU 3 only 16 of them.
TEST(Topology, NvLinksBeforePcie) {
  const std::vector<NvmlGpu> gpus = {{"0000:03:00.0", {"0000:04:00.0", "0000:04:00.0"}, 0},
                                     {"0000:04:00.0", {"0000:03:00.0", "0000:03:00.0"}, 0},
                                     {"0000:3B:00.0", {}, 18},
                                     {"0000:ba:00.0", {}, 16},
                                     {"0000:99:00.0", {}, 18}};  // not in sysfs
  Problems problems;
  const facts::TopoMatrix matrix = facts::parse_topo(
      topology_text(gpus, {{"mlx5_0", "0000:07:00.0"}, {"mlx5_9", "0000:98:00.0"}}, tree()),
      "topo.txt", problems);
  ASSERT_TRUE(problems.empty());
  EXPECT_EQ(matrix.devices, (std::vector<std::string>{"GPU0", "GPU1", "GPU2", "GPU3", "mlx5_0"}));
  EXPECT_EQ(to_string(matrix.cells[0][1]), "NV2");
  EXPECT_EQ(to_string(matrix.cells[2][3]), "NV16");
  EXPECT_EQ(to_string(matrix.cells[0][2]), "NODE");
  EXPECT_EQ(to_string(matrix.cells[0][4]), "PXB");
  EXPECT_EQ(to_string(matrix.cells[3][4]), "SYS");
  EXPECT_EQ(matrix.numa, (std::vector<std::string>{"0", "0", "0", "1", ""}));
}

TEST(Topology, WithoutAGpuThereIsNone) {
  EXPECT_EQ(topology_text({}, {{"mlx5_0", "0000:07:00.0"}}, tree()), "");
}

class PciTest : public FakeRoot {};

/// Configuration space with the access control capability behind another one: 0x100 (id 1) leads to
/// 0x148 (id 0x0d), whose control register is at +6.
std::string configuration(unsigned control) {
  std::string bytes(4096, '\0');
  const auto put = [&](std::size_t at, unsigned value, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      bytes[at + i] = static_cast<char>(value >> 8U * i & 0xffU);
  };
  put(0x100, 0x14810001U, 4);
  put(0x148, 0x0001000dU, 4);
  put(0x14e, control, 2);
  return bytes;
}

TEST_F(PciTest, LinksThatTrainedDownAndRedirection) {
  const std::string gpu = "/sys/devices/pci0000:17/0000:17:01.0/0000:18:00.0";
  for (const auto& [file, text] :
       std::vector<std::pair<std::string, std::string>>{{"class", "0x030200"},
                                                        {"vendor", "0x10de"},
                                                        {"device", "0x2330"},
                                                        {"numa_node", "0"},
                                                        {"current_link_speed", "8.0 GT/s PCIe"},
                                                        {"current_link_width", "16"},
                                                        {"max_link_speed", "32.0 GT/s PCIe"},
                                                        {"max_link_width", "16"},
                                                        {"local_cpulist", "0-55,112-167"}})
    write(gpu + "/" + file, text + "\n");
  link("/sys/bus/pci/devices/0000:18:00.0", gpu);
  const std::string port = "/sys/devices/pci0000:17/0000:17:01.0";
  write(port + "/class", "0x060400\n");
  write(port + "/vendor", "0x8086\n");
  write(port + "/device", "0x347a\n");
  write(port + "/config", configuration(0x1d));
  link("/sys/bus/pci/devices/0000:17:01.0", port);
  const std::string disk = "/sys/devices/pci0000:17/0000:17:03.0";
  write(disk + "/class", "0x010802\n");
  link("/sys/bus/pci/devices/0000:17:03.0", disk);
  const std::vector<PciDevice> devices = read_pci(root());
  ASSERT_EQ(devices.size(), 2U);  // the disk does not matter
  EXPECT_EQ(devices[1].path,
            (std::vector<std::string>{"pci0000:17", "0000:17:01.0", "0000:18:00.0"}));
  // 0x1d: SrcValid, ReqRedir, CmpltRedir, UpstreamFwd.
  EXPECT_EQ(print_lspci(devices),
            "17:01.0 PCI bridge: Device 8086:347a\n"
            "\t\tACSCtl: SrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- "
            "DirectTrans-\n\n"
            "18:00.0 3D controller: Device 10de:2330\n"
            "\tNUMA node: 0\n"
            "\t\tLnkCap:\tSpeed 32GT/s, Width x16\n"
            "\t\tLnkSta:\tSpeed 8GT/s (downgraded), Width x16\n\n");
}

TEST_F(PciTest, ShortAndCircularConfigurationSpaces) {
  const std::string port = "/sys/devices/pci0000:17/0000:17:01.0";
  write(port + "/class", "0x060400\n");
  link("/sys/bus/pci/devices/0000:17:01.0", port);
  std::string circle(4096, '\0');
  circle[0x100] = 1;
  circle[0x103] = 0x10;  // the next one is at 0x100
  for (const std::string& bytes :
       {std::string(64, '\0'), circle, std::string(0x104, '\x0d'), std::string()}) {
    write(port + "/config", bytes);
    const std::vector<PciDevice> devices = read_pci(root());
    ASSERT_EQ(devices.size(), 1U);
    EXPECT_FALSE(devices[0].acs.has_value());
  }
}

}  // namespace
}  // namespace busbw::real::collect
