// Short forms for the inventories that the selection tests are built from.
#pragma once
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "models/nccl/selection.h"

namespace busbw::nccl::testing {

inline Address address(const std::string& text) {
  const std::optional<Address> parsed = parse_address(text);
  EXPECT_TRUE(parsed.has_value()) << text;
  return parsed.value_or(Address{});
}

inline Interface interface(const std::string& name, const std::vector<std::string>& addresses) {
  Interface result;
  result.name = name;
  result.loopback = name == "lo";
  for (const std::string& text : addresses)
    result.addresses.push_back(address(text));
  return result;
}

inline Interface with_speed(Interface interface, std::int64_t mbit) {
  interface.speed_mbit = mbit;
  return interface;
}

inline Interface without_carrier(Interface interface) {
  interface.running = false;
  return interface;
}

inline Interface down(Interface interface) {
  interface.up = interface.running = false;
  return interface;
}

inline Hca hca(const std::string& name, std::int64_t speed_mbit,
               PortState state = PortState::kActive) {
  Hca result;
  result.name = name;
  HcaPort port;
  port.state = state;
  port.speed_mbit = speed_mbit;
  result.ports.push_back(port);
  return result;
}

/// Two hosts; "{h}" in an address is 1 or 2.
inline SelectionInput two_hosts(Version version, const std::vector<Interface>& first,
                                const std::vector<Interface>& second) {
  SelectionInput input;
  input.version = version;
  for (const auto* interfaces : {&first, &second}) {
    Inventory host;
    host.host = "node" + std::to_string(input.hosts.size() + 1);
    host.interfaces = *interfaces;
    input.hosts.push_back(host);
  }
  return input;
}

/// The case: lo, eth0 at 10 Gb/s and rdma0 at 100 Gb/s on both hosts, no HCA.
inline SelectionInput the_case(Version version) {
  std::vector<std::vector<Interface>> hosts;
  for (const char* last : {"1", "2"}) {
    const std::string end = std::string(last) + "/24";
    hosts.push_back({interface("lo", {"127.0.0.1/8", "::1/128"}),
                     with_speed(interface("eth0", {"10.0.0." + end}), 10'000),
                     with_speed(interface("rdma0", {"192.168.100." + end}), 100'000)});
  }
  return two_hosts(version, hosts[0], hosts[1]);
}

inline std::vector<std::string> device_names(const HostDecision& host) {
  std::vector<std::string> names;
  for (const NetDevice& device : host.data_devices)
    names.push_back(device.name);
  return names;
}

inline std::vector<int> channel_map(const Decision& decision) {
  std::vector<int> devices;
  for (const ChannelDevice& channel : decision.channels)
    devices.push_back(channel.net_device);
  return devices;
}

inline bool has_reason(const std::vector<Reason>& reasons, const std::string& rule) {
  for (const Reason& reason : reasons) {
    if (reason.rule == rule)
      return true;
  }
  return false;
}

inline std::vector<std::string> log_texts(const HostDecision& host) {
  std::vector<std::string> texts;
  for (const LogLine& line : host.log)
    texts.push_back((line.warning ? "WARN " : "") + line.text);
  return texts;
}

}  // namespace busbw::nccl::testing
