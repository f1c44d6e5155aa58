// Plays a schedule in simulated time: the executor that stands beside collectives::execute
// (numbers) and real (queue pairs).
//
// Model. Every lane of a rank is a thread block (or the part of one that works in one direction).
// It does one primitive after the other, as NCCL's kernels do (recvReduceSend, recvCopySend, ...,
// src/device/prims_simple.h): steps that belong together, receives first, then reductions and
// copies, then sends, every connection at most once. A primitive starts when all its messages are
// there and all its sends have a slot; it takes the time in which its threads read and write every
// operand once, and, where they read or write over links, at least as long as those give them. Then
// it frees the slots of what it received.
//
// What it sent is at the receiver `latency` later, or, when a proxy thread, a queue pair or a
// switch carries it on, when that has happened: messages of such a connection move one after the
// other; message k starts at max(posted + latency, end of message k-1 + per-message cost).
//
// A lane without a stream rate (switches, hand-made tests) has no such cost: each step stands for
// itself, sends are posted at once.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/collectives/schedule.h"
#include "models/transport/connection.h"
#include "scenarios/trouble.h"
#include "sim/core/fingerprint.h"
#include "sim/engine/engine.h"

namespace busbw::scenarios {

/// What the threads of a lane can do.
struct LaneSpeed {
  Bandwidth stream;  // bytes of payload that they read or write a second, all operands together
  Duration per_primitive{};  // synchronisation within the block
  Bytes first_round{};       // of each operand: what all threads move at once, within the latency
  Bytes read_round{};        // what all threads ask for before they wait for the answers
  Ratio stores_wait{0, 1};   // share of the stores in the rank's own output that do not run beside
                             // those to a peer
};

struct PlayOptions {
  std::int32_t slots = 8;  // messages of a connection that may be ahead of its receiver
  Duration launch;         // from the call to the first step
  Ratio payload_share;     // payload / bytes moved of each message: 1/2 for LL, 15/16 for LL128
  // A proxy thread or queue pair moves a slot as a whole, though threads pass it on in pieces: so
  // many neighbouring sends at most make one message of a connection with a path of its own.
  std::int32_t pieces = 1;
  bool piece_per_chunk = false;  // Step::chunk numbers the pieces; else all of a slot have the same
  std::function<transport::Connection(RankId from, RankId to, ChannelId channel)> connect;
  std::function<void()> connected;  // all connections are made, time has not begun; may be empty
  std::function<std::optional<LaneSpeed>(const collectives::Lane&)> speed;  // empty: no limit
  const Trouble* trouble = nullptr;  // nothing: a link that is down ends the play
};

struct Playback {
  Duration time;  // from the call to the last step of the last lane
  // Time of one call of many back to back, as nccl-tests takes it: a rank may begin the next one as
  // soon as its own part is done. The launch, and the rank with the longest way from its first
  // primitive to its last. A chain (broadcast, reduce) overlaps its calls, a ring or tree does not.
  Duration period;
  std::int64_t messages = 0;
  std::optional<std::string>
      failure;  // a link was down: which connection; time is then meaningless
  std::vector<BrokenConnection> broken;  // in the order in which they gave up
  std::optional<Duration> ended;         // when the call was given up; nothing: it was not
  bool stuck = false;                    // not all lanes came to their end, and nobody gave up
  // Payload of all messages: asked == arrived + lost, where lost is what was under way, waited for
  // its connection or had not been sent when all came to a stop.
  Bytes asked;
  Bytes arrived;
  Bytes lost;
};

/// Plays `schedule` on `engine` from its present time. Adds (time, kind, id) of every message to
/// `fingerprint`. CHECKs that every lane ends (a schedule that deadlocks is our bug), unless a link
/// failed, and that every byte asked for has arrived or counts as lost.
Playback play(engine::Engine& engine, const collectives::Schedule& schedule,
              const PlayOptions& options, Fingerprint& fingerprint);

}  // namespace busbw::scenarios
