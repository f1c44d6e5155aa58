// Random inventories and environments: the decision never breaks its own rules. Seeded, 1500 cases.
#include <algorithm>

#include <gtest/gtest.h>

#include "models/nccl/name_filter.h"
#include "sim/core/random.h"
#include "tests/models/nccl/build_input.h"

namespace busbw::nccl {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the builders are this file's
                          // vocabulary

template <class T>
T any_of(Random& random, const std::vector<T>& choices) {
  return choices[random.below(choices.size())];
}

Inventory random_host(Random& random, std::size_t number) {
  static const std::vector<std::string> kNames{"lo",     "eth0", "eth1",  "ib0",    "docker0",
                                               "virbr0", "br-1", "rdma0", "ens1f0", "ibs3"};
  Inventory host;
  host.host = "node" + std::to_string(number + 1);
  host.default_route = random.chance(1, 2);
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (!random.chance(1, 2))
      continue;
    std::vector<std::string> addresses;
    const std::string last = std::to_string(random.chance(9, 10) ? number + 1 : 7);
    if (kNames[i] == "lo") {
      addresses = {"127.0.0.1/8", "::1/128"};
    } else {
      if (random.chance(3, 4))
        addresses.push_back("10.0." + std::to_string(random.below(3)) + "." + last + "/24");
      if (random.chance(1, 2))
        addresses.push_back("fe80::" + last + "/64");
    }
    Interface entry = interface(kNames[i], addresses);
    if (random.chance(1, 4))
      entry = without_carrier(entry);
    if (random.chance(1, 8))
      entry = down(entry);
    if (random.chance(1, 2))
      entry.speed_mbit = any_of<std::int64_t>(random, {-1, 1000, 10'000, 100'000});
    host.interfaces.push_back(entry);
  }
  for (std::uint64_t i = random.below(4); i > 0; --i) {
    Hca card = hca("mlx5_" + std::to_string(i), any_of<std::int64_t>(random, {100'000, 200'000}),
                   any_of<PortState>(random, {PortState::kActive, PortState::kActive,
                                              PortState::kDown, PortState::kInit}));
    if (random.chance(1, 2))
      card.pci_path = "/sys/devices/0000:17:00." + std::to_string(i);
    host.hcas.push_back(card);
  }
  host.exposure.libibverbs = random.chance(3, 4);
  host.exposure.sysfs = random.chance(3, 4);
  host.exposure.uverbs_devices = random.chance(3, 4);
  return host;
}

SelectionInput random_input(Random& random) {
  static const std::vector<std::string> kFilters{"eth", "^eth", "=eth0",     "^=lo", "ib",
                                                 "",    "x",    "^",         "lo",   "rdma0,eth1",
                                                 "::",  "=,",   "^docker,lo"};
  static const std::vector<std::string> kIds{
      "",  "10.0.0.1:1", "10.0.2.1", "[fe80::1%eth0]:5", "[fe80::1]:5",
      "[", ":",          "host:1",   "127.0.0.1:1",      "[bad]:1"};
  static const std::vector<std::string> kNumbers{"0", "1", "-3", "true", "0x8", "999", "", "5"};
  SelectionInput input;
  input.version = any_of<Version>(
      random, {{2, 18, 1}, {2, 21, 5}, {2, 24, 3}, {2, 27, 7}, {2, 28, 9}, {2, 29, 7}, {2, 30, 7}});
  if (random.chance(1, 2))
    input.environment["NCCL_SOCKET_IFNAME"] = any_of<std::string>(random, kFilters);
  if (random.chance(1, 4))
    input.environment["NCCL_IB_HCA"] = any_of<std::string>(random, {"mlx5_1", "^=mlx5_1:1", ""});
  if (random.chance(1, 4))
    input.environment["NCCL_COMM_ID"] = any_of<std::string>(random, kIds);
  if (random.chance(1, 4))
    input.environment["NCCL_NET"] = any_of<std::string>(random, {"IB", "socket", "none"});
  if (random.chance(1, 4))
    input.environment["NCCL_SOCKET_FAMILY"] =
        any_of<std::string>(random, {"AF_INET", "AF_INET6", "6"});
  for (const char* name : {"NCCL_IB_DISABLE", "NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS",
                           "NCCL_MAX_CTAS", "NCCL_IB_MERGE_NICS"}) {
    if (random.chance(1, 4))
      input.environment[name] = any_of<std::string>(random, kNumbers);
  }
  const std::uint64_t hosts = 1 + random.below(3);
  for (std::uint64_t i = 0; i < hosts; ++i)
    input.hosts.push_back(random_host(random, i));
  return input;
}

void check_devices(const SelectionInput& input, const HostDecision& host) {
  const auto found = input.environment.find("NCCL_SOCKET_IFNAME");
  const std::string filter = found == input.environment.end() ? "" : found->second;
  for (const NetDevice& device : host.data_devices) {
    EXPECT_GE(device.index, 0);
    EXPECT_GT(device.speed_mbit, 0);
    if (host.network != "Socket")
      continue;
    EXPECT_FALSE(device.gdr);
    if (filter.size() > 1) {
      EXPECT_TRUE(NameFilter(filter, 16).admits(device.name)) << filter << " " << device.name;
    }
  }
}

void check_decision(const SelectionInput& input, const Decision& decision) {
  ASSERT_EQ(decision.hosts.size(), input.hosts.size());
  EXPECT_EQ(decision.error.has_value(), decision.outcome != Outcome::kRuns);
  for (const HostDecision& host : decision.hosts) {
    check_devices(input, host);
    if (host.outcome == Outcome::kError) {
      EXPECT_TRUE(host.error.has_value());
    }
    for (const Reason& reason : host.reasons) {
      EXPECT_FALSE(reason.text.empty());
      EXPECT_FALSE(reason.source.empty());
    }
  }
  const HostDecision& first = decision.hosts.front();
  std::int64_t best = 0;
  for (const NetDevice& device : first.data_devices)
    best = std::max(best, device.speed_mbit);
  for (const ChannelDevice& channel : decision.channels) {
    const auto device =
        std::find_if(first.data_devices.begin(), first.data_devices.end(),
                     [&](const NetDevice& d) { return d.index == channel.net_device; });
    ASSERT_NE(device, first.data_devices.end());
    EXPECT_EQ(device->speed_mbit, best);
  }
  if (decision.outcome == Outcome::kRuns) {
    EXPECT_FALSE(decision.channels.empty());
    EXPECT_LE(decision.channels.size(), 64U);
    if (input.hosts.size() > 1) {
      EXPECT_NE(first.bootstrap_interface, "lo");
    }
  }
}

TEST(SelectionProperty, RandomInputsKeepTheRules) {
  Random random(20261129);
  int ran = 0;
  for (int i = 0; i < 1500; ++i) {
    const SelectionInput input = random_input(random);
    SCOPED_TRACE(i);
    const Decision decision = select(input);
    check_decision(input, decision);
    if (decision.outcome == Outcome::kRuns)
      ++ran;
    if (HasFatalFailure())
      return;
  }
  EXPECT_GT(ran, 150);  // the cases are not all failures
}

TEST(SelectionProperty, SameInputSameDecision) {
  Random random(7);
  for (int i = 0; i < 200; ++i) {
    const SelectionInput input = random_input(random);
    const Decision first = select(input);
    const Decision second = select(input);
    EXPECT_EQ(log_texts(first.hosts[0]), log_texts(second.hosts[0]));
    EXPECT_EQ(first.error, second.error);
    EXPECT_EQ(channel_map(first), channel_map(second));
  }
}

}  // namespace
}  // namespace busbw::nccl
