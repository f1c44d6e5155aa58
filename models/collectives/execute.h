// Plays a schedule on real numbers in memory, without time: the proof that a schedule is right.
//
// Messages are delivered at once and lanes take turns, in a fixed order or one drawn from a seed:
// a schedule that lacks a wait fails for some order. Elements are int64 whatever Schedule::element
// says, so sums are exact. A switch is a node like a rank.
#pragma once
#include <cstdint>
#include <vector>

#include "models/collectives/reduction.h"
#include "models/collectives/schedule.h"

namespace busbw::collectives {

using Numbers = std::vector<std::int64_t>;

struct ExecuteOptions {
  std::int32_t slots = 8;  // messages of a connection that may be ahead of their receives, > 0
  bool in_place = false;   // input and output are one buffer
  Reduction reduction = Reduction::kSum;
  std::uint64_t order_seed =
      0;  // 0: lanes in turn, each as far as it gets; else a random lane, one step
};

struct Execution {
  std::vector<Numbers> output;           // [rank][element] of the extent of its output
  std::vector<std::vector<Bytes>> sent;  // [source][destination], ranks then switches: payload
  std::int64_t steps = 0;
};

/// Runs `schedule` (validated first) on inputs[rank][element], each the extent of its input. Throws
/// CheckFailure naming rank, lane and step on a deadlock, a read of bytes never written, a send
/// whose source changed before its receive, or a receive into a scratch slot that is still to be
/// reduced or sent on; also when slots pass max_slots, or in place is asked for where the
/// collective does not allow it.
Execution execute(const Schedule& schedule, const std::vector<Numbers>& inputs,
                  const ExecuteOptions& options = {});

}  // namespace busbw::collectives
