// See ip_print.h.
#include "models/facts/print/ip_print.h"

#include <fmt/format.h>

#include "sim/core/text.h"

namespace busbw::facts {
namespace {

constexpr const char* kForever = "       valid_lft forever preferred_lft forever\n";

std::string print_link(const PrintedInterface& interface, const char* mode) {
  std::string text = fmt::format("{}: {}", interface.index, interface.name);
  if (!interface.peer.empty()) {
    text += "@" + interface.peer;
  }
  text += fmt::format(": <{}> mtu {}", join(interface.flags, ","), interface.mtu);
  if (!interface.queueing.empty()) {
    text += " qdisc " + interface.queueing;
  }
  text += fmt::format(" state {}{} group default ", interface.state, mode);
  if (interface.queue_length > 0) {
    text += fmt::format("qlen {}", interface.queue_length);
  }
  text += fmt::format("\n    link/{}", interface.link_type);
  if (!interface.address.empty()) {
    text += " " + interface.address;
  }
  if (!interface.broadcast.empty()) {
    text += " brd " + interface.broadcast;
  }
  return text + "\n";
}

std::string print_address(const PrintedAddress& address, const std::string& interface) {
  if (address.ipv6) {
    return fmt::format("    inet6 {} scope {} \n", address.text, address.scope) + kForever;
  }
  std::string text = "    inet " + address.text;
  if (!address.broadcast.empty()) {
    text += " brd " + address.broadcast;
  }
  text += " scope " + address.scope;
  if (address.secondary) {
    text += " secondary";
  }
  return text + " " + interface + "\n" + kForever;
}

}  // namespace

std::string print_ip_addr(const std::vector<PrintedInterface>& interfaces) {
  std::string text;
  for (const PrintedInterface& interface : interfaces) {
    text += print_link(interface, "");
    for (const bool ipv6 : {false, true}) {
      for (const PrintedAddress& address : interface.addresses) {
        if (address.ipv6 == ipv6) {
          text += print_address(address, interface.name);
        }
      }
    }
  }
  return text;
}

std::string print_ip_link(const std::vector<PrintedInterface>& interfaces) {
  std::string text;
  for (const PrintedInterface& interface : interfaces) {
    text += print_link(interface, " mode DEFAULT");
  }
  return text;
}

}  // namespace busbw::facts
