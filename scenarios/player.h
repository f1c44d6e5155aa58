// Plays a schedule in simulated time: the executor that stands beside collectives::execute
// (numbers) and real (queue pairs).
//
// Model. Every lane is a thread block: its steps run in order. A send is asynchronous: it takes a
// slot of its connection and goes on; with all slots taken it waits until the receiver has consumed
// one. The messages of a connection move one after the other (a queue pair or a TCP stream is a
// FIFO); message k starts at max(posted + latency + staging copies, end of message k-1 +
// per-message cost) and is there when its last byte is. A receive completes when its message is
// there and frees the slot. Reduce and copy take no time of their own: NCCL fuses them with the
// receive and the send of the same slice (primitives recvReduceSend, recvCopySend), at memory speed
// while the next slice is under way; the limit of a thread block is a rate cap of its NVLink and
// PCIe connections (models/transport).
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "models/collectives/schedule.h"
#include "models/transport/connection.h"
#include "sim/core/fingerprint.h"
#include "sim/engine/engine.h"

namespace busbw::scenarios {

struct PlayOptions {
  std::int32_t slots = 8;  // messages of a connection that may be ahead of its receiver
  Duration launch;         // from the call to the first step
  Ratio payload_share;     // payload / bytes moved of each message: 1/2 for LL, 15/16 for LL128
  std::function<transport::Connection(RankId from, RankId to, ChannelId channel)> connect;
};

struct Playback {
  Duration time;  // from the call to the last step of the last lane
  std::int64_t messages = 0;
  std::optional<std::string>
      failure;  // a link was down: which connection; time is then meaningless
};

/// Plays `schedule` on `engine` from its present time. Adds (time, kind, id) of every message to
/// `fingerprint`. CHECKs that every lane ends (a schedule that deadlocks is our bug), unless a link
/// failed.
Playback play(engine::Engine& engine, const collectives::Schedule& schedule,
              const PlayOptions& options, Fingerprint& fingerprint);

}  // namespace busbw::scenarios
