// See select_records.h.
#include "models/nccl/select_records.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "sim/core/text.h"
#include "sim/core/value_reader.h"

namespace busbw::nccl {
namespace {

constexpr std::int64_t kMostHosts = 4096;
constexpr double kMostRate = 1e5;  // Gb/s or GB/s
/// Fields of an interface that are read; did-you-mean looks here.
const std::vector<std::string>& interface_keys() {
  static const std::vector<std::string> kKeys{
      "name", "address", "ipv6_address", "ipv6_link_local",    "shaped_gbit",
      "up",   "running", "mtu",          "reported_speed_mbit"};
  return kKeys;
}

/// One interface before "{host}" is filled in.
struct Template {
  Interface interface;
  std::vector<std::string> addresses;
  bool link_local = false;
  std::size_t position = 0;
};

class RecordReader {
 public:
  RecordReader(const Value& value, std::size_t number, Problems& problems)
      : value_(value), problems_(problems), number_(number) {}

  std::optional<SelectionRecord> run() {
    const std::size_t before = problems_.all().size();
    if (!value_.is_object()) {
      problems_.add(value_.where(), fmt::format("record {} must be an object", number_));
      return std::nullopt;
    }
    record_.where = value_.where();
    const Value* id = value_.find("id");
    what_ = id != nullptr && id->is_string() ? fmt::format("record '{}'", id->as_string())
                                             : fmt::format("record {}", number_);
    ObjectReader reader(value_, what_, problems_);
    record_.id = reader.required_text("id").value_or("");
    read_version(reader);
    read_environment(reader);
    record_.gpus_per_host = reader.integer("gpus_per_host", 1, 64).value_or(1);
    speed_ = reader.integer("reported_interface_speed_mbit", -1, 10'000'000);
    read_interfaces(reader);
    read_hosts(reader);
    read_points(reader);
    if (problems_.all().size() != before)
      return std::nullopt;
    return std::move(record_);
  }

 private:
  void read_version(ObjectReader& reader) {
    const std::optional<std::string> text = reader.required_text("nccl_version");
    if (!text)
      return;
    if (const auto version = parse_version(*text)) {
      record_.input.version = *version;
    } else {
      reader.problem(*value_.find("nccl_version"),
                     fmt::format("'{}' is no NCCL version; expected a form such as 2.28.9", *text));
    }
  }

  void read_environment(ObjectReader& reader) {
    const Value* environment = value_.find("env");
    if (environment == nullptr || environment->is_null())
      return;
    if (!environment->is_object()) {
      reader.problem(*environment,
                     fmt::format("key 'env' in {} must be an object of names and texts", what_));
      return;
    }
    for (const auto& [name, value] : environment->as_object()) {
      if (value.is_string()) {
        record_.input.environment[name] = value.as_string();
      } else if (value.is_integer()) {
        record_.input.environment[name] = std::to_string(value.as_integer());
      } else {
        reader.problem(value, fmt::format("variable '{}' in {} must be a text", name, what_));
      }
    }
  }

  void read_interfaces(ObjectReader& reader) {
    const Value* list = reader.required("interfaces");
    if (list == nullptr)
      return;
    if (!list->is_array()) {
      reader.problem(*list, fmt::format("key 'interfaces' in {} must be a list", what_));
      return;
    }
    std::set<std::string> names;
    for (const Value& entry : list->as_array()) {
      if (!entry.is_object()) {
        reader.problem(entry, fmt::format("an interface of {} must be an object", what_));
        continue;
      }
      ObjectReader interface(entry, "an interface of " + what_, problems_);
      read_interface(interface, names);
    }
  }

