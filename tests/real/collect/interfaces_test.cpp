// Interfaces and routes of a tree, and of this machine, against what the parsers read of them.
#include "real/collect/interfaces.h"

#include <algorithm>

#include "models/facts/ip_text.h"
#include "real/verbs/inventory.h"
#include "tests/real/collect/fake_root.h"

namespace busbw::real::collect {
namespace {

class InterfacesTest : public FakeRoot {
 protected:
  void add(const std::string& name, const std::string& index, const std::string& flags,
           const std::string& state, const std::string& carrier) {
    const std::string folder = "/sys/class/net/" + name;
    write(folder + "/ifindex", index + "\n");
    write(folder + "/iflink", index + "\n");
    write(folder + "/flags", flags + "\n");
    write(folder + "/operstate", state + "\n");
    write(folder + "/carrier", carrier + "\n");
    write(folder + "/mtu", "1500\n");
    write(folder + "/tx_queue_len", "1000\n");
    write(folder + "/type", "1\n");
    write(folder + "/address", "02:00:00:00:00:0" + index + "\n");
    write(folder + "/broadcast", "ff:ff:ff:ff:ff:ff\n");
  }
};

// 0x1003 is UP, BROADCAST, MULTICAST; 0x1002 without UP; 0x9 is UP, LOOPBACK.
TEST_F(InterfacesTest, PrintsATreeInOrderOfIndex) {
  add("eth1", "10", "0x1002", "down", "");
  add("eth0", "2", "0x1003", "up", "1");
  add("eth2", "3", "0x1003", "down", "0");
  write("/sys/class/net/bonding_masters", "bond0\n");
  write("/proc/net/if_inet6",
        "fe80000000000000000000fffe000002 02 40 20 80     eth0\n"
        "00000000000000000000000000000001 01 80 10 80       lo\n"
        "broken\n");
  EXPECT_EQ(print_ip_addr(read_interfaces(root())),
            "2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 state UP group default qlen 1000\n"
            "    link/ether 02:00:00:00:00:02 brd ff:ff:ff:ff:ff:ff\n"
            "    inet6 fe80::ff:fe00:2/64 scope link \n"
            "       valid_lft forever preferred_lft forever\n"
            "3: eth2: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 1500 state DOWN group default qlen "
            "1000\n"
            "    link/ether 02:00:00:00:00:03 brd ff:ff:ff:ff:ff:ff\n"
            "10: eth1: <BROADCAST,MULTICAST> mtu 1500 state DOWN group default qlen 1000\n"
            "    link/ether 02:00:00:00:00:010 brd ff:ff:ff:ff:ff:ff\n");
}

// Little-endian: 0102A8C0 is 192.168.2.1, mask 00FFFFFF is /24. Flag 2 is a gateway.
TEST_F(InterfacesTest, PrintsRoutes) {
  write("/proc/net/route",
        "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
        "eth0\t00000000\t0102A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
        "eth0\t0002A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n");
  EXPECT_EQ(read_routes(root()),
            "default via 192.168.2.1 dev eth0 metric 100\n"
            "192.168.2.0/24 dev eth0 scope link\n");
  EXPECT_EQ(read_routes(Root("/none")), "");
}

// What real mode sees by getifaddrs() is what the text says.
TEST(Interfaces, ThisMachineReadsBack) {
  const std::vector<facts::IpInterface> parsed =
      facts::parse_ip(print_ip_addr(read_interfaces(Root(""))), "ip-addr.txt");
  const std::vector<nccl::Interface> seen = verbs::read_interfaces();
  ASSERT_FALSE(seen.empty());
  for (const nccl::Interface& interface : seen) {
    const auto found = std::find_if(parsed.begin(), parsed.end(), [&](const auto& candidate) {
      return candidate.name == interface.name;
    });
    ASSERT_NE(found, parsed.end()) << interface.name;
    EXPECT_EQ(found->mtu, interface.mtu) << interface.name;
    EXPECT_EQ(found->has_flag("UP"), interface.up) << interface.name;
    EXPECT_EQ(found->has_flag("LOOPBACK"), interface.loopback) << interface.name;
    EXPECT_EQ(found->addresses.size(), interface.addresses.size()) << interface.name;
    for (const nccl::Address& address : interface.addresses) {
      const std::string text = address.text + "/" + std::to_string(address.prefix_length);
      EXPECT_TRUE(std::any_of(found->addresses.begin(), found->addresses.end(),
                              [&](const facts::IpAddress& other) { return other.text == text; }))
          << text;
    }
  }
}

}  // namespace
}  // namespace busbw::real::collect
