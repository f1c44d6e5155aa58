// Bytes of a task. One description per struct serves both directions, so that they cannot differ.
#include "real/measure/task.h"

#include <array>
#include <type_traits>

#include "real/base/wire.h"
#include "sim/core/errors.h"

namespace busbw::real {
namespace {

constexpr const char* kMark = "busbw task 2";
/// More of anything is no task but noise.
constexpr std::uint32_t kMostItems = 1U << 24U;

/// Writes what it is shown.
class Writing {
 public:
  template <class T>
  void number(const T& value) {
    writer_.number(value);
  }
  void text(const std::string& value) { writer_.text(value); }
  template <class T, class Each>
  void list(std::vector<T>& values, Each each) {
    writer_.number(static_cast<std::uint32_t>(values.size()));
    for (T& value : values)
      each(*this, value);
  }
  static constexpr bool kReads = false;
  WireWriter writer_;
};

/// Fills what it is shown.
class Reading {
 public:
  Reading(std::string_view bytes, const std::string& from) : reader_(bytes, from), from_(from) {}
  template <class T>
  void number(T& value) {
    value = reader_.number<T>();
  }
  void text(std::string& value) { value = reader_.text(); }
  template <class T, class Each>
  void list(std::vector<T>& values, Each each) {
    const auto size = reader_.number<std::uint32_t>();
    if (size > kMostItems)
      throw SystemError({"read", "not a task of this version of busbw", from_, ""});
    values.clear();
    for (std::uint32_t i = 0; i < size; ++i)
      each(*this, values.emplace_back());
  }
  static constexpr bool kReads = true;
  WireReader reader_;
  std::string from_;
};

template <class Way, class Enum>
void enumerator(Way& way, Enum& value) {
  auto number = static_cast<std::int32_t>(value);
  way.number(number);
  value = static_cast<Enum>(number);
}
template <class Way>
void flag(Way& way, bool& value) {
  auto number = static_cast<std::uint8_t>(value ? 1 : 0);
  way.number(number);
  value = number != 0;
}
template <class Way>
void bytes_of(Way& way, Bytes& value) {
  std::int64_t number = value.count();
  way.number(number);
  value = Bytes(number);
}
template <class Way>
void rank_of(Way& way, RankId& value) {
  std::int32_t number = value.value();
  way.number(number);
  value = RankId(number);
}
template <class Way>
void parent_of(Way& way, std::optional<RankId>& value) {
  std::int32_t number = value ? value->value() : -1;
  way.number(number);
  value = number < 0 ? std::nullopt : std::optional(RankId(number));
}

template <class Way>
void shape_of(Way& way, collectives::Shape& shape) {
  way.number(shape.ranks);
  way.list(shape.rings, [](Way& w, auto& ring) {
    w.list(ring, [](Way& inner, RankId& rank) { rank_of(inner, rank); });
  });
  way.list(shape.trees, [](Way& w, auto& tree) {
    w.list(tree, [](Way& inner, auto& parent) { parent_of(inner, parent); });
  });
  way.list(shape.host_of, [](Way& w, std::int32_t& host) { w.number(host); });
}

template <class Way>
void options_of(Way& way, collectives::Options& options) {
  bytes_of(way, options.bytes);
  bytes_of(way, options.element);
  bytes_of(way, options.chunk);
  way.number(options.slices);
  way.number(options.slots);
  way.list(options.channel_bytes, [](Way& w, Bytes& bytes) { bytes_of(w, bytes); });
  rank_of(way, options.root);
  way.number(options.channels);
  way.number(options.channels_per_peer);
}

template <class Way>
void environment_of(Way& way, nccl::Environment& environment) {
  std::vector<std::pair<std::string, std::string>> list(environment.begin(), environment.end());
  way.list(list, [](Way& w, auto& entry) {
    w.text(entry.first);
    w.text(entry.second);
  });
  environment = nccl::Environment(list.begin(), list.end());
}

template <class Way>
void network_of(Way& way, NetworkOrder& network) {
  enumerator(way, network.kind);
  enumerator(way, network.method);
  enumerator(way, network.completion);
  flag(way, network.shared_inside);
  way.list(network.host_of, [](Way& w, std::int32_t& host) { w.number(host); });
  way.list(network.device_of, [](Way& w, std::string& device) { w.text(device); });
  environment_of(way, network.environment);
  way.number(network.version.major);
  way.number(network.version.minor);
  way.number(network.version.patch);
}

template <class Way>
void count_of(Way& way, std::optional<std::int32_t>& value) {
  std::int32_t number = value.value_or(-1);
  way.number(number);
  value = number < 0 ? std::nullopt : std::optional(number);
}

template <class Way>
void section_of(Way& way, Section& section) {
  way.text(section.title);
  network_of(way, section.network);
  enumerator(way, section.collective);
  enumerator(way, section.type);
  enumerator(way, section.reduction);
  shape_of(way, section.shape);
  way.list(section.points, [](Way& w, MeasurePoint& point) {
    enumerator(w, point.algorithm);
    options_of(w, point.options);
    w.number(point.channels);
    w.number(point.slots);
  });
  count_of(way, section.warmup);
  count_of(way, section.iterations);
}

template <class Way>
void task_of(Way& way, Task& task) {
  way.list(task.sections, [](Way& w, Section& section) { section_of(w, section); });
  way.list(task.remarks, [](Way& w, std::string& remark) { w.text(remark); });
  bool micro = task.micro.has_value();
  flag(way, micro);
  if (micro) {
    if constexpr (Way::kReads)
      task.micro.emplace();
    enumerator(way, task.micro->kind);
    network_of(way, task.micro->network);
    way.list(task.micro->sizes, [](Way& w, Bytes& size) { bytes_of(w, size); });
    way.number(task.micro->depth);
  }
  bool calibration = task.calibration.has_value();
  flag(way, calibration);
  if (calibration) {
    if constexpr (Way::kReads)
      task.calibration.emplace();
    way.list(task.calibration->networks,
             [](Way& w, NetworkOrder& network) { network_of(w, network); });
    flag(way, task.calibration->all_pairs);
    way.text(task.calibration->output);
  }
  way.number(task.warmup);
  way.number(task.iterations);
  flag(way, task.barrier);
  flag(way, task.in_place);
  way.number(task.timeout_ms);
  way.text(task.json);
  flag(way, task.colour);
  flag(way, task.quiet);
  flag(way, task.progress);
}

}  // namespace

std::string to_string(NetworkKind kind) {
  constexpr std::array<const char*, 4> kNames = {"auto", "verbs", "tcp", "shm"};
  return kNames.at(static_cast<std::size_t>(kind));
}

std::string to_string(MicroKind kind) {
  constexpr std::array<const char*, 4> kNames = {"pingpong", "send-lat", "read-lat", "write-bw"};
  return kNames.at(static_cast<std::size_t>(kind));
}

collectives::Request request_of(const Section& section, const MeasurePoint& point) {
  collectives::Request request{section.collective, point.algorithm, section.shape, point.options};
  const auto channels = static_cast<std::size_t>(point.channels);
  if (request.shape.rings.size() > channels)
    request.shape.rings.resize(channels);
  if (request.shape.trees.size() > channels)
    request.shape.trees.resize(channels);
  return request;
}

std::string to_bytes(const Task& task) {
  Writing way;
  way.text(kMark);
  Task copy = task;
  task_of(way, copy);
  return way.writer_.take();
}

Task task_from_bytes(const std::string& bytes, const std::string& from) {
  Reading way(bytes, from);
  std::string mark;
  way.text(mark);
  if (mark != kMark)
    throw SystemError({"read", "not a task of this version of busbw", from, ""});
  Task task;
  task_of(way, task);
  way.reader_.end();
  return task;
}

}  // namespace busbw::real
