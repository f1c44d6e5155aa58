// See ip_text.h. Forms as printed by iproute2 (ip/ipaddress.c, ip/iplink.c), releases 4 to 6.
#include "models/facts/ip_text.h"

#include <algorithm>

#include "sim/core/text.h"

namespace busbw::facts {
namespace {

/// "eth0@if44" -> name and peer.
void set_name(IpInterface& interface, std::string_view text) {
  const std::size_t at = text.find('@');
  interface.name = std::string(text.substr(0, at));
  if (at != std::string_view::npos) {
    interface.peer = std::string(text.substr(at + 1));
  }
}

/// "<BROADCAST,MULTICAST,UP>" -> flags. False if the word has not that form.
bool set_flags(IpInterface& interface, std::string_view word) {
  if (word.size() < 2 || word.front() != '<' || word.back() != '>') {
    return false;
  }
  for (const std::string_view flag : split(word.substr(1, word.size() - 2), ',')) {
    interface.flags.emplace_back(flag);
  }
  return true;
}

/// "2: eth0@if44: <FLAGS> mtu 1460 ... state UP ..."; nothing if the line is no such header.
std::optional<IpInterface> parse_header(const std::vector<std::string_view>& words) {
  if (words.size() < 3 || words[0].back() != ':' || words[1].back() != ':') {
    return std::nullopt;
  }
  const std::optional<std::int64_t> index = parse_integer(words[0].substr(0, words[0].size() - 1));
  if (!index || *index <= 0 || *index > 1'000'000'000) {
    return std::nullopt;
  }
  IpInterface interface;
  interface.index = static_cast<int>(*index);
  set_name(interface, words[1].substr(0, words[1].size() - 1));
  if (!set_flags(interface, words[2])) {
    return std::nullopt;
  }
  for (std::size_t i = 3; i + 1 < words.size(); i++) {
    if (words[i] == "mtu") {
      interface.mtu = parse_integer(words[i + 1]).value_or(0);
    } else if (words[i] == "state") {
      interface.state = std::string(words[i + 1]);
    }
  }
  return interface;
}

bool is_state(std::string_view word) {
  static constexpr std::string_view kStates[] = {
      "UP", "DOWN", "UNKNOWN", "DORMANT", "TESTING", "LOWERLAYERDOWN", "NOTPRESENT"};
  return std::find(std::begin(kStates), std::end(kStates), word) != std::end(kStates);
}

/// "eth0@if44  UP  10.0.0.1/24 fe80::1/64" or "eth0 UP 02:..:01 <FLAGS>".
std::optional<IpInterface> parse_brief(const std::vector<std::string_view>& words) {
  if (words.size() < 2 || !is_state(words[1]) || words[0].find(':') != std::string_view::npos) {
    return std::nullopt;
  }
  IpInterface interface;
  set_name(interface, words[0]);
  interface.state = std::string(words[1]);
  for (std::size_t i = 2; i < words.size(); i++) {
    if (words[i].find('/') != std::string_view::npos) {
      interface.addresses.push_back({std::string(words[i]), ""});
    } else {
      set_flags(interface, words[i]);
    }
  }
  if (interface.flags.empty() && interface.state != "DOWN") {
    interface.flags = {"UP", "LOWER_UP"};  // brief `ip addr` shows no flags; the state implies them
  }
  return interface;
}

/// Lines below a header: link type and addresses.
void parse_detail(IpInterface& interface, const std::vector<std::string_view>& words) {
  constexpr std::string_view kLink = "link/";
  if (words[0].substr(0, kLink.size()) == kLink) {
    interface.link_type = std::string(words[0].substr(kLink.size()));
  } else if ((words[0] == "inet" || words[0] == "inet6") && words.size() > 1) {
    IpAddress address{std::string(words[1]), ""};
    for (std::size_t i = 2; i + 1 < words.size(); i++) {
      if (words[i] == "scope") {
        address.scope = std::string(words[i + 1]);
      }
    }
    interface.addresses.push_back(std::move(address));
  }
}

}  // namespace

bool IpInterface::has_flag(std::string_view flag) const {
  return std::find(flags.begin(), flags.end(), flag) != flags.end();
}

std::vector<IpInterface> parse_ip(std::string_view text, const std::string& file) {
  std::vector<IpInterface> interfaces;
  std::optional<std::size_t> current;
  int line_number = 0;
  for (const std::string_view line : split_lines(text)) {
    line_number++;
    const std::vector<std::string_view> words = split_blanks(line);
    if (words.empty()) {
      continue;
    }
    std::optional<IpInterface> header = parse_header(words);
    if (!header) {
      header = parse_brief(words);
    }
    if (!header) {
      if (current) {
        parse_detail(interfaces[*current], words);
      }
      continue;
    }
    header->where = {file, line_number, 1};
    const auto same = std::find_if(interfaces.begin(), interfaces.end(),
                                   [&](const IpInterface& i) { return i.name == header->name; });
    current = static_cast<std::size_t>(same - interfaces.begin());
    if (same == interfaces.end()) {
      interfaces.push_back(std::move(*header));
    } else {
      *same = std::move(*header);
    }
  }
  return interfaces;
}

}  // namespace busbw::facts
