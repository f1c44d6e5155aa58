// See inventory.h.
#include "real/verbs/inventory.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

#include <fmt/format.h>

#include "models/nccl/ib_devices.h"
#include "real/base/system.h"
#include "sim/core/errors.h"
#include "sim/core/text.h"

namespace busbw::real::verbs {
namespace {

/// A small file of sysfs, nothing when it is absent or (speed without carrier) cannot be read.
std::optional<std::string> sysfs_text(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    return std::nullopt;
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 128> bytes{};
  const ssize_t size = file.open() ? ::read(file.get(), bytes.data(), bytes.size()) : -1;
  if (size < 0)
    return std::nullopt;
  return std::string(trim(std::string_view(bytes.data(), static_cast<std::size_t>(size))));
}

/// Where a link of sysfs leads, empty when it is absent.
std::string real_path(const std::string& link) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::canonical(link, error);
  return error ? "" : path.string();
}

int prefix_of(const sockaddr* mask) {
  if (mask == nullptr)
    return 0;
  const auto* bytes = mask->sa_family == AF_INET
                          ? reinterpret_cast<const unsigned char*>(
                                &reinterpret_cast<const sockaddr_in*>(mask)->sin_addr)
                          : reinterpret_cast<const unsigned char*>(
                                &reinterpret_cast<const sockaddr_in6*>(mask)->sin6_addr);
  int bits = 0;
  for (int i = 0; i < (mask->sa_family == AF_INET ? 4 : 16); ++i)
    bits += __builtin_popcount(bytes[i]);
  return bits;
}

std::optional<nccl::Address> to_address(const ifaddrs& entry) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes = nullptr;
  if (entry.ifa_addr->sa_family == AF_INET) {
    bytes = &reinterpret_cast<const sockaddr_in*>(entry.ifa_addr)->sin_addr;
  } else if (entry.ifa_addr->sa_family == AF_INET6) {
    bytes = &reinterpret_cast<const sockaddr_in6*>(entry.ifa_addr)->sin6_addr;
  } else {
    return std::nullopt;
  }
  if (::inet_ntop(entry.ifa_addr->sa_family, bytes, text.data(), text.size()) == nullptr)
    return std::nullopt;
  return nccl::parse_address(fmt::format("{}/{}", text.data(), prefix_of(entry.ifa_netmask)));
}

void add_sysfs_facts(nccl::Interface& interface, const std::string& sysfs) {
  const std::string folder = sysfs + "/class/net/" + interface.name;
  if (const auto speed = sysfs_text(folder + "/speed"))
    interface.speed_mbit = parse_integer(*speed);
  if (const auto mtu = sysfs_text(folder + "/mtu"))
    interface.mtu = parse_integer(*mtu).value_or(interface.mtu);
  const std::string device = real_path(folder + "/device");
  if (!device.empty())
    interface.pci_path = device;
  if (const auto vendor = sysfs_text(folder + "/device/vendor")) {
    const std::int64_t value = nccl::numeric({{"vendor", *vendor}}, "vendor", 0);
    if (value != 0)
      interface.pci_vendor = value;
  }
}

nccl::HcaPort to_port(int number, const PortFacts& facts) {
  nccl::HcaPort port;
  port.number = number;
  // IBV_PORT_ACTIVE_DEFER (5) still moves data but is not ACTIVE for NCCL.
  port.state = facts.state == 4   ? nccl::PortState::kActive
               : facts.state == 3 ? nccl::PortState::kArmed
               : facts.state == 2 ? nccl::PortState::kInit
                                  : nccl::PortState::kDown;
  static constexpr std::array<const char*, 8> kPhysical = {
      "No state change",           "Sleep",  "Polling",           "Disabled",
      "PortConfigurationTraining", "LinkUp", "LinkErrorRecovery", "Phy Test"};
  const auto physical = static_cast<std::size_t>(facts.physical_state);
  port.physical_state = physical < kPhysical.size() ? kPhysical.at(physical) : "unknown";
  port.link_layer = facts.infiniband ? nccl::LinkLayer::kInfiniBand
                    : facts.ethernet ? nccl::LinkLayer::kEthernet
                                     : nccl::LinkLayer::kOther;
  port.speed_mbit = facts.speed_mbit;
  return port;
}

std::string all_reasons(const PortSelection& selection) {
  std::vector<std::string> texts;
  for (const nccl::Reason& reason : selection.reasons)
    texts.push_back(reason.text);
  return texts.empty() ? "no RDMA device" : join(texts, "; ");
}

}  // namespace

