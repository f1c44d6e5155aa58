// A connection as the executors in simulated time see it: which links a message crosses, who moves
// it over each of them, and what it costs besides.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/units.h"
#include "sim/engine/engine.h"

namespace busbw::transport {

/// How the messages of a connection use several ways.
enum class Spread : std::uint8_t {
  kCut,     // each message over all of them, in equal parts
  kInTurn,  // message by message, one way after the other
  kDrawn,   // each message takes one at random, see draw_way()
};

/// How the messages of one connection (source rank, destination rank, channel) travel. A message
/// has up to three legs, one after the other:
///   fill   the sender's thread block writes it: into the receiver's memory (NVLink, PCIe), or into
///          the buffer of a proxy thread or of shared memory
///   path   something carries it while the thread block goes on: queue pair, TCP stream, switch
///   drain  the receiver's thread block reads it from where it lies to its own memory
/// An empty leg costs no link, only the time of the thread block. Messages of a connection go one
/// after the other; different connections share their links max-min fairly.
struct Connection {
  std::string transport;  // "nvlink", "pcie-p2p", "shm", "ib", "roce", "socket", "nvls", "sharp"
  std::string name;       // "rank 0 -> rank 4 by socket over eth0"
  std::vector<engine::LinkId> fill;  // engine links in order; protocol overhead is in their
  std::vector<engine::LinkId> path;  // capacity
  std::vector<engine::LinkId> drain;
  Duration read_round_trip;  // over drain, of all threads of the receiver's block once; 0: writes
                             // bring the data to the receiver's own memory
  bool carried = false;  // has a path of its own: the sender's thread block does not wait for it
  Duration latency;      // from the last byte of fill (or from posting, when carried) to what the
                         // receiver can notice, when idle
  Duration per_message;  // least gap between two messages on the path
  std::optional<Bandwidth> rate_cap;  // upper limit of the path alone
  Ratio share{1, 1};  // payload / bytes moved, beyond what the links' capacities account for
  std::vector<std::vector<engine::LinkId>> ways;  // in place of path where messages have several
  Spread spread = Spread::kCut;
  std::uint64_t draw = 0;  // seed of kDrawn
  std::optional<Bytes>
      passes;  // the largest message, flags included, that gets through; nothing: all
};

}  // namespace busbw::transport
