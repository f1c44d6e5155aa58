// See ibstat_text.h. Form as printed by rdma-core, infiniband-diags/ibstat.c.
#include "models/facts/ibstat_text.h"

#include <charconv>

#include <fmt/format.h>

#include "sim/core/text.h"

namespace busbw::facts {
namespace {

/// "CA 'mlx5_0'" -> mlx5_0.
std::optional<std::string> adapter_name(std::string_view line) {
  if (line.substr(0, 3) != "CA " || line.size() < 5) {
    return std::nullopt;
  }
  std::string_view name = trim(line.substr(3));
  if (name.front() != '\'') {
    return std::nullopt;
  }
  name.remove_prefix(1);
  const std::size_t end = name.find('\'');
  if (end == std::string_view::npos || end == 0) {
    return std::nullopt;
  }
  return std::string(name.substr(0, end));
}

std::optional<std::uint64_t> hexadecimal(std::string_view text) {
  if (text.substr(0, 2) != "0x") {
    return std::nullopt;
  }
  text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

/// "Port 1:" -> 1.
std::optional<int> port_number(std::string_view line) {
  constexpr std::string_view kPort = "Port ";
  if (line.substr(0, kPort.size()) != kPort || line.back() != ':') {
    return std::nullopt;
  }
  const std::optional<std::int64_t> number =
      parse_integer(line.substr(kPort.size(), line.size() - kPort.size() - 1));
  if (!number || *number < 1 || *number > 255) {
    return std::nullopt;
  }
  return static_cast<int>(*number);
}

void set_adapter_field(IbstatAdapter& adapter, std::string_view key, std::string_view value) {
  if (key == "CA type") {
    adapter.type = std::string(value);
  } else if (key == "Node GUID") {
    adapter.node_guid = hexadecimal(value);
  } else if (key == "System image GUID") {
    adapter.system_image_guid = hexadecimal(value);
  }
}

void set_port_field(IbstatPort& port, std::string_view key, std::string_view value) {
  if (key == "State") {
    port.state = std::string(value);
  } else if (key == "Physical state") {
    port.physical_state = std::string(value);
  } else if (key == "Rate") {
    port.rate = parse_number(value);
  } else if (key == "Base lid") {
    port.base_lid = parse_integer(value);
  } else if (key == "SM lid") {
    port.sm_lid = parse_integer(value);
  } else if (key == "Link layer") {
    port.link_layer = std::string(value);
  }
}

}  // namespace

std::vector<IbstatAdapter> parse_ibstat(std::string_view text, const std::string& file) {
  std::vector<IbstatAdapter> adapters;
  bool in_port = false;
  int line_number = 0;
  for (const std::string_view raw : split_lines(text)) {
    line_number++;
    const std::string_view line = trim(raw);
    if (line.empty()) {
      continue;
    }
    if (const std::optional<std::string> name = adapter_name(line)) {
      adapters.emplace_back();
      adapters.back().name = *name;
      adapters.back().where = {file, line_number, 1};
      in_port = false;
      continue;
    }
    if (adapters.empty()) {
      continue;
    }
    if (const std::optional<int> number = port_number(line)) {
      adapters.back().ports.emplace_back();
      adapters.back().ports.back().number = *number;
      adapters.back().ports.back().where = {file, line_number, 1};
      in_port = true;
      continue;
    }
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) {
      continue;
    }
    const std::string_view key = trim(line.substr(0, colon));
    // Values of interest are one word; what follows ("Gb/s", a remark) is not part of them.
    const std::vector<std::string_view> words = split_blanks(line.substr(colon + 1));
    const std::string_view value = words.empty() ? std::string_view() : words.front();
    if (in_port) {
      set_port_field(adapters.back().ports.back(), key, value);
    } else {
      set_adapter_field(adapters.back(), key, value);
    }
  }
  return adapters;
}

std::vector<std::string> contradictions(const IbstatAdapter& adapter, const IbstatPort& port) {
  std::vector<std::string> found;
  const std::string state = lower(port.state);
  const std::string physical = lower(port.physical_state);
  if (state == "active" && !physical.empty() && physical != "linkup") {
    found.push_back(fmt::format(
        "{} port {}: state {} with physical state {}: an active port is always LinkUp, so the two "
        "were not read at one time or were edited",
        adapter.name, port.number, port.state, port.physical_state));
  }
  if (state == "active" && port.link_layer == "InfiniBand" && port.sm_lid && *port.sm_lid == 0) {
    found.push_back(fmt::format("{} port {}: state {} without a subnet manager (SM lid 0)",
                                adapter.name, port.number, port.state));
  }
  return found;
}

}  // namespace busbw::facts
