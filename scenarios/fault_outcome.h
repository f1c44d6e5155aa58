// What a play with events came to: how the call ended, when, with whose lines, and what became of
// its bytes.
#pragma once
#include <vector>

#include "scenarios/faults.h"
#include "scenarios/player.h"
#include "scenarios/result.h"

namespace busbw::scenarios {

/// `size` of the collective, in elements: for the watchdog's line.
FaultOutcome fault_outcome(const Stage& stage, const Faults& faults, const Playback& playback,
                           const transport::Wiring& wiring, std::int64_t count);

}  // namespace busbw::scenarios
