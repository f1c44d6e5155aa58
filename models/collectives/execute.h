// Plays a schedule on real numbers in memory, without time: the proof that a schedule is right.
//
// Messages are delivered at once and lanes take turns, in a fixed order or one drawn from a seed:
// a schedule that lacks a wait fails for some order. Elements are int64 whatever Schedule::element
// says, so sums are exact.
#pragma once
#include <cstdint>
#include <vector>

#include "models/collectives/schedule.h"

namespace busbw::collectives {

using Numbers = std::vector<std::int64_t>;

struct ExecuteOptions {
  std::int32_t slots = 8;  // how many sends of a connection may be ahead of their receives, > 0
  bool in_place = false;   // input and output are one buffer
  std::uint64_t order_seed =
      0;  // 0: lanes in turn, each as far as it gets; else a random lane, one step
};

struct Execution {
  std::vector<Numbers> output;           // [rank][element]
  std::vector<std::vector<Bytes>> sent;  // [source rank][destination rank] payload bytes
  std::int64_t steps = 0;
};

/// Runs `schedule` (validated first) on inputs[rank][element]. Throws CheckFailure naming rank,
/// lane and step on a deadlock, a read of bytes never written, a send whose source changed before
/// its receive, or a receive into a scratch slot that is still to be reduced.
Execution execute(const Schedule& schedule, const std::vector<Numbers>& inputs,
                  const ExecuteOptions& options = {});

}  // namespace busbw::collectives
