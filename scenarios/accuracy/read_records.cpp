// See read_records.h.
#include "scenarios/accuracy/read_records.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "scenarios/accuracy/gpu_buses.h"
#include "sim/core/value_reader.h"

namespace busbw::scenarios::accuracy {
namespace {

constexpr std::int64_t kMostGpus = 1024;
constexpr std::int64_t kMostNodes = 65536;
constexpr std::int64_t kMostRanks = 1'000'000;
constexpr std::int64_t kMostNics = 256;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;
constexpr double kMostGbps = 1e5;
constexpr double kMostMicroseconds = 1e12;

Bandwidth gigabits(double value) {
  return Bandwidth::bits_per_second(std::llround(value * 1e9));
}
Bandwidth gigabytes(double value) {
  return gigabits(value * 8);
}

std::optional<std::int32_t> small(std::optional<std::int64_t> value) {
  return value ? std::optional(static_cast<std::int32_t>(*value)) : std::nullopt;
}

/// A scalar as text: conditions and variables are written as texts, numbers and booleans.
std::optional<std::string> scalar_text(const Value& value) {
  if (value.is_string()) {
    return value.as_string();
  }
  if (value.is_bool()) {
    return value.as_bool() ? "true" : "false";
  }
  if (value.is_integer()) {
    return std::to_string(value.as_integer());
  }
  return value.is_number() ? std::optional(fmt::format("{}", value.as_number())) : std::nullopt;
}

class RecordReader {
 public:
  RecordReader(const Value& value, std::size_t number, Problems& problems)
      : value_(value), problems_(problems), number_(number) {}

  std::optional<Record> run() {
    const std::size_t before = problems_.all().size();
    if (!value_.is_object()) {
      problems_.add(value_.where(), fmt::format("record {} must be an object", number_));
      return std::nullopt;
    }
    const Value* id = value_.find("id");
    what_ = id != nullptr && id->is_string() ? fmt::format("record '{}'", id->as_string())
                                             : fmt::format("record {}", number_);
    ObjectReader reader(value_, what_, problems_);
    reader.check_spelling(
        {"id",         "source",    "kind",      "system",  "nccl_version", "env",
         "collective", "algo",      "proto",     "points",  "notes",        "quality",
         "pair",       "pair_role", "pair_type", "summary", "slow_link",    "data_interfaces",
         "rings",      "trees"});
    record_.where = value_.where();
    record_.id = reader.required_text("id").value_or("");
    record_.source = reader.text("source").value_or("");
    record_.kind = reader.required_text("kind").value_or("");
    record_.nccl_version = reader.text("nccl_version").value_or("");
    record_.collective = reader.required_text("collective").value_or("");
    record_.algorithm = reader.text("algo").value_or("");
    record_.protocol = reader.text("proto").value_or("");
    record_.notes = reader.text("notes").value_or("");
    read_quality(reader);
    read_environment(reader);
    if (reader.required("system") != nullptr) {
      read_system(reader);
    }
    read_slow_link(reader);
    read_points(reader);
    if (problems_.all().size() != before) {
      return std::nullopt;
    }
    return std::move(record_);
  }

 private:
  void read_quality(ObjectReader& reader) {
    const std::string text = reader.text("quality").value_or("high");
    for (const Quality quality : {Quality::kHigh, Quality::kMedium, Quality::kLow}) {
      if (text == to_string(quality)) {
        record_.quality = quality;
        return;
      }
    }
    reader.problem(
        *value_.find("quality"),
        fmt::format("quality '{}' of {}; allowed: 'high', 'medium' or 'low'", text, what_));
  }

  void read_environment(ObjectReader& reader) {
    const Value* environment = reader.object("env");
    if (environment == nullptr) {
      return;
    }
    for (const auto& [name, value] : environment->as_object()) {
      if (const std::optional<std::string> text = scalar_text(value)) {
        record_.environment[name] = *text;
      } else {
        reader.problem(value, fmt::format("variable '{}' in {} must be a text", name, what_));
      }
    }
  }

