// Reads the output of `ip addr`, `ip link` and their brief forms (`ip -br addr`, `ip -br link`).
//
// Interfaces come in the order of the text, which is the kernel's. Lines before the first interface
// (a prompt, the command itself) and lines of no known form are skipped: people paste what they
// have.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/errors.h"

namespace busbw::facts {

struct IpAddress {
  std::string text;   // "10.0.0.1/24", "fe80::1/64"
  std::string scope;  // "global", "link", "host"; empty in brief output
};

struct IpInterface {
  int index = 0;                     // 0 in brief output
  std::string name;                  // without "@if44"
  std::optional<std::string> peer;   // "if44" of "eth0@if44"
  std::vector<std::string> flags;    // "UP", "LOWER_UP", "NO-CARRIER" ...
  std::int64_t mtu = 0;              // 0: not said
  std::string state;                 // "UP", "DOWN", "UNKNOWN"; empty: not said
  std::string link_type;             // "ether", "loopback", "infiniband"; empty: not said
  std::vector<IpAddress> addresses;  // in order
  Location where;

  [[nodiscard]] bool has_flag(std::string_view flag) const;
};

/// Interfaces in order of appearance; an interface that appears again replaces the earlier one in
/// its place (several commands pasted into one file). Empty when the text shows none.
std::vector<IpInterface> parse_ip(std::string_view text, const std::string& file);

}  // namespace busbw::facts