  void read_interface(ObjectReader& reader, std::set<std::string>& names) {
    Template item;
    item.position = templates_.size();
    const std::optional<std::string> name = reader.required_text("name");
    if (name && !names.insert(*name).second) {
      reader.problem(*reader.value().find("name"),
                     fmt::format("interface '{}' appears twice in {}", *name, what_));
    }
    // A record may carry more than is read here; what looks like a slip of the pen may not pass.
    reader.check_spelling(interface_keys());
    Interface& interface = item.interface;
    interface.name = name.value_or("");
    interface.loopback = interface.name == "lo";
    interface.up = reader.boolean("up").value_or(true);
    interface.running = interface.up && reader.boolean("running").value_or(true);
    interface.mtu = reader.integer("mtu", 68, 65536).value_or(interface.loopback ? 65536 : 1500);
    if (!interface.loopback)
      interface.speed_mbit = reader.integer("reported_speed_mbit", -1, 10'000'000);
    if (!interface.loopback && !interface.speed_mbit)
      interface.speed_mbit = speed_;
    if (const auto gbit = reader.positive("shaped_gbit", kMostRate)) {
      interface.wire_rate = Bandwidth::bits_per_second(std::llround(*gbit * 1e9));
    }
    for (const char* key : {"address", "ipv6_address"})
      read_address(reader, key, item);
    // Linux gives every interface that is up a link-local address; loopback has none.
    item.link_local =
        reader.boolean("ipv6_link_local").value_or(!interface.loopback) && interface.up;
    templates_.push_back(std::move(item));
  }

  void read_address(ObjectReader& reader, const std::string& key, Template& item) {
    const Value* value = reader.value().find(key);
    if (value == nullptr || value->is_null())
      return;
    if (!value->is_string()) {
      reader.problem(*value,
                     fmt::format("key '{}' in {} must be a text or null", key, reader.what()));
      return;
    }
    if (!parse_address(filled(value->as_string(), 1))) {
      reader.problem(*value,
                     fmt::format("'{}' is no address; expected a form such as 10.0.0.{{host}}/24",
                                 value->as_string()));
      return;
    }
    item.addresses.push_back(value->as_string());
  }

  static std::string filled(std::string text, std::int64_t host) {
    static const std::string kMark = "{host}";
    for (std::size_t at = text.find(kMark); at != std::string::npos; at = text.find(kMark)) {
      text.replace(at, kMark.size(), std::to_string(host));
    }
    return text;
  }

  void read_hosts(ObjectReader& reader) {
    reader.required("hosts");
    const std::int64_t count = reader.integer("hosts", 1, kMostHosts).value_or(0);
    for (std::int64_t host = 1; host <= count; ++host) {
      Inventory inventory;
      inventory.host = fmt::format("host {}", host);
      inventory.default_route = false;
      for (const Template& item : templates_) {
        Interface interface = item.interface;
        for (const std::string& text : item.addresses) {
          const std::optional<Address> address = parse_address(filled(text, host));
          if (!address) {
            reader.problem(*value_.find("interfaces"),
                           fmt::format("'{}' is no address for host {} of {}", text, host, what_));
            return;
          }
          interface.addresses.push_back(*address);
        }
        if (item.link_local) {
          interface.addresses.push_back(
              *parse_address(fmt::format("fe80::{:x}:{:x}/64", host, item.position + 1)));
        }
        inventory.interfaces.push_back(std::move(interface));
      }
      record_.input.hosts.push_back(std::move(inventory));
    }
  }

  void read_points(ObjectReader& reader) {
    const Value* points = value_.find("points");
    if (points == nullptr || points->is_null())
      return;
    if (!points->is_array()) {
      reader.problem(*points, fmt::format("key 'points' in {} must be a list", what_));
      return;
    }
    for (const Value& entry : points->as_array()) {
      if (!entry.is_object()) {
        reader.problem(entry, fmt::format("a point of {} must be an object", what_));
        continue;
      }
      ObjectReader point_reader(entry, "a point of " + what_, problems_);
      RecordPoint point;
      point.collective = point_reader.required_text("collective").value_or("");
      point_reader.required("bytes");
      point.bytes = point_reader.integer("bytes", 1, std::int64_t{1} << 50U).value_or(0);
      point.measured_busbw_GBps = point_reader.positive("busbw_GBps", kMostRate).value_or(0);
      point.noisy = point_reader.boolean("noisy").value_or(false);
      record_.points.push_back(std::move(point));
    }
  }

