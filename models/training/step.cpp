// Time of a training step and its inverses. See step.h for the model.
#include "models/training/step.h"

#include <algorithm>

#include "sim/core/check.h"

namespace busbw::training {
namespace {

constexpr std::int64_t kPicosecondsPerSecond = 1'000'000'000'000;
constexpr std::int64_t kOverlapParts = 1'000'000;

void check(const Workload& workload) {
  CHECK(workload.ranks > 0 && workload.batch > 0 && workload.accumulation > 0,
        "ranks {} batch {} accumulation {}", workload.ranks, workload.batch, workload.accumulation);
  const Ratio alone = workload.samples_per_second_alone;
  CHECK(alone.numerator > 0 && alone.denominator > 0, "samples per second {}/{}", alone.numerator,
        alone.denominator);
  const Ratio overlap = workload.overlap;
  CHECK(
      overlap.denominator > 0 && overlap.numerator >= 0 && overlap.numerator <= overlap.denominator,
      "overlap {}/{}", overlap.numerator, overlap.denominator);
}

/// Time of `samples` at `rate` samples per second.
Duration time_of_samples(std::int64_t samples, Ratio rate) {
  CHECK(rate.numerator > 0 && rate.denominator > 0, "samples per second {}/{}", rate.numerator,
        rate.denominator);
  return Duration::picoseconds(
      scale(samples * rate.denominator, {kPicosecondsPerSecond, rate.numerator}));
}

std::int64_t syncs(const Workload& workload) {
  return workload.sync == Sync::kEveryMicroStep ? workload.accumulation : 1;
}

/// What one micro-step hides at most.
Duration hidden(const Workload& workload) {
  return Duration::picoseconds(scale(micro_step_compute(workload).ps(), workload.overlap));
}

/// Whether a / b of `reached` is at least `wanted`, exactly.
bool at_least(Ratio reached, Ratio wanted) {
  return static_cast<Int128>(reached.numerator) * wanted.denominator >=
         static_cast<Int128>(wanted.numerator) * reached.denominator;
}

}  // namespace

std::string to_string(Sync sync) {
  return sync == Sync::kEveryMicroStep ? "every micro-step" : "last micro-step only (no_sync)";
}

Duration micro_step_compute(const Workload& workload) {
  check(workload);
  return time_of_samples(workload.batch, workload.samples_per_second_alone);
}

Step training_step(const Workload& workload, Duration communication) {
  CHECK(communication >= Duration(), "communication {} ps", communication.ps());
  const Duration sync = workload.ranks == 1 ? Duration() : communication;
  Step step;
  step.samples = workload.ranks * workload.batch * workload.accumulation;
  step.compute = micro_step_compute(workload) * workload.accumulation;
  step.communication = sync * syncs(workload);
  step.exposed_communication = std::max(Duration(), sync - hidden(workload)) * syncs(workload);
  step.step = step.compute + step.exposed_communication;
  return step;
}

std::optional<Duration> solve_communication(const Workload& workload, Ratio samples_per_second) {
  check(workload);
  const std::int64_t samples = workload.ranks * workload.batch * workload.accumulation;
  const Duration exposed = time_of_samples(samples, samples_per_second) -
                           micro_step_compute(workload) * workload.accumulation;
  if (exposed <= Duration() || workload.ranks == 1) {
    return std::nullopt;
  }
  return hidden(workload) + exposed / syncs(workload);
}

Bytes bytes_in(Duration communication, Bandwidth algbw) {
  CHECK(communication >= Duration() && algbw > Bandwidth());
  const Int128 denominator = static_cast<Int128>(8) * kPicosecondsPerSecond;
  const Int128 bits = static_cast<Int128>(communication.ps()) * algbw.bps();
  return Bytes(static_cast<std::int64_t>((bits + denominator / 2) / denominator));
}

Bytes most_bytes_within(Duration communication, const TimeOfBytes& time_of, Bytes limit) {
  CHECK(limit >= Bytes());
  std::int64_t fits = -1;  // no size known to fit yet
  std::int64_t low = 0;
  std::int64_t high = limit.count();
  while (low <= high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (time_of(Bytes(middle)) <= communication) {
      fits = middle;
      low = middle + 1;
    } else {
      high = middle - 1;
    }
  }
  return Bytes(std::max<std::int64_t>(fits, 0));
}

std::optional<Step> predict(const Workload& workload, const Upgrade& upgrade) {
  CHECK(upgrade.speedup.numerator > 0 && upgrade.speedup.denominator > 0, "speedup {}/{}",
        upgrade.speedup.numerator, upgrade.speedup.denominator);
  const std::optional<Duration> before =
      solve_communication(workload, upgrade.samples_per_second_before);
  if (!before) {
    return std::nullopt;
  }
  const Ratio faster{upgrade.speedup.denominator, upgrade.speedup.numerator};
  return training_step(workload, Duration::picoseconds(scale(before->ps(), faster)));
}

std::optional<Ratio> smallest_overlap(const Workload& workload, const Upgrade& upgrade,
                                      Ratio efficiency) {
  const auto reaches = [&](std::int64_t parts) {
    Workload tried = workload;
    tried.overlap = {parts, kOverlapParts};
    const std::optional<Step> step = predict(tried, upgrade);
    return step && at_least(step->scaling_efficiency(), efficiency);
  };
  // More overlap hides more but also means that more was hidden before; with a speedup above 1 the
  // first grows faster, so what is reached stays reached. Otherwise the overlap makes no
  // difference.
  if (reaches(0)) {
    return Ratio{0, kOverlapParts};
  }
  if (!reaches(kOverlapParts)) {
    return std::nullopt;
  }
  std::int64_t low = 0;  // does not reach
  std::int64_t high = kOverlapParts;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (reaches(middle) ? high : low) = middle;
  }
  return Ratio{high, kOverlapParts};
}

}  // namespace busbw::training
