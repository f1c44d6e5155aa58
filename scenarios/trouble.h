// What happens to a play from outside, and how its connections take it. Plain values; what an
// incident does (capacities of links, ways, speeds) is its maker's, see faults.h.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/transport/retry.h"
#include "sim/core/ids.h"
#include "sim/core/units.h"
#include "sim/engine/engine.h"

namespace busbw::scenarios {

struct Incident {
  Duration at;  // after the call
  /// Changes capacities, or what PlayOptions::connect and ::speed answer from now on.
  std::function<void()> happen;
  /// Connections that end at this instant, seen by their own end; empty: none.
  std::function<bool(RankId from, RankId to, ChannelId channel)> breaks;
};

struct Trouble {
  std::vector<Incident> incidents;   // those of one instant in this order
  transport::RetryRule retry;        // of connections with a path of their own
  std::optional<Duration> watchdog;  // a call that takes longer is given up; nothing: by nobody
  /// From the first connection that gives up to the end of the call; nothing: nobody looks.
  std::optional<Duration> notice;
  /// Limit of a connection over these links beyond their capacities; empty: none.
  std::function<std::optional<Bandwidth>(const std::vector<engine::LinkId>&)> cap;
};

/// A connection that has given up.
struct BrokenConnection {
  RankId from;
  RankId to;
  ChannelId channel;
  std::string name;
  Duration at;           // after the call
  bool at_once = false;  // by an incident, without tries
};

}  // namespace busbw::scenarios
