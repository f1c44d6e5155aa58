// The time of one optimizer step of data-parallel training: compute, gradient synchronisation, and
// what of it shows.
//
// A step is `accumulation` micro-steps; a micro-step computes c = batch / (samples per second of a
// GPU alone). A micro-step that synchronises takes c + max(0, m - f c): m is the communication of
// one synchronisation, f the overlap, the share of the micro-step behind which communication may
// hide (1: all of it; 2/3: the backward pass alone, whose work is twice the forward's). The next
// micro-step starts when the synchronisation is done, as PyTorch DistributedDataParallel does it
// (Li et al., "PyTorch Distributed: experiences on accelerating data parallel training", VLDB
// 2020). Syncing every micro-step: step = A (c + max(0, m - f c)); only the last (no_sync): step =
// A c + max(0, m - f c). Assumes equal ranks and compute that communication does not slow down.
// Leaves out data loading, the optimizer and the bucket that is ready last, which can never hide.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "sim/core/units.h"

namespace busbw::training {

enum class Sync { kEveryMicroStep, kLastMicroStep };
/// "every micro-step", "last micro-step only (no_sync)".
std::string to_string(Sync sync);

/// A training job. Ratios of samples per second are exact: {350, 1}, {3125, 10}.
struct Workload {
  std::int64_t ranks = 1;
  std::int64_t batch = 1;                // samples per rank and micro-step
  std::int64_t accumulation = 1;         // micro-steps per optimizer step
  Ratio samples_per_second_alone{1, 1};  // of one GPU without communication, > 0
  Sync sync = Sync::kEveryMicroStep;
  Ratio overlap{1, 1};  // 0 to 1
};

/// One optimizer step.
struct Step {
  std::int64_t samples = 0;  // of all ranks
  Duration step;
  Duration compute;                // of the step, as if alone
  Duration communication;          // of the step, hidden or not
  Duration exposed_communication;  // step - compute
  /// Samples of all ranks a second; for output.
  [[nodiscard]] double samples_per_second() const {
    return static_cast<double>(samples) / step.as_seconds();
  }
  /// Samples per second over those of as many GPUs alone: compute / step.
  [[nodiscard]] Ratio scaling_efficiency() const { return {compute.ps(), step.ps()}; }
};

/// Compute time of one micro-step.
Duration micro_step_compute(const Workload& workload);

/// The step when one synchronisation takes `communication` >= 0. One rank does not communicate.
Step training_step(const Workload& workload, Duration communication);

/// The communication per synchronisation that explains `samples_per_second` of all ranks together.
/// Nothing when the job is not slower than its GPUs alone: then any communication up to the overlap
/// explains it.
std::optional<Duration> solve_communication(const Workload& workload, Ratio samples_per_second);

/// Bytes per synchronisation that take `communication` at a constant algbw, nearest byte.
Bytes bytes_in(Duration communication, Bandwidth algbw);

/// Time of one synchronisation of so many bytes; must not fall as bytes grow.
using TimeOfBytes = std::function<Duration(Bytes)>;

/// Most bytes, up to `limit`, whose synchronisation takes at most `communication`.
Bytes most_bytes_within(Duration communication, const TimeOfBytes& time_of, Bytes limit);

/// What was seen with the old network, and how much faster the new one moves the same bytes.
struct Upgrade {
  Ratio samples_per_second_before;  // of all ranks
  Ratio speedup;                    // time of a synchronisation before / after
};

/// The step after `upgrade`, with the communication solved from what was seen before. Nothing as
/// solve_communication.
std::optional<Step> predict(const Workload& workload, const Upgrade& upgrade);

/// The smallest overlap, in millionths and rounded up, with which predict() reaches `efficiency`;
/// the workload's own overlap is ignored. Nothing when even 1 does not reach it, or the observation
/// cannot be solved.
std::optional<Ratio> smallest_overlap(const Workload& workload, const Upgrade& upgrade,
                                      Ratio efficiency);

}  // namespace busbw::training
