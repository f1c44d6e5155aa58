// What goes wrong during a call, as a scenario says it ('events'). Times count from the call.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "models/nccl/inventory.h"
#include "sim/core/errors.h"
#include "sim/core/units.h"

namespace busbw::scenarios {

enum class FaultKind {
  kLinkDown,           // with a duration: a flap
  kLinkDegraded,       // fewer lanes, or a lower rate
  kPacketLoss,         // a share of a link's packets is lost
  kPauseStorm,         // a NIC that sends PAUSE frames for a share of the time
  kSwitchDown,         // all its links
  kHcaGone,            // the adapter falls off the bus
  kSlowGpu,            // its thread blocks go on at a share of their speed
  kSlowHost,           // all GPUs of a host
  kSubnetManagerDown,  // of an InfiniBand network
};
/// As in the file: "link down", "link degraded", "packet loss", "pause storm", "switch down",
/// "hca gone", "slow gpu", "slow host", "subnet manager down".
std::string to_string(FaultKind kind);

struct Fault {
  FaultKind kind = FaultKind::kLinkDown;
  Duration at;
  std::optional<Duration> duration;  // nothing: it stays
  std::optional<std::size_t> host;   // from 0
  std::optional<std::size_t> gpu;    // of the host, from 0
  std::string nic;                   // of the host: "mlx5_0", or "mlx5_0:2" for its second port
  std::string from, to;              // nodes of the fabric, for the links between them
  std::string node;                  // a switch
  std::string network;               // of the subnet manager
  std::optional<Bandwidth> rate;     // what is left of a link's rate; else
  Ratio share{1, 1};                 // left of rate or speed; lost; of the time in pause
  /// How far the subnet manager had brought its network's ports before it was gone.
  nccl::PortState ports = nccl::PortState::kActive;
  Location where;
};

}  // namespace busbw::scenarios