  const Value& value_;
  Problems& problems_;
  std::size_t number_;
  std::string what_;
  SelectionRecord record_;
  std::optional<std::int64_t> speed_;
  std::vector<Template> templates_;
};

std::string outcome_text(const Decision& decision) {
  switch (decision.outcome) {
    case Outcome::kRuns:
      return "ran";
    case Outcome::kError:
      return "error";
    case Outcome::kHang:
      break;
  }
  return "no progress: " + decision.error.value_or("");
}

Value or_null(const std::optional<std::string>& text) {
  return text ? Value(*text) : Value();
}

Value texts(const std::vector<std::string>& lines) {
  Value list = Value::array();
  for (const std::string& line : lines)
    list.push(line);
  return list;
}

}  // namespace

std::vector<SelectionRecord> read_selection_records(const Value& records, Problems& problems) {
  const Value* list = &records;
  if (records.is_object() && records.find("records") != nullptr)
    list = records.find("records");
  std::vector<SelectionRecord> result;
  if (!list->is_array()) {
    problems.add(list->where(), "expected a list of selection records");
    return result;
  }
  std::set<std::string> ids;
  for (std::size_t i = 0; i < list->as_array().size(); ++i) {
    const Value& entry = list->as_array()[i];
    std::optional<SelectionRecord> record = RecordReader(entry, i + 1, problems).run();
    if (!record)
      continue;
    if (!ids.insert(record->id).second) {
      problems.add(entry.where(), fmt::format("record '{}' appears twice", record->id));
    }
    result.push_back(std::move(*record));
  }
  return result;
}

std::vector<std::string> reason_lines(const Decision& decision) {
  std::vector<std::string> lines;
  const auto add = [&](const std::vector<Reason>& reasons) {
    for (const Reason& reason : reasons)
      lines.push_back(fmt::format("{}: {} ({})", reason.rule, reason.text, reason.source));
  };
  add(decision.hosts.front().reasons);
  add(decision.reasons);
  return lines;
}

Value selection_output(const SelectionRecord& record, const Decision& decision,
                       const PointPredictor& predict) {
  const HostDecision& host = decision.hosts.front();
  Value devices = Value::array();
  for (const NetDevice& device : host.data_devices)
    devices.push(device.name);
  Value channels = Value::array();
  for (const ChannelDevice& channel : decision.channels) {
    channels.push(
        Value::object().set("channel", channel.channel).set("net_device", channel.net_device));
  }
  Value points = Value::array();
  for (const RecordPoint& point : record.points) {
    const std::optional<double> predicted =
        predict ? predict(record, decision, point) : std::nullopt;
    Value entry = Value::object();
    entry.set("collective", point.collective).set("bytes", point.bytes);
    entry.set("measured_busbw_GBps",
              point.measured_busbw_GBps > 0 ? Value(point.measured_busbw_GBps) : Value());
    entry.set("predicted_busbw_GBps", predicted ? Value(*predicted) : Value());
    if (point.noisy)
      entry.set("noisy", true);
    points.push(std::move(entry));
  }
  Value output = Value::object();
  output.set("id", record.id)
      .set("bootstrap_interface", or_null(host.bootstrap_interface))
      .set("data_interfaces", std::move(devices))
      .set("network", or_null(host.network))
      .set("channels", std::move(channels))
      .set("outcome", outcome_text(decision))
      .set("error", decision.outcome == Outcome::kError ? or_null(decision.error) : Value())
      .set("reasons", texts(reason_lines(decision)))
      .set("points", std::move(points))
      .set("warnings", texts(decision.warnings));
  return output;
}

}  // namespace busbw::nccl
