// See real_options.h.
#include "tools/real_options.h"

#include <fmt/format.h>

#include "real/launch/place.h"
#include "sim/core/quantity.h"
#include "sim/core/text.h"
#include "tools/nccl_options.h"

namespace busbw::tools {
namespace {

constexpr std::int64_t kMostIterations = 100'000'000;
constexpr std::int64_t kMostSizes = 64;
/// Larger than any host's memory: a slip of the keyboard.
constexpr Bytes kMostBytes = Bytes::kib(std::int64_t{1} << 32U);

real::NetworkKind read_kind(const std::string& text, real::NetworkKind by_default,
                            Problems& problems) {
  if (text.empty())
    return by_default;
  std::vector<std::string> names;
  for (const real::NetworkKind kind : {real::NetworkKind::kAuto, real::NetworkKind::kVerbs,
                                       real::NetworkKind::kSocket, real::NetworkKind::kShared}) {
    names.push_back(to_string(kind));
    if (names.back() == text)
      return kind;
  }
  problems.add({}, fmt::format("unknown network '{}'; allowed: {}{}", text, quoted_list(names),
                               did_you_mean(text, names)));
  return by_default;
}

}  // namespace

Bytes read_size(const std::string& option, const std::string& text, Problems& problems) {
  const auto size = parse_nccl_tests_size(text);
  if (const auto* error = std::get_if<QuantityError>(&size)) {
    problems.add({}, fmt::format("{}: {}", option, error->message));
    return Bytes(1);
  }
  const Bytes bytes = std::get<Bytes>(size);
  if (bytes < Bytes(1) || kMostBytes < bytes) {
    problems.add(
        {}, fmt::format("{} '{}': allowed are 1 byte to {}", option, text, to_string(kMostBytes)));
    return Bytes(1);
  }
  return bytes;
}

std::int64_t read_number(const std::string& option, const std::string& text, std::int64_t least,
                         std::int64_t most, Problems& problems) {
  const std::optional<std::int64_t> number = parse_integer(text);
  if (!number || *number < least || *number > most) {
    problems.add({}, fmt::format("{} '{}': allowed are whole numbers from {} to {}", option, text,
                                 least, most));
    return least;
  }
  return *number;
}

real::Completion read_completion(const std::string& text, Problems& problems) {
  if (text.empty() || text == "auto")
    return real::Completion::kAuto;
  if (text == "event")
    return real::Completion::kEvent;
  if (text != "poll") {
    problems.add({}, fmt::format("unknown completion '{}'; allowed: 'auto', 'event' or 'poll'{}",
                                 text, did_you_mean(text, {"auto", "event", "poll"})));
  }
  return real::Completion::kPoll;
}

real::NetworkOrder read_network(const RealOptions& options, const nccl::Environment& scenario,
                                real::NetworkKind by_default, Problems& problems) {
  real::NetworkOrder order;
  order.kind = read_kind(options.network, by_default, problems);
  order.version = read_version(options.version, problems);
  order.completion = read_completion(options.completion, problems);
  for (const auto& [name, value] : real::process_environment()) {
    if (name.rfind("NCCL_", 0) == 0)
      order.environment[name] = value;
  }
  for (const auto& [name, value] : scenario)
    order.environment[name] = value;
  for (const auto& [name, value] : read_environment(options.environment, problems))
    order.environment[name] = value;
  order.shared_inside = nccl::numeric(order.environment, "NCCL_SHM_DISABLE", 0) != 1;
  return order;
}

std::vector<Bytes> read_sizes(const RealOptions& options, Problems& problems) {
  std::vector<Bytes> sizes;
  if (!options.sizes.empty()) {
    if (!options.from.empty() || !options.to.empty())
      problems.add({}, "--sizes stands in the place of -b and -e: give one of them");
    for (const std::string_view text : split(options.sizes, ','))
      sizes.push_back(read_size("--sizes", std::string(trim(text)), problems));
    return sizes;
  }
  if (options.from.empty() && options.to.empty())
    return sizes;
  const Bytes from = read_size("-b", options.from.empty() ? options.to : options.from, problems);
  const Bytes to = read_size("-e", options.to.empty() ? options.from : options.to, problems);
  const std::int64_t factor = read_number("-f", options.factor, 2, 1'000'000, problems);
  if (to < from)
    problems.add({}, fmt::format("-b {} is above -e {}", options.from, options.to));
  for (Bytes size = from; size <= to && static_cast<std::int64_t>(sizes.size()) < kMostSizes;
       size = Bytes(size.count() * factor))
    sizes.push_back(size);
  return sizes;
}

real::Task read_task(const RealOptions& options, bool colour, Problems& problems) {
  real::Task task;
  if (!options.iterations.empty()) {
    task.iterations = static_cast<std::int32_t>(
        read_number("--iters", options.iterations, 1, kMostIterations, problems));
  }
  if (!options.warmup.empty()) {
    task.warmup = static_cast<std::int32_t>(
        read_number("--warmup", options.warmup, 0, kMostIterations, problems));
  }
  task.timeout_ms = 1000 * read_number("--timeout", options.timeout, 1, 86'400, problems);
  task.json = options.json;
  task.colour = colour;
  return task;
}

}  // namespace busbw::tools
