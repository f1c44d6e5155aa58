// The parameter file: read with every problem at its place, and written so that reading gives the
// same values.
#include <algorithm>

#include <fmt/format.h>

#include "models/params/measured.h"
#include "sim/core/quantity.h"
#include "sim/core/text.h"
#include "sim/core/yaml.h"

namespace busbw::params {
namespace {

constexpr const char* kSchema = "busbw.parameters/1";
constexpr std::int64_t kMostProcessors = 65536;
constexpr std::int64_t kMostSamples = 1'000'000'000;

std::vector<std::string> mover_names() {
  std::vector<std::string> names;
  for (const MoverKind kind : {MoverKind::kWrite, MoverKind::kRead, MoverKind::kSend,
                               MoverKind::kTcp, MoverKind::kShared}) {
    names.push_back(to_string(kind));
  }
  return names;
}

/// Limits that keep sums and quotients far within 64 bits.
constexpr Duration kLongest = Duration::seconds(3600);
constexpr Bandwidth kSlowest = Bandwidth::bits_per_second(1000);
constexpr Bandwidth kFastest = Bandwidth::gigabits_per_second(1'000'000);

/// A rate that may be a divisor.
std::optional<Bandwidth> read_rate(MappingReader& reader, const char* key) {
  const std::optional<Bandwidth> rate = reader.bandwidth(key);
  if (rate && (*rate < kSlowest || *rate > kFastest)) {
    reader.problem(key,
                   fmt::format("'{}' in {} must be from {} to {}, found {}", key, reader.what(),
                               to_string(kSlowest), to_string(kFastest), to_string(*rate)));
    return std::nullopt;
  }
  return rate;
}

Duration required_time(MappingReader& reader, const char* key) {
  const Duration time = reader.required_duration(key);
  if (time > kLongest) {
    reader.problem(key, fmt::format("'{}' in {} must be at most {}, found {}", key, reader.what(),
                                    to_string(kLongest), to_string(time)));
    return {};
  }
  return time;
}

Samples read_samples(const YamlNode& node, Problems& problems) {
  MappingReader reader(node, "a row of 'samples'", problems);
  Samples samples;
  samples.benchmark = reader.required_text("benchmark");
  samples.bytes = reader.required_bytes("bytes");
  samples.count = reader.required_integer("count", 1, kMostSamples);
  samples.min = reader.required_duration("min");
  samples.median = reader.required_duration("median");
  samples.p99 = reader.required_duration("p99");
  reader.finish();
  return samples;
}

/// Reads the ways between ends that `measured` has already.
class LinkReader {
 public:
  LinkReader(const Measured& measured, Problems& problems)
      : measured_(measured), problems_(problems) {}

  MeasuredLink read(const YamlNode& node) {
    MappingReader reader(node, "a link", problems_);
    MeasuredLink link;
    link.from = end(reader, "from");
    link.to = end(reader, "to");
    link.mover = parse_mover_kind(reader.required_choice("mover", mover_names()))
                     .value_or(MoverKind::kWrite);
    link.latency = required_time(reader, "latency");
    link.send_overhead = required_time(reader, "send_overhead");
    link.receive_overhead = required_time(reader, "receive_overhead");
    link.send_rate = read_rate(reader, "send_rate");
    link.receive_rate = read_rate(reader, "receive_rate");
    link.gap = required_time(reader, "gap");
    if (reader.has("bandwidth")) {
      link.bandwidth = read_rate(reader, "bandwidth").value_or(Bandwidth());
    } else {
      link.bandwidth = reader.required_bandwidth("bandwidth");
    }
    link.burst = reader.bytes("burst").value_or(Bytes());
    link.staging = read_rate(reader, "staging");
    if (const auto list = reader.sequence("samples")) {
      for (const YamlNode& row : list->elements()) {
        link.samples.push_back(read_samples(row, problems_));
      }
    }
    reader.finish();
    check_once(link, node);
    return link;
  }

 private:
  std::string end(MappingReader& reader, const char* key) {
    std::string name = reader.required_text(key);
    if (name.empty() || machine_of(measured_, name) != nullptr) {
      return name;
    }
    std::vector<std::string> ends;
    for (const MeasuredMachine& machine : measured_.machines) {
      ends.insert(ends.end(), machine.ends.begin(), machine.ends.end());
    }
    reader.problem(
        key, fmt::format("no machine has the end '{}'; allowed: {}{}", name,
                         ends.empty() ? "none" : quoted_list(ends), did_you_mean(name, ends)));
    return name;
  }

  void check_once(const MeasuredLink& link, const YamlNode& node) {
    std::string key =
        fmt::format("from '{}' to '{}' by '{}'", link.from, link.to, to_string(link.mover));
    if (std::find(seen_.begin(), seen_.end(), key) != seen_.end()) {
      problems_.add(node.where(), "second link " + key);
    }
    seen_.push_back(std::move(key));
  }