std::vector<nccl::Interface> read_interfaces(const std::string& sysfs) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0)
    fail_call("getifaddrs", errno);
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, ::freeifaddrs);
  std::vector<nccl::Interface> interfaces;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    auto found = std::find_if(interfaces.begin(), interfaces.end(),
                              [&](const auto& known) { return known.name == entry->ifa_name; });
    if (found == interfaces.end()) {
      nccl::Interface fresh;
      fresh.name = entry->ifa_name;
      fresh.up = (entry->ifa_flags & IFF_UP) != 0;
      fresh.running = (entry->ifa_flags & IFF_RUNNING) != 0;
      fresh.loopback = (entry->ifa_flags & IFF_LOOPBACK) != 0;
      add_sysfs_facts(fresh, sysfs);
      interfaces.push_back(std::move(fresh));
      found = interfaces.end() - 1;
    }
    if (entry->ifa_addr == nullptr)
      continue;
    if (const auto address = to_address(*entry))
      found->addresses.push_back(*address);
  }
  return interfaces;
}

std::vector<nccl::Hca> read_hcas(const std::shared_ptr<Api>& api, const std::string& sysfs) {
  std::vector<std::string> names;
  const int status = api->list_devices(names);
  if (status == ENOSYS)
    return {};  // the kernel has no RDMA: no device, as NCCL sees it
  if (status != 0)
    fail_call("ibv_get_device_list", status);
  std::vector<nccl::Hca> hcas;
  for (const std::string& name : names) {
    const std::shared_ptr<Device> device = Device::open(api, name);
    nccl::Hca hca;
    hca.name = name;
    hca.guid = device->limits().guid;
    const std::string folder = fmt::format("{}/class/infiniband/{}", sysfs, name);
    hca.pci_path = real_path(folder + "/device");
    if (const auto type = sysfs_text(folder + "/hca_type"))
      hca.model = *type;
    for (int port = 1; port <= device->limits().ports; ++port)
      hca.ports.push_back(to_port(port, device->port(port)));
    hcas.push_back(std::move(hca));
  }
  return hcas;
}

std::vector<nccl::GidTableEntry> read_gid_table(const Device& device, int port) {
  std::vector<std::optional<GidEntry>> entries;
  const int status =
      device.api().query_gids(device.context(), port, device.port(port).gid_entries, entries);
  if (status != 0)
    fail_call("ibv_query_gid_table", status, fmt::format("{} port {}", device.name(), port));
  std::vector<nccl::GidTableEntry> table;
  table.reserve(entries.size());
  for (const std::optional<GidEntry>& entry : entries) {
    nccl::GidTableEntry& out = table.emplace_back();
    out.readable = entry.has_value();
    if (!entry)
      continue;
    out.gid = entry->gid;
    out.roce_version =
        entry->type == GidType::kRoceV2 ? 2 : entry->type == GidType::kRoceV1 ? 1 : 0;
  }
  return table;
}

PortSelection select_ports(const std::shared_ptr<Api>& api, const nccl::Inventory& host,
                           const nccl::Environment& environment, nccl::Version version) {
  nccl::SelectionInput input;
  input.version = version;
  input.environment = environment;
  input.hosts = {host};
  // Ports are used one by one: a rank drives one device.
  input.environment["NCCL_IB_MERGE_NICS"] = "0";
  input.environment["NCCL_NET_MERGE_LEVEL"] = "LOC";
  input.environment.erase("NCCL_NET_FORCE_MERGE");
  const nccl::IbDevices found = nccl::find_ib_devices(input, host);

  PortSelection selection;
  selection.reasons = found.reasons;
  for (const nccl::NetDevice& device : found.devices) {
    const std::shared_ptr<Device> opened = Device::open(api, device.name);
    const std::vector<nccl::GidTableEntry> table = read_gid_table(*opened, device.port);
    nccl::GidChoice gid = opened->port(device.port).infiniband
                              ? nccl::choose_infiniband_gid(environment, version, table)
                              : nccl::choose_roce_gid(environment, version, table);
    selection.ports.push_back(
        {device.name, device.port, gid.index, device.speed_mbit, std::move(gid.reasons)});
  }
  return selection;
}

PortSelection select_ports(const std::shared_ptr<Api>& api, const nccl::Environment& environment,
                           nccl::Version version, const std::string& sysfs) {
  nccl::Inventory host;
  host.interfaces = read_interfaces(sysfs);
  host.hcas = read_hcas(api, sysfs);
  return select_ports(api, host, environment, version);
}

const UsablePort& port_of(const PortSelection& selection, int local_rank) {
  if (selection.ports.empty())
    throw SystemError({"device selection", all_reasons(selection), "", ""});
  return selection.ports[static_cast<std::size_t>(local_rank) % selection.ports.size()];
}

}  // namespace busbw::real::verbs
