// Reads InfraGraph: devices of components, instances of devices, and edges between them.
//
// Source of the schema: github.com/Keysight/infragraph, models/*.yaml and
// src/infragraph/infragraph_service.py, releases 0.4 to 2.0. Only what joins instances counts here:
// `edges` of the infrastructure, whose ends are "host[0:8]" and "nic[0]" in Python's slices, joined
// all with all (many2many) or one with one. What a device is made of inside is left out, and so are
// edges that end at a component which is no port, nic or custom one (a remark says how many).
//
// InfraGraph does not say what is a switch. Here: a device without an xpu, npu or nic, in itself
// and in the devices that it is composed of. Ports of a switch are numbered from 1 in order of its
// components.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "sim/core/text.h"
#include "topologies/networks/edge_list.h"

namespace busbw::networks {
namespace {

constexpr std::int64_t kMostParts = 65'536;  // of one component, or instances of one device
constexpr std::size_t kMostEnds = 1U << 20U;

struct Part {
  std::string name;
  std::string kind;  // "nic", "port", "device" ...
  std::int64_t count = 1;
};

struct Device {
  std::vector<Part> parts;
  [[nodiscard]] const Part* find(const std::string& name) const {
    const auto found = std::find_if(parts.begin(), parts.end(),
                                    [&](const Part& part) { return part.name == name; });
    return found == parts.end() ? nullptr : &*found;
  }
};

struct Instance {
  std::string device;
  std::int64_t count = 1;
  Location where;
};

template <class Known>
std::vector<std::string> keys_of(const std::map<std::string, Known>& known) {
  std::vector<std::string> keys;
  for (const auto& [key, unused] : known) {
    static_cast<void>(unused);
    keys.push_back(key);
  }
  return keys;
}

/// "nic[0:4]" as name and indices, of 0 .. count - 1.
struct Slice {
  std::string name;
  std::int64_t start = 0;
  std::int64_t stop = 0;
  std::int64_t step = 1;
};

class Reader {
 public:
  Reader(const topologies::Catalog& catalog, Problems& problems)
      : catalog_(catalog), problems_(problems) {}

  Imported read(const YamlNode& file);

 private:
  void read_devices(const YamlNode& list);
  void read_instances(const YamlNode& list);
  void read_links(const YamlNode& list);
  void read_edges(const YamlNode& list);
  void read_edge(const YamlNode& node);
  Bandwidth rate_of(const YamlNode& node);
  std::optional<Slice> slice(const std::string& text, std::int64_t count, const Location& where);
  std::vector<EdgeEnd> ends_of(const YamlNode& node, const char* key);
  std::vector<EdgeEnd> ports_of(const Instance& instance, const std::string& path,
                                const Location& where);
  [[nodiscard]] bool is_host(const std::string& device, std::set<std::string>& seen) const;
  [[nodiscard]] bool is_switch(const std::string& device) const {
    std::set<std::string> seen;
    return !is_host(device, seen);
  }
  [[nodiscard]] static bool carries_cables(const Part& part) {
    return part.kind == "port" || part.kind == "nic" || part.kind == "custom";
  }

