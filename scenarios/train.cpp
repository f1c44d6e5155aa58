// Solving for bytes per synchronisation, and the step of each variant under each assumption.
#include "scenarios/train.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "models/training/step.h"
#include "sim/core/errors.h"

namespace busbw::scenarios {
namespace {

/// How the step is composed under one assumption.
struct Assumption {
  std::string name;
  bool sync_every_micro_step = true;
  Ratio overlap;
};

std::int64_t ranks_of(const Variant& variant) {
  std::int64_t ranks = 0;
  for (const topologies::Machine& machine : variant.cluster.hosts) {
    ranks += static_cast<std::int64_t>(machine.gpus.size());
  }
  return ranks;
}

/// Samples per second as the file gives them, to a millionth.
Ratio exact(double samples_per_second) {
  constexpr std::int64_t kParts = 1'000'000;
  return {std::llround(samples_per_second * static_cast<double>(kParts)), kParts};
}

training::Workload workload_of(const Variant& variant, const Assumption& assumption) {
  const Training& training = *variant.training;
  training::Workload workload;
  workload.ranks = ranks_of(variant);
  workload.batch = training.batch_per_gpu;
  workload.accumulation = training.accumulation;
  workload.samples_per_second_alone = exact(training.samples_per_second_per_gpu);
  workload.sync = assumption.sync_every_micro_step ? training::Sync::kEveryMicroStep
                                                   : training::Sync::kLastMicroStep;
  workload.overlap = assumption.overlap;
  return workload;
}

TrainingResult step_of(const Variant& variant, const Assumption& assumption,
                       Duration communication) {
  const training::Step step =
      training::training_step(workload_of(variant, assumption), communication);
  TrainingResult result;
  result.name = assumption.name;
  result.communication = communication;
  result.compute = step.compute;
  result.exposed_communication = step.exposed_communication;
  result.step = step.step;
  result.samples_per_second = step.samples_per_second();
  result.scaling_efficiency = step.compute.as_seconds() / step.step.as_seconds();
  return result;
}

class Trainer {
 public:
  Trainer(const Scenario& scenario, Result& result) : scenario_(scenario), result_(result) {}

  void run() {
    const Variant* first = first_with_training();
    if (first == nullptr) {
      return;
    }
    const Training& training = *first->training;
    result_.training_assumptions = training.assumptions;
    std::vector<Assumption> assumptions = {{"", training.sync_every_micro_step, training.overlap}};
    for (const Training::Alternative& other : training.alternatives) {
      assumptions.push_back({other.name, other.sync_every_micro_step, other.overlap});
    }
    for (const Assumption& assumption : assumptions) {
      predict(training, assumption);
    }
    if (!training.bytes_per_sync) {
      remark_overlap(training, assumptions.front());
      remark_measured_rate(training);
    }
  }

 private:
  [[nodiscard]] const Variant* first_with_training() const {
    for (const Variant& variant : scenario_.variants) {
      if (variant.training) {
        return &variant;
      }
    }
    return nullptr;
  }

  void predict(const Training& training, const Assumption& assumption) {
    Bytes bytes;
    if (training.bytes_per_sync) {
      bytes = *training.bytes_per_sync;
    } else {
      const std::optional<Bytes> solved = solve(training, assumption);
      if (!solved) {
        return;  // the variant with the observation does not run
      }
      bytes = *solved;
    }
    if (assumption.name.empty()) {
      result_.solved_bytes_per_sync = bytes;
    }
    for (std::size_t i = 0; i < scenario_.variants.size(); ++i) {
      const Variant& variant = scenario_.variants[i];
      VariantResult& out = result_.variants[i];
      if (!variant.training || out.results.empty()) {
        continue;
      }
      TrainingResult step = step_of(variant, assumption, time_of(i, bytes));
      if (assumption.name.empty()) {
        out.training = std::move(step);
      } else {
        out.alternatives.push_back(std::move(step));
      }
    }
  }

