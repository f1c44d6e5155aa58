// Prints interfaces as `ip addr` and `ip link` do: the other direction of ip_text.h.
//
// The values say what is printed and nothing else; where they come from (a machine of ours, sysfs)
// is the caller's business. What a caller does not know it leaves empty, and the word is left out.
// Form: iproute2 6, ip/ipaddress.c.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace busbw::facts {

struct PrintedAddress {
  std::string text;  // "10.0.0.1/24", "fe80::1/64"
  bool ipv6 = false;
  std::string broadcast;   // IPv4 only
  std::string scope;       // "global", "link", "host"
  bool secondary = false;  // another address of the interface has the same subnet
};

struct PrintedInterface {
  int index = 0;
  std::string name;
  std::string peer;                // "if44": what stands behind '@'
  std::vector<std::string> flags;  // "UP", "LOWER_UP" ...
  std::int64_t mtu = 0;
  std::string queueing;  // "mq", "noqueue", "noop"
  std::string state;     // "UP", "DOWN", "UNKNOWN"
  std::int64_t queue_length = 0;
  std::string link_type;  // "ether", "loopback", "infiniband"
  std::string address;    // of the link: "02:00:00:00:00:01"
  std::string broadcast;
  std::vector<PrintedAddress> addresses;  // printed IPv4 first, as the kernel dumps them
};

std::string print_ip_addr(const std::vector<PrintedInterface>& interfaces);
/// Without addresses, with the mode of the link.
std::string print_ip_link(const std::vector<PrintedInterface>& interfaces);

}  // namespace busbw::facts
