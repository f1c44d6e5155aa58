// `ip addr` and `ip link` of emulated hosts, whole texts.
#include "models/facts/print/ip_print.h"

#include <gtest/gtest.h>

#include "tests/models/facts/print/emulated_case.h"

namespace busbw::facts {
namespace {

// NIC i of host 0 has 10.i.0.1/16. The hardware address of interface p of host h: 02:00, h, p.
// IPoIB: a queue pair's number and the port's GID, which ends in the HCA's GUID, 0x100 x (host + 1)
// + NIC.
TEST(IpPrint, TheHostOfTheCase) {
  const EmulatedCase host;
  const std::string head = "qdisc mq state UP group default qlen ";
  const std::string forever = "       valid_lft forever preferred_lft forever\n";
  EXPECT_EQ(
      print_ip_addr(emulated_interfaces(host.host())),
      "1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN group default qlen "
      "1000\n"
      "    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00\n"
      "    inet 127.0.0.1/8 scope host lo\n" +
          forever + "2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 " + head +
          "1000\n"
          "    link/ether 02:00:00:00:00:01 brd ff:ff:ff:ff:ff:ff\n"
          "    inet 10.0.0.1/16 brd 10.0.255.255 scope global eth0\n" +
          forever + "3: rdma0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 " + head +
          "256\n"
          "    link/infiniband 00:00:10:02:fe:80:00:00:00:00:00:00:00:00:00:00:00:00:01:01 brd "
          "00:ff:ff:ff:ff:12:40:1b:ff:ff:00:00:00:00:00:00:ff:ff:ff:ff\n"
          "    inet 10.1.0.1/16 brd 10.1.255.255 scope global rdma0\n" +
          forever);
}

TEST(IpPrint, LinksWithoutCarrierAndLinksThatAreDown) {
  EmulatedCase host;
  host.interface(1).running = false;
  host.interface(2).up = host.interface(2).running = false;
  const std::string text = print_ip_link(emulated_interfaces(host.host()));
  EXPECT_NE(text.find("2: eth0: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 1500 qdisc mq state DOWN "
                      "mode DEFAULT group default qlen 1000\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("3: rdma0: <BROADCAST,MULTICAST> mtu 1500 qdisc noop state DOWN mode "),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("inet"), std::string::npos);
}

TEST(IpPrint, AddressesOfBothFamilies) {
  EmulatedCase host;
  host.interface(1).addresses.clear();
  for (const char* text : {"fe80::1/64", "10.0.0.1/24", "2001:db8::1/64", "10.0.0.7/24",
                           "192.168.1.5/31", "169.254.3.1/16"}) {
    host.interface(1).addresses.push_back(*nccl::parse_address(text));
  }
  const std::string text = print_ip_addr(emulated_interfaces(host.host()));
  const std::string forever = "       valid_lft forever preferred_lft forever\n";
  EXPECT_NE(text.find("    inet 10.0.0.1/24 brd 10.0.0.255 scope global eth0\n" + forever +
                      "    inet 10.0.0.7/24 brd 10.0.0.255 scope global secondary eth0\n" +
                      forever + "    inet 192.168.1.5/31 scope global eth0\n" + forever +
                      "    inet 169.254.3.1/16 brd 169.254.255.255 scope link eth0\n" + forever +
                      "    inet6 fe80::1/64 scope link \n" + forever +
                      "    inet6 2001:db8::1/64 scope global \n" + forever),
            std::string::npos)
      << text;
}

// What a caller does not know is left out.
TEST(IpPrint, LeavesOutWhatIsNotKnown) {
  PrintedInterface veth;
  veth.index = 2;
  veth.name = "eth0";
  veth.peer = "if44";
  veth.flags = {"UP"};
  veth.mtu = 1460;
  veth.state = "UNKNOWN";
  veth.link_type = "none";
  EXPECT_EQ(print_ip_addr({veth}),
            "2: eth0@if44: <UP> mtu 1460 state UNKNOWN group default \n    link/none\n");
}

}  // namespace
}  // namespace busbw::facts
