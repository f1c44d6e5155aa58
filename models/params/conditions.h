// What networks do when they are not well: parameters of lost packets, lost links and congestion as
// plain values. Every number comes from topologies/catalog/transports.yaml.
#pragma once
#include <cstdint>
#include <string>

#include "sim/core/units.h"

namespace busbw::params {

/// Of TCP: the timer of the first try doubles up to the longest.
struct Retransmission {
  Duration first;
  Duration longest;
  std::int64_t retries = 0;
};

/// What happens after a link was lost.
struct Recovery {
  Retransmission tcp;
  Duration reroute_infiniband;  // until the subnet manager's new routes are in the switches
  Duration reroute_ethernet;    // until the switches' routing protocol has taken the link out
  Duration watchdog;            // of the framework: a collective that takes longer is given up
  Duration watchdog_poll;       // how often it looks for NCCL's errors
  std::string source;
};

struct Congestion {
  Duration rdma_round_trip;       // between two ports of an idle network, with the adapters
  Duration tcp_round_trip;        // between two processes
  Bytes port_buffer;              // of a switch, one port's part
  std::int64_t least_window = 0;  // segments, below which TCP can only time out
  std::string source;
};

}  // namespace busbw::params
