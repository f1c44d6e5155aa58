// Plays a schedule on real numbers in memory, without time: the proof that a schedule is right.
#pragma once
#include <cstdint>
#include <vector>

#include "models/collectives/schedule.h"

namespace busbw::collectives {

struct Execution {
  std::vector<std::vector<std::int64_t>> output;  // [rank][element]
  std::vector<std::vector<Bytes>> sent;           // [source rank][destination rank] payload bytes
  std::int64_t steps = 0;
};

/// Runs `schedule` with elements of `element` bytes on integer inputs[rank][element]. `slots`: how many sends of
/// a connection may be ahead of their receives. Sums are exact (int64). Throws CheckFailure naming rank, lane and step on a deadlock, an unmatched or
/// mis-sized pair, a read of bytes never written, or a step outside its buffer.
Execution execute(const Schedule& schedule, Bytes element,
                  const std::vector<std::vector<std::int64_t>>& inputs, std::int32_t slots = 8);

}  // namespace busbw::collectives
