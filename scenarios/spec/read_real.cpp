// The sections of a scenario about real mode: how it is run, with which parameters it is predicted,
// and how near the two must come.
#include <algorithm>
#include <cctype>
#include <filesystem>

#include <fmt/format.h>

#include "scenarios/spec/draft.h"
#include "sim/core/text.h"

namespace busbw::scenarios {
namespace {

constexpr std::int64_t kMostIterations = 1'000'000;
constexpr std::int64_t kMostSoftHosts = 16;  // tools/soft-roce
constexpr double kMostPercent = 1000;

/// "rxe3" is device 3 of its kind; nothing for other names.
std::optional<std::int64_t> soft_device(const std::string& name) {
  for (const std::string_view kind : {"rxe", "roce", "mgmt"}) {
    const std::string_view digits =
        std::string_view(name).substr(std::min(kind.size(), name.size()));
    const bool plain = !digits.empty() && digits.size() <= 2 &&
                       std::all_of(digits.begin(), digits.end(),
                                   [](unsigned char c) { return std::isdigit(c) != 0; });
    if (name.rfind(kind, 0) == 0 && plain) {
      return parse_integer(digits);
    }
  }
  return std::nullopt;
}

SoftRoce::Shape read_shape(const YamlNode& node, std::int32_t hosts, Problems& problems) {
  MappingReader reader(node, "a shape", problems);
  SoftRoce::Shape shape;
  shape.device = reader.required_text("device");
  shape.rate = reader.required_bandwidth("rate");
  reader.finish();
  const std::optional<std::int64_t> number = soft_device(shape.device);
  if (!shape.device.empty() && (!number || *number >= hosts)) {
    reader.problem("device", fmt::format("no device '{0}' of {1} emulated hosts; allowed: rxe0 to "
                                         "rxe{2}, roce0 to roce{2} and mgmt0 to mgmt{2}",
                                         shape.device, hosts, hosts - 1));
  }
  // tools/soft-roce takes at most six digits of kbit, mbit or gbit.
  const std::int64_t bps = shape.rate.bps();
  if (reader.has("rate") && (bps < 1000 || bps % 1000 != 0)) {
    reader.problem("rate", "the rate of a shape is a whole number of kb/s above 0");
  }
  return shape;
}

SoftRoce read_soft_roce(const YamlNode& node, Problems& problems) {
  MappingReader reader(node, "'soft_roce'", problems);
  SoftRoce soft;
  soft.hosts = static_cast<std::int32_t>(reader.required_integer("hosts", 1, kMostSoftHosts));
  if (const auto list = reader.sequence("shapes")) {
    for (const YamlNode& element : list->elements()) {
      soft.shapes.push_back(read_shape(element, soft.hosts, problems));
    }
  }
  reader.finish();
  return soft;
}

}  // namespace

void read_real(const YamlNode& node, Problems& problems, RealRun& real) {
  MappingReader reader(node, "'real'", problems);
  real.where = node.where();
  real.devices = reader.texts("devices").value_or(real.devices);
  real.method = reader.choice("method", {"write", "read", "send"}).value_or(real.method);
  real.completion =
      reader.choice("completion", {"auto", "event", "poll"}).value_or(real.completion);
  const auto count = [&](const char* key, std::int64_t least, std::optional<std::int32_t>& value) {
    if (const auto number = reader.integer(key, least, kMostIterations)) {
      value = static_cast<std::int32_t>(*number);
    }
  };
  count("iterations", 1, real.iterations);
  count("warmup", 0, real.warmup);
  reader.finish();
}

std::optional<params::Measured> read_parameters(MappingReader& reader) {
  const std::optional<std::string> name = reader.text("parameters");
  if (!name) {
    return std::nullopt;
  }
  const std::filesystem::path beside =
      std::filesystem::path(reader.where("parameters").file).parent_path() / *name;
  if (!std::filesystem::is_regular_file(beside)) {
    reader.problem("parameters", fmt::format("no parameter file '{}'", beside.string()));
    return std::nullopt;
  }
  return params::load_measured(beside.string(), reader.problems());
}

Validation read_validation(const YamlNode& node, Problems& problems) {
  MappingReader reader(node, "'validate'", problems);
  Validation validation;
  validation.judged = reader.boolean("judged").value_or(true);
  validation.from = reader.bytes("from").value_or(Bytes());
  validation.reported = reader.texts("reported").value_or(std::vector<std::string>{});
  validation.where = node.where();
  const bool bounds = validation.judged;
  if (bounds || reader.has("median_percent")) {
    validation.median_percent = reader.required_number("median_percent", 0, kMostPercent);
  }
  if (bounds || reader.has("worst_percent")) {
    validation.worst_percent = reader.required_number("worst_percent", 0, kMostPercent);
  }
  if (const auto list = reader.sequence("ratios")) {
    for (const YamlNode& element : list->elements()) {
      MappingReader row(element, "a ratio", problems);
      Validation::TimeRatio ratio;
      ratio.where = element.where();
      ratio.of = row.required_text("of");
      ratio.over = row.required_text("over");
      ratio.within_percent = row.required_number("within_percent", 0, kMostPercent);
      row.finish();
      validation.ratios.push_back(std::move(ratio));
    }
  }
  if (const auto soft = reader.mapping("soft_roce")) {
    validation.soft_roce = read_soft_roce(*soft, problems);
  }
  reader.finish();
  return validation;
}

}  // namespace busbw::scenarios
