// Interfaces of an emulated host. IPoIB addresses: RFC 4391, the queue pair's number and the port's
// GID; EUI-64: RFC 4291, appendix A.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "models/facts/print/emulated_hosts.h"

namespace busbw::facts {
namespace {

constexpr std::int64_t kQueueOfEthernet = 1000;  // packets, Linux' default
constexpr std::int64_t kQueueOfIpoib = 256;      // Linux drivers/infiniband/ulp/ipoib

std::string octets(std::uint64_t value, int count) {
  std::string text;
  for (int at = count - 1; at >= 0; --at) {
    text += fmt::format("{}{:02x}", text.empty() ? "" : ":",
                        value >> (8U * static_cast<unsigned>(at)) & 0xffU);
  }
  return text;
}

std::vector<std::string> flags_of(const nccl::Interface& interface) {
  std::vector<std::string> flags;
  if (interface.up && !interface.running) {
    flags.emplace_back("NO-CARRIER");
  }
  if (interface.loopback) {
    flags.emplace_back("LOOPBACK");
  } else {
    flags.emplace_back("BROADCAST");
    flags.emplace_back("MULTICAST");
  }
  if (interface.up) {
    flags.emplace_back("UP");
  }
  if (interface.up && interface.running) {
    flags.emplace_back("LOWER_UP");
  }
  return flags;
}

/// "10.0.0.255" for 10.0.0.1/24; "" where the subnet has no such address.
std::string broadcast_of(const nccl::Address& address) {
  constexpr int kBits = 32;
  if (address.prefix_length >= kBits - 1) {
    return "";
  }
  std::uint32_t value = 0;
  for (const std::uint8_t byte : address.bytes) {
    value = value << 8U | byte;
  }
  value |= ~std::uint32_t{0} >> static_cast<unsigned>(address.prefix_length);
  return fmt::format("{}.{}.{}.{}", value >> 24U, value >> 16U & 0xffU, value >> 8U & 0xffU,
                     value & 0xffU);
}

PrintedAddress printed(const nccl::Address& address, const nccl::Interface& interface) {
  PrintedAddress result;
  result.text = fmt::format("{}/{}", address.text, address.prefix_length);
  result.ipv6 = address.ipv6;
  result.scope = address.loopback ? "host" : address.link_local ? "link" : "global";
  if (!address.ipv6 && !interface.loopback) {
    result.broadcast = broadcast_of(address);
  }
  for (const nccl::Address& other : interface.addresses) {
    if (&other == &address) {
      break;
    }
    result.secondary = result.secondary || (!address.ipv6 && same_subnet(other, address) &&
                                            other.prefix_length == address.prefix_length);
  }
  return result;
}

void set_link(const EmulatedHost& host, std::size_t position, PrintedInterface& result) {
  const nccl::Interface& interface = host.inventory.interfaces[position];
  result.queue_length = kQueueOfEthernet;
  if (interface.loopback) {
    result.link_type = "loopback";
    result.address = result.broadcast = octets(0, 6);
    return;
  }
  const std::optional<PortPlace> port = port_behind(host, interface);
  const bool infiniband = port && host.inventory.hcas[port->hca].ports[port->port].link_layer ==
                                      nccl::LinkLayer::kInfiniBand;
  if (!infiniband) {
    result.link_type = "ether";
    result.address = octets(hardware_address(host, position), 6);
    result.broadcast = octets(0xffffffffffffU, 6);
    return;
  }
  result.link_type = "infiniband";
  result.queue_length = kQueueOfIpoib;
  result.address = fmt::format("00:00:10:{:02x}:fe:80:00:00:00:00:00:00:", position & 0xffU) +
                   octets(port_guid(host, *port), 8);
  result.broadcast = "00:ff:ff:ff:ff:12:40:1b:ff:ff:00:00:00:00:00:00:ff:ff:ff:ff";
}

}  // namespace

std::optional<PortPlace> port_behind(const EmulatedHost& host, const nccl::Interface& interface) {
  const std::vector<nccl::Hca>& hcas = host.inventory.hcas;
  for (std::size_t hca = 0; hca < hcas.size(); ++hca) {
    for (std::size_t port = 0; port < hcas[hca].ports.size(); ++port) {
      if (hcas[hca].ports[port].netdev == interface.name) {
        return PortPlace{hca, port};
      }
    }
  }
  const std::optional<std::size_t> nic = host.machine.find_nic(interface.name);
  for (std::size_t hca = 0; nic && hca < hcas.size(); ++hca) {
    if (hcas[hca].name == host.machine.nics[*nic].name && !hcas[hca].ports.empty()) {
      return PortPlace{hca, 0};
    }
  }
  return std::nullopt;
}

std::optional<std::size_t> interface_of(const EmulatedHost& host, PortPlace place) {
  const std::vector<nccl::Interface>& interfaces = host.inventory.interfaces;
  for (std::size_t position = 0; position < interfaces.size(); ++position) {
    const std::optional<PortPlace> port = port_behind(host, interfaces[position]);
    if (port && port->hca == place.hca && port->port == place.port) {
      return position;
    }
  }
  return std::nullopt;
}

std::uint64_t hardware_address(const EmulatedHost& host, std::size_t interface) {
  constexpr std::uint64_t kLocallyAdministered = 0x020000000000U;
  return kLocallyAdministered | (static_cast<std::uint64_t>(host.number) & 0xffffU) << 16U |
         (interface & 0xffffU);
}

std::uint64_t port_guid(const EmulatedHost& host, PortPlace place) {
  const nccl::Hca& hca = host.inventory.hcas[place.hca];
  const std::optional<std::size_t> position = interface_of(host, place);
  if (hca.ports[place.port].link_layer != nccl::LinkLayer::kEthernet || !position) {
    return hca.guid + place.port;
  }
  constexpr std::uint64_t kUniversal = 0x0200000000000000U;  // the bit that EUI-64 turns round
  const std::uint64_t address = hardware_address(host, *position);
  return ((address >> 24U) << 40U | std::uint64_t{0xfffe} << 24U | (address & 0xffffffU)) ^
         kUniversal;
}

std::vector<PrintedInterface> emulated_interfaces(const EmulatedHost& host) {
  std::vector<PrintedInterface> result;
  for (std::size_t position = 0; position < host.inventory.interfaces.size(); ++position) {
    const nccl::Interface& interface = host.inventory.interfaces[position];
    PrintedInterface& printing = result.emplace_back();
    printing.index = static_cast<int>(position) + 1;
    printing.name = interface.name;
    printing.flags = flags_of(interface);
    printing.mtu = interface.mtu;
    const bool works = interface.up && interface.running;
    const bool software = interface.loopback || !interface.pci_path;
    printing.queueing = !interface.up ? "noop" : software ? "noqueue" : "mq";
    printing.state = !works ? "DOWN" : interface.loopback ? "UNKNOWN" : "UP";
    set_link(host, position, printing);
    for (const nccl::Address& address : interface.addresses) {
      printing.addresses.push_back(printed(address, interface));
    }
  }
  return result;
}

}  // namespace busbw::facts