  /// How much overlap the measured samples/s of the other variants need.
  void remark_overlap(const Training& training, const Assumption& assumption) {
    const std::size_t before = index_of(training.solve_variant);
    if (!result_.variants[before].training) {
      return;
    }
    for (std::size_t i = 0; i < scenario_.variants.size(); ++i) {
      const Variant& variant = scenario_.variants[i];
      const VariantResult& out = result_.variants[i];
      if (i == before || !out.training || !variant.measured ||
          !variant.measured->samples_per_second) {
        continue;
      }
      const double alone =
          training.samples_per_second_per_gpu * static_cast<double>(ranks_of(variant));
      const double efficiency = *variant.measured->samples_per_second / alone;
      training::Upgrade upgrade;
      upgrade.samples_per_second_before = exact(training.solve_samples_per_second);
      upgrade.speedup = {result_.variants[before].training->communication.ps(),
                         out.training->communication.ps()};
      const std::optional<Ratio> overlap =
          training::smallest_overlap(workload_of(variant, assumption), upgrade, exact(efficiency));
      result_.training_remarks.push_back(
          overlap
              ? fmt::format("the measured {:g} samples/s of '{}' ({:.1f} % of linear) need an "
                            "overlap of at least {:.2f}",
                            *variant.measured->samples_per_second, variant.name, efficiency * 100,
                            static_cast<double>(overlap->numerator) /
                                static_cast<double>(overlap->denominator))
              : fmt::format("no overlap explains the measured {:g} samples/s of '{}'",
                            *variant.measured->samples_per_second, variant.name));
    }
  }

  /// The bytes that the solved time would move at the rate that was measured, not predicted.
  void remark_measured_rate(const Training& training) {
    const VariantResult& observed = result_.variants[index_of(training.solve_variant)];
    if (!observed.training || !observed.measured || observed.measured->points.empty()) {
      return;
    }
    const MeasuredPoint& point = observed.measured->points.back();
    const double seconds = observed.training->communication.as_seconds();
    const double bytes_per_second =
        static_cast<double>(point.bytes.count()) / point.time.as_seconds();
    result_.training_remarks.push_back(fmt::format(
        "at the measured algbw of {:.3f} GB/s the same {:.1f} ms a synchronisation are {:.3f} GB",
        bytes_per_second / 1e9, seconds * 1e3, bytes_per_second * seconds / 1e9));
  }

  [[nodiscard]] std::size_t index_of(const std::string& name) const {
    std::size_t index = 0;
    while (scenario_.variants[index].name != name) {
      ++index;  // the loader has checked the name
    }
    return index;
  }

  [[nodiscard]] std::optional<Bytes> solve(const Training& training,
                                           const Assumption& assumption) const {
    const std::size_t index = index_of(training.solve_variant);
    const VariantResult& observed = result_.variants[index];
    if (observed.results.empty()) {
      return std::nullopt;
    }
    const Variant& variant = scenario_.variants[index];
    const std::optional<Duration> solved = training::solve_communication(
        workload_of(variant, assumption), exact(training.solve_samples_per_second));
    if (!solved) {
      throw InputError(fmt::format(
          "{} samples/s in variant '{}' are not below what {} GPUs reach without communication, so "
          "bytes_per_sync cannot be solved",
          training.solve_samples_per_second, variant.name, ranks_of(variant)));
    }
    // Bisection over bytes on the same times that the prediction uses.
    constexpr Bytes kMost = Bytes(std::int64_t{1} << 46);
    return training::most_bytes_within(
        *solved, [&](Bytes bytes) { return time_of(index, bytes); }, kMost);
  }

  /// Time of one synchronisation: linear between simulated sizes, beyond the largest in proportion
  /// to it.
  [[nodiscard]] Duration time_of(std::size_t index, Bytes bytes) const {
    const std::vector<SizeResult>& sizes = result_.variants[index].results;
    const auto above = std::find_if(sizes.begin(), sizes.end(),
                                    [&](const SizeResult& size) { return size.bytes >= bytes; });
    if (above == sizes.end()) {
      const SizeResult& largest = sizes.back();
      return Duration::picoseconds(
          scale(bytes.count(), {largest.chosen.time.ps(), largest.bytes.count()}));
    }
    // Below the smallest size its own time stands: latency.
    const bool first = above == sizes.begin();
    const Bytes low = first ? above->bytes : (above - 1)->bytes;
    const Duration low_time = first ? above->chosen.time : (above - 1)->chosen.time;
    if (bytes <= low) {
      return low_time;
    }
    return low_time +
           Duration::picoseconds(scale((bytes - low).count(), {(above->chosen.time - low_time).ps(),
                                                               (above->bytes - low).count()}));
  }

  const Scenario& scenario_;
  Result& result_;
};

}  // namespace

void train(const Scenario& scenario, Result& result) {
  Trainer(scenario, result).run();
}

}  // namespace busbw::scenarios
