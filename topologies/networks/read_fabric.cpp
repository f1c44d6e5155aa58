// Reads fabric files: forms and ranges of single values. What only fits together once the fabric
// stands (ports, names) is build_fabric's to check.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include <fmt/format.h>

#include "sim/core/check.h"
#include "sim/core/text.h"
#include "topologies/networks/fabric_spec.h"

namespace busbw::networks {
namespace {

constexpr std::int64_t kMostHosts = 65'536;
constexpr std::int64_t kMostNics = 64;
constexpr std::int64_t kMostAllPorts = 524'288;  // of all hosts together
constexpr std::int64_t kMostPorts = 254;         // of a forwarding table
constexpr double kLongestCable = 100'000;        // m
constexpr double kMostCost = 1e12;

std::int32_t small(const std::optional<std::int64_t>& value, std::int32_t otherwise) {
  return value ? static_cast<std::int32_t>(*value) : otherwise;
}

std::optional<Ratio> parse_ratio(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, ':');
  if (parts.size() != 2) {
    return std::nullopt;
  }
  const std::optional<std::int64_t> down = parse_integer(parts[0]);
  const std::optional<std::int64_t> up = parse_integer(parts[1]);
  if (!down || !up || *down < 1 || *up < 1 || *down > kMostPorts || *up > kMostPorts) {
    return std::nullopt;
  }
  return Ratio{*down, *up};
}

std::vector<std::int64_t> read_numbers(MappingReader& reader, const std::string& key,
                                       std::int64_t min, std::int64_t max, bool required) {
  std::vector<std::int64_t> numbers;
  const std::optional<std::vector<std::string>> texts =
      required ? std::optional(reader.required_texts(key)) : reader.texts(key);
  for (const std::string& text : texts.value_or(std::vector<std::string>{})) {
    const std::optional<std::int64_t> number = parse_integer(text);
    if (!number || *number < min || *number > max) {
      reader.problem(key, fmt::format("'{}' in {} must be whole numbers from {} to {}, found '{}'",
                                      key, reader.what(), min, max, text));
      return {};
    }
    numbers.push_back(*number);
  }
  return numbers;
}

void read_hosts(const YamlNode& list, Problems& problems, FabricSpec& spec) {
  std::int64_t all = 0;
  std::int64_t ports = 0;
  for (const YamlNode& element : list.elements()) {
    MappingReader reader(element, "a group of hosts", problems);
    HostGroup group;
    group.prefix = reader.text("name").value_or("node");
    group.count = static_cast<std::int32_t>(reader.required_integer("count", 1, kMostHosts));
    group.nics = small(reader.integer("nics", 1, kMostNics), 1);
    group.rate = reader.bandwidth("rate");
    if (group.rate && *group.rate <= Bandwidth()) {
      reader.problem("rate", "'rate' in a group of hosts must be more than 0");
    }
    reader.finish();
    all += group.count;
    ports += std::int64_t{group.count} * group.nics;
    spec.hosts.push_back(std::move(group));
  }
  if (all > kMostHosts || ports > kMostAllPorts) {
    problems.add(list.where(), fmt::format("{} hosts with {} ports; allowed: up to {} and {}", all,
                                           ports, kMostHosts, kMostAllPorts));
  }
}

void read_cables(const YamlNode& list, Problems& problems, FabricSpec& spec) {
  for (const YamlNode& element : list.elements()) {
    MappingReader reader(element, "a cable", problems);
    TierCable cable;
    cable.model = reader.required_text("cable");
    cable.length_mm = std::llround(reader.required_number("length_m", 0, kLongestCable) * 1000);
    reader.finish();
    spec.cables.push_back(std::move(cable));
  }
}

void read_faults(const YamlNode& list, bool missing, Problems& problems, FabricSpec& spec) {
  for (const YamlNode& element : list.elements()) {
    MappingReader reader(element, missing ? "a missing cable" : "a degraded cable", problems);
    CableFault fault;
    fault.where = element.where();
    fault.missing = missing;
    fault.from = reader.required_text("from");
    fault.to = reader.text("to").value_or("");
    fault.port = small(reader.integer("port", 1, kMostPorts), 0);
    fault.number = small(reader.integer("number", 1, kMostPorts), 1);
    if (reader.has("to") && reader.has("port")) {
      reader.problem("port", "'to' and 'port': give one of them");
    }
    if (!missing) {
      fault.rate = reader.bandwidth("rate");
      if (const auto width = reader.text("width")) {
        fault.lanes = parse_width(*width);
        if (!fault.lanes) {
          reader.problem("width",
                         fmt::format("'width' must be 1x, 2x, 4x, 8x or 12x, found '{}'", *width));
        }
      }
      if (!reader.has("rate") && !reader.has("width")) {
        reader.problem("from", "a degraded cable needs a 'rate' or a 'width'");
      }
    }
    reader.finish();
    spec.faults.push_back(std::move(fault));
  }
}

void read_partitions(const YamlNode& list, Problems& problems, FabricSpec& spec) {
  for (const YamlNode& element : list.elements()) {
    MappingReader reader(element, "a partition", problems);
    Partition partition;
    partition.where = element.where();
    partition.name = reader.text("name").value_or("");
    partition.pkey = static_cast<Pkey>(reader.required_integer("pkey", 1, 0x7fff));
    partition.full = reader.choice("members", {"full", "limited"}).value_or("full") == "full";
    partition.hosts = reader.texts("hosts").value_or(std::vector<std::string>{});
    reader.finish();
    spec.partitions.push_back(std::move(partition));
  }
}

void read_manager(const YamlNode& node, Problems& problems, FabricSpec& spec) {
  MappingReader reader(node, "'subnet_manager'", problems);
  const std::string state =
      reader.choice("state", {"running", "down", "absent"}).value_or("running");
  spec.manager = state == "running" ? Manager::kRunning
                 : state == "down"  ? Manager::kDown
                                    : Manager::kAbsent;
  const std::optional<std::string> ports = reader.choice("ports", {"init", "active"});
  if (ports && spec.manager != Manager::kDown) {
    reader.problem("ports", fmt::format("'ports' goes with 'state: down'; this one is {}", state));
  }
  spec.hosts_init = spec.manager == Manager::kDown && ports.value_or("init") == "init";
  if (const auto engine = reader.choice("routing", {"ftree", "updn", "minhop", "d-mod-k"})) {
    spec.routing = parse_engine(*engine);
  }
  if (const auto tables = reader.text("tables")) {
    spec.tables_where = reader.where("tables");
    spec.tables = (std::filesystem::path(spec.tables_where.file).parent_path() / *tables).string();
    if (spec.routing) {
      reader.problem("tables", "'tables' and 'routing': give one of them");
    }
  }
  spec.lmc = small(reader.integer("lmc", 0, 7), 0);
  spec.sl = small(reader.integer("service_level", 0, 15), 0);
  for (const std::int64_t vl : read_numbers(reader, "sl2vl", 0, 15, false)) {
    spec.sl2vl.push_back(static_cast<std::int32_t>(vl));
  }
  if (!spec.sl2vl.empty() && spec.sl2vl.size() != 16) {
    reader.problem("sl2vl", fmt::format("'sl2vl' needs 16 entries, found {}", spec.sl2vl.size()));
  }
  if (const auto list = reader.sequence("partitions")) {
    read_partitions(*list, problems, spec);
  }
  reader.finish();
}

std::map<std::string, double> read_amounts(MappingReader& reader, const std::string& key,
                                           Problems& problems) {
  std::map<std::string, double> amounts;
  if (const auto node = reader.mapping(key)) {
    MappingReader inner(*node, "'" + key + "'", problems);
    for (const YamlNode::Entry& entry : node->entries()) {
      amounts[lower(entry.key)] = inner.required_number(entry.key, 0, kMostCost);
    }
    inner.finish();
  }
  return amounts;
}

Inputs read_inputs(const YamlNode& node, const std::string& what, Problems& problems,
                   std::string* currency) {
  MappingReader reader(node, "'" + what + "'", problems);
  Inputs inputs;
  if (currency != nullptr) {
    *currency = reader.required_text("currency");
  }
  inputs.switches = read_amounts(reader, "switches", problems);
  inputs.cables = read_amounts(reader, "cables", problems);
  inputs.nic = reader.number("nic", 0, kMostCost).value_or(0);
  reader.finish();
  return inputs;
}

void read_tree(MappingReader& reader, FabricSpec& spec) {
  spec.tiers = small(reader.integer("tiers", 1, 3), 0);
  spec.leaf_ports = small(reader.integer("leaf_ports", 1, kMostPorts), 0);
  spec.spines = small(reader.integer("spines", 1, kMostPorts), 0);
  spec.pod_leaves = small(reader.integer("pod_leaves", 1, kMostPorts), 0);
  for (const std::string& text :
       reader.texts("oversubscription").value_or(std::vector<std::string>{})) {
    const std::optional<Ratio> ratio = parse_ratio(text);
    if (!ratio) {
      reader.problem(
          "oversubscription",
          fmt::format("'oversubscription' must be ratios such as 2:1, found '{}'", text));
    }
    spec.oversubscription.push_back(ratio.value_or(Ratio()));
  }
}

void read_xgft(MappingReader& reader, Problems& problems, FabricSpec& spec) {
  const auto node = reader.mapping("xgft");
  if (!node) {
    return;
  }
  MappingReader inner(*node, "'xgft'", problems);
  Xgft xgft;
  xgft.children = read_numbers(inner, "children", 1, kMostPorts, true);
  xgft.parents = read_numbers(inner, "parents", 1, kMostPorts, true);
  xgft.cables = read_numbers(inner, "cables", 1, kMostPorts, false);
  inner.finish();
  const std::size_t tiers = xgft.children.size();
  if (xgft.cables.empty()) {
    xgft.cables.assign(tiers, 1);
  }
  if (tiers < 1 || tiers > 3 || xgft.parents.size() != tiers || xgft.cables.size() != tiers) {
    reader.problem("xgft",
                   "'xgft' needs one to three tiers, as many 'parents' (and 'cables') as "
                   "'children'");
    return;
  }
  if (xgft.parents[0] != 1 || xgft.cables[0] != 1) {
    reader.problem("xgft",
                   "the first of 'parents' and of 'cables' must be 1: a port of a host has "
                   "one cable");
  }
  for (const char* key : {"tiers", "leaf_ports", "spines", "pod_leaves", "oversubscription"}) {
    if (reader.has(key)) {
      reader.problem(key, fmt::format("'{}' and 'xgft': give one of them", key));
    }
  }
  spec.xgft = std::move(xgft);
}

void read_topology(MappingReader& reader, Problems& problems, FabricSpec& spec) {
  const std::vector<std::string> names = {"single switch", "fat-tree", "rail-optimised",
                                          "rail-only", "dragonfly+"};
  const std::string chosen = reader.required_choice("topology", names);
  spec.topology =
      static_cast<Topology>(std::find(names.begin(), names.end(), chosen) - names.begin());
  switch (spec.topology) {
    case Topology::kSingleSwitch:
      break;
    case Topology::kFatTree:
      spec.planes = small(reader.integer("planes", 1, kMostNics), 1);
      read_tree(reader, spec);
      read_xgft(reader, problems, spec);
      break;
    case Topology::kRailOptimised:
    case Topology::kRailOnly:
      read_tree(reader, spec);
      break;
    case Topology::kDragonflyPlus:
      spec.leaf_ports = small(reader.integer("leaf_ports", 1, kMostPorts), 0);
      spec.dragonfly.groups = static_cast<std::int32_t>(reader.required_integer("groups", 2, 512));
      spec.dragonfly.leaves =
          static_cast<std::int32_t>(reader.required_integer("leaves", 1, kMostPorts));
      spec.dragonfly.spines =
          static_cast<std::int32_t>(reader.required_integer("spines", 1, kMostPorts));
      spec.dragonfly.global_cables = small(reader.integer("global_cables", 1, 4096), 1);
      break;
  }
}

}  // namespace

