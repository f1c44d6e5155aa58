// Bootstrap interface: stages, filters, families, NCCL_COMM_ID, link state, by release; and whether
// hosts meet.
#include <gtest/gtest.h>

#include "tests/models/nccl/build_input.h"

namespace busbw::nccl {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the builders are this file's
                          // vocabulary

const Version k218{2, 18, 6};
const Version k227{2, 27, 7};
const Version k228{2, 28, 9};

/// One host with interfaces of these names, each with an address of its own subnet.
SelectionInput one_host(Version version, const std::vector<std::string>& names) {
  SelectionInput input;
  input.version = version;
  Inventory host;
  host.host = "node1";
  for (std::size_t i = 0; i < names.size(); ++i) {
    host.interfaces.push_back(names[i] == "lo"
                                  ? interface("lo", {"127.0.0.1/8"})
                                  : interface(names[i], {"10.0." + std::to_string(i) + ".1/24"}));
  }
  input.hosts.push_back(host);
  return input;
}

TEST(Bootstrap, StagesByRelease) {
  struct Case {
    Version version;
    std::vector<std::string> names;
    const char* chosen;
    const char* rule;
  };
  const std::vector<Case> cases = {
      {k218, {"lo", "eth0", "ib0"}, "ib0", "bootstrap.stage1_ib"},
      {k228, {"lo", "eth0", "ibs17"}, "ibs17", "bootstrap.stage1_ib"},
      {k228,
       {"lo", "eth0", "ibridge"},
       "ibridge",
       "bootstrap.stage1_ib"},  // any name that begins with ib
      {k228, {"lo", "docker0", "eth0"}, "eth0", "bootstrap.stage3_other"},
      {k228,
       {"lo", "br-1", "eth0"},
       "br-1",
       "bootstrap.stage3_other"},  // bridges are not virtual to NCCL
      {k218, {"lo", "virbr0", "eth0"}, "virbr0", "bootstrap.stage3_other"},
      {k228, {"lo", "virbr0", "eth0"}, "eth0", "bootstrap.stage3_other"},
      {k228, {"lo", "docker0"}, "docker0", "bootstrap.stage4_docker"},
      {k228, {"virbr0", "docker0"}, "docker0", "bootstrap.stage4_docker"},
      {k228, {"lo"}, "lo", "bootstrap.stage5_lo"},
      {k228, {"virbr0", "lo"}, "lo", "bootstrap.stage5_lo"},  // loopback before virbr
      {k227, {"virbr0", "lo"}, "virbr0", "bootstrap.stage3_other"},
      {k228, {"virbr0"}, "virbr0", "bootstrap.stage6_virbr"},
  };
  for (const Case& c : cases) {
    const Decision decision = select(one_host(c.version, c.names));
    EXPECT_EQ(decision.hosts[0].bootstrap_interface, c.chosen);
    EXPECT_TRUE(has_reason(decision.hosts[0].reasons, c.rule)) << c.rule;
    EXPECT_EQ(decision.outcome, Outcome::kRuns);  // alone, loopback does no harm
  }
}

TEST(Bootstrap, FilterFindsOrFails) {
  SelectionInput input = one_host(k228, {"lo", "eth0", "eth1"});
  input.environment["NCCL_SOCKET_IFNAME"] = "eth1,eth0";
  EXPECT_EQ(select(input).hosts[0].bootstrap_interface, "eth0");
  input.environment["NCCL_SOCKET_IFNAME"] = "ens";
  const Decision failed = select(input);
  EXPECT_EQ(failed.outcome, Outcome::kError);
  EXPECT_EQ(failed.error, "Bootstrap : no socket interface found");
  EXPECT_EQ(failed.hosts[0].bootstrap_interface, std::nullopt);
  EXPECT_EQ(failed.hosts[0].network, std::nullopt);
  for (const char* ignored : {"", "x"}) {
    input.environment["NCCL_SOCKET_IFNAME"] = ignored;
    EXPECT_EQ(select(input).hosts[0].bootstrap_interface, "eth0");
    EXPECT_TRUE(has_reason(select(input).hosts[0].reasons, "bootstrap.ifname_ignored"));
  }
}

TEST(Bootstrap, FamiliesAndKernelOrder) {
  SelectionInput input = one_host(k228, {"lo"});
  std::vector<Interface>& interfaces = input.hosts[0].interfaces;
  interfaces.push_back(interface("eth0", {"fe80::1/64"}));
  interfaces.push_back(interface("eth1", {"10.0.1.1/24", "fd00::1/64", "fe80::2/64"}));
  Decision decision = select(input);
  EXPECT_EQ(decision.hosts[0].bootstrap_interface, "eth1");  // all IPv4 addresses come first
  EXPECT_EQ(decision.hosts[0].bootstrap_address, "10.0.1.1");
  EXPECT_EQ(device_names(decision.hosts[0]), (std::vector<std::string>{"eth1", "eth0"}));
  input.environment["NCCL_SOCKET_FAMILY"] = "AF_INET6";
  decision = select(input);
  EXPECT_EQ(decision.hosts[0].bootstrap_address, "fe80::1%eth0");
  input.environment["NCCL_SOCKET_FAMILY"] = "AF_INET";
  EXPECT_EQ(device_names(select(input).hosts[0]), std::vector<std::string>{"eth1"});
  input.environment["NCCL_SOCKET_FAMILY"] = "inet6";  // restricts nothing
  EXPECT_EQ(select(input).hosts[0].bootstrap_interface, "eth1");
  interfaces = {interface("lo", {"::1/128"})};  // IPv6 loopback never counts
  EXPECT_EQ(select(input).error, "Bootstrap : no socket interface found");
}

TEST(Bootstrap, LinkStateCountsFrom228) {
  SelectionInput input = one_host(k227, {"lo", "eth0", "eth1"});
  input.hosts[0].interfaces[1] = without_carrier(input.hosts[0].interfaces[1]);
  EXPECT_EQ(select(input).hosts[0].bootstrap_interface, "eth0");
  EXPECT_TRUE(has_reason(select(input).hosts[0].reasons, "bootstrap.no_link_test"));
  input.version = k228;
  EXPECT_EQ(select(input).hosts[0].bootstrap_interface, "eth1");
  EXPECT_TRUE(has_reason(select(input).hosts[0].reasons, "bootstrap.not_running"));
  EXPECT_EQ(device_names(select(input).hosts[0]), std::vector<std::string>{"eth1"});
  input.hosts[0].interfaces[2] = down(input.hosts[0].interfaces[2]);
  EXPECT_EQ(select(input).hosts[0].bootstrap_interface, "lo");
}

TEST(CommId, SubnetWinsOverTheFilter) {
  SelectionInput input = the_case(k228);
  input.environment["NCCL_COMM_ID"] = "192.168.100.1:29500";
  Decision decision = select(input);
  EXPECT_EQ(decision.hosts[1].bootstrap_interface, "rdma0");
  EXPECT_EQ(device_names(decision.hosts[0]),
            std::vector<std::string>{"rdma0"});  // the sockets follow
  input.environment["NCCL_SOCKET_IFNAME"] = "eth0";
  decision = select(input);
  EXPECT_EQ(decision.hosts[0].bootstrap_interface, "rdma0");  // not looked at
  EXPECT_EQ(device_names(decision.hosts[0]), std::vector<std::string>{"eth0"});
  EXPECT_EQ(decision.outcome, Outcome::kRuns);
}

TEST(CommId, Failures) {
  struct Case {
    const char* value;
    Version version;
    const char* error;
  };
  const std::vector<Case> cases = {
      {"", k228, "Net : string is null"},
      {"x", k228, "Net : string is null"},
      {":29500", k228, "Net : No valid <IPv4_or_hostname>:<port> pair found"},
      {"[fd00::1", k228, "Net : No valid [IPv6]:port pair found"},
      {"172.16.0.1:29500", k228, "NET/Socket : No usable listening interface found"},
      {"172.16.0.1:29500", k218,
       "Net : No interface found in the same subnet as remote address 172.16.0.1"},
      {"node1:29500", k228,
       "Net : error encountered when getting address info : Name or service not known"},
      {"10.0.0.2:29500", k228, "Call to bind failed: Cannot assign requested address"},
      {"10.0.0.77:29500", k218, "Call to bind failed : Cannot assign requested address"},
  };
  for (const Case& c : cases) {
    SelectionInput input = the_case(c.version);
    input.environment["NCCL_COMM_ID"] = c.value;
    const Decision decision = select(input);
    EXPECT_EQ(decision.outcome, Outcome::kError) << c.value;
    EXPECT_EQ(decision.error, c.error) << c.value;
    EXPECT_EQ(decision.hosts[0].network, std::nullopt) << c.value;
  }
}

TEST(CommId, LoopbackNeverMeets) {
  SelectionInput input = the_case(k228);
  input.environment["NCCL_COMM_ID"] = "localhost:29500";
  const Decision decision = select(input);
  EXPECT_EQ(decision.hosts[0].bootstrap_interface, "lo");
  EXPECT_EQ(decision.outcome, Outcome::kHang);
}

TEST(Reach, LoopbackFirstMeansNoProgress) {
  SelectionInput input = the_case(k218);
  input.environment["NCCL_SOCKET_IFNAME"] = "^eth0";
  const Decision decision = select(input);
  EXPECT_EQ(decision.outcome, Outcome::kHang);
  EXPECT_EQ(decision.error, "127.0.0.1 of node1 is loopback: node2 only reaches itself there");
  EXPECT_EQ(decision.hosts[0].bootstrap_interface, "lo");
  EXPECT_EQ(device_names(decision.hosts[0]), (std::vector<std::string>{"lo", "rdma0"}));
  EXPECT_TRUE(decision.channels.empty());  // the log ends before them
  ASSERT_TRUE(has_reason(decision.reasons, "bootstrap.unreachable"));
  EXPECT_EQ(decision.reasons[0].text,
            "127.0.0.1 of node1 is loopback: node2 only reaches itself there; 20000 retries over "
            "about 20 s, then an "
            "error");
}

TEST(Reach, NoCarrierByRelease) {
  for (const Version version : {k218, Version{2, 26, 2}}) {
    SelectionInput input = the_case(version);
    for (Inventory& host : input.hosts)
      host.interfaces[2] = without_carrier(host.interfaces[2]);
    const Decision decision = select(input);
    EXPECT_EQ(decision.hosts[0].bootstrap_interface, "eth0");
    EXPECT_EQ(device_names(decision.hosts[0]), (std::vector<std::string>{"eth0", "rdma0"}));
    EXPECT_EQ(decision.hosts[0].data_devices[1].speed_mbit, 10'000);  // no speed without carrier
    EXPECT_EQ(channel_map(decision), (std::vector<int>{0, 1, 0, 1}));
    if (version == k218) {
      EXPECT_EQ(decision.outcome, Outcome::kError);
      EXPECT_EQ(decision.error,
                "socketStartConnect: Connect to 192.168.100.2<port> failed : No route to host");
    } else {
      EXPECT_EQ(decision.outcome, Outcome::kHang);
      EXPECT_EQ(decision.error, "rdma0 of node1, the way to 192.168.100.2, has no carrier");
    }
  }
  SelectionInput input = the_case(k228);
  for (Inventory& host : input.hosts)
    host.interfaces[2] = without_carrier(host.interfaces[2]);
  const Decision decision = select(input);
  EXPECT_EQ(decision.outcome, Outcome::kRuns);
  EXPECT_EQ(device_names(decision.hosts[0]), std::vector<std::string>{"eth0"});
}

TEST(Reach, ForeignSubnetsAndEqualAddresses) {
  const auto host = [](const std::string& text) {
    return std::vector<Interface>{interface("eth0", {text})};
  };
  SelectionInput input = two_hosts(k228, host("10.0.0.1/24"), host("10.0.1.1/24"));
  EXPECT_EQ(select(input).outcome, Outcome::kHang);
  EXPECT_EQ(select(input).error,
            "node2 has no interface that is up in the subnet of 10.0.0.1 (eth0 of node1)");
  for (Inventory& inventory : input.hosts)
    inventory.default_route = false;
  EXPECT_EQ(select(input).outcome, Outcome::kError);
  EXPECT_EQ(select(input).error,
            "socketStartConnect: connect to 10.0.0.1<port> failed : Network is unreachable");
  EXPECT_EQ(select(input).hosts[1].error, select(input).error);
  input = two_hosts(k228, host("172.17.0.1/16"), host("172.17.0.1/16"));
  EXPECT_EQ(select(input).outcome, Outcome::kHang);
  EXPECT_EQ(select(input).error,
            "node2 and node1 both have the address 172.17.0.1, so node2 only reaches itself there");
}

TEST(Reach, LinkLocalGoesByInterfaceNumber) {
  const Interface first = interface("eth0", {"fe80::1/64"});
  const Interface second = interface("eth0", {"fe80::2/64"});
  const Interface lo = interface("lo", {"127.0.0.1/8"});
  SelectionInput input = two_hosts(k228, {lo, first}, {lo, second});
  EXPECT_EQ(select(input).outcome, Outcome::kRuns);
  input = two_hosts(k228, {lo, interface("dummy0", {}), first}, {lo, second});
  EXPECT_EQ(select(input).outcome, Outcome::kError);
  EXPECT_EQ(select(input).error,
            "socketStartConnect: connect to fe80::1%eth0<port> failed : Network is unreachable");
}

TEST(Reach, RoutedSubnetsOfOneHostAreSeen) {
  // The bootstrap addresses lie in different subnets, but each host also has an interface in the
  // other's.
  SelectionInput input =
      two_hosts(k228, {interface("a0", {"10.0.0.1/24"}), interface("b0", {"10.0.1.1/24"})},
                {interface("b0", {"10.0.1.2/24"}), interface("a0", {"10.0.0.2/24"})});
  EXPECT_EQ(select(input).outcome, Outcome::kRuns);
}

}  // namespace
}  // namespace busbw::nccl