  const topologies::Catalog& catalog_;
  Problems& problems_;
  std::map<std::string, Device> devices_;
  std::map<std::string, Instance> instances_;
  std::map<std::string, Bandwidth> links_;
  std::vector<Edge> edges_;
  std::int64_t left_out_ = 0;
};

bool Reader::is_host(const std::string& device, std::set<std::string>& seen) const {
  const auto found = devices_.find(device);
  if (found == devices_.end() || !seen.insert(device).second) {
    return false;
  }
  return std::any_of(found->second.parts.begin(), found->second.parts.end(), [&](const Part& part) {
    return part.kind == "xpu" || part.kind == "npu" || part.kind == "nic" ||
           (part.kind == "device" && is_host(part.name, seen));
  });
}

void Reader::read_devices(const YamlNode& list) {
  static const std::vector<std::string> kKinds = {"custom", "device", "cpu",  "npu",   "xpu",
                                                  "nic",    "memory", "port", "switch"};
  for (const YamlNode& element : list.elements()) {
    MappingReader reader(element, "a device", problems_);
    const std::string name = reader.required_text("name");
    Device device;
    if (const auto parts = reader.sequence("components")) {
      for (const YamlNode& each : parts->elements()) {
        MappingReader inner(each, "a component of device '" + name + "'", problems_);
        Part part;
        part.name = inner.required_text("name");
        // "choice" since 0.4, "type" before.
        part.kind =
            inner.choice(inner.has("choice") ? "choice" : "type", kKinds).value_or("memory");
        part.count = inner.integer("count", 1, kMostParts).value_or(1);
        device.parts.push_back(std::move(part));
      }
    }
    if (!devices_.emplace(name, std::move(device)).second) {
      problems_.add(element.where(), fmt::format("second device '{}'", name));
    }
  }
}

void Reader::read_instances(const YamlNode& list) {
  for (const YamlNode& element : list.elements()) {
    MappingReader reader(element, "an instance", problems_);
    const std::string name = reader.required_text("name");
    Instance instance;
    instance.where = element.where();
    instance.device = reader.required_text("device");
    instance.count = reader.integer("count", 1, kMostParts).value_or(1);
    if (!instance.device.empty() && devices_.count(instance.device) == 0) {
      reader.problem("device", fmt::format("no device '{}'{}", instance.device,
                                           did_you_mean(instance.device, keys_of(devices_))));
    }
    if (!instances_.emplace(name, std::move(instance)).second) {
      problems_.add(element.where(), fmt::format("second instance '{}'", name));
    }
  }
}

/// Transfers per second are no rate of a cable: nothing is known then.
Bandwidth Reader::rate_of(const YamlNode& node) {
  constexpr double kMost = 1e6;
  MappingReader reader(node, "a bandwidth", problems_);
  static_cast<void>(reader.text("choice"));
  const std::optional<double> bits = reader.number("gigabits_per_second", 0, kMost);
  const std::optional<double> bytes = reader.number("gigabytes_per_second", 0, kMost);
  static_cast<void>(reader.number("gigatransfers_per_second", 0, kMost));
  reader.finish();
  constexpr double kGiga = 1e9;
  const double gigabits = bits.value_or(bytes.value_or(0) * 8);
  return Bandwidth::bits_per_second(std::llround(gigabits * kGiga));
}

void Reader::read_links(const YamlNode& list) {
  for (const YamlNode& element : list.elements()) {
    MappingReader reader(element, "a link", problems_);
    const std::string name = reader.required_text("name");
    Bandwidth rate;
    if (const auto physical = reader.mapping("physical")) {
      MappingReader inner(*physical, "'physical' of link '" + name + "'", problems_);
      if (const auto bandwidth = inner.mapping("bandwidth")) {
        rate = rate_of(*bandwidth);
      }
      static_cast<void>(inner.mapping("latency"));
      inner.finish();
    }
    if (!links_.emplace(name, rate).second) {
      problems_.add(element.where(), fmt::format("second link '{}'", name));
    }
  }
}

std::optional<Slice> Reader::slice(const std::string& text, std::int64_t count,
                                   const Location& where) {
  Slice found{text, 0, count, 1};
  const std::size_t open = text.find('[');
  if (open == std::string::npos) {
    return found;
  }
  found.name = text.substr(0, open);
  const auto bad = [&]() -> std::optional<Slice> {
    problems_.add(where, fmt::format("'{}' must be a name with an index or a slice, as nic[0] or "
                                     "nic[0:{}], of 0 to {}",
                                     text, count, count - 1));
    return std::nullopt;
  };
  if (text.back() != ']') {
    return bad();
  }
  // One empty part more, so that there is always one.
  const std::string inside = text.substr(open + 1, text.size() - open - 2) + ":";
  const std::vector<std::string_view> words = split(inside, ':');
  const std::size_t parts = words.size() - 1;
  if (parts < 1 || parts > 3) {
    return bad();
  }
  std::array<std::int64_t, 3> values = {0, count, 1};
  for (std::size_t i = 0; i < parts; ++i) {
    if (trim(words[i]).empty() && parts > 1) {
      continue;
    }
    const std::optional<std::int64_t> value = parse_integer(trim(words[i]));
    if (!value || *value < (i == 2 ? 1 : 0)) {
      return bad();
    }
    values[i] = *value;
  }
  found.start = values[0];
  found.stop = parts == 1 ? values[0] + 1 : values[1];
  found.step = values[2];
  return found.start < found.stop && found.stop <= count ? std::optional(found) : bad();
}

/// The ports that a path of components names in each instance; the name is what comes after the
/// instance's.
std::vector<EdgeEnd> Reader::ports_of(const Instance& instance, const std::string& path,
                                      const Location& where) {
  std::vector<EdgeEnd> ends = {{"", 0}};
  std::string device = instance.device;
  const std::vector<std::string_view> steps = split(path, '.');
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::string step(steps[i]);
    const std::string name = step.substr(0, step.find('['));
    const auto known = devices_.find(device);
    if (known == devices_.end()) {
      if (device != instance.device) {  // else it is reported at the instance
        problems_.add(where, fmt::format("no device '{}'{}", device,
                                         did_you_mean(device, keys_of(devices_))));
      }
      return {};
    }
    const Part* part = known->second.find(name);
    if (part == nullptr) {
      std::vector<std::string> names;
      for (const Part& each : known->second.parts) {
        names.push_back(each.name);
      }
      problems_.add(where, fmt::format("device '{}' has no component '{}'{}", device, name,
                                       did_you_mean(name, names)));
      return {};
    }
    const std::optional<Slice> indices = slice(step, part->count, where);
    if (!indices) {
      return {};
    }
    if (i + 1 == steps.size() && !carries_cables(*part)) {
      return {};
    }
    std::int64_t first = 1;  // of the ports of a switch
    for (const Part& before : known->second.parts) {
      if (before.name == name) {
        break;
      }
      first += carries_cables(before) ? before.count : 0;
    }
    std::vector<EdgeEnd> longer;
    for (const EdgeEnd& end : ends) {
      for (std::int64_t k = indices->start; k < indices->stop; k += indices->step) {
        const std::string dot = end.name.empty() ? "" : ".";
        const bool numbered = steps.size() == 1 && is_switch(instance.device);
        longer.push_back({fmt::format("{}{}{}.{}", end.name, dot, name, k),
                          numbered ? static_cast<std::int32_t>(first + k) : 0});
      }
    }
    ends = std::move(longer);
    device = name;  // a component that is a device has the device's name
  }
  return ends;
}

std::vector<EdgeEnd> Reader::ends_of(const YamlNode& node, const char* key) {
  MappingReader reader(node, fmt::format("'{}' of an edge", key), problems_);
  const std::string word = reader.required_text("instance");
  const std::string path = reader.required_text("component");
  const std::string name = word.substr(0, word.find('['));
  const auto instance = instances_.find(name);
  if (instance == instances_.end()) {
    if (!word.empty()) {
      reader.problem("instance", fmt::format("no instance '{}'{}", name,
                                             did_you_mean(name, keys_of(instances_))));
    }
    return {};
  }
  const std::optional<Slice> indices =
      slice(word, instance->second.count, reader.where("instance"));
  const std::vector<EdgeEnd> ports = ports_of(instance->second, path, reader.where("component"));
  std::vector<EdgeEnd> ends;
  const bool is_a_switch = is_switch(instance->second.device);
  for (std::int64_t k = indices ? indices->start : 0; indices && k < indices->stop;
       k += indices->step) {
    for (const EdgeEnd& port : ports) {
      const std::string who = fmt::format("{}.{}", name, k);
      ends.push_back({is_a_switch ? who : who + "/" + port.name, port.port});
      if (ends.size() > kMostEnds) {
        problems_.add(node.where(), fmt::format("more than {} ends of an edge", kMostEnds));
        return {};
      }
    }
  }
  return ends;
}

void Reader::read_edge(const YamlNode& node) {
  MappingReader reader(node, "an edge", problems_);
  const std::size_t before = problems_.all().size();
  const YamlNode one = reader.required_mapping("ep1");
  const YamlNode two = reader.required_mapping("ep2");
  const std::vector<EdgeEnd> from = ends_of(one, "ep1");
  const std::vector<EdgeEnd> to = ends_of(two, "ep2");
  const bool all = reader.required_choice("scheme", {"one2one", "many2many"}) == "many2many";
  const std::string link = reader.required_text("link");
  const auto rate = links_.find(link);
  if (rate == links_.end() && !link.empty()) {
    reader.problem("link",
                   fmt::format("no link '{}'{}", link, did_you_mean(link, keys_of(links_))));
  }
  reader.finish();
  if (problems_.all().size() > before) {
    return;
  }
  if (from.empty() || to.empty()) {
    left_out_++;
    return;
  }
  if (!all && from.size() != to.size()) {
    reader.problem("scheme", fmt::format("one2one joins as many ends as there are on either side; "
                                         "here are {} and {}",
                                         from.size(), to.size()));
    return;
  }
  if (all && from.size() * to.size() > kMostEnds) {
    reader.problem("scheme", fmt::format("more than {} cables in an edge", kMostEnds));
    return;
  }
  for (std::size_t i = 0; i < from.size(); ++i) {
    for (std::size_t k = all ? 0 : i; k < (all ? to.size() : i + 1); ++k) {
      if (from[i].name != to[k].name || from[i].port != to[k].port) {
        edges_.push_back({from[i], to[k], rate->second, node.where()});
      }
    }
  }
}

Imported Reader::read(const YamlNode& file) {
  MappingReader outer(file, "the file", problems_);
  // As a query answers it, or the infrastructure alone.
  const YamlNode root = outer.mapping("infrastructure").value_or(file);
  MappingReader reader(root, "the infrastructure", problems_);
  read_devices(reader.required_sequence("devices"));
  read_instances(reader.required_sequence("instances"));
  if (const auto list = reader.sequence("links")) {
    read_links(*list);
  }
  const YamlNode edges = reader.required_sequence("edges");
  for (const YamlNode& edge : edges.elements()) {
    read_edge(edge);
  }
  if (!problems_.empty()) {
    return {};
  }
  std::vector<DeclaredSwitch> switches;
  std::int64_t hosts = 0;
  for (const auto& [name, instance] : instances_) {
    for (std::int64_t k = 0; k < instance.count; ++k) {
      if (is_switch(instance.device)) {
        switches.push_back({fmt::format("{}.{}", name, k), 0, instance.where});
      } else {
        hosts++;
      }
    }
  }
  Imported result = subnet_of(switches, edges_, file.where().file, catalog_, problems_);
  result.remarks.push_back(
      fmt::format("{} instances are switches, having no xpu, npu or nic; {} are hosts",
                  switches.size(), hosts));
  if (left_out_ > 0) {
    result.remarks.push_back(fmt::format(
        "{} edges end at no port, nic or custom component and are left out", left_out_));
  }
  return result;
}

}  // namespace

Imported read_infragraph(const YamlNode& file, const topologies::Catalog& catalog,
                         Problems& problems) {
  return Reader(catalog, problems).read(file);
}

}  // namespace busbw::networks
