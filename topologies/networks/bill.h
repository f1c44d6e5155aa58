// The bill of material of a fabric: what has to be bought, with price and power where the file
// gives them.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topologies/networks/build_fabric.h"

namespace busbw::networks {

struct BillLine {
  std::string kind;   // "switch", "cable", "NIC port"
  std::string model;  // catalogue name; empty: not given
  std::int32_t tier = 0;
  std::int64_t length_mm = 0;  // of one cable
  Bandwidth rate;              // of a cable or port
  std::int64_t count = 0;
  std::optional<double> price;  // of all of them together
  std::optional<double> power_W;
};

struct Bill {
  std::vector<BillLine> lines;  // switches by tier, then cables by tier and length, then NIC ports
  std::int64_t switches = 0;
  std::int64_t cables = 0;  // missing ones are not counted
  std::int64_t nic_ports = 0;
  std::int64_t switch_ports = 0;  // with a cable
  std::int64_t free_ports = 0;    // of switches
  std::int64_t cable_mm = 0;      // all cables together
  std::string currency;
  std::optional<double> price;  // of the lines that have one
  std::optional<double> power_W;
};

/// Cables that are degraded count with their full rate's line only if they run at it.
Bill bill_of(const BuiltFabric& built, const std::string& currency, const Inputs& prices,
             const Inputs& power);

}  // namespace busbw::networks