  void read_system(ObjectReader& reader) {
    const Value* object = reader.object("system");
    if (object == nullptr) {
      if (value_.find("system")->is_null()) {
        reader.problem(*value_.find("system"),
                       fmt::format("key 'system' in {} must be an object", what_));
      }
      return;
    }
    ObjectReader system(*object, "the system of " + what_, problems_);
    system.check_spelling({"gpu", "gpus_per_node", "nodes", "ranks", "intra", "nic", "pcie", "cpu",
                           "host", "conditions"});
    RecordSystem& to = record_.system;
    to.gpu = system.text("gpu").value_or("");
    to.gpus_per_node = small(system.integer("gpus_per_node", 1, kMostGpus));
    to.nodes = small(system.integer("nodes", 1, kMostNodes));
    to.ranks = small(system.integer("ranks", 1, kMostRanks));
    to.pcie = system.text("pcie").value_or("");
    to.cpu = system.text("cpu").value_or("");
    to.host = system.text("host").value_or("");
    read_intra(system);
    to.gpu_buses = buses_in(to.intra.kind);
    if (const Value* nic = system.object("nic")) {
      read_nic(*nic);
    }
    read_conditions(system);
  }

  void read_intra(ObjectReader& system) {
    const Value* value = system.value().find("intra");
    if (value == nullptr || value->is_null()) {
      return;
    }
    RecordIntra& to = record_.system.intra;
    if (value->is_string()) {  // a word instead of an object: "NV2 mesh"
      to.kind = value->as_string();
      return;
    }
    if (system.object("intra") == nullptr) {
      return;
    }
    ObjectReader intra(*value, "'intra' of " + what_, problems_);
    to.nvlink = intra.text("nvlink").value_or("");
    to.nv_switch = intra.text("switch").value_or("");
    to.kind = intra.text("kind").value_or("");
    to.other = intra.text("xgmi").value_or("");
    to.p2p = intra.boolean("p2p");
    if (const auto rate = intra.positive("GBps_per_gpu_uni", kMostGbps)) {
      to.per_gpu = gigabytes(*rate);
    }
    if (const auto rate = intra.positive("GBps_per_pair_uni", kMostGbps)) {
      to.per_pair = gigabytes(*rate);
    }
  }

  void read_nic(const Value& value) {
    ObjectReader nic(value, "'nic' of " + what_, problems_);
    nic.check_spelling({"type", "count", "Gbps", "link", "gdr", "sharp", "note", "fabric",
                        "interfaces", "mtu", "reported_speed_mbit"});
    RecordNic& to = record_.system.nic;
    to.type = nic.text("type").value_or("");
    to.link = nic.text("link").value_or("");
    to.count = small(nic.integer("count", 0, kMostNics));
    if (const auto rate = nic.positive("Gbps", kMostGbps)) {
      to.rate = gigabits(*rate);
    }
    to.gdr = nic.boolean("gdr");
    to.sharp = nic.boolean("sharp");
    to.mtu = nic.integer("mtu", 68, 65536);
    to.reported_speed_mbit = nic.integer("reported_speed_mbit", -1, 10'000'000);
    if (const Value* interfaces = nic.list("interfaces")) {
      for (const Value& entry : interfaces->as_array()) {
        read_interface(entry);
      }
    }
  }

  void read_interface(const Value& value) {
    if (!value.is_object()) {
      problems_.add(value.where(), fmt::format("an interface of {} must be an object", what_));
      return;
    }
    ObjectReader reader(value, "an interface of " + what_, problems_);
    reader.check_spelling({"name", "shaped_gbit"});
    RecordInterface interface;
    interface.name = reader.required_text("name").value_or("");
    if (const auto rate = reader.positive("shaped_gbit", kMostGbps)) {
      interface.shaped = gigabits(*rate);
    }
    record_.system.nic.interfaces.push_back(std::move(interface));
  }

  void read_conditions(ObjectReader& system) {
    const Value* conditions = system.object("conditions");
    if (conditions == nullptr) {
      return;
    }
    for (const auto& [name, value] : conditions->as_object()) {
      if (const std::optional<std::string> text = scalar_text(value)) {
        record_.system.conditions[name] = *text;
      } else {
        system.problem(value, fmt::format("condition '{}' of {} must be a text, a number or true "
                                          "or false",
                                          name, what_));
      }
    }
  }

  void read_slow_link(ObjectReader& reader) {
    const Value* value = reader.object("slow_link");
    if (value == nullptr) {
      return;
    }
    ObjectReader link(*value, "'slow_link' of " + what_, problems_);
    SlowLink slow;
    link.required("host");
    link.required("Gbps");
    slow.host = static_cast<std::int32_t>(link.integer("host", 1, kMostNodes).value_or(1));
    slow.nic = link.required_text("nic").value_or("");
    slow.rate = gigabits(link.positive("Gbps", kMostGbps).value_or(0));
    record_.slow_link = slow;
  }

