// Parameters of transports as plain values. Numbers come from topologies/catalog files; nothing
// here has a default that is a hardware number.
#pragma once
#include <string>

#include "sim/core/units.h"

namespace busbw::params {

/// A number with its origin, kept together so that reports can cite it.
template <class T>
struct Sourced {
  T value{};
  std::string source;
};

/// How a transport moves bytes between two ranks.
struct Transport {
  std::string name;             // "nvlink", "pcie-p2p", "shm", "ib", "roce", "socket"
  Ratio efficiency;             // payload / wire on the transport's own link
  Duration latency;             // one message, both ends, without the wire's own latency
  Duration per_message;         // cost of each message at the sender (doorbell, system call)
  Bandwidth per_flow_limit;     // one socket or QP; 0 = none
  Bandwidth per_proxy_limit;    // one proxy thread, sum of its sends and receives; 0 = none
  std::string source;
};

}  // namespace busbw::params
