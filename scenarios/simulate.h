// Answers a scenario: NCCL's decision per variant, then the collective and the training step in
// simulated time.
#pragma once
#include <cstdint>

#include "models/params/params.h"
#include "scenarios/plan.h"
#include "scenarios/result.h"
#include "scenarios/spec/scenario.h"
#include "sim/core/fingerprint.h"
#include "sim/engine/engine.h"
#include "topologies/catalog.h"

namespace busbw::scenarios {

struct SimulateOptions {
  engine::Kind engine = engine::Kind::kFluid;
  bool log = false;        // also NCCL's start-up log of every variant
  std::uint64_t seed = 1;  // nothing in today's models is random; part of the fingerprint
};

/// The data that simulate() needs beside the scenario.
struct Context {
  const topologies::Catalog& catalog;
  const params::Transports& transports;
};

/// Runs all variants. Throws InputError for a scenario that cannot be simulated (a device that is
/// no NIC, NICs of different networks, an external plugin).
Result simulate(const Scenario& scenario, const Context& context, const SimulateOptions& options);

/// Sets algbw and busbw from the size and the chosen run's time.
void set_rates(SizeResult& result, std::int32_t ranks);

/// The part of simulate() for one variant that NCCL runs: all sizes, each with NCCL's choice and,
/// for comparison, the best of the other algorithm.
std::vector<SizeResult> simulate_sizes(const Variant& variant, const Plan& plan,
                                       const Context& context, engine::Kind engine,
                                       Fingerprint& fingerprint);

}  // namespace busbw::scenarios