  void read_points(ObjectReader& reader) {
    if (reader.required("points") == nullptr) {
      return;
    }
    const Value* points = reader.list("points");
    if (points == nullptr) {
      return;
    }
    for (const Value& entry : points->as_array()) {
      if (!entry.is_object()) {
        reader.problem(entry, fmt::format("a point of {} must be an object", what_));
        continue;
      }
      read_point(entry);
    }
  }

  void read_point(const Value& value) {
    ObjectReader reader(value, "a point of " + what_, problems_);
    reader.check_spelling({"bytes", "time_us", "algbw_GBps", "busbw_GBps", "in_place", "GBps",
                           "Gbps", "MiBps", "test", "qps", "noisy", "derived", "flag",
                           "size_assumed", "time_us_min", "time_us_max"});
    RecordPoint point;
    if (const auto bytes = reader.integer("bytes", 1, kMostBytes)) {
      point.bytes = Bytes(*bytes);
    }
    point.time_us = reader.positive("time_us", kMostMicroseconds);
    point.algbw_GBps = reader.not_negative("algbw_GBps", kMostGbps);
    point.busbw_GBps = reader.not_negative("busbw_GBps", kMostGbps);
    point.rate_GBps = reader.not_negative("GBps", kMostGbps);
    point.test = reader.text("test").value_or("");
    point.noisy = reader.boolean("noisy").value_or(false);
    const Value* flags = reader.list("flag");
    point.inconsistent = flags != nullptr && !flags->as_array().empty();
    reader.boolean("in_place");
    record_.points.push_back(std::move(point));
  }

  const Value& value_;
  Problems& problems_;
  std::size_t number_;
  std::string what_;
  Record record_;
};

/// The list itself, or the member of that name of an object.
const Value* list_of(const Value& file, const char* key, const char* what, Problems& problems) {
  const Value* list = &file;
  if (file.is_object() && file.find(key) != nullptr) {
    list = file.find(key);
  }
  if (!list->is_array()) {
    problems.add(list->where(), fmt::format("expected a list of {}", what));
    return nullptr;
  }
  return list;
}

std::optional<Group> read_group(const Value& value, Problems& problems) {
  if (!value.is_object()) {
    problems.add(value.where(), "a comparison group must be an object");
    return std::nullopt;
  }
  const std::size_t before = problems.all().size();
  ObjectReader reader(value, "a comparison group", problems);
  Group group;
  group.where = value.where();
  group.name = reader.required_text("pair").value_or("");
  group.type = reader.text("type").value_or("");
  group.judged = reader.boolean("judged").value_or(false);
  group.why_not = reader.text("why_not").value_or("");
  reader.required("members");
  if (const Value* members = reader.list("members")) {
    for (const Value& entry : members->as_array()) {
      if (!entry.is_object()) {
        reader.problem(entry, "a member of group '" + group.name + "' must be an object");
        continue;
      }
      ObjectReader member(entry, "a member of group '" + group.name + "'", problems);
      group.members.push_back(
          {member.required_text("id").value_or(""), member.text("role").value_or("")});
    }
  }
  return problems.all().size() == before ? std::optional(std::move(group)) : std::nullopt;
}

}  // namespace

std::string to_string(Quality quality) {
  switch (quality) {
    case Quality::kHigh:
      return "high";
    case Quality::kMedium:
      return "medium";
    case Quality::kLow:
      break;
  }
  return "low";
}

std::vector<Record> read_records(const Value& file, Problems& problems) {
  std::vector<Record> records;
  const Value* list = list_of(file, "records", "measurement records", problems);
  if (list == nullptr) {
    return records;
  }
  std::set<std::string> ids;
  for (std::size_t i = 0; i < list->as_array().size(); ++i) {
    std::optional<Record> record = RecordReader(list->as_array()[i], i + 1, problems).run();
    if (!record) {
      continue;
    }
    if (!ids.insert(record->id).second) {
      problems.add(record->where, fmt::format("second record with the id '{}'", record->id));
      continue;
    }
    records.push_back(std::move(*record));
  }
  return records;
}

std::vector<Group> read_groups(const Value& file, Problems& problems) {
  std::vector<Group> groups;
  const Value* list = list_of(file, "groups", "comparison groups", problems);
  if (list == nullptr) {
    return groups;
  }
  for (const Value& value : list->as_array()) {
    if (std::optional<Group> group = read_group(value, problems)) {
      groups.push_back(std::move(*group));
    }
  }
  return groups;
}

}  // namespace busbw::scenarios::accuracy
