// A connection with measured parameters, as the measured player sees it
// (scenarios/measured_player.h).
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/transport/port_queue.h"
#include "models/transport/token_bucket.h"
#include "sim/core/units.h"
#include "sim/engine/engine.h"

namespace busbw::transport {

/// What a processor does for each message of a connection: `each` before the message leaves (or
/// after it has come in), and size / `rate` while it moves. Time of a processor is an engine link
/// that carries kWorkPerSecond bytes a second for each processor.
struct Work {
  engine::LinkId processor;
  Duration each;
  std::optional<Bandwidth> rate;  // nothing: bytes cost nothing
};
constexpr Bandwidth kWorkPerSecond = Bandwidth::gigabytes_per_second(1);  // a byte a nanosecond

/// How the messages of one connection travel: one after the other, as over one queue pair or one
/// TCP stream. Different connections share their links max-min fairly.
struct MeasuredConnection {
  std::string name;                   // "rank 0 -> rank 4 by write from rxe0 to rxe1"
  std::vector<engine::LinkId> path;   // may be empty
  Duration latency;                   // from when a message is ready to its first byte moving
  Duration gap;                       // least time from the start of a message to the next one's
  std::optional<Bandwidth> rate_cap;  // upper limit of the connection alone
  std::optional<Bandwidth> staging;   // rate at which a message is held up whole before it moves
  std::optional<Work> send_work;
  std::optional<Work> receive_work;
  std::vector<std::shared_ptr<TokenBucket>> buckets;  // of shapers on the path
  std::vector<std::shared_ptr<PortQueue>> queues;     // of the path's ports
  /// Short messages before the bytes may move, one after the other: the queues that each follows.
  std::vector<std::vector<std::shared_ptr<PortQueue>>> requests;
  Duration settle;  // from the receiver's last use of a message until the sender knows of it
};

}  // namespace busbw::transport
