// Addresses: parsing, printing and comparing, without any call to the system's resolver.
//
// IPv6 text follows RFC 4291 (groups, one "::", a dotted IPv4 tail) and is printed by RFC 5952
// (lower case, longest run of zero groups shortened, the first of equals).
#include "models/nccl/inventory.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/core/text.h"

namespace busbw::nccl {
namespace {

std::optional<std::vector<std::uint8_t>> parse_ipv4(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, '.');
  if (parts.size() != 4)
    return std::nullopt;
  std::vector<std::uint8_t> bytes;
  for (const std::string_view part : parts) {
    if (part.empty() || part.size() > 3 ||
        part.find_first_not_of("0123456789") != std::string_view::npos) {
      return std::nullopt;
    }
    const std::int64_t value = *parse_integer(part);
    if (value > 255)
      return std::nullopt;
    bytes.push_back(static_cast<std::uint8_t>(value));
  }
  return bytes;
}

std::optional<std::uint16_t> parse_group(std::string_view text) {
  if (text.empty() || text.size() > 4)
    return std::nullopt;
  std::uint32_t value = 0;
  for (const char c : text) {
    const std::size_t digit = std::string_view("0123456789abcdef").find(lower({&c, 1}));
    if (digit == std::string_view::npos)
      return std::nullopt;
    value = value * 16 + static_cast<std::uint32_t>(digit);
  }
  return static_cast<std::uint16_t>(value);
}

/// Groups of one side of "::"; nothing if malformed.
std::optional<std::vector<std::uint8_t>> parse_groups(std::string_view text) {
  std::vector<std::uint8_t> bytes;
  if (text.empty())
    return bytes;
  const std::vector<std::string_view> parts = split(text, ':');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i + 1 == parts.size() && parts[i].find('.') != std::string_view::npos) {
      const auto tail = parse_ipv4(parts[i]);
      if (!tail)
        return std::nullopt;
      bytes.insert(bytes.end(), tail->begin(), tail->end());
      continue;
    }
    const std::optional<std::uint16_t> group = parse_group(parts[i]);
    if (!group)
      return std::nullopt;
    bytes.push_back(static_cast<std::uint8_t>(*group >> 8U));
    bytes.push_back(static_cast<std::uint8_t>(*group & 0xffU));
  }
  return bytes;
}

std::optional<std::vector<std::uint8_t>> parse_ipv6(std::string_view text) {
  const std::size_t gap = text.find("::");
  if (gap == std::string_view::npos) {
    auto bytes = parse_groups(text);
    if (!bytes || bytes->size() != 16)
      return std::nullopt;
    return bytes;
  }
  auto head = parse_groups(text.substr(0, gap));
  const auto tail = parse_groups(text.substr(gap + 2));
  if (!head || !tail || head->size() + tail->size() > 14)
    return std::nullopt;
  head->resize(16 - tail->size(), 0);
  head->insert(head->end(), tail->begin(), tail->end());
  return head;
}

std::string print_ipv6(const std::vector<std::uint8_t>& bytes) {
  std::vector<std::uint16_t> groups;
  for (std::size_t i = 0; i < 16; i += 2) {
    groups.push_back(static_cast<std::uint16_t>((bytes[i] << 8U) | bytes[i + 1]));
  }
  std::size_t best = 0;
  std::size_t best_length = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    std::size_t length = 0;
    while (i + length < 8 && groups[i + length] == 0)
      ++length;
    if (length > best_length)
      best = i, best_length = length;
  }
  std::string text;
  for (std::size_t i = 0; i < 8; ++i) {
    if (best_length >= 2 && i == best) {
      text += "::";
      i += best_length - 1;
      continue;
    }
    if (!text.empty() && text.back() != ':')
      text += ':';
    text += fmt::format("{:x}", groups[i]);
  }
  return text;
}

}  // namespace

std::optional<Address> parse_address(const std::string& text) {
  Address address;
  std::string_view body = text;
  std::optional<std::int64_t> prefix;
  const std::size_t slash = body.find('/');
  if (slash != std::string_view::npos) {
    const std::string_view digits = body.substr(slash + 1);
    if (digits.empty() || digits.size() > 3 ||
        digits.find_first_not_of("0123456789") != digits.npos) {
      return std::nullopt;
    }
    prefix = parse_integer(digits);
    body = body.substr(0, slash);
  }
  const std::size_t zone = body.find('%');
  if (zone != std::string_view::npos) {
    if (zone + 1 == body.size())
      return std::nullopt;
    address.scope = std::string(body.substr(zone + 1));
    body = body.substr(0, zone);
  }
  address.ipv6 = body.find(':') != std::string_view::npos;
  if (address.scope && !address.ipv6)
    return std::nullopt;
  const auto bytes = address.ipv6 ? parse_ipv6(body) : parse_ipv4(body);
  if (!bytes)
    return std::nullopt;
  address.bytes = *bytes;
  const int most = address.ipv6 ? 128 : 32;
  address.prefix_length = static_cast<int>(prefix.value_or(most));
  if (address.prefix_length > most)
    return std::nullopt;
  if (address.ipv6) {
    address.link_local = (*bytes)[0] == 0xfe && ((*bytes)[1] & 0xc0U) == 0x80;
    address.loopback =
        std::all_of(bytes->begin(), bytes->end() - 1, [](auto b) { return b == 0; }) &&
        bytes->back() == 1;
    address.text = print_ipv6(*bytes);
  } else {
    address.link_local = (*bytes)[0] == 169 && (*bytes)[1] == 254;
    address.loopback = (*bytes)[0] == 127;
    address.text = fmt::format("{}.{}.{}.{}", (*bytes)[0], (*bytes)[1], (*bytes)[2], (*bytes)[3]);
  }
  return address;
}

bool same_subnet(const Address& local, const Address& remote) {
  if (local.ipv6 != remote.ipv6)
    return false;
  int left = local.prefix_length;
  for (std::size_t i = 0; i < local.bytes.size() && left > 0; ++i, left -= 8) {
    const unsigned mask = left >= 8 ? 0xffU : (0xff00U >> static_cast<unsigned>(left)) & 0xffU;
    if ((local.bytes[i] & mask) != (remote.bytes[i] & mask))
      return false;
  }
  return true;
}

std::string to_string(const Address& address) {
  return address.scope ? address.text + "%" + *address.scope : address.text;
}

std::string to_string(PortState state) {
  switch (state) {
    case PortState::kDown:
      return "Down";
    case PortState::kInit:
      return "Initializing";
    case PortState::kArmed:
      return "Armed";
    case PortState::kActive:
      break;
  }
  return "Active";
}

std::string to_string(LinkLayer layer) {
  if (layer == LinkLayer::kOther)
    return "other";
  return layer == LinkLayer::kInfiniBand ? "IB" : "RoCE";
}

}  // namespace busbw::nccl
