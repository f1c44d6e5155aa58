// The flow of an answer: decision, plan, simulated sizes, training, fingerprint.
#include "scenarios/simulate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "scenarios/crossover.h"
#include "scenarios/faults.h"
#include "scenarios/log.h"
#include "scenarios/plan.h"
#include "scenarios/train.h"
#include "sim/core/check.h"
#include "sim/core/errors.h"
#include "sim/core/quantity.h"
#include "sim/core/text.h"

namespace busbw::scenarios {
namespace {

void describe_channels(const Plan& plan, VariantResult& result) {
  for (std::size_t channel = 0; channel < plan.shape.rings.size(); ++channel) {
    result.channel_rings.push_back(ring_text(plan.shape.rings[channel]));
  }
}

/// Says that the links between hosts are not the catalogue's.
void add_measured_reason(const Plan& plan, VariantResult& result) {
  if (!plan.measured) {
    return;
  }
  const MeasuredNetwork& measured = *plan.measured;
  std::vector<std::string> shared;
  for (const params::MeasuredMachine& machine : measured.parameters->machines) {
    const auto ranks = std::count_if(
        measured.end_of_rank.begin(), measured.end_of_rank.end(), [&](const std::string& end) {
          return params::machine_of(*measured.parameters, end) == &machine;
        });
    if (ranks > machine.processors) {
      shared.push_back(fmt::format("{} ranks share the {} processor{} of {}", ranks,
                                   machine.processors, machine.processors == 1 ? "" : "s",
                                   machine.name));
    }
  }
  result.parameters = measured.parameters->file;
  result.decision.reasons.push_back(
      {"network.measured",
       fmt::format("latency, overheads, gap and bandwidth between hosts are those that were "
                   "measured by '{}' from {}, in place of the catalogue's{}{}",
                   to_string(measured.mover), join(measured.end_of_rank, ", "),
                   shared.empty() ? "" : "; ", join(shared, "; ")),
       measured.parameters->file + ": " + measured.parameters->source});
}

void add_measured(const Variant& variant, VariantResult& result) {
  result.measured = variant.measured;
  if (!variant.measured) {
    return;
  }
  for (SizeResult& size : result.results) {
    for (const MeasuredPoint& point : variant.measured->points) {
      if (point.bytes == size.bytes) {
        size.measured = point.time;
        size.measured_noisy = point.noisy;
        size.difference_percent =
            (size.chosen.time.as_seconds() / point.time.as_seconds() - 1) * 100;
      }
    }
  }
}

void check_measured(const Variant& variant, VariantResult& result) {
  if (!variant.measured || !variant.measured->within_percent) {
    return;
  }
  const double allowed = *variant.measured->within_percent;
  for (const SizeResult& size : result.results) {
    if (!size.difference_percent || size.measured_noisy || size.bytes < variant.measured->from) {
      continue;
    }
    const double difference = *size.difference_percent;
    Check check;
    check.what = "time of " + to_string(size.bytes);
    check.met = std::abs(difference) <= allowed;
    check.text = fmt::format("{:.2f} ms predicted, {:.2f} ms measured: {:+.1f} %, allowed {:g} %",
                             size.chosen.time.as_ms(), size.measured->as_ms(), difference, allowed);
    result.checks.push_back(std::move(check));
  }
  if (variant.measured->samples_per_second && result.training) {
    const double measured = *variant.measured->samples_per_second;
    const double difference = (result.training->samples_per_second / measured - 1) * 100;
    result.checks.push_back(
        {"samples/s", std::abs(difference) <= allowed,
         fmt::format("{:.0f} predicted, {:.0f} measured: {:+.1f} %, allowed {:g} %",
                     result.training->samples_per_second, measured, difference, allowed)});
  }
}

void expect_text(VariantResult& result, const char* what, const std::optional<std::string>& wanted,
                 const std::optional<std::string>& found) {
  if (wanted) {
    const std::string value = found.value_or("none");
    result.checks.push_back(
        {what, value == *wanted, value == *wanted ? value : value + ", expected " + *wanted});
  }
}

void check_expectations(const Variant& variant, VariantResult& result) {
  const Expectation& expect = variant.expect;
  const nccl::HostDecision& host = result.decision.hosts.front();
  expect_text(result, "outcome", expect.outcome, result.outcome);
  expect_text(result, "network", expect.network, host.network);
  expect_text(result, "bootstrap interface", expect.bootstrap_interface, host.bootstrap_interface);
  if (expect.data_devices) {
    std::vector<std::string> names;
    for (const nccl::NetDevice& device : host.data_devices) {
      names.push_back(device.name);
    }
    expect_text(result, "data devices", join(*expect.data_devices, ", "), join(names, ", "));
  }
  if (expect.algorithm && !result.results.empty()) {
    expect_text(result, "algorithm", expect.algorithm,
                collectives::to_string(result.results.back().chosen.algorithm));
  }
  if (expect.error_contains) {
    const std::string error = result.error.value_or("");
    const bool met = error.find(*expect.error_contains) != std::string::npos;
    result.checks.push_back(
        {"error", met, met ? error : "'" + error + "' lacks '" + *expect.error_contains + "'"});
  }
}

/// Sizes at which NCCL takes an algorithm that is not played here.
void remark_passed_over(VariantResult& result) {
  std::map<std::string, std::vector<std::string>> sizes;
  for (const SizeResult& size : result.results) {
    if (size.passed_over) {
      sizes[*size.passed_over].push_back(to_string(size.bytes));
    }
  }
  for (const auto& [choice, list] : sizes) {
    result.remarks.push_back(
        fmt::format("NCCL takes {} for {}, which is not simulated: the best of "
                    "Ring and Tree stands there instead",
                    choice, join(list, ", ")));
  }
}

void take_failures(VariantResult& result) {
  for (const SizeResult& size : result.results) {
    if (!size.chosen.failure) {
      continue;
    }
    if (!size.chosen.faults) {  // of a play on measured parameters
      result.outcome = "error";
      result.error = *size.chosen.failure + ": a link on its way is down";
      result.results.clear();
      return;
    }
    if (result.failed.empty()) {
      result.outcome = size.chosen.faults->hangs ? "hang" : "error";
      result.error = failure_text(size);
    }
    result.failed.push_back(size);
    result.failed.back().algbw_GBps = 0;  // nothing was finished
    result.failed.back().busbw_GBps = 0;
  }
  const auto failed = [](const SizeResult& size) { return size.chosen.failure.has_value(); };
  result.results.erase(std::remove_if(result.results.begin(), result.results.end(), failed),
                       result.results.end());
}

VariantResult run_variant(const Variant& variant, const Context& context,
                          const SimulateOptions& options, Fingerprint& fingerprint) {
  VariantResult result;
  result.name = variant.name;
  result.title = variant.title;
  result.environment = variant.environment;
  result.version = variant.version;
  result.notes = variant.notes;
  result.type = variant.workload.type;
  result.remarks = variant.remarks;
  const Job job = decide(variant, context.catalog);
  result.decision = job.selection;
  result.outcome = nccl::to_string(result.decision.outcome);
  if (options.log) {
    result.nccl_log = nccl_log(variant, job);
  }
  result.error = result.decision.error;
  fingerprint.add(variant.name);
  fingerprint.add(result.outcome);
  if (result.decision.outcome == nccl::Outcome::kRuns) {
    const Plan plan = make_plan(variant, job);
    if (plan.measured && !is_calm(variant)) {
      throw InputError("variant '" + variant.name +
                       "' has both 'parameters' and 'events' (or "
                       "'mtu' or 'partitions' of a network): events are played on the "
                       "catalogue's network alone");
    }
    describe_channels(plan, result);
    add_measured_reason(plan, result);
    result.results = simulate_sizes(variant, plan, context, options.engine, fingerprint);
    remark_passed_over(result);
    for (const std::string& remark : steady_remarks(result.results)) {
      result.remarks.push_back(remark);
    }
    take_failures(result);
    result.crossover = tree_to_ring(result.results);
  }
  add_measured(variant, result);
  return result;
}

Comparison compare(const VariantResult& variant, const VariantResult* base) {
  Comparison row;
  row.variant = variant.name;
  row.outcome = variant.outcome;
  const nccl::HostDecision& host = variant.decision.hosts.front();
  row.network = host.network.value_or("");
  std::vector<std::string> used;
  for (const nccl::ChannelDevice& channel : variant.decision.channels) {
    for (const nccl::NetDevice& device : host.data_devices) {
      if (device.index == channel.net_device &&
          std::find(used.begin(), used.end(), device.name) == used.end()) {
        used.push_back(device.name);
      }
    }
  }
  row.devices = join(used, "+");
  if (!variant.results.empty()) {
    const SizeResult& size = variant.results.back();
    row.bytes = size.bytes;
    row.time = size.chosen.time;
    row.busbw_GBps = size.busbw_GBps;
    if (base != nullptr && base->results.back().bytes == size.bytes) {
      row.speedup = base->results.back().chosen.time.as_seconds() / size.chosen.time.as_seconds();
    }
  }
  if (variant.training) {
    row.samples_per_second = variant.training->samples_per_second;
    row.scaling_efficiency = variant.training->scaling_efficiency;
  }
  return row;
}

void compare_all(Result& result) {
  const auto runs = [](const VariantResult& variant) { return !variant.results.empty(); };
  const auto base = std::find_if(result.variants.begin(), result.variants.end(), runs);
  for (const VariantResult& variant : result.variants) {
    result.comparison.push_back(compare(variant, base == result.variants.end() ? nullptr : &*base));
  }
}

}  // namespace

std::string failure_text(const SizeResult& size) {
  const FaultOutcome& faults = *size.chosen.faults;
  const auto told = std::find_if(
      faults.lines.begin(), faults.lines.end(),
      [](const TimedLine& line) { return line.text.find("async ") == std::string::npos; });
  const std::string when =
      fmt::format("{} {} {:.6g} s after the call", to_string(size.bytes),
                  faults.hangs ? "hangs, first failure" : "fails", faults.end.as_seconds());
  return told == faults.lines.end() ? when
                                    : fmt::format("{}: rank {}: {}", when, told->rank, told->text);
}

std::string to_string(EngineChoice engine) {
  if (engine.level == Level::kPlayed) {
    return engine.kind == engine::Kind::kFluid ? "fluid" : "reference";
  }
  CHECK(engine.kind == engine::Kind::kFluid, "a steady state of the reference engine");
  return engine.level == Level::kSteady ? "steady" : "auto";
}

Result simulate(const Scenario& scenario, const Context& context, const SimulateOptions& options) {
  Result result;
  result.scenario = scenario.name;
  result.title = scenario.title;
  result.file = scenario.file;
  result.description = scenario.description;
  result.estimate = scenario.estimate;
  result.notes = scenario.notes;
  result.engine = to_string(options.engine);
  result.seed = options.seed;
  Fingerprint fingerprint;
  fingerprint.add(static_cast<std::int64_t>(options.seed));
  for (const Variant& variant : scenario.variants) {
    result.variants.push_back(run_variant(variant, context, options, fingerprint));
  }
  std::vector<SizeResult> sizes;
  for (const VariantResult& variant : result.variants) {
    sizes.insert(sizes.end(), variant.results.begin(), variant.results.end());
  }
  result.engine_line = engine_text(options.engine, sizes);
  train(scenario, result);
  for (std::size_t i = 0; i < scenario.variants.size(); ++i) {
    check_expectations(scenario.variants[i], result.variants[i]);
    check_measured(scenario.variants[i], result.variants[i]);
  }
  compare_all(result);
  result.fingerprint = fingerprint.hex();
  return result;
}

}  // namespace busbw::scenarios
