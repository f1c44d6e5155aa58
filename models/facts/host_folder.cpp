// See host_folder.h.
#include "models/facts/host_folder.h"

#include <cmath>
#include <filesystem>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "sim/core/text.h"

namespace busbw::facts {
namespace {

/// Text of folder/name, or nothing if there is no such file. An unreadable one is a problem.
std::optional<std::string> read(const std::string& path, Problems& problems) {
  if (!std::filesystem::exists(path)) {
    return std::nullopt;
  }
  try {
    return read_file(path);
  } catch (const SystemError& error) {
    problems.add({path, 0, 0}, error.details().reason);
    return std::nullopt;
  }
}

/// Takes flags, state and MTU of `ip link` over those of `ip addr`, and interfaces that only it
/// shows.
std::vector<IpInterface> merge(std::vector<IpInterface> addresses,
                               const std::vector<IpInterface>& links) {
  for (const IpInterface& link : links) {
    bool found = false;
    for (IpInterface& interface : addresses) {
      if (interface.name == link.name) {
        found = true;
        interface.flags = link.flags;
        interface.state = link.state;
        interface.mtu = link.mtu != 0 ? link.mtu : interface.mtu;
        interface.link_type = link.link_type.empty() ? interface.link_type : link.link_type;
      }
    }
    if (!found) {
      addresses.push_back(link);
    }
  }
  return addresses;
}

nccl::PortState port_state(const IbstatPort& port, Problems& problems) {
  static const std::map<std::string, nccl::PortState> kStates = {
      {"active", nccl::PortState::kActive},
      {"down", nccl::PortState::kDown},
      {"init", nccl::PortState::kInit},
      {"initializing", nccl::PortState::kInit},
      {"armed", nccl::PortState::kArmed}};
  const auto known = kStates.find(lower(port.state));
  if (known == kStates.end()) {
    problems.add(port.where, fmt::format("port {} has the state '{}'; allowed: 'Active', 'Armed', "
                                         "'Initializing' or 'Down'",
                                         port.number, port.state));
    return nccl::PortState::kDown;
  }
  return known->second;
}

nccl::LinkLayer link_layer(const IbstatPort& port, Problems& problems) {
  const std::string layer = lower(port.link_layer);
  if (layer == "infiniband" || layer == "ib" || layer.empty()) {
    return nccl::LinkLayer::kInfiniBand;  // adapters before RoCE print no link layer
  }
  if (layer == "ethernet") {
    return nccl::LinkLayer::kEthernet;
  }
  if (layer == "unspecified" || layer == "unknown") {
    return nccl::LinkLayer::kOther;
  }
  problems.add(port.where,
               fmt::format("port {} has the link layer '{}'; allowed: 'InfiniBand' or 'Ethernet'",
                           port.number, port.link_layer));
  return nccl::LinkLayer::kOther;
}

}  // namespace

std::vector<nccl::Interface> to_interfaces(const std::vector<IpInterface>& interfaces,
                                           Problems& problems) {
  std::vector<nccl::Interface> result;
  for (const IpInterface& from : interfaces) {
    nccl::Interface to;
    to.name = from.name;
    to.up = from.has_flag("UP");
    // LOWER_UP is the carrier. The kernel sets IFF_RUNNING from the operational state; `ip` prints
    // it only through LOWER_UP and state (ip-link(8), "state UNKNOWN" of devices that do not report
    // carrier counts as up).
    to.running = to.up && from.has_flag("LOWER_UP") && !from.has_flag("NO-CARRIER") &&
                 from.state != "DOWN" && from.state != "LOWERLAYERDOWN" && from.state != "DORMANT";
    to.loopback = from.has_flag("LOOPBACK") || from.link_type == "loopback";
    if (from.mtu > 0) {
      to.mtu = from.mtu;
    }
    for (const IpAddress& address : from.addresses) {
      std::optional<nccl::Address> parsed = nccl::parse_address(address.text);
      if (!parsed) {
        problems.add(from.where,
                     fmt::format("interface '{}' has the address '{}', which is neither "
                                 "IPv4 nor IPv6",
                                 from.name, address.text));
        continue;
      }
      to.addresses.push_back(std::move(*parsed));
    }
    result.push_back(std::move(to));
  }
  return result;
}

std::vector<nccl::Hca> to_hcas(const std::vector<IbstatAdapter>& adapters, Problems& problems) {
  std::vector<nccl::Hca> result;
  for (const IbstatAdapter& from : adapters) {
    nccl::Hca to;
    to.name = from.name;
    to.model = from.type;
    to.guid = from.system_image_guid.value_or(from.node_guid.value_or(0));
    for (const IbstatPort& port : from.ports) {
      nccl::HcaPort out;
      out.number = port.number;
      out.state = port_state(port, problems);
      out.physical_state = port.physical_state;
      out.link_layer = link_layer(port, problems);
      if (port.rate && *port.rate > 0 && *port.rate <= 10'000) {
        out.speed_mbit = static_cast<std::int64_t>(std::llround(*port.rate * 1000));
      } else {
        problems.add(port.where,
                     fmt::format("port {} of '{}' has no rate; allowed: a number of Gb/s",
                                 port.number, from.name));
      }
      to.ports.push_back(std::move(out));
    }
    result.push_back(std::move(to));
  }
  return result;
}

HostFolder read_host_folder(const std::string& folder, Problems& problems) {
  HostFolder host;
  std::filesystem::path path(folder);
  if (path.filename().empty()) {
    path = path.parent_path();  // "hosts/node0/"
  }
  host.inventory.host = path.filename().string();
  const auto take = [&](const char* name) {
    std::optional<std::string> text = read((path / name).string(), problems);
    if (text) {
      host.files.emplace_back(name);
    }
    return text;
  };
  const auto nothing_found = [&](const char* name, const char* command) {
    problems.add({(path / name).string(), 0, 0}, fmt::format("found no output of '{}'", command));
  };
  const std::optional<std::string> addr = take("ip-addr.txt");
  const std::optional<std::string> link = take("ip-link.txt");
  if (!addr && !link) {
    problems.add({path.string(), 0, 0},
                 "found neither ip-addr.txt nor ip-link.txt; allowed: a folder "
                 "with the output of 'ip addr' and 'ip link'");
  }
  std::vector<IpInterface> interfaces;
  if (addr) {
    interfaces = parse_ip(*addr, (path / "ip-addr.txt").string());
    if (interfaces.empty()) {
      nothing_found("ip-addr.txt", "ip addr");
    }
  }
  if (link) {
    const std::vector<IpInterface> links = parse_ip(*link, (path / "ip-link.txt").string());
    if (links.empty()) {
      nothing_found("ip-link.txt", "ip link");
    }
    interfaces = merge(std::move(interfaces), links);
  }
  host.inventory.interfaces = to_interfaces(interfaces, problems);
  if (const std::optional<std::string> ibstat = take("ibstat.txt")) {
    const std::vector<IbstatAdapter> adapters =
        parse_ibstat(*ibstat, (path / "ibstat.txt").string());
    // Without an HCA ibstat prints nothing, or a line "ibpanic: ..." of its own.
    if (adapters.empty() && !trim(*ibstat).empty() && !trim(*ibstat).starts_with("ibpanic")) {
      nothing_found("ibstat.txt", "ibstat");
    }
    host.inventory.hcas = to_hcas(adapters, problems);
    for (const IbstatAdapter& adapter : adapters) {
      for (const IbstatPort& port : adapter.ports) {
        for (std::string& remark : contradictions(adapter, port)) {
          host.remarks.push_back(std::move(remark));
        }
      }
    }
  }
  if (const std::optional<std::string> topo = take("topo.txt")) {
    host.topology = parse_topo(*topo, (path / "topo.txt").string(), problems);
    if (host.topology->devices.empty()) {
      nothing_found("topo.txt", "nvidia-smi topo -m");
    }
  }
  return host;
}

}  // namespace busbw::facts
