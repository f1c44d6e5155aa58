// Layout of the text report.
#include "tools/report.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "sim/core/quantity.h"
#include "sim/core/text.h"
#include "tools/console.h"
#include "tools/fault_report.h"
#include "tools/table.h"

namespace busbw::tools {
namespace {

using scenarios::Check;
using scenarios::Comparison;
using scenarios::Note;
using scenarios::Result;
using scenarios::Run;
using scenarios::SizeResult;
using scenarios::TrainingResult;
using scenarios::VariantResult;

std::string environment_text(const VariantResult& variant) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : variant.environment) {
    parts.push_back(fmt::format("{}={}", name, value));
  }
  return parts.empty() ? "nothing set" : join(parts, " ");
}

std::string seconds_text(Duration time) {
  return time < Duration::milliseconds(100) ? fmt::format("{:.2f} us", time.as_us())
                                            : fmt::format("{:.2f} ms", time.as_ms());
}

std::string decision_text(const VariantResult& variant) {
  const nccl::Decision& decision = variant.decision;
  const nccl::HostDecision& host = decision.hosts.front();
  std::vector<std::string> devices;
  for (const nccl::NetDevice& device : host.data_devices) {
    devices.push_back(
        fmt::format("{} ({:g} Gb/s)", device.name, static_cast<double>(device.speed_mbit) / 1000));
  }
  std::string text = fmt::format(
      "  bootstrap {}; network {}; devices {}\n", host.bootstrap_interface.value_or("none"),
      host.network.value_or("none"), devices.empty() ? "none" : join(devices, ", "));
  if (!decision.channels.empty()) {
    std::vector<std::string> channels;
    for (const nccl::ChannelDevice& channel : decision.channels) {
      for (const nccl::NetDevice& device : host.data_devices) {
        if (device.index == channel.net_device) {
          channels.push_back(fmt::format("{}:{}", channel.channel, device.name));
        }
      }
    }
    text += "  channels " + join(channels, " ") + "\n";
  }
  for (const nccl::Reason& reason : host.reasons) {
    text += wrap("  because ", reason.text + " [" + reason.rule + "]", 10);
  }
  for (const nccl::Reason& reason : decision.reasons) {
    text += wrap("  because ", reason.text + " [" + reason.rule + "]", 10);
  }
  for (const std::string& warning : decision.warnings) {
    text += wrap("  warning ", warning, 10);
  }
  return text;
}

std::string others_text(const SizeResult& size) {
  std::vector<std::string> parts;
  for (const Run& run : size.runs) {
    if (run.algorithm == size.chosen.algorithm && run.protocol == size.chosen.protocol) {
      continue;
    }
    parts.push_back(fmt::format("{}/{} {}", collectives::to_string(run.algorithm),
                                params::to_string(run.protocol), seconds_text(run.time)));
  }
  return join(parts, ", ");
}

std::string sizes_table(const VariantResult& variant, const std::string& type, bool colour) {
  const bool measured =
      std::any_of(variant.results.begin(), variant.results.end(),
                  [](const SizeResult& size) { return size.measured.has_value(); });
  std::vector<Column> columns = {{"size", Align::kRight},
                                 {"count", Align::kRight},
                                 {"type"},
                                 {"redop"},
                                 {"root", Align::kRight},
                                 {"time(us)", Align::kRight},
                                 {"algbw", Align::kRight},
                                 {"busbw", Align::kRight},
                                 {"algorithm"},
                                 {"ch", Align::kRight},
                                 {"host sends", Align::kRight},
                                 {"bottleneck, payload rate used"},
                                 {"beside it"}};
  if (measured) {
    columns.insert(columns.begin() + 8, {{"measured(us)", Align::kRight}, {"off", Align::kRight}});
  }
  std::vector<std::vector<std::string>> rows;
  for (const SizeResult& size : variant.results) {
    std::vector<std::string> row = {fmt::format("{}", size.bytes.count()),
                                    fmt::format("{}", size.count),
                                    type,
                                    "sum",
                                    "-1",
                                    fmt::format("{:.2f}", size.chosen.time.as_us()),
                                    fmt::format("{:.3f}", size.algbw_GBps),
                                    fmt::format("{:.3f}", size.busbw_GBps)};
    if (measured) {
      row.push_back(size.measured ? fmt::format("{:.2f}", size.measured->as_us()) : "");
      row.push_back(size.difference_percent ? fmt::format("{:+.1f} %{}", *size.difference_percent,
                                                          size.measured_noisy ? " noisy" : "")
                                            : "");
    }
    row.push_back(fmt::format("{}/{}", collectives::to_string(size.chosen.algorithm),
                              params::to_string(size.chosen.protocol)));
    row.push_back(fmt::format("{}", size.chosen.channels));
    row.push_back(fmt::format("{:.3g} S", static_cast<double>(size.chosen.leaving_host.count()) /
                                              static_cast<double>(size.bytes.count())));
    row.push_back(size.chosen.bottleneck.link.empty()
                      ? "none"
                      : fmt::format("{} {:.1f} %", size.chosen.bottleneck.link,
                                    size.chosen.bottleneck.utilization * 100));
    row.push_back(others_text(size));
    rows.push_back(std::move(row));
  }
  return format_table(columns, rows, colour);
}

std::string training_line(const TrainingResult& training) {
  return fmt::format(
      "{:.0f} samples/s, {:.1f} % of linear; step {:.1f} ms = compute {:.1f} + exposed "
      "communication {:.1f} (one sync alone {:.1f} ms)",
      training.samples_per_second, training.scaling_efficiency * 100, training.step.as_ms(),
      training.compute.as_ms(), training.exposed_communication.as_ms(),
      training.communication.as_ms());
}

