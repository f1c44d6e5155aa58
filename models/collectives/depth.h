// The longest chain of messages of a schedule: what its latency grows with.
//
// A message that takes time `a` each makes small data take at least depth x a. Counts messages
// only: reductions and copies cost nothing, bandwidth and slots do not limit.
#pragma once
#include <cstdint>

#include "models/collectives/schedule.h"

namespace busbw::collectives {

/// Most messages of which each had to wait for the one before. For one loop: ring 2(n-1), tree
/// twice its height, hierarchical at least 2(L-1) + 2(H-1). Throws CheckFailure naming the step
/// when the schedule deadlocks or validate() rejects it.
std::int64_t message_depth(const Schedule& schedule);

}  // namespace busbw::collectives
