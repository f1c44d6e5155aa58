// A connection as the engine sees it: which links a message crosses, and what it costs besides.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "sim/core/units.h"
#include "sim/engine/engine.h"

namespace busbw::transport {

/// How the messages of one connection (source rank, destination rank, channel) travel. Messages of
/// a connection go one after the other, as over one queue pair or one TCP stream; different
/// connections share their links max-min fairly.
struct Connection {
  std::string transport;  // "nvlink", "pcie-p2p", "shm", "ib", "roce", "socket"
  std::string name;       // "rank 0 -> rank 4 by socket over eth0"
  std::vector<engine::LinkId>
      path;          // engine links in order; protocol overhead is in their capacity
  Duration latency;  // from posting a message to its first byte moving, when idle
  std::int32_t staged_copies =
      0;                 // copies of a whole message before it can go on: GPU to host buffer and
                         // back; a message is stored and forwarded, its neighbours overlap
  Bandwidth staging;     // rate of such a copy, > 0 where there are any
  Duration per_message;  // least gap between two messages of the connection
  std::optional<Bandwidth> rate_cap;  // upper limit of the connection alone
};

}  // namespace busbw::transport