std::string training_text(const VariantResult& variant) {
  if (!variant.training) {
    return "";
  }
  std::string text = wrap("  training ", training_line(*variant.training), 11);
  for (const TrainingResult& other : variant.alternatives) {
    text += wrap("    with " + other.name + ": ", training_line(other), 11);
  }
  return text;
}

std::string notes_text(const std::vector<Note>& notes, const std::string& indent) {
  std::string text;
  for (const Note& note : notes) {
    text += wrap(indent + "story: ", note.story, indent.size() + 7);
    text += wrap(indent + "rule:  ", note.rule + " [" + note.source + "]", indent.size() + 7);
  }
  return text;
}

/// Every line of `text` after `lead`.
std::string led(const std::string& lead, const std::string& text) {
  std::string result;
  for (const std::string_view line : split_lines(text)) {
    result += lead + std::string(line) + "\n";
  }
  return result;
}

std::string variant_text(const VariantResult& variant, const ReportOptions& options) {
  std::string text = "\n" + bold(variant.name, options.colour) +
                     (variant.title.empty() ? "" : ": " + variant.title) + "\n";
  text +=
      fmt::format("  NCCL {}; {}\n", nccl::to_string(variant.version), environment_text(variant));
  text += decision_text(variant);
  for (const std::string& remark : variant.remarks) {
    text += wrap("  remark ", remark, 9);
  }
  if (variant.outcome != "runs") {
    text +=
        wrap("  outcome " + variant.outcome + ": ", variant.error.value_or("no reason given"), 10);
  }
  if (options.log) {
    text += led("  | ", variant.nccl_log);
  }
  if (!variant.results.empty()) {
    text += led("  ", sizes_table(variant, variant.type, options.colour));
  }
  for (const auto* sizes : {&variant.results, &variant.failed}) {
    for (const SizeResult& size : *sizes) {
      text += faults_text(size);
      if (options.all_hottest || &size == &sizes->back()) {
        text += hottest_text(size, "  ");
      }
    }
  }
  if (variant.crossover) {
    text += fmt::format("  the tree is faster up to {:.3g} MB, the ring above\n",
                        static_cast<double>(variant.crossover->count()) / 1e6);
  }
  text += training_text(variant);
  for (const Check& check : variant.checks) {
    const std::string verdict = check.met ? "met" : red("MISSED", options.colour);
    text += wrap("  bound " + verdict + ": ", check.what + ": " + check.text, 10);
  }
  return text + notes_text(variant.notes, "  ");
}

std::string comparison_text(const Result& result, bool colour) {
  const std::vector<Column> columns = {{"variant"},
                                       {"outcome"},
                                       {"network"},
                                       {"data over"},
                                       {"size", Align::kRight},
                                       {"time(us)", Align::kRight},
                                       {"busbw", Align::kRight},
                                       {"speed-up", Align::kRight},
                                       {"samples/s", Align::kRight},
                                       {"scaling", Align::kRight}};
  std::vector<std::vector<std::string>> rows;
  for (const Comparison& row : result.comparison) {
    rows.push_back(
        {row.variant, row.outcome, row.network, row.devices, row.bytes ? to_string(*row.bytes) : "",
         row.time ? fmt::format("{:.2f}", row.time->as_us()) : "",
         row.busbw_GBps ? fmt::format("{:.3f}", *row.busbw_GBps) : "",
         row.speedup ? fmt::format("{:.2f}", *row.speedup) : "",
         row.samples_per_second ? fmt::format("{:.0f}", *row.samples_per_second) : "",
         row.scaling_efficiency ? fmt::format("{:.1f} %", *row.scaling_efficiency * 100) : ""});
  }
  return format_table(columns, rows, colour);
}

std::string head_text(const Result& result, bool colour) {
  std::string text = bold(result.title.empty() ? result.scenario : result.title, colour) + "\n";
  text += fmt::format("{} ({}), engine {}, seed {}\n", result.scenario, result.file,
                      result.engine_line, result.seed);
  if (!result.description.empty()) {
    text += wrap("", result.description, 0);
  }
  if (!result.estimate.empty()) {
    text += wrap("Expected by hand: ", result.estimate, 2);
  }
  return text;
}

std::string training_assumptions(const Result& result) {
  if (!result.solved_bytes_per_sync) {
    return "";
  }
  std::string text = fmt::format("\nTraining: {:.3f} GB per synchronisation\n",
                                 static_cast<double>(result.solved_bytes_per_sync->count()) / 1e9);
  for (const std::string& assumption : result.training_assumptions) {
    text += wrap("  assumed ", assumption, 10);
  }
  for (const std::string& remark : result.training_remarks) {
    text += wrap("  ", remark, 4);
  }
  return text;
}

}  // namespace

std::string format_report(const Result& result, const ReportOptions& options) {
  std::string text = head_text(result, options.colour);
  if (!options.brief) {
    for (const VariantResult& variant : result.variants) {
      text += variant_text(variant, options);
    }
  }
  text += training_assumptions(result);
  text += "\n" + bold("Comparison", options.colour) + " (largest size; GB/s)\n";
  text += comparison_text(result, options.colour);
  if (!result.notes.empty() && !options.brief) {
    text += "\n" + bold("Where the story differs", options.colour) + "\n";
    text += notes_text(result.notes, "");
  }
  return text + "\nfingerprint " + result.fingerprint + "\n";
}

}  // namespace busbw::tools
