// See kernel_links.h. Names of flags and their order: iproute2, ip/ipaddress.c; values: Linux
// include/uapi/linux/if.h and if_arp.h; requests: netdevice(7).
#include "real/collect/kernel_links.h"

#include <algorithm>
#include <array>
#include <ifaddrs.h>
#include <map>
#include <memory>
#include <net/if.h>
#include <netpacket/packet.h>
#include <set>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "real/collect/numbers.h"

namespace busbw::real::collect {
namespace {

using facts::PrintedInterface;

constexpr unsigned kLowerUp = 0x10000;  // IFF_LOWER_UP, which libc's header leaves out

struct Flag {
  unsigned bit;
  const char* name;
};
constexpr std::array<Flag, 9> kFlags = {{{IFF_LOOPBACK, "LOOPBACK"},
                                         {IFF_BROADCAST, "BROADCAST"},
                                         {IFF_POINTOPOINT, "POINTOPOINT"},
                                         {IFF_MULTICAST, "MULTICAST"},
                                         {IFF_NOARP, "NOARP"},
                                         {IFF_PROMISC, "PROMISC"},
                                         {IFF_MASTER, "MASTER"},
                                         {IFF_SLAVE, "SLAVE"},
                                         {IFF_UP, "UP"}}};

std::set<std::pair<std::string, int>> names_of_sysfs(const Root& root) {
  std::set<std::pair<std::string, int>> names;
  for (const std::string& name : root.names("/sys/class/net")) {
    const auto index = decimal(root.line("/sys/class/net/" + name + "/ifindex")).value_or(0);
    if (index > 0)
      names.emplace(name, static_cast<int>(index));
  }
  return names;
}

std::set<std::pair<std::string, int>> names_of_kernel() {
  std::set<std::pair<std::string, int>> names;
  const std::unique_ptr<struct if_nameindex, void (*)(struct if_nameindex*)> list(
      ::if_nameindex(), ::if_freenameindex);
  for (const struct if_nameindex* entry = list.get(); entry != nullptr && entry->if_index != 0;
       ++entry)
    names.emplace(entry->if_name, static_cast<int>(entry->if_index));
  return names;
}

std::string hardware_address(const sockaddr* address) {
  if (address == nullptr || address->sa_family != AF_PACKET)
    return "";
  const auto* link = reinterpret_cast<const sockaddr_ll*>(address);
  std::string text;
  for (unsigned at = 0; at < std::min<unsigned>(link->sll_halen, sizeof link->sll_addr); ++at)
    text += fmt::format("{}{:02x}", at == 0 ? "" : ":", link->sll_addr[at]);
  return text;
}

/// MTU and length of the queue of an interface; 0 where the kernel refuses.
void ask_numbers(int socket, PrintedInterface& printed) {
  ifreq request{};
  printed.name.copy(request.ifr_name, IFNAMSIZ - 1);
  if (::ioctl(socket, SIOCGIFMTU, &request) == 0)
    printed.mtu = request.ifr_mtu;
  if (::ioctl(socket, SIOCGIFTXQLEN, &request) == 0)
    printed.queue_length = request.ifr_qlen;
}

PrintedInterface link_of(const ifaddrs& entry) {
  PrintedInterface printed;
  printed.name = entry.ifa_name;
  printed.index = static_cast<int>(::if_nametoindex(entry.ifa_name));
  const unsigned flags = entry.ifa_flags;
  printed.flags = flags_of(flags, (flags & kLowerUp) != 0);
  const bool runs = (flags & IFF_RUNNING) != 0;
  printed.state = (flags & IFF_LOOPBACK) != 0 ? "UNKNOWN" : runs ? "UP" : "DOWN";
  const auto* link = reinterpret_cast<const sockaddr_ll*>(entry.ifa_addr);
  printed.link_type = type_of(std::to_string(link->sll_hatype));
  printed.address = hardware_address(entry.ifa_addr);
  printed.broadcast = hardware_address(entry.ifa_broadaddr);
  return printed;
}

}  // namespace

std::vector<std::string> flags_of(std::uint64_t flags, bool carrier) {
  std::vector<std::string> names;
  const bool up = (flags & IFF_UP) != 0;
  if (up && !carrier)
    names.emplace_back("NO-CARRIER");
  for (const Flag& flag : kFlags) {
    if ((flags & flag.bit) != 0)
      names.emplace_back(flag.name);
  }
  if (up && carrier)
    names.emplace_back("LOWER_UP");
  return names;
}

std::string type_of(const std::string& number) {
  static const std::map<std::string, std::string> kTypes = {
      {"1", "ether"},      {"32", "infiniband"}, {"65534", "none"}, {"768", "ipip"},
      {"772", "loopback"}, {"776", "sit"},       {"778", "gre"},    {"769", "tunnel6"}};
  const auto known = kTypes.find(number);
  return known == kTypes.end() ? "[" + number + "]" : known->second;
}

bool sysfs_is_of_this_namespace(const Root& root) {
  if (!root.is_machine())
    return true;
  const auto here = names_of_kernel();
  return here.empty() || here == names_of_sysfs(root);
}

std::vector<PrintedInterface> links_of_kernel() {
  std::vector<PrintedInterface> found;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0)
    return found;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, ::freeifaddrs);
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr != nullptr && entry->ifa_addr->sa_family == AF_PACKET)
      ask_numbers(socket, found.emplace_back(link_of(*entry)));
  }
  if (socket >= 0)
    ::close(socket);
  return found;
}

}  // namespace busbw::real::collect
