// Answers a scenario: NCCL's decision per variant, then the collective and the training step in
// simulated time.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/params/params.h"
#include "scenarios/plan.h"
#include "scenarios/result.h"
#include "scenarios/spec/scenario.h"
#include "sim/core/fingerprint.h"
#include "sim/engine/engine.h"
#include "topologies/catalog.h"

namespace busbw::scenarios {

/// How a collective is played: every message (kPlayed), or from what smaller jobs take, wherever
/// that can be done (kSteady; see candidate_runs.h). kAuto: that for more than 64 ranks and more
/// than 2 GiB.
enum class Level { kPlayed, kSteady, kAuto };

struct EngineChoice {
  engine::Kind kind = engine::Kind::kFluid;
  Level level = Level::kAuto;
};
/// As `--engine` has it: "auto", "steady", "fluid", "reference".
std::string to_string(EngineChoice engine);

struct SimulateOptions {
  EngineChoice engine;
  bool log = false;        // also NCCL's start-up log of every variant
  std::uint64_t seed = 1;  // nothing in today's models is random; part of the fingerprint
};

/// The data that simulate() needs beside the scenario.
struct Context {
  const topologies::Catalog& catalog;
  const params::Transports& transports;
  /// That each run reports; nothing: three where a network has a fabric file, else none.
  std::optional<std::int32_t> hottest_links = std::nullopt;
};

/// Runs all variants. Throws InputError for a scenario that cannot be simulated (a device that is
/// no NIC, NICs of different networks, an external plugin).
Result simulate(const Scenario& scenario, const Context& context, const SimulateOptions& options);

/// "4 GiB, 8 GiB: steady state, from 1 GiB and 2 GiB", a line for all sizes that were extrapolated
/// from the same smaller jobs.
std::vector<std::string> steady_remarks(const std::vector<SizeResult>& results);

/// Of a size whose call failed with events: "1 GiB fails 34.4 s after the call: rank 3: NCCL WARN
/// ...", the first line that tells of it.
std::string failure_text(const SizeResult& size);

/// Which engine gave the sizes, and why: "auto: fluid for 8 B to 2 GiB (16 ranks are at most 64,
/// sizes at most 2 GiB), steady for 4 GiB (4 GiB is more than 2 GiB)". Without sizes the engine
/// alone.
std::string engine_text(EngineChoice engine, const std::vector<SizeResult>& results);

/// Sets algbw and busbw from the size and the chosen run's time.
void set_rates(SizeResult& result, std::int32_t ranks);

/// The part of simulate() for one variant that NCCL runs: all sizes, each with NCCL's choice and,
/// for comparison, the best of the other algorithm.
std::vector<SizeResult> simulate_sizes(const Variant& variant, const Plan& plan,
                                       const Context& context, EngineChoice engine,
                                       Fingerprint& fingerprint);

/// What NCCL takes for each size, alone: without the ones beside it, which saves half of the time.
/// Elements of one byte when a size is no whole number of the workload's. Links, smaller jobs and
/// all else that does not depend on the size are made once.
class ChoiceRuns {
 public:
  /// Refers to all but `engine`.
  ChoiceRuns(const Variant& variant, const Plan& plan, const Context& context, EngineChoice engine);
  ChoiceRuns(ChoiceRuns&&) noexcept;
  ~ChoiceRuns();

  /// Throws InputError as simulate_sizes() does.
  SizeResult run(Bytes bytes);

 private:
  struct Job;
  Job& job_for(Bytes bytes);

  const Variant& variant_;
  const Plan& plan_;
  const Context& context_;
  EngineChoice engine_;
  std::unique_ptr<Job> whole_;     // for whole numbers of elements
  std::unique_ptr<Job> in_bytes_;  // for the other sizes
};

}  // namespace busbw::scenarios
