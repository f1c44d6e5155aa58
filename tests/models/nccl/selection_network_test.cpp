// Choice of the network, IB devices, channels and log lines, by release; the variants of the
// motivating case.
#include <algorithm>
#include <functional>

#include <gtest/gtest.h>

#include "models/nccl/log_frame.h"
#include "tests/models/nccl/build_input.h"

namespace busbw::nccl {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the builders are this file's
                          // vocabulary

const Version k218{2, 18, 6};
const Version k228{2, 28, 9};

SelectionInput with_hca(Version version, PortState state = PortState::kActive) {
  SelectionInput input = the_case(version);
  for (Inventory& host : input.hosts)
    host.hcas.push_back(hca("mlx5_0", 100'000, state));
  return input;
}

TEST(Case, AsMeasuredBefore) {
  SelectionInput input = with_hca(k218);
  input.environment = {{"NCCL_SOCKET_IFNAME", "eth0"}, {"NCCL_IB_DISABLE", "1"}};
  const Decision decision = select(input);
  EXPECT_EQ(decision.outcome, Outcome::kRuns);
  EXPECT_EQ(decision.hosts[0].network, "Socket");
  EXPECT_EQ(decision.hosts[0].bootstrap_interface, "eth0");
  EXPECT_EQ(channel_map(decision), (std::vector<int>{0, 0}));
  EXPECT_TRUE(has_reason(decision.hosts[0].reasons, "ib.disabled"));
  // The interface alone leaves IB in play.
  input.environment.erase("NCCL_IB_DISABLE");
  EXPECT_EQ(select(input).hosts[0].network, "IB");
}

TEST(Case, Fixed) {
  SelectionInput input = with_hca(k218);
  input.environment = {{"NCCL_SOCKET_IFNAME", "rdma0"}, {"NCCL_IB_HCA", "mlx5_0"}};
  const Decision decision = select(input);
  EXPECT_EQ(decision.hosts[0].network, "IB");
  EXPECT_EQ(decision.hosts[0].bootstrap_interface, "rdma0");
  ASSERT_EQ(decision.hosts[0].data_devices.size(), 1U);
  EXPECT_EQ(decision.hosts[0].data_devices[0].name, "mlx5_0");
  EXPECT_EQ(decision.hosts[0].data_devices[0].port, 1);
  EXPECT_TRUE(decision.hosts[0].data_devices[0].gdr);
  EXPECT_EQ(channel_map(decision), (std::vector<int>{0, 0}));
}

TEST(Case, UnsetWithHealthyHca) {
  const Decision decision = select(with_hca(k218));
  EXPECT_EQ(decision.hosts[0].network, "IB");
  EXPECT_EQ(decision.hosts[0].bootstrap_interface, "eth0");
}

TEST(Case, UnsetWithoutDeviceInTheContainer) {
  SelectionInput input = with_hca(k218);
  for (Inventory& host : input.hosts)
    host.exposure.uverbs_devices = false;
  const Decision decision = select(input);
  EXPECT_EQ(decision.hosts[0].network, "Socket");
  EXPECT_EQ(device_names(decision.hosts[0]), (std::vector<std::string>{"eth0", "rdma0"}));
  EXPECT_EQ(channel_map(decision), (std::vector<int>{1, 1}));  // the faster device wins
  EXPECT_TRUE(has_reason(decision.hosts[0].reasons, "ib.no_device"));
}

TEST(Case, NetworkNamedButUnusable) {
  for (const Version version : {k218, Version{2, 26, 6}, Version{2, 27, 7}, k228}) {
    SelectionInput input = with_hca(version, PortState::kDown);
    input.environment["NCCL_NET"] = "IB";
    const Decision decision = select(input);
    EXPECT_EQ(decision.outcome, Outcome::kError);
    const bool old = version < Version{2, 27, 0};
    EXPECT_EQ(decision.error,
              old ? "Error: network IB not found." : "Failed to initialize any NET plugin");
    EXPECT_EQ(decision.hosts[0].bootstrap_interface, "eth0");
    EXPECT_TRUE(decision.hosts[0].data_devices.empty());
  }
}

TEST(Case, ActiveCountsWhateverThePhysicalState) {
  SelectionInput input = with_hca(k218);
  for (Inventory& host : input.hosts)
    host.hcas[0].ports[0].physical_state = "Polling";
  const Decision decision = select(input);
  EXPECT_EQ(decision.hosts[0].network, "IB");
  for (const Reason& reason : decision.hosts[0].reasons) {
    if (reason.rule != "ib.port_kept")
      continue;
    EXPECT_EQ(reason.text,
              "mlx5_0:1 is Active, link layer IB, 100000 Mb/s: kept; its physical state Polling is "
              "not looked at");
  }
}

TEST(Network, WhyIbIsOut) {
  struct Case {
    const char* rule;
    std::function<void(Inventory&)> change;
    Environment environment;
  };
  const std::vector<Case> cases = {
      {"ib.no_libibverbs", [](Inventory& h) { h.exposure.libibverbs = false; }, {}},
      {"ib.no_device", [](Inventory& h) { h.exposure.provider = false; }, {}},
      {"ib.no_device", [](Inventory& h) { h.hcas.clear(); }, {}},
      {"ib.port_not_active", [](Inventory& h) { h.hcas[0].ports[0].state = PortState::kInit; }, {}},
      {"ib.link_layer",
       [](Inventory& h) { h.hcas[0].ports[0].link_layer = LinkLayer::kOther; },
       {}},
      {"ib.hca_filter", [](Inventory&) {}, {{"NCCL_IB_HCA", "=mlx5"}}},
      {"ib.hca_filter", [](Inventory&) {}, {{"NCCL_IB_HCA", "mlx5_0:2"}}},
      {"ib.disabled", [](Inventory&) {}, {{"NCCL_IB_DISABLE", "-1"}}},
  };
  for (const Case& c : cases) {
    SelectionInput input = with_hca(k218);
    input.environment = c.environment;
    for (Inventory& host : input.hosts)
      c.change(host);
    const Decision decision = select(input);
    EXPECT_EQ(decision.hosts[0].network, "Socket") << c.rule;
    EXPECT_TRUE(has_reason(decision.hosts[0].reasons, c.rule)) << c.rule;
  }
  SelectionInput input = with_hca(k218);
  input.environment["NCCL_IB_DISABLE"] = "true";  // parses as 0
  EXPECT_EQ(select(input).hosts[0].network, "IB");
  EXPECT_TRUE(has_reason(select(input).hosts[0].reasons, "ib.disable_reads_as_0"));
  EXPECT_EQ(select(input).warnings,
            std::vector<std::string>{"NCCL_IB_DISABLE='true' is no number: NCCL reads 0"});
}

TEST(Network, NamesCompareWithoutCase) {
  SelectionInput input = with_hca(k218);
  input.environment["NCCL_NET"] = "sOCKET";
  const Decision old = select(input);
  EXPECT_EQ(old.hosts[0].network, "Socket");
  EXPECT_TRUE(
      has_reason(old.hosts[0].reasons, "net.other_wanted"));  // IB was initialised all the same
  input.version = k228;
  EXPECT_TRUE(has_reason(select(input).hosts[0].reasons, "net.ib_not_tried"));
  input.environment["NCCL_NET"] = "";  // set, and names nothing
  EXPECT_EQ(select(input).error, "Failed to initialize any NET plugin");
}

TEST(Network, ExternalPluginsComeFirst) {
  SelectionInput input = with_hca(k228);
  for (Inventory& host : input.hosts)
    host.external_plugins = {"AWS Libfabric"};
  EXPECT_EQ(select(input).hosts[0].network, "AWS Libfabric");
  EXPECT_TRUE(select(input).channels.empty());  // its devices are its own
  input.environment["NCCL_NET"] = "IB";
  EXPECT_EQ(select(input).hosts[0].network, "IB");
  input.environment = {{"NCCL_NET_PLUGIN", "none"}};
  EXPECT_EQ(select(input).hosts[0].network, "IB");
}

TEST(Network, HostsMustAgree) {
  SelectionInput input = with_hca(k228);
  input.hosts[1].hcas.clear();
  const Decision decision = select(input);
  EXPECT_EQ(decision.outcome, Outcome::kError);
  EXPECT_EQ(decision.error, "socketFinalizeAccept: wrong type 4 != 3");
  EXPECT_TRUE(has_reason(decision.reasons, "job.networks_differ"));
}

TEST(Network, SixteenSocketDevicesAtMost) {
  SelectionInput input;
  input.version = k228;
  Inventory host;
  host.host = "node1";
  for (int i = 0; i < 18; ++i)
    host.interfaces.push_back(
        interface("eth" + std::to_string(i), {"10.0." + std::to_string(i) + ".1/24"}));
  input.hosts.push_back(host);
  const Decision decision = select(input);
  EXPECT_EQ(decision.hosts[0].data_devices.size(), 16U);
  EXPECT_EQ(decision.channels.size(), 32U);
  EXPECT_EQ(decision.channels[17].net_device, 1);
}

/// Two cards of two functions each, in libibverbs order.
SelectionInput dual_port(Version version) {
  SelectionInput input = the_case(version);
  for (Inventory& host : input.hosts) {
    host.hcas = {hca("mlx5_2", 50'000), hca("mlx5_3", 50'000), hca("mlx5_0", 100'000),
                 hca("mlx5_1", 100'000)};
    const char* places[] = {"0000:81:00.0", "0000:81:00.1", "0000:17:00.0", "0000:17:00.1"};
    for (std::size_t i = 0; i < 4; ++i) {
      host.hcas[i].pci_path = std::string("/sys/devices/") + places[i];
      host.hcas[i].guid = i < 2 ? 1 : 2;
    }
  }
  return input;
}

TEST(IbDevices, FusingAndOrderByRelease) {
  using Names = std::vector<std::string>;
  Decision decision = select(dual_port(k218));
  EXPECT_EQ(device_names(decision.hosts[0]), (Names{"mlx5_2", "mlx5_3", "mlx5_0", "mlx5_1"}));
  EXPECT_EQ(channel_map(decision), (std::vector<int>{2, 3, 2, 3}));
  decision = select(dual_port(Version{2, 21, 5}));
  EXPECT_EQ(device_names(decision.hosts[0]), (Names{"mlx5_2+mlx5_3", "mlx5_0+mlx5_1"}));
  EXPECT_EQ(decision.hosts[0].data_devices[1].speed_mbit, 200'000);
  EXPECT_EQ(channel_map(decision), (std::vector<int>{1, 1}));
  decision =
      select(dual_port(Version{2, 26, 2}));  // fused devices are numbered after the single ones
  EXPECT_EQ(decision.hosts[0].data_devices[1].index, 5);
  EXPECT_EQ(channel_map(decision), (std::vector<int>{5, 5}));
  decision = select(dual_port(kNewest));  // PCI order
  EXPECT_EQ(device_names(decision.hosts[0]), (Names{"mlx5_0+mlx5_1", "mlx5_2+mlx5_3"}));
  SelectionInput input = dual_port(kNewest);
  input.environment = {{"NCCL_IB_MERGE_NICS", "0"}, {"NCCL_IB_DEVICE_PCI_ORDER", "0"}};
  EXPECT_EQ(device_names(select(input).hosts[0]), (Names{"mlx5_2", "mlx5_3", "mlx5_0", "mlx5_1"}));
  input.environment = {{"NCCL_NET_MERGE_LEVEL", "LOC"}};
  EXPECT_EQ(device_names(select(input).hosts[0]), (Names{"mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"}));
  input.environment = {{"NCCL_NET_FORCE_MERGE", "mlx5_0,mlx5_2;mlx5_1,mlx5_3"}};
  EXPECT_EQ(device_names(select(input).hosts[0]), (Names{"mlx5_0+mlx5_2", "mlx5_1+mlx5_3"}));
}

TEST(IbDevices, FilterPrefixTrap) {
  SelectionInput input = the_case(k218);
  for (Inventory& host : input.hosts)
    host.hcas = {hca("mlx5_0", 100'000), hca("mlx5_1", 100'000), hca("mlx5_10", 100'000)};
  input.environment["NCCL_IB_HCA"] = "mlx5_1";
  EXPECT_EQ(device_names(select(input).hosts[0]), (std::vector<std::string>{"mlx5_1", "mlx5_10"}));
  input.environment["NCCL_IB_HCA"] = "=mlx5_1";
  EXPECT_EQ(device_names(select(input).hosts[0]), std::vector<std::string>{"mlx5_1"});
}

TEST(Channels, Limits) {
  // Two equal interfaces: 4 channels on devices 0 1 0 1.
  struct Case {
    Environment environment;
    std::size_t channels;
  };
  const std::vector<Case> cases = {
      {{}, 4},
      {{{"NCCL_MAX_NCHANNELS", "1"}}, 1},
      {{{"NCCL_MAX_NCHANNELS", "3"}}, 3},
      {{{"NCCL_MAX_NCHANNELS", "0"}}, 1},
      {{{"NCCL_MAX_NCHANNELS", "-2"}}, 4},  // means unset
      {{{"NCCL_MIN_NCHANNELS", "7"}}, 7},
      {{{"NCCL_MIN_NCHANNELS", "2"}}, 4},
      {{{"NCCL_MIN_NCHANNELS", "999"}}, 64},
      {{{"NCCL_MIN_NCHANNELS", "8"}, {"NCCL_MAX_NCHANNELS", "2"}}, 8},  // MIN beats MAX
      {{{"NCCL_MAX_NRINGS", "2"}}, 2},
      {{{"NCCL_MAX_NRINGS", "2"}, {"NCCL_MAX_NCHANNELS", "3"}}, 3},  // the newer name wins
      {{{"NCCL_MAX_CTAS", "2"}}, 2},
      {{{"NCCL_MIN_CTAS", "6"}}, 6},
      {{{"NCCL_MIN_CTAS", "6"}, {"NCCL_MAX_CTAS", "2"}}, 2},  // MIN_CTAS does not beat MAX_CTAS
      {{{"NCCL_MAX_NCHANNELS", "many"}}, 1},                  // reads as 0
  };
  for (const Case& c : cases) {
    SelectionInput input = the_case(k228);
    for (Inventory& host : input.hosts)
      host.interfaces[2].speed_mbit = 10'000;
    input.environment = c.environment;
    const Decision decision = select(input);
    ASSERT_EQ(decision.channels.size(), c.channels);
    for (std::size_t i = 0; i < c.channels; ++i) {
      EXPECT_EQ(decision.channels[i].channel, static_cast<int>(i));
      EXPECT_EQ(decision.channels[i].net_device, static_cast<int>(i % 2));
    }
  }
}

TEST(Channels, UnknownSpeedCountsAsTenGigabit) {
  SelectionInput input = the_case(k228);
  for (Inventory& host : input.hosts) {
    host.interfaces[1].speed_mbit = -1;
    host.interfaces[2].speed_mbit = 1000;
  }
  const Decision decision = select(input);
  EXPECT_EQ(decision.hosts[0].data_devices[0].speed_mbit, 10'000);
  EXPECT_EQ(channel_map(decision), (std::vector<int>{0, 0}));  // the 1 Gb/s interface is left out
}

TEST(Channels, NearSpeedsAreTold) {
  SelectionInput input = the_case(k228);
  for (Inventory& host : input.hosts)
    host.interfaces[1].speed_mbit = 50'000;
  EXPECT_TRUE(has_reason(select(input).reasons, "channels.near_speeds"));
  for (Inventory& host : input.hosts)
    host.interfaces[1].speed_mbit = 40'000;
  EXPECT_FALSE(has_reason(select(input).reasons, "channels.near_speeds"));
}

TEST(Case, UnexaminedReleasesAreTold) {
  EXPECT_EQ(select(the_case(Version{2, 31, 0})).warnings,
            std::vector<std::string>{"NCCL 2.31.0 was not examined, the rules of 2.30.7 are used"});
  EXPECT_EQ(select(the_case(Version{2, 14, 3})).warnings,
            std::vector<std::string>{"NCCL 2.14.3 was not examined, the rules of 2.18.1 are used"});
  EXPECT_TRUE(select(the_case(k218)).warnings.empty());
}

TEST(Log, LinesByRelease) {
  SelectionInput input = the_case(k218);
  input.environment["NCCL_SOCKET_IFNAME"] = "eth0";
  EXPECT_EQ(
      log_texts(select(input).hosts[0]),
      (std::vector<std::string>{
          "NCCL_SOCKET_IFNAME set by environment to eth0", "Bootstrap : Using eth0:10.0.0.1<0>",
          "NET/Plugin : Plugin load (libnccl-net.so) returned 2 : libnccl-net.so: cannot open "
          "shared object "
          "file: No such file or directory",
          "NET/Plugin : No plugin found, using internal implementation",
          "NCCL_SOCKET_IFNAME set by environment to eth0", "NET/IB : No device found.",
          "NCCL_SOCKET_IFNAME set by environment to eth0", "NET/Socket : Using [0]eth0:10.0.0.1<0>",
          "Using network Socket"}));
  input = with_hca(k228);
  input.environment["NCCL_IB_HCA"] = "mlx5_0";
  EXPECT_EQ(
      log_texts(select(input).hosts[0]),
      (std::vector<std::string>{
          "Bootstrap: Using eth0:10.0.0.1<0>", "NET/Plugin: Could not find: libnccl-net.so",
          "NCCL_IB_HCA set to mlx5_0", "NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.1<0>",
          "NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_0'", "Initialized NET plugin IB",
          "Assigned NET plugin IB to comm", "Using network IB"}));
  input = dual_port(Version{2, 21, 5});
  const std::vector<std::string> lines = log_texts(select(input).hosts[0]);
  EXPECT_NE(std::find(lines.begin(), lines.end(),
                      "NET/IB : Using [0]={[0] mlx5_2:1/IB, [1] mlx5_3:1/IB} [1]={[0] mlx5_0:1/IB, "
                      "[1] mlx5_1:1/IB} "
                      "[RO]; OOB eth0:10.0.0.1<0>"),
            lines.end());
}

TEST(Log, Frame) {
  const LogFrame frame{"node1", 12, 13, 2, "2026-11-29 10:00:00"};
  EXPECT_EQ(framed(LogLine{"INIT", false, "Using network IB"}, frame, k218),
            "node1:12:13 [2] NCCL INFO Using network IB");
  EXPECT_EQ(framed(LogLine{"NET", true, "broken"}, frame, k218),
            "\nnode1:12:13 [2] NCCL WARN broken");
  EXPECT_EQ(framed(std::vector<LogLine>{{"NET", true, "broken"}}, frame, k228),
            "\n[2026-11-29 10:00:00] node1:12:13 [2] NCCL WARN broken\n");
}

}  // namespace
}  // namespace busbw::nccl