  const Measured& measured_;
  Problems& problems_;
  std::vector<std::string> seen_;
};

void read_machine(const YamlNode& node, Problems& problems, Measured& measured) {
  MappingReader reader(node, "a machine", problems);
  MeasuredMachine machine;
  machine.name = reader.required_text("name");
  machine.processors =
      static_cast<std::int32_t>(reader.required_integer("processors", 1, kMostProcessors));
  const std::vector<std::string> ends = reader.required_texts("ends");
  reader.finish();
  for (const std::string& end : ends) {
    const bool known =
        machine_of(measured, end) != nullptr ||
        std::find(machine.ends.begin(), machine.ends.end(), end) != machine.ends.end();
    if (known) {
      reader.problem("ends", "the end '" + end + "' stands in 'machines' twice");
    } else {
      machine.ends.push_back(end);
    }
  }
  measured.machines.push_back(std::move(machine));
}

Measured read_measured(const YamlNode& root, const std::string& file, Problems& problems) {
  MappingReader reader(root, "the parameter file", problems);
  Measured measured;
  measured.file = file;
  if (!root.is_mapping()) {
    return measured;
  }
  reader.required_choice("schema", {kSchema});
  measured.source = reader.required_text("source");
  const YamlNode machines = reader.required_sequence("machines");
  for (const YamlNode& node : machines.elements()) {
    read_machine(node, problems, measured);
  }
  LinkReader links(measured, problems);
  std::vector<MeasuredLink> list;
  const YamlNode nodes = reader.required_sequence("links");
  for (const YamlNode& node : nodes.elements()) {
    list.push_back(links.read(node));
  }
  measured.links = std::move(list);
  reader.finish();
  return measured;
}

/// A text in double quotes as YAML reads it back.
std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      result += fmt::format("\\x{:02x}", byte);
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string link_yaml(const MeasuredLink& link) {
  std::string text = fmt::format("  - from: {}\n    to: {}\n    mover: {}\n", quoted(link.from),
                                 quoted(link.to), to_string(link.mover));
  const auto line = [&](const char* key, const std::string& value) {
    text += fmt::format("    {}: {}\n", key, value);
  };
  line("latency", to_string(link.latency));
  line("send_overhead", to_string(link.send_overhead));
  line("receive_overhead", to_string(link.receive_overhead));
  if (link.send_rate) {
    line("send_rate", to_string(*link.send_rate));
  }
  if (link.receive_rate) {
    line("receive_rate", to_string(*link.receive_rate));
  }
  line("gap", to_string(link.gap));
  line("bandwidth", to_string(link.bandwidth));
  if (link.burst > Bytes()) {
    line("burst", to_string(link.burst));
  }
  if (link.staging) {
    line("staging", to_string(*link.staging));
  }
  if (!link.samples.empty()) {
    text += "    samples:\n";
  }
  for (const Samples& samples : link.samples) {
    text += fmt::format(
        "      - {{benchmark: {}, bytes: {}, count: {}, min: {}, median: {}, p99: {}}}\n",
        quoted(samples.benchmark), to_string(samples.bytes), samples.count, to_string(samples.min),
        to_string(samples.median), to_string(samples.p99));
  }
  return text;
}

}  // namespace

Measured load_measured(const std::string& path, Problems& problems) {
  const std::size_t before = problems.all().size();
  const YamlNode root = load_yaml(path, problems);
  const bool unreadable = root.is_null() && problems.all().size() > before;
  return unreadable ? Measured{} : read_measured(root, path, problems);
}

Measured parse_measured(const std::string& text, const std::string& file, Problems& problems) {
  const std::size_t before = problems.all().size();
  const YamlNode root = parse_yaml(text, file, problems);
  const bool unreadable = root.is_null() && problems.all().size() > before;
  return unreadable ? Measured{} : read_measured(root, file, problems);
}

std::string to_yaml(const Measured& measured) {
  std::string text =
      fmt::format("schema: {}\nsource: {}\nmachines:\n", kSchema, quoted(measured.source));
  for (const MeasuredMachine& machine : measured.machines) {
    std::vector<std::string> ends;
    ends.reserve(machine.ends.size());
    for (const std::string& end : machine.ends) {
      ends.push_back(quoted(end));
    }
    text += fmt::format("  - {{name: {}, processors: {}, ends: [{}]}}\n", quoted(machine.name),
                        machine.processors, join(ends, ", "));
  }
  text += "links:\n";
  for (const MeasuredLink& link : measured.links) {
    text += link_yaml(link);
  }
  return text;
}

}  // namespace busbw::params
