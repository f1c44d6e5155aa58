// The sections of a scenario that say what to run and what to compare with.
#include <algorithm>
#include <cmath>
#include <utility>

#include "scenarios/spec/draft.h"
#include "scenarios/spec/element_types.h"
#include "sim/core/quantity.h"
#include "sim/core/text.h"

namespace busbw::scenarios {
namespace {

std::optional<Bytes> parse_size(const YamlNode& node, Problems& problems) {
  if (!node.is_scalar()) {
    problems.add(node.where(), "a size must be a text, not " + node.describe());
    return std::nullopt;
  }
  // "1 GiB" as everywhere in our files, "1G" as on the command line of nccl-tests.
  const auto ours = parse_bytes(node.text());
  if (std::holds_alternative<Bytes>(ours)) {
    return std::get<Bytes>(ours);
  }
  const auto theirs = parse_nccl_tests_size(node.text());
  if (std::holds_alternative<Bytes>(theirs)) {
    return std::get<Bytes>(theirs);
  }
  problems.add(node.where(), std::get<QuantityError>(ours).message);
  return std::nullopt;
}

std::vector<Bytes> read_sweep(MappingReader& reader) {
  const std::optional<YamlNode> begin_node = reader.node("begin");
  const std::optional<YamlNode> end_node = reader.node("end");
  const std::int64_t factor = reader.integer("factor", 2, 1024).value_or(2);
  std::vector<Bytes> sizes;
  if (!begin_node || !end_node) {
    for (const char* key : {"begin", "end", "factor"}) {
      if (reader.has(key)) {
        reader.problem(key, std::string("'") + key + "' needs both 'begin' and 'end'");
        break;
      }
    }
    return sizes;
  }
  const std::optional<Bytes> begin = parse_size(*begin_node, reader.problems());
  const std::optional<Bytes> end = parse_size(*end_node, reader.problems());
  if (!begin || !end) {
    return sizes;
  }
  if (*begin <= Bytes(0) || *end < *begin) {
    reader.problem("end", "'begin' must be above 0 and 'end' not below 'begin'");
    return sizes;
  }
  for (Bytes size = *begin; size <= *end; size = size * factor) {
    sizes.push_back(size);
    if (size > *end / factor) {
      break;  // the next one would be beyond the end, and perhaps beyond 64 bits
    }
  }
  return sizes;
}

/// "2/3", "0.84" or "1": a share from 0 to 1.
std::optional<Ratio> parse_share(const std::string& text) {
  const std::vector<std::string_view> parts = split(text, '/');
  if (parts.size() == 2) {
    const auto numerator = parse_integer(trim(parts[0]));
    const auto denominator = parse_integer(trim(parts[1]));
    if (numerator && denominator && *numerator >= 0 && *denominator >= *numerator &&
        *denominator > 0) {
      return Ratio{*numerator, *denominator};
    }
    return std::nullopt;
  }
  const std::optional<double> number = parse_number(text);
  if (!number || *number < 0 || *number > 1) {
    return std::nullopt;
  }
  constexpr std::int64_t kParts = 1'000'000;
  return Ratio{std::llround(*number * static_cast<double>(kParts)), kParts};
}

Ratio read_overlap(MappingReader& reader) {
  const std::string text = reader.text("overlap").value_or("1");
  const std::optional<Ratio> share = parse_share(text);
  if (!share) {
    reader.problem(
        "overlap",
        "'overlap' must be a share from 0 to 1 such as 1, 0.84 or 2/3, not '" + text + "'");
  }
  return share.value_or(Ratio{1, 1});
}

bool read_sync(MappingReader& reader) {
  return reader.choice("sync", {"every micro-step", "last micro-step"})
             .value_or("every micro-step") == "every micro-step";
}

void read_solve(MappingReader& reader, Training& training) {
  training.bytes_per_sync = reader.bytes("bytes_per_sync");
  const std::optional<YamlNode> node = reader.mapping("solve");
  if (node.has_value() == training.bytes_per_sync.has_value()) {
    reader.problem("solve", "give either 'bytes_per_sync' or 'solve' in " + reader.what());
  }
  if (!node) {
    return;
  }
  MappingReader solve(*node, "'solve'", reader.problems());
  solve.required_choice("unknown", {"bytes_per_sync"});
  training.solve_variant = solve.required_text("variant");
  training.solve_samples_per_second = solve.required_number("samples_per_second", 1e-9, 1e15);
  solve.finish();
}

std::optional<Duration> time_of(MappingReader& reader, const Bytes size) {
  const std::optional<Duration> time = reader.duration("time");
  const std::optional<double> algbw = reader.number("algbw_GBps", 1e-9, 1e9);
  if (time.has_value() == algbw.has_value()) {
    reader.problem("time", "give either 'time' or 'algbw_GBps' in " + reader.what());
    return std::nullopt;
  }
  if (time) {
    return time;
  }
  const double ps = static_cast<double>(size.count()) / *algbw * 1e3;
  return Duration::picoseconds(std::llround(ps));
}

std::optional<collectives::Algorithm> read_algorithm(MappingReader& reader) {
  using collectives::Algorithm;
  std::vector<std::string> names;
  const std::vector<Algorithm> known = {Algorithm::kRing, Algorithm::kTree,
                                        Algorithm::kHierarchical};
  names.reserve(known.size());
  for (const Algorithm algorithm : known) {
    names.push_back(collectives::to_string(algorithm));
  }
  const std::optional<std::string> name = reader.choice("algorithm", names);
  names.reserve(known.size());
  for (const Algorithm algorithm : known) {
    if (name == collectives::to_string(algorithm)) {
      return algorithm;
    }
  }
  return std::nullopt;
}

}  // namespace

Workload read_workload(const YamlNode& node, Problems& problems) {
  MappingReader reader(node, "'workload'", problems);
  Workload workload;
  workload.where = node.where();
  const std::string collective = reader.required_choice(
      "collective", {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce",
                     "alltoall", "sendrecv", "gather", "scatter"});
  if (const auto parsed = collectives::parse_collective(collective)) {
    workload.collective = *parsed;
  }
  std::vector<std::string> names;
  names.reserve(std::size(kElementTypes));
  for (const ElementType& type : kElementTypes) {
    names.emplace_back(type.name);
  }
  workload.type = reader.choice("type", names).value_or("float");
  workload.algorithm = read_algorithm(reader);
  for (const ElementType& type : kElementTypes) {
    if (workload.type == type.name) {
      workload.element = Bytes(type.bytes);
    }
  }
  const auto add = [&](Bytes size, const Location& where) {
    workload.sizes.push_back(size);
    if (size <= Bytes(0) || size % workload.element != Bytes(0)) {
      problems.add(where, "size " + to_string(size) + " is no whole number of " + workload.type +
                              " elements above 0");
    }
  };
  if (const auto sizes = reader.sequence("sizes")) {
    for (const YamlNode& element : sizes->elements()) {
      if (const auto size = parse_size(element, problems)) {
        add(*size, element.where());
      }
    }
    if (sizes->elements().empty() && !reader.has("begin")) {
      reader.problem("sizes", "'sizes' is empty");
    }
  }
  for (const Bytes size : read_sweep(reader)) {
    add(size, reader.where("begin"));
  }
  constexpr std::int64_t kMostGpus = 64;
  workload.gpus_per_process =
      static_cast<std::int32_t>(reader.integer("gpus_per_process", 1, kMostGpus).value_or(1));
  workload.timed_alone =
      reader.choice("timing", {"back to back", "alone"}).value_or("back to back") == "alone";
  std::sort(workload.sizes.begin(), workload.sizes.end());
  reader.finish();
  if (!reader.has("sizes") && !reader.has("begin")) {
    problems.add(reader.where(), "missing key 'sizes' (or 'begin' and 'end') in 'workload'");
  }
  return workload;
}

Training read_training(const YamlNode& node, Problems& problems) {
  MappingReader reader(node, "'training'", problems);
  Training training;
  training.where = node.where();
  training.batch_per_gpu = reader.required_integer("batch_per_gpu", 1, 1'000'000'000);
  training.accumulation = reader.integer("gradient_accumulation", 1, 1'000'000).value_or(1);
  training.samples_per_second_per_gpu =
      reader.required_number("samples_per_second_per_gpu", 1e-9, 1e15);
  training.sync_every_micro_step = read_sync(reader);
  training.overlap = read_overlap(reader);
  read_solve(reader, training);
  training.assumptions = reader.texts("assumptions").value_or(std::vector<std::string>{});
  if (const auto list = reader.sequence("alternatives")) {
    for (const YamlNode& element : list->elements()) {
      MappingReader entry(element, "an alternative", problems);
      Training::Alternative alternative;
      alternative.name = entry.required_text("name");
      alternative.sync_every_micro_step = read_sync(entry);
      alternative.overlap = read_overlap(entry);
      entry.finish();
      training.alternatives.push_back(std::move(alternative));
    }
  }
  reader.finish();
  return training;
}

Measured read_measured(const YamlNode& node, Problems& problems) {
  MappingReader reader(node, "'measured'", problems);
  Measured measured;
  measured.source = reader.required_text("source");
  measured.samples_per_second = reader.number("samples_per_second", 1e-9, 1e15);
  measured.within_percent = reader.number("within_percent", 0, 1000);
  measured.from = reader.bytes("from").value_or(Bytes(0));
  if (const auto list = reader.sequence("points")) {
    for (const YamlNode& element : list->elements()) {
      MappingReader point(element, "a measured point", problems);
      MeasuredPoint value;
      value.bytes = point.required_bytes("bytes");
      value.time = time_of(point, value.bytes).value_or(Duration());
      value.noisy = point.boolean("noisy").value_or(false);
      point.finish();
      measured.points.push_back(value);
    }
  }
  reader.finish();
  return measured;
}

}  // namespace busbw::scenarios
