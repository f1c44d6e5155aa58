// Carries the messages of connections that have a path of their own (queue pairs, TCP streams,
// switches): one after the other on each connection. Internal to scenarios.
//
// A message may be cut over several ways (Connection::ways); it is there when all its parts are.
// Where a link of the way is down, a part stops where it is. Without Trouble that ends the play;
// else it goes on with what is left at the connection's next try, over the way that leads there by
// then, until the connection gives up. What was acknowledged is not sent twice; packets that were
// under way in the moment of the loss are left out: a round trip's worth.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "models/collectives/connections.h"
#include "models/transport/connection.h"
#include "scenarios/trouble.h"
#include "sim/engine/engine.h"

namespace busbw::scenarios {

/// A message in the queue of its connection.
struct Message {
  Bytes bytes;  // of payload
  SimTime posted;
  std::int32_t pieces = 0;  // sends that it is made of
};

class Carrier {
 public:
  /// What the player does about it.
  struct Events {
    std::function<void(std::int32_t wire)> started;
    std::function<void(std::int32_t wire, const Message& message)> arrived;
    std::function<void()> settled;  // after that, when the next message is on its way
    std::function<void(std::int32_t wire, bool at_once)> broken;  // the connection carries no more
  };

  /// Refers to all of its arguments. `trouble` may be null. `connections` and `ends` are those of
  /// the play, by number of the wire; `connect` makes one anew after an incident.
  Carrier(engine::Engine& engine, std::vector<transport::Connection>& connections,
          const std::vector<collectives::Connection>& ends,
          const std::function<transport::Connection(RankId, RankId, ChannelId)>& connect,
          const Trouble* trouble, Events events);

  /// `moved`: what the message takes on its links.
  void post(std::int32_t wire, Message message, Bytes moved);
  /// An incident has happened: connections are asked for again when next used.
  void incident(const Incident& incident);
  /// Nothing is carried any more.
  void stop() { stopped_ = true; }

 private:
  struct Queued {
    Message message;
    Bytes moved;
  };
  struct Line {
    std::vector<Queued> messages;
    std::size_t started = 0;  // of messages: handed to the engine
    std::size_t open = 0;     // parts of the last of them that are on their way
    bool broken = false;
    int incidents = 0;  // that its connection knows of
  };
  /// What one way has of a message.
  struct Part {
    std::int32_t wire = 0;
    std::size_t way = 0;
    Bytes left;
    Bytes message;          // what it is a part of
    bool fits = true;       // false: the network drops its packets
    SimTime since;          // of the last progress, while it stands still
    std::size_t tries = 0;  // since then
  };

  [[nodiscard]] Line& line(std::int32_t wire) { return lines_[static_cast<std::size_t>(wire)]; }
  transport::Connection& refreshed(std::int32_t wire);
  void start_next(std::int32_t wire);
  void start(Part part, Duration latency);
  void end(Part part, engine::FlowEnd how);
  void stand_still(Part part, Bytes moved);
  void break_off(std::int32_t wire, bool at_once);

  engine::Engine& engine_;
  std::vector<transport::Connection>& connections_;
  const std::vector<collectives::Connection>& ends_;
  const std::function<transport::Connection(RankId, RankId, ChannelId)>& connect_;
  const Trouble* trouble_;
  Events events_;
  std::vector<Line> lines_;
  int incidents_ = 0;
  bool stopped_ = false;
};

}  // namespace busbw::scenarios
