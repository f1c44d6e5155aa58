// Keys and columns of the JSON and CSV forms of a result.
#include "scenarios/result_value.h"

#include <utility>

#include <fmt/format.h>

#include "models/nccl/select_records.h"

namespace busbw::scenarios {
namespace {

constexpr const char* kSchema = "busbw.run/1";

template <class T>
Value optional_value(const std::optional<T>& value) {
  return value ? Value(*value) : Value();
}

Value texts(const std::vector<std::string>& list) {
  Value array = Value::array();
  for (const std::string& text : list) {
    array.push(text);
  }
  return array;
}

Value decision_value(const VariantResult& variant) {
  const nccl::Decision& decision = variant.decision;
  const nccl::HostDecision& host = decision.hosts.front();
  Value devices = Value::array();
  for (const nccl::NetDevice& device : host.data_devices) {
    devices.push(device.name);
  }
  Value channels = Value::array();
  for (const nccl::ChannelDevice& channel : decision.channels) {
    channels.push(
        Value::object().set("channel", channel.channel).set("net_device", channel.net_device));
  }
  return Value::object()
      .set("bootstrap_interface", optional_value(host.bootstrap_interface))
      .set("network", optional_value(host.network))
      .set("data_devices", std::move(devices))
      .set("channels", static_cast<std::int64_t>(variant.channel_rings.size()))
      .set("channel_devices", std::move(channels))
      .set("reasons", texts(nccl::reason_lines(decision)))
      .set("warnings", texts(decision.warnings));
}

Value bottleneck_value(const Bottleneck& bottleneck) {
  if (bottleneck.link.empty()) {
    return {};
  }
  return Value::object()
      .set("link", bottleneck.link)
      .set("capacity_GBps", bottleneck.capacity.as_gigabytes_per_second())
      .set("utilization", bottleneck.utilization);
}

Value faults_value(const FaultOutcome& faults) {
  Value happenings = Value::array();
  for (const Happening& happening : faults.happenings) {
    happenings.push(Value::object().set("at_us", happening.at.as_us()).set("text", happening.text));
  }
  Value lines = Value::array();
  for (const TimedLine& line : faults.lines) {
    lines.push(Value::object()
                   .set("at_us", line.at.as_us())
                   .set("rank", static_cast<std::int64_t>(line.rank))
                   .set("text", line.text));
  }
  return Value::object()
      .set("completed", faults.completed)
      .set("hangs", faults.hangs)
      .set("end_us", faults.end.as_us())
      .set("asked_bytes", faults.asked.count())
      .set("arrived_bytes", faults.arrived.count())
      .set("lost_bytes", faults.lost.count())
      .set("happenings", std::move(happenings))
      .set("lines", std::move(lines));
}

Value hottest_value(const std::vector<HotLink>& links) {
  Value array = Value::array();
  for (const HotLink& link : links) {
    Value users = Value::array();
    for (const auto& [from, to] : link.users) {
      users.push(Value::object()
                     .set("from", static_cast<std::int64_t>(from.value()))
                     .set("to", static_cast<std::int64_t>(to.value())));
    }
    array.push(Value::object()
                   .set("link", link.link)
                   .set("capacity_GBps", link.capacity.as_gigabytes_per_second())
                   .set("carried_bytes", link.carried.count())
                   .set("utilization", link.utilization)
                   .set("connections", std::move(users)));
  }
  return array;
}

Value training_value(const TrainingResult& training) {
  Value value = Value::object();
  if (!training.name.empty()) {
    value.set("assumption", training.name);
  }
  return value.set("samples_per_second", training.samples_per_second)
      .set("step_ms", training.step.as_ms())
      .set("compute_ms", training.compute.as_ms())
      .set("communication_ms", training.communication.as_ms())
      .set("exposed_communication_ms", training.exposed_communication.as_ms())
      .set("scaling_efficiency", training.scaling_efficiency);
}

Value notes_value(const std::vector<Note>& notes) {
  Value array = Value::array();
  for (const Note& note : notes) {
    array.push(
        Value::object().set("story", note.story).set("rule", note.rule).set("source", note.source));
  }
  return array;
}

Value variant_value(const VariantResult& variant) {
  Value environment = Value::object();
  for (const auto& [name, text] : variant.environment) {
    environment.set(name, text);
  }
  Value results = Value::array();
  for (const SizeResult& size : variant.results) {
    results.push(to_value(size));
  }
  Value alternatives = Value::array();
  for (const TrainingResult& training : variant.alternatives) {
    alternatives.push(training_value(training));
  }
  Value checks = Value::array();
  for (const Check& check : variant.checks) {
    checks.push(
        Value::object().set("what", check.what).set("met", check.met).set("text", check.text));
  }
  Value value = Value::object();
  value.set("name", variant.name)
      .set("title", variant.title)
      .set("environment", std::move(environment))
      .set("nccl", nccl::to_string(variant.version))
      .set("decision", decision_value(variant))
      .set("outcome", variant.outcome)
      .set("error", optional_value(variant.error))
      .set("parameters", optional_value(variant.parameters))
      .set("results", std::move(results))
      .set("tree_to_ring_bytes", variant.crossover ? Value(variant.crossover->count()) : Value())
      .set("training", variant.training ? training_value(*variant.training) : Value())
      .set("training_alternatives", std::move(alternatives))
      .set("checks", std::move(checks))
      .set("remarks", texts(variant.remarks))
      .set("notes", notes_value(variant.notes));
  if (!variant.failed.empty()) {
    Value failed = Value::array();
    for (const SizeResult& size : variant.failed) {
      failed.push(to_value(size));
    }
    value.set("failed", std::move(failed));
  }
  return value;
}

Value comparison_value(const Comparison& row) {
  return Value::object()
      .set("variant", row.variant)
      .set("outcome", row.outcome)
      .set("network", row.network.empty() ? Value() : Value(row.network))
      .set("devices", row.devices)
      .set("bytes", row.bytes ? Value(row.bytes->count()) : Value())
      .set("time_us", row.time ? Value(row.time->as_us()) : Value())
      .set("busbw_GBps", optional_value(row.busbw_GBps))
      .set("speedup", optional_value(row.speedup))
      .set("samples_per_second", optional_value(row.samples_per_second))
      .set("scaling_efficiency", optional_value(row.scaling_efficiency));
}

}  // namespace

Value to_value(const SizeResult& size) {
  Value candidates = Value::array();
  for (const Run& run : size.runs) {
    candidates.push(Value::object()
                        .set("algorithm", collectives::to_string(run.algorithm))
                        .set("protocol", params::to_string(run.protocol))
                        .set("channels", run.channels)
                        .set("messages", run.messages)
                        .set("leaving_host_bytes", run.leaving_host.count())
                        .set("time_us", run.time.as_us()));
  }
  Value value = Value::object();
  value.set("collective", collectives::to_string(size.collective))
      .set("bytes", size.bytes.count())
      .set("count", size.count)
      .set("algorithm", collectives::to_string(size.chosen.algorithm))
      .set("protocol", params::to_string(size.chosen.protocol))
      .set("channels", size.chosen.channels)
      .set("time_us", size.chosen.time.as_us())
      .set("algbw_GBps", size.algbw_GBps)
      .set("busbw_GBps", size.busbw_GBps)
      .set("leaving_host_bytes", size.chosen.leaving_host.count())
      .set("bottleneck", bottleneck_value(size.chosen.bottleneck))
      .set("level", size.chosen.steady.empty() ? "played" : "steady")
      .set("steady_from", size.chosen.steady.empty() ? Value() : Value(size.chosen.steady))
      .set("level_why", size.chosen.level_why)
      .set("candidates", std::move(candidates));
  if (!size.chosen.hottest.empty()) {
    value.set("hottest_links", hottest_value(size.chosen.hottest));
  }
  if (size.chosen.faults) {
    value.set("faults", faults_value(*size.chosen.faults));
  }
  if (size.measured) {
    value.set("measured", Value::object()
                              .set("time_us", size.measured->as_us())
                              .set("noisy", size.measured_noisy)
                              .set("difference_percent", *size.difference_percent));
  }
  return value;
}

Value to_value(const Result& result) {
  Value variants = Value::array();
  for (const VariantResult& variant : result.variants) {
    variants.push(variant_value(variant));
  }
  Value comparison = Value::array();
  for (const Comparison& row : result.comparison) {
    comparison.push(comparison_value(row));
  }
  return Value::object()
      .set("schema", kSchema)
      .set("scenario", result.scenario)
      .set("title", result.title)
      .set("engine", result.engine)
      .set("engine_line", result.engine_line)
      .set("seed", static_cast<std::int64_t>(result.seed))
      .set("variants", std::move(variants))
      .set("comparison", std::move(comparison))
      .set("training_assumptions", texts(result.training_assumptions))
      .set("training_remarks", texts(result.training_remarks))
      .set("bytes_per_sync",
           result.solved_bytes_per_sync ? Value(result.solved_bytes_per_sync->count()) : Value())
      .set("notes", notes_value(result.notes))
      .set("fingerprint", result.fingerprint);
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) {
    return text;
  }
  std::string quoted = "\"";
  for (const char letter : text) {
    quoted += letter == '"' ? std::string("\"\"") : std::string(1, letter);
  }
  return quoted + "\"";
}

std::string to_csv(const Result& result) {
  std::string text =
      "variant,outcome,collective,bytes,algorithm,protocol,time_us,algbw_GBps,busbw_GBps,"
      "bottleneck,utilization,measured_time_us\n";
  for (const VariantResult& variant : result.variants) {
    if (variant.results.empty()) {
      text += fmt::format("{},{},,,,,,,,,,\n", csv_field(variant.name), variant.outcome);
    }
    for (const SizeResult& size : variant.results) {
      text += fmt::format(
          "{},{},{},{},{},{},{:.3f},{:.4f},{:.4f},{},{:.4f},{}\n", csv_field(variant.name),
          variant.outcome, collectives::to_string(size.collective), size.bytes.count(),
          collectives::to_string(size.chosen.algorithm), params::to_string(size.chosen.protocol),
          size.chosen.time.as_us(), size.algbw_GBps, size.busbw_GBps,
          csv_field(size.chosen.bottleneck.link), size.chosen.bottleneck.utilization,
          size.measured ? fmt::format("{:.3f}", size.measured->as_us()) : "");
    }
  }
  return text;
}

}  // namespace busbw::scenarios
