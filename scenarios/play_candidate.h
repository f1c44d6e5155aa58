// One candidate of one size, every message of it, on an engine of its own: links, thread blocks,
// schedule, player.
#pragma once
#include <cstdint>

#include "scenarios/cut.h"
#include "scenarios/plan.h"
#include "scenarios/result.h"
#include "scenarios/simulate.h"
#include "sim/core/fingerprint.h"
#include "sim/engine/engine.h"
#include "topologies/build.h"

namespace busbw::scenarios {

/// What the candidates of a variant share. Refers to what it is made from.
struct Stage {
  Stage(const Variant& of, const Plan& planned, const Context& within, engine::Kind kind);

  const Variant& variant;
  const Plan& plan;
  const Context& context;
  engine::Kind engine;
  topologies::BuiltCluster built;
  std::int32_t sm = 0;  // smallest compute capability, as NCCL takes it
};

/// Throws InputError for a connection that cannot be made, and for measured parameters with an
/// algorithm that needs a switch.
Run play_candidate(const Stage& stage, Candidate candidate, const Cut& cut,
                   Fingerprint& fingerprint);

}  // namespace busbw::scenarios
