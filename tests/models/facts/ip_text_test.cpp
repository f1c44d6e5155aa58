// `ip addr` and `ip link` as people paste them.
#include "models/facts/ip_text.h"

#include <gtest/gtest.h>

namespace busbw::facts {
namespace {

constexpr const char* kAddr =
    "$ ip addr\n"
    "1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN group default qlen 1000\n"
    "    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00\n"
    "    inet 127.0.0.1/8 scope host lo\n"
    "       valid_lft forever preferred_lft forever\n"
    "    inet6 ::1/128 scope host \n"
    "2: eth0@if44: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1460 qdisc noqueue state UP\n"
    "    link/ether 02:00:00:00:00:01 brd ff:ff:ff:ff:ff:ff link-netnsid 0\n"
    "    inet 10.20.1.40/24 brd 10.20.1.255 scope global eth0\n"
    "    inet 10.20.2.40/24 scope global secondary eth0\n"
    "3: ib0: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 2044 qdisc mq state DOWN qlen 256\n"
    "    link/infiniband 20:00:10:8b:fe:80 brd 00:ff:ff:ff\n";

TEST(IpText, ReadsOrderFlagsMtuAndAddresses) {
  const std::vector<IpInterface> interfaces = parse_ip(kAddr, "ip-addr.txt");
  ASSERT_EQ(interfaces.size(), 3U);
  EXPECT_EQ(interfaces[0].name, "lo");
  EXPECT_TRUE(interfaces[0].has_flag("LOOPBACK"));
  ASSERT_EQ(interfaces[0].addresses.size(), 2U);
  EXPECT_EQ(interfaces[0].addresses[1].text, "::1/128");
  EXPECT_EQ(interfaces[1].name, "eth0");
  EXPECT_EQ(interfaces[1].peer, "if44");
  EXPECT_EQ(interfaces[1].index, 2);
  EXPECT_EQ(interfaces[1].mtu, 1460);
  EXPECT_EQ(interfaces[1].state, "UP");
  ASSERT_EQ(interfaces[1].addresses.size(), 2U);
  EXPECT_EQ(interfaces[1].addresses[0].text, "10.20.1.40/24");
  EXPECT_EQ(interfaces[1].addresses[0].scope, "global");
  EXPECT_EQ(interfaces[2].link_type, "infiniband");
  EXPECT_TRUE(interfaces[2].has_flag("NO-CARRIER"));
  EXPECT_FALSE(interfaces[2].has_flag("LOWER_UP"));
  EXPECT_EQ(interfaces[2].where, (Location{"ip-addr.txt", 11, 1}));
}

TEST(IpText, ReadsTheBriefForm) {
  const std::vector<IpInterface> interfaces = parse_ip(
      "lo               UNKNOWN        127.0.0.1/8 ::1/128 \n"
      "eth0@if44        UP             10.20.1.40/24 fe80::1/64 \n"
      "eth1             DOWN           \n",
      "brief");
  ASSERT_EQ(interfaces.size(), 3U);
  EXPECT_EQ(interfaces[1].name, "eth0");
  ASSERT_EQ(interfaces[1].addresses.size(), 2U);
  EXPECT_TRUE(interfaces[1].has_flag("LOWER_UP"));
  EXPECT_FALSE(interfaces[2].has_flag("UP"));
}

TEST(IpText, ASecondPasteReplacesTheFirstInItsPlace) {
  const std::vector<IpInterface> interfaces = parse_ip(
      "2: a: <BROADCAST> mtu 1500 state DOWN\n3: b: <UP> mtu 9000 state UP\n"
      "2: a: <BROADCAST,UP> mtu 4200 state UP\n",
      "twice");
  ASSERT_EQ(interfaces.size(), 2U);
  EXPECT_EQ(interfaces[0].name, "a");
  EXPECT_EQ(interfaces[0].mtu, 4200);
  EXPECT_TRUE(interfaces[0].has_flag("UP"));
}

TEST(IpText, OtherTextHoldsNoInterface) {
  EXPECT_TRUE(parse_ip("", "empty").empty());
  EXPECT_TRUE(parse_ip("bash: ip: command not found\n1: not: an interface\n", "other").empty());
}

}  // namespace
}  // namespace busbw::facts