std::string to_string(Topology topology) {
  switch (topology) {
    case Topology::kSingleSwitch:
      return "single switch";
    case Topology::kFatTree:
      return "fat-tree";
    case Topology::kRailOptimised:
      return "rail-optimised";
    case Topology::kRailOnly:
      return "rail-only";
    case Topology::kDragonflyPlus:
      return "dragonfly+";
  }
  CHECK(false, "topology {}", static_cast<int>(topology));
}

std::int32_t FabricSpec::host_count() const {
  return std::accumulate(hosts.begin(), hosts.end(), 0,
                         [](std::int32_t sum, const HostGroup& g) { return sum + g.count; });
}

Engine FabricSpec::engine() const {
  if (routing) {
    return *routing;
  }
  const bool tree =
      topology != Topology::kSingleSwitch && topology != Topology::kDragonflyPlus && tiers != 1;
  return tree ? Engine::kFtree : Engine::kMinHop;
}

std::optional<std::int32_t> parse_width(const std::string& text) {
  for (const std::int32_t lanes : {1, 2, 4, 8, 12}) {
    if (lower(text) == fmt::format("{}x", lanes)) {
      return lanes;
    }
  }
  return std::nullopt;
}

FabricSpec read_fabric(const YamlNode& node, Problems& problems) {
  MappingReader reader(node, "the fabric file", problems);
  FabricSpec spec;
  spec.where = node.where();
  reader.required_choice("schema", {"busbw.fabric/1"});
  spec.name = reader.required_text("name");
  spec.title = reader.text("title").value_or("");
  spec.source = reader.text("source").value_or("");
  read_topology(reader, problems, spec);
  const YamlNode hosts = reader.required_sequence("hosts");
  if (hosts.is_sequence()) {
    read_hosts(hosts, problems, spec);
    if (hosts.elements().empty() && reader.has("hosts")) {
      reader.problem("hosts", "'hosts' needs a group of hosts at least");
    }
  }
  spec.switches = reader.required_texts("switches");
  if (const auto list = reader.sequence("cables")) {
    read_cables(*list, problems, spec);
  }
  if (const auto list = reader.sequence("missing")) {
    read_faults(*list, true, problems, spec);
  }
  if (const auto list = reader.sequence("degraded")) {
    read_faults(*list, false, problems, spec);
  }
  if (const auto manager = reader.mapping("subnet_manager")) {
    read_manager(*manager, problems, spec);
  }
  if (const auto prices = reader.mapping("prices")) {
    spec.prices = read_inputs(*prices, "prices", problems, &spec.currency);
  }
  if (const auto power = reader.mapping("power_W")) {
    spec.power = read_inputs(*power, "power_W", problems, nullptr);
  }
  reader.finish();
  return spec;
}

}  // namespace busbw::networks
