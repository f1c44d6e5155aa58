// A folder of tool output becomes the inventory that NCCL would see.
#include "models/facts/host_folder.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace busbw::facts {
namespace {

class HostFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              (std::string("busbw-host-") +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
  }
  std::vector<std::string> lines(const Problems& problems) {
    std::vector<std::string> result;
    for (const InputProblem& problem : problems.all()) {
      std::string line = to_string(problem);
      const std::size_t at = line.find(folder_.string());
      result.push_back(at == 0 ? "HOST" + line.substr(folder_.string().size()) : line);
    }
    return result;
  }
  std::filesystem::path folder_;
};

TEST_F(HostFolderTest, ReadsInterfacesHcasAndRemarks) {
  write(
      "ip-addr.txt",
      "1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 state UNKNOWN\n    inet 127.0.0.1/8 scope host lo\n"
      "2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 state UP\n    inet 10.0.0.1/24 scope "
      "global eth0\n"
      "3: rdma0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 2044 state UP\n    inet "
      "192.168.100.1/24 scope global rdma0\n");
  write("ip-link.txt",
        "2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 state UP\n"
        "3: rdma0: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 2044 state DOWN\n"
        "4: eth1: <BROADCAST> mtu 1500 state DOWN\n");
  write(
      "ibstat.txt",
      "CA 'mlx5_0'\n  CA type: MT4123\n  Port 1:\n    State: Active\n    Physical state: Polling\n"
      "    Rate: 200 Gb/s\n    Link layer: InfiniBand\n");
  write("topo.txt", "     GPU0 GPU1\nGPU0  X  NV4\nGPU1 NV4  X\n");
  Problems problems;
  const HostFolder host = read_host_folder(folder_.string(), problems);
  EXPECT_EQ(lines(problems), std::vector<std::string>{});
  EXPECT_EQ(host.inventory.host, folder_.filename().string());
  ASSERT_EQ(host.inventory.interfaces.size(), 4U);
  EXPECT_TRUE(host.inventory.interfaces[0].loopback);
  EXPECT_TRUE(host.inventory.interfaces[0].running);
  EXPECT_EQ(host.inventory.interfaces[1].mtu, 9000);
  ASSERT_EQ(host.inventory.interfaces[1].addresses.size(), 1U);
  EXPECT_EQ(host.inventory.interfaces[1].addresses[0].text, "10.0.0.1");
  EXPECT_EQ(host.inventory.interfaces[1].addresses[0].prefix_length, 24);
  EXPECT_TRUE(host.inventory.interfaces[2].up);
  EXPECT_FALSE(host.inventory.interfaces[2].running);
  EXPECT_FALSE(host.inventory.interfaces[3].up);
  EXPECT_FALSE(host.inventory.interfaces[1].speed_mbit.has_value());
  ASSERT_EQ(host.inventory.hcas.size(), 1U);
  ASSERT_EQ(host.inventory.hcas[0].ports.size(), 1U);
  EXPECT_EQ(host.inventory.hcas[0].ports[0].state, nccl::PortState::kActive);
  EXPECT_EQ(host.inventory.hcas[0].ports[0].physical_state, "Polling");
  EXPECT_EQ(host.inventory.hcas[0].ports[0].speed_mbit, 200000);
  ASSERT_TRUE(host.topology.has_value());
  EXPECT_EQ(to_string(host.topology->cells[0][1]), "NV4");
  ASSERT_EQ(host.remarks.size(), 1U);
  EXPECT_EQ(host.files,
            (std::vector<std::string>{"ip-addr.txt", "ip-link.txt", "ibstat.txt", "topo.txt"}));
}

TEST_F(HostFolderTest, NamesEveryProblemOfEveryFile) {
  write("ip-addr.txt",
        "2: eth0: <UP> mtu 1500 state UP\n    inet 10.0.0.300/24 scope global eth0\n");
  write("ibstat.txt",
        "CA 'mlx5_0'\nPort 1:\nState: Aktive\nPhysical state: LinkUp\nRate: fast\nLink layer: "
        "Token Ring\n");
  write("topo.txt", "no matrix here\n");
  Problems problems;
  read_host_folder(folder_.string(), problems);
  EXPECT_EQ(lines(problems),
            (std::vector<std::string>{
                "HOST/ip-addr.txt:1:1: error: interface 'eth0' has the address '10.0.0.300/24', "
                "which is neither IPv4 nor IPv6",
                "HOST/ibstat.txt:2:1: error: port 1 has the state 'Aktive'; allowed: 'Active', "
                "'Armed', 'Initializing' or 'Down'",
                "HOST/ibstat.txt:2:1: error: port 1 has the link layer 'Token'; allowed: "
                "'InfiniBand' or 'Ethernet'",
                "HOST/ibstat.txt:2:1: error: port 1 of 'mlx5_0' has no rate; allowed: a number of "
                "Gb/s",
                "HOST/topo.txt: error: found no output of 'nvidia-smi topo -m'"}));
}

TEST_F(HostFolderTest, AFolderWithoutInterfacesIsAProblem) {
  Problems problems;
  read_host_folder(folder_.string(), problems);
  EXPECT_EQ(
      lines(problems),
      (std::vector<std::string>{
          "HOST: error: found neither ip-addr.txt nor ip-link.txt; allowed: a folder with the "
          "output of 'ip addr' and 'ip link'"}));
}

TEST_F(HostFolderTest, IbstatWithoutAnHcaIsNoProblemButOtherTextIs) {
  write("ip-addr.txt", "1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 state UNKNOWN\n");
  for (const char* text : {"", "\n", "ibpanic: [7] main: stat of all failed\n"}) {
    write("ibstat.txt", text);
    Problems problems;
    EXPECT_TRUE(read_host_folder(folder_.string(), problems).inventory.hcas.empty());
    EXPECT_EQ(lines(problems), std::vector<std::string>{}) << text;
  }
  write("ibstat.txt", "bash: ibstat: command not found\n");
  Problems problems;
  read_host_folder(folder_.string(), problems);
  EXPECT_EQ(lines(problems),
            std::vector<std::string>{"HOST/ibstat.txt: error: found no output of 'ibstat'"});
}

}  // namespace
}  // namespace busbw::facts
