// Plays a round of the soak and judges it.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "tests/real/soak/soak_round.h"

namespace busbw::real {

/// What was done, for the last line.
struct SoakCounts {
  std::int64_t collectives = 0;  // run to their end on all ranks, each element right
  std::int64_t bytes = 0;        // of them, as algbw counts
};

/// The devices of this machine that NCCL's rules admit, when rounds run on them.
struct SoakDevices {
  std::shared_ptr<verbs::Api> api;  // null: the fake
};

/// What went wrong, nothing when all went as its fate demands.
std::optional<std::string> play_round(const SoakRound& round, const SoakDevices& devices,
                                      SoakCounts& counts);

}  // namespace busbw::real
