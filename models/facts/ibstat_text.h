// Reads the output of `ibstat` (infiniband-diags): channel adapters and their ports.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/errors.h"

namespace busbw::facts {

struct IbstatPort {
  int number = 0;
  std::string state;           // "Active", "Down", "Initializing", "Armed"
  std::string physical_state;  // "LinkUp", "Polling", "Disabled"
  std::optional<double> rate;  // Gb/s as printed: 100, 56, 2.5; nothing: not said or no number
  std::optional<std::int64_t> base_lid;
  std::optional<std::int64_t> sm_lid;
  std::string link_layer;  // "InfiniBand", "Ethernet", "IB"; empty: not said
  Location where;
};

struct IbstatAdapter {
  std::string name;  // mlx5_0
  std::string type;  // MT4123
  std::optional<std::uint64_t> node_guid;
  std::optional<std::uint64_t> system_image_guid;
  std::vector<IbstatPort> ports;
  Location where;
};

/// Adapters in the order of the text. Indentation may be lost, and text after a value is ignored
/// ("Rate: 200 Gb/s <- comment"). Empty when the text shows none.
std::vector<IbstatAdapter> parse_ibstat(std::string_view text, const std::string& file);

/// Contradictions of one port that a person should see, e.g. state Active with physical state
/// Polling. One sentence each, lower case, naming adapter and port.
std::vector<std::string> contradictions(const IbstatAdapter& adapter, const IbstatPort& port);

}  // namespace busbw::facts
