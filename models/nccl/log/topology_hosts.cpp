// See topology_hosts.h.
#include "models/nccl/log/topology_hosts.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace busbw::nccl::log {
namespace {

using graph::Element;

struct Nic {
  std::string name;
  long long dev = 0;
  long long speed = 0;
  long long port = 0;
  bool socket = false;
};

/// The NICs in order of their device number, each once.
void collect(const Element& element, std::set<long long>& seen, std::vector<Nic>& nics) {
  if (element.tag == "net" && element.find("dev") != nullptr && element.number("net", 1) != 0) {
    Nic nic;
    nic.dev = element.number("dev", 0);
    nic.name = element.text("name");
    if (nic.name.empty())
      nic.name = fmt::format("net{}", nic.dev);
    nic.speed = element.number("speed", 0);
    nic.port = element.number("port", 0);
    nic.socket = nic.port == 0 && element.number("guid", -1) == nic.dev;
    if (seen.insert(nic.dev).second)
      nics.push_back(nic);
  }
  for (const Element& child : element.children)
    collect(child, seen, nics);
}

std::vector<Nic> nics_of(const Element& topology) {
  std::set<long long> seen;
  std::vector<Nic> nics;
  collect(topology, seen, nics);
  std::sort(nics.begin(), nics.end(), [](const Nic& a, const Nic& b) { return a.dev < b.dev; });
  return nics;
}

Interface interface_of(const std::string& name, std::size_t position, int host,
                       std::optional<std::int64_t> speed) {
  Interface interface;
  interface.name = name;
  const int number = host + 1;
  interface.addresses.push_back(
      parse_address(fmt::format("10.{}.{}.{}/16", position % 256, number / 256 % 256, number % 256))
          .value());
  interface.speed_mbit = speed;
  interface.pci_path = fmt::format("0000:{:02x}:00.0", position % 256);
  return interface;
}

void add_hca(const Nic& nic, Inventory& inventory) {
  HcaPort port;
  port.number = static_cast<int>(nic.port > 0 ? nic.port : 1);
  port.speed_mbit = nic.speed;
  Hca hca;
  hca.name = nic.name;
  hca.guid = static_cast<std::uint64_t>(nic.dev) + 1;
  // Of its own, in order of the device number: nothing is fused or sorted anew.
  hca.pci_path = fmt::format("0000:{:02x}:00.0", nic.dev % 256);
  hca.ports = {port};
  inventory.hcas.push_back(std::move(hca));
}

}  // namespace

HostDecision host_decision(const Element& topology, const TopologyHost& host,
                           const Environment& environment, Version version) {
  const std::vector<Nic> nics = nics_of(topology);
  const bool socket = !nics.empty() && std::all_of(nics.begin(), nics.end(),
                                                   [](const Nic& nic) { return nic.socket; });
  SelectionInput input;
  input.version = version;
  input.environment = environment;
  Inventory inventory;
  inventory.host = fmt::format("node{}", host.host + 1);
  if (!socket)
    inventory.interfaces.push_back(interface_of("eth0", 0, host.host, 10'000));
  for (const Nic& nic : nics) {
    if (socket) {
      inventory.interfaces.push_back(
          interface_of(nic.name, inventory.interfaces.size(), host.host, nic.speed));
    } else {
      add_hca(nic, inventory);
    }
  }
  if (host.network)
    inventory.external_plugins = {*host.network};
  input.hosts = {inventory};
  return select(input).hosts.front();
}

bool same_devices(const Element& topology, const HostDecision& decision) {
  if (decision.network && *decision.network != "IB" && *decision.network != "Socket")
    return true;
  const std::vector<Nic> nics = nics_of(topology);
  if (nics.empty())
    return true;
  return std::equal(
      nics.begin(), nics.end(), decision.data_devices.begin(), decision.data_devices.end(),
      [](const Nic& nic, const NetDevice& device) { return nic.name == device.name; });
}

}  // namespace busbw::nccl::log
