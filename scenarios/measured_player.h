// Plays a schedule on connections with measured parameters: the twin of real mode's executor
// (real/executor), as player.h is that of NCCL's kernels.
//
// Model. Every lane does its steps in order. A send is asynchronous: it takes a slot of its
// connection and goes on; with all slots taken it waits until the receiver has consumed one. The
// sender's processor works on a message before it is ready and the receiver's after it has landed
// (overheads, done in turn); both work on its bytes while they move, sharing their processors, and
// it has landed when the slowest of these is done. Messages of a connection move one after the
// other; the latency hides behind the ones before. A message starts at the earliest a gap after the
// start of the one before. Bytes that find tokens in the buckets of the path pass at once. Requests
// come before the bytes and wait for what is queued at the ports on their way. A receive completes
// when its message is there, and frees the slot at once. The play ends when every sender knows that
// its messages were used. Parameters and their source: docs/models/loggp.md. Left out: the time of
// reductions and copies; credits that come back in batches.
#pragma once
#include <cstdint>
#include <functional>

#include "models/collectives/schedule.h"
#include "models/transport/measured_connection.h"
#include "scenarios/player.h"
#include "sim/core/fingerprint.h"
#include "sim/engine/engine.h"

namespace busbw::scenarios {

struct MeasuredPlayOptions {
  std::int32_t slots = 8;  // messages of a connection that may be ahead of its receiver
  std::function<transport::MeasuredConnection(RankId from, RankId to, ChannelId channel)> connect;
};

/// Plays `schedule`, which needs no switch, on `engine` from its present time, and leaves the
/// engine at the end of it, so that the next play follows. Fingerprint, deadlock and failure as in
/// play().
Playback play_measured(engine::Engine& engine, const collectives::Schedule& schedule,
                       const MeasuredPlayOptions& options, Fingerprint& fingerprint);

}  // namespace busbw::scenarios
