// NIC selection: bootstrap interface, network, data devices, channels, or the error or hang, as
// NCCL decides.
//
// Pure: inventories and environment in, decision out. Every rule that fired is listed with its
// input. Source: NCCL 2.18 to 2.30, src/misc/socket.cc, src/transport/net_ib.cc, net_socket.cc,
// bootstrap.cc.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/nccl/environment.h"
#include "models/nccl/inventory.h"
#include "models/nccl/version.h"

namespace busbw::nccl {

/// One rule that fired: what it looked at and what followed.
struct Reason {
  std::string rule;    // short stable name: "bootstrap.stage3", "ib.no_active_port"
  std::string text;    // one sentence for people, naming its input
  std::string source;  // public source: file of NCCL and release range
};

enum class Outcome { kRuns, kError, kHang };
std::string to_string(Outcome outcome);  // "runs", "error", "hang"

/// A device that carries data.
struct NetDevice {
  int index = 0;                // NET/<index>
  std::string name;             // eth0, mlx5_0
  int port = 0;                 // HCA port, 0 for sockets
  std::int64_t speed_mbit = 0;  // what NCCL believes
  bool gdr = false;             // GPU memory reachable by the NIC
};

/// A channel as this rank's host sends on it.
struct ChannelDevice {
  int channel = 0;
  int net_device = 0;
};

struct LogLine {
  std::string subsystem;  // INIT, NET, ENV, GRAPH ...
  bool warning = false;
  std::string text;  // without the host:pid frame
};

/// What one host decides.
struct HostDecision {
  std::string host;
  std::optional<std::string> bootstrap_interface;
  std::optional<std::string> bootstrap_address;
  std::optional<std::string> network;  // "IB", "Socket", an external plugin's name
  std::vector<NetDevice> data_devices;
  std::vector<Reason> reasons;
  std::vector<LogLine> log;
  Outcome outcome = Outcome::kRuns;
  std::optional<std::string> error;  // NCCL's own line
};

struct Decision {
  std::vector<HostDecision> hosts;      // in rank order
  std::vector<ChannelDevice> channels;  // of host 0; empty when the job does not run
  Outcome outcome = Outcome::kRuns;
  std::optional<std::string> error;   // first error, or what it hangs on
  std::vector<Reason> reasons;        // of the job as a whole, host reasons not repeated
  std::vector<std::string> warnings;  // unknown variables, values that parse as 0 ...
};

struct SelectionInput {
  Version version = kNewest;
  Environment environment;       // of all ranks
  std::vector<Inventory> hosts;  // in rank order, at least one
};

/// Decides for a job over `hosts`. Reachability: two hosts can talk over a pair of addresses that
/// share a subnet; loopback never.
Decision select(const SelectionInput& input);

}  // namespace busbw::nccl
