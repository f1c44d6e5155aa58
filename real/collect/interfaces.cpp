// See interfaces.h. Values of flags: Linux include/uapi/linux/if.h and route.h.
#include "real/collect/interfaces.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cctype>
#include <ifaddrs.h>
#include <map>
#include <memory>
#include <net/if.h>
#include <netinet/in.h>

#include <fmt/format.h>

#include "models/nccl/inventory.h"
#include "real/collect/kernel_links.h"
#include "real/collect/numbers.h"
#include "sim/core/text.h"

namespace busbw::real::collect {
namespace {

using facts::PrintedAddress;
using facts::PrintedInterface;
using AddressMap = std::map<std::string, std::vector<PrintedAddress>>;

std::string scope_of(const nccl::Address& address) {
  return address.loopback ? "host" : address.link_local ? "link" : "global";
}

std::string text_of(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address == nullptr)
    return "";
  const void* bytes =
      address->sa_family == AF_INET
          ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in*>(address)->sin_addr)
          : static_cast<const void*>(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
  return ::inet_ntop(address->sa_family, bytes, text.data(), text.size()) == nullptr ? ""
                                                                                     : text.data();
}

int prefix_of(const std::string& mask) {
  const std::optional<nccl::Address> parsed = nccl::parse_address(mask);
  int bits = 0;
  for (const std::uint8_t byte : parsed ? parsed->bytes : std::vector<std::uint8_t>{})
    bits += __builtin_popcount(byte);
  return bits;
}

AddressMap addresses_of_kernel() {
  AddressMap found;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0)
    return found;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, ::freeifaddrs);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    const sockaddr* address = entry->ifa_addr;
    if (address == nullptr || (address->sa_family != AF_INET && address->sa_family != AF_INET6))
      continue;
    PrintedAddress& printed = found[entry->ifa_name].emplace_back();
    printed.ipv6 = address->sa_family == AF_INET6;
    const std::string text = text_of(address);
    printed.text = fmt::format("{}/{}", text, prefix_of(text_of(entry->ifa_netmask)));
    const std::optional<nccl::Address> parsed = nccl::parse_address(text);
    printed.scope = parsed ? scope_of(*parsed) : "global";
    if (!printed.ipv6 && (entry->ifa_flags & IFF_BROADCAST) != 0)
      printed.broadcast = text_of(entry->ifa_broadaddr);
  }
  return found;
}

/// "fe8000000000000000fc00fffe000001 04 40 20 80 eth0": address, index, prefix, scope, flags, name.
AddressMap addresses_of_procfs(const Root& root) {
  AddressMap found;
  const std::string lines = root.text("/proc/net/if_inet6").value_or("");
  for (const std::string_view line : split_lines(lines)) {
    const std::vector<std::string_view> words = split_blanks(line);
    if (words.size() != 6 || words[0].size() != 32)
      continue;
    std::string groups;
    for (std::size_t at = 0; at < 32; at += 4)
      groups += (at == 0 ? "" : ":") + std::string(words[0].substr(at, 4));
    const std::optional<nccl::Address> parsed = nccl::parse_address(groups);
    const std::optional<std::uint64_t> prefix = hexadecimal(words[2]);
    if (!parsed || !prefix || *prefix > 128)
      continue;
    PrintedAddress& printed = found[std::string(words[5])].emplace_back();
    printed.ipv6 = true;
    printed.text = fmt::format("{}/{}", parsed->text, *prefix);
    printed.scope = scope_of(*parsed);
  }
  return found;
}

PrintedInterface read_link(const Root& root, const std::string& name) {
  const std::string folder = "/sys/class/net/" + name;
  PrintedInterface printed;
  printed.name = name;
  printed.index = static_cast<int>(decimal(root.line(folder + "/ifindex")).value_or(0));
  const std::int64_t peer = decimal(root.line(folder + "/iflink")).value_or(printed.index);
  if (peer != printed.index && peer > 0)
    printed.peer = fmt::format("if{}", peer);
  const std::uint64_t flags = hexadecimal(root.line(folder + "/flags")).value_or(0);
  // The carrier of a link that is down cannot be read.
  printed.flags = flags_of(flags, root.line(folder + "/carrier") == "1");
  printed.mtu = decimal(root.line(folder + "/mtu")).value_or(0);
  printed.state = root.line(folder + "/operstate");
  std::transform(printed.state.begin(), printed.state.end(), printed.state.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  printed.queue_length = decimal(root.line(folder + "/tx_queue_len")).value_or(0);
  printed.link_type = type_of(root.line(folder + "/type"));
  printed.address = root.line(folder + "/address");
  printed.broadcast = root.line(folder + "/broadcast");
  return printed;
}

std::vector<PrintedInterface> links_of_sysfs(const Root& root) {
  std::vector<PrintedInterface> found;
  for (const std::string& name : root.names("/sys/class/net")) {
    PrintedInterface printed = read_link(root, name);
    if (printed.index > 0)  // else a file of the bonding driver
      found.push_back(std::move(printed));
  }
  return found;
}

/// Little-endian digits of /proc/net/route: "0100000A" is 10.0.0.1.
std::string route_address(std::string_view digits) {
  const std::uint64_t value = hexadecimal(digits).value_or(0);
  return fmt::format("{}.{}.{}.{}", value & 0xffU, value >> 8U & 0xffU, value >> 16U & 0xffU,
                     value >> 24U & 0xffU);
}

}  // namespace

std::vector<PrintedInterface> read_interfaces(const Root& root) {
  AddressMap addresses = root.is_machine() ? addresses_of_kernel() : addresses_of_procfs(root);
  std::vector<PrintedInterface> found =
      sysfs_is_of_this_namespace(root) ? links_of_sysfs(root) : links_of_kernel();
  for (PrintedInterface& printed : found)
    printed.addresses = std::move(addresses[printed.name]);
  std::sort(found.begin(), found.end(),
            [](const PrintedInterface& a, const PrintedInterface& b) { return a.index < b.index; });
  return found;
}

std::string read_routes(const Root& root) {
  constexpr std::size_t kColumns = 8;  // Iface Destination Gateway Flags RefCnt Use Metric Mask
  constexpr unsigned kGateway = 2;     // RTF_GATEWAY
  std::string text;
  const std::string lines = root.text("/proc/net/route").value_or("");
  for (const std::string_view line : split_lines(lines)) {
    const std::vector<std::string_view> words = split_blanks(line);
    const std::optional<std::uint64_t> flags =
        words.size() >= kColumns ? hexadecimal(words[3]) : std::nullopt;
    if (!flags)
      continue;  // the heading
    const int prefix = __builtin_popcountll(hexadecimal(words[7]).value_or(0));
    text += prefix == 0 ? "default" : fmt::format("{}/{}", route_address(words[1]), prefix);
    if ((*flags & kGateway) != 0)
      text += " via " + route_address(words[2]);
    text += fmt::format(" dev {}{}", words[0], (*flags & kGateway) != 0 ? "" : " scope link");
    text += words[6] == "0" ? "\n" : fmt::format(" metric {}\n", words[6]);
  }
  return text;
}

}  // namespace busbw::real::collect
