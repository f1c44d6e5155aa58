// The sections of a scenario that describe machines, networks, NICs and what the hosts show of
// them.
#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "models/facts/host_folder.h"
#include "scenarios/spec/draft.h"
#include "scenarios/spec/read_traffic.h"
#include "sim/core/text.h"

namespace busbw::scenarios {
namespace {

constexpr std::int64_t kMostHosts = 4096;
constexpr std::int64_t kMostPlaces = 65'536;  // hosts of a fabric

std::optional<topologies::Machine> find_machine(MappingReader& reader, const YamlNode& node,
                                                const Library& library) {
  if (node.is_mapping()) {
    return topologies::read_machine(node, library.catalog, reader.problems());
  }
  if (!node.is_scalar()) {
    reader.problem("machine", "'machine' must be a name or a mapping, not " + node.describe());
    return std::nullopt;
  }
  std::vector<std::string> names;
  for (const topologies::Machine& machine : library.machines) {
    if (machine.name == node.text()) {
      return machine;
    }
    names.push_back(machine.name);
  }
  const std::string meant = did_you_mean(node.text(), names);
  reader.problem("machine", "unknown machine '" + node.text() + "'" +
                                (meant.empty() ? "; allowed: " + quoted_list(names) : meant));
  return std::nullopt;
}

/// A fabric file beside the scenario, or one of the catalogue by name.
void read_fabric_of(MappingReader& reader, const std::string& word, const Library& library,
                    topologies::Network& network) {
  const bool is_file = word.find('/') != std::string::npos || word.ends_with(".yaml");
  const std::filesystem::path path =
      is_file ? std::filesystem::path(reader.where("fabric").file).parent_path() / word
              : std::filesystem::path(library.catalog.directory) / (word + ".yaml");
  for (const char* key :
       {"switch", "leaf_switches", "placement", "trunk", "spine_switches", "cable_latency"}) {
    if (reader.has(key)) {
      reader.problem(key, fmt::format("'fabric' and '{}': give one of them", key));
    }
  }
  if (!std::filesystem::is_regular_file(path)) {
    reader.problem("fabric",
                   fmt::format("no fabric '{}': there is no file '{}'", word, path.string()));
    return;
  }
  const std::size_t before = reader.problems().all().size();
  const YamlNode node = load_yaml(path.string(), reader.problems());
  networks::FabricSpec fabric = networks::read_fabric(node, reader.problems());
  if (reader.problems().all().size() == before) {
    network.fabric = std::move(fabric);
  }
}

topologies::Network read_network(const YamlNode& node, const Library& library, Problems& problems,
                                 params::Traffic& traffic) {
  MappingReader reader(node, "a network", problems);
  topologies::Network network;
  network.where = node.where();
  network.name = reader.required_text("name");
  network.nics = reader.required_texts("nics");
  network.switch_model = reader.text("switch").value_or("");
  network.leaf_switches =
      static_cast<std::int32_t>(reader.integer("leaf_switches", 1, kMostHosts).value_or(1));
  const std::string placement =
      reader.choice("placement", {"by nic", "by host"}).value_or("by nic");
  network.placement = placement == "by host" ? topologies::LeafPlacement::kByHost
                                             : topologies::LeafPlacement::kByNic;
  if (const auto trunk = reader.bandwidth("trunk")) {
    network.trunk = *trunk;
  } else if (network.leaf_switches > 1) {
    reader.problem("leaf_switches", "several leaf switches need a 'trunk'");
  }
  network.spine_switches =
      static_cast<std::int32_t>(reader.integer("spine_switches", 1, kMostHosts).value_or(1));
  network.cable_latency = reader.duration("cable_latency").value_or(Duration());
  if (const auto fabric = reader.text("fabric")) {
    read_fabric_of(reader, *fabric, library, network);
  }
  for (const std::string& text : reader.texts("places").value_or(std::vector<std::string>{})) {
    const std::optional<std::int64_t> place = parse_integer(text);
    if (!place || *place < 0 || *place >= kMostPlaces || !reader.has("fabric")) {
      reader.problem("places", fmt::format("'places' must be numbers of hosts of 'fabric', from 0, "
                                           "one a host; found '{}'",
                                           text));
      break;
    }
    network.places.push_back(static_cast<std::int32_t>(*place));
  }
  traffic = read_traffic(reader, network);
  reader.finish();
  return network;
}

std::optional<std::int32_t> read_host(MappingReader& reader) {
  const std::optional<std::int64_t> host = reader.integer("host", 1, kMostHosts);
  return host ? std::optional(static_cast<std::int32_t>(*host - 1)) : std::nullopt;
}

InterfaceDraft read_interface(const YamlNode& node, std::optional<std::string> name,
                              Problems& problems) {
  MappingReader reader(node, "an interface", problems);
  InterfaceDraft interface;
  interface.where = node.where();
  interface.name = name ? *name : reader.required_text("name");
  interface.addresses = reader.texts("addresses");
  interface.up = reader.boolean("up");
  interface.carrier = reader.boolean("carrier");
  interface.speed = reader.bandwidth("speed");
  interface.mtu = reader.integer("mtu", 68, 65536);
  reader.finish();
  for (const std::string& address : interface.addresses.value_or(std::vector<std::string>{})) {
    // The place holder is checked with the number of the first host, later ones by resolve().
    if (!nccl::parse_address(on_host(address, 0))) {
      problems.add(reader.where("addresses"),
                   "no address: '" + address + "'; examples: 10.0.0.{host}/24, fe80::1/64");
    }
  }
  return interface;
}

void read_interfaces(const YamlNode& node, Problems& problems, Draft& draft) {
  if (node.is_sequence()) {
    draft.interfaces.emplace();
    draft.interface_patches.clear();
    std::set<std::string> names;
    for (const YamlNode& element : node.elements()) {
      draft.interfaces->push_back(read_interface(element, std::nullopt, problems));
      const std::string& name = draft.interfaces->back().name;
      if (!name.empty() && !names.insert(name).second) {
        problems.add(element.where(), "second interface named '" + name + "'");
      }
    }
  } else if (node.is_mapping()) {
    for (const YamlNode::Entry& entry : node.entries()) {
      draft.interface_patches.push_back(read_interface(entry.value, entry.key, problems));
    }
  } else {
    problems.add(node.where(),
                 "'interfaces' must be a list (all of them, in kernel order) or a "
                 "mapping (changes by name), not " +
                     node.describe());
  }
}

HcaDraft read_hca(const YamlNode::Entry& entry, Problems& problems) {
  MappingReader reader(entry.value, "HCA '" + entry.key + "'", problems);
  HcaDraft hca;
  hca.name = entry.key;
  hca.where = entry.key_where;
  if (const auto state = reader.choice("state", {"down", "init", "armed", "active"})) {
    hca.state = *state == "down"    ? nccl::PortState::kDown
                : *state == "init"  ? nccl::PortState::kInit
                : *state == "armed" ? nccl::PortState::kArmed
                                    : nccl::PortState::kActive;
  }
  hca.physical_state = reader.text("physical_state");
  if (const auto layer = reader.choice("link_layer", {"InfiniBand", "Ethernet", "other"})) {
    hca.link_layer = *layer == "InfiniBand" ? nccl::LinkLayer::kInfiniBand
                     : *layer == "Ethernet" ? nccl::LinkLayer::kEthernet
                                            : nccl::LinkLayer::kOther;
  }
  hca.rate = reader.bandwidth("rate");
  reader.finish();
  return hca;
}

void read_exposure(const YamlNode& node, Problems& problems, nccl::Exposure& exposure) {
  MappingReader reader(node, "'exposure'", problems);
  exposure.libibverbs = reader.boolean("libibverbs").value_or(exposure.libibverbs);
  exposure.provider = reader.boolean("provider").value_or(exposure.provider);
  exposure.uverbs_devices = reader.boolean("uverbs_devices").value_or(exposure.uverbs_devices);
  exposure.sysfs = reader.boolean("sysfs").value_or(exposure.sysfs);
  exposure.peer_memory = reader.boolean("peer_memory").value_or(exposure.peer_memory);
  reader.finish();
}

/// Inventories of the hosts from real tool output: one folder a host, in order of name.
void read_tool_output(MappingReader& reader, const std::string& folder, Draft& draft) {
  const Location where = reader.where("tool_output");
  const std::filesystem::path path = std::filesystem::path(where.file).parent_path() / folder;
  std::vector<std::string> hosts;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    if (entry.is_directory()) {
      hosts.push_back(entry.path().string());
    }
  }
  std::sort(hosts.begin(), hosts.end());
  if (hosts.empty()) {
    reader.problem("tool_output", "no folder with one folder a host at '" + path.string() + "'");
    return;
  }
  draft.tool_output_where = where;
  draft.tool_output.clear();
  draft.remarks.clear();
  for (const std::string& host : hosts) {
    facts::HostFolder read = facts::read_host_folder(host, reader.problems());
    for (const std::string& remark : read.remarks) {
      draft.remarks.push_back(read.inventory.host + ": " + remark);
    }
    draft.tool_output.push_back(std::move(read.inventory));
  }
}

}  // namespace

std::string on_host(std::string text, std::int32_t host) {
  constexpr std::string_view kMark = "{host}";
  for (std::size_t at = text.find(kMark); at != std::string::npos; at = text.find(kMark)) {
    text.replace(at, kMark.size(), std::to_string(host + 1));
  }
  return text;
}

void read_cluster(const YamlNode& node, const Library& library, Problems& problems, Draft& draft) {
  MappingReader reader(node, "'cluster'", problems);
  draft.has_cluster = true;
  draft.networks.clear();
  draft.traffic.clear();
  draft.hosts = static_cast<std::int32_t>(reader.required_integer("hosts", 1, kMostHosts));
  const YamlNode machine = reader.required_node("machine");
  if (!machine.is_null()) {
    draft.machine = find_machine(reader, machine, library);
  }
  if (const auto list = reader.sequence("networks")) {
    for (const YamlNode& element : list->elements()) {
      draft.networks.push_back(
          read_network(element, library, problems, draft.traffic.emplace_back()));
    }
  }
  reader.finish();
}

void read_nic_patches(const YamlNode& list, Problems& problems, Draft& draft) {
  for (const YamlNode& element : list.elements()) {
    MappingReader reader(element, "a NIC", problems);
    NicPatch patch;
    patch.where = element.where();
    patch.name = reader.required_text("name");
    patch.host = read_host(reader);
    patch.rate = reader.bandwidth("rate");
    patch.send_rate = reader.bandwidth("send_rate");
    reader.finish();
    draft.nic_patches.push_back(std::move(patch));
  }
}

void read_inventory(const YamlNode& node, Problems& problems, Draft& draft) {
  MappingReader reader(node, "'inventory'", problems);
  if (const auto folder = reader.text("tool_output")) {
    read_tool_output(reader, *folder, draft);
  }
  if (const auto interfaces = reader.node("interfaces")) {
    read_interfaces(*interfaces, problems, draft);
  }
  if (const auto hcas = reader.mapping("hcas")) {
    for (const YamlNode::Entry& entry : hcas->entries()) {
      draft.hca_patches.push_back(read_hca(entry, problems));
    }
  }
  if (const auto exposure = reader.mapping("exposure")) {
    read_exposure(*exposure, problems, draft.exposure);
  }
  if (const auto plugins = reader.texts("external_plugins")) {
    draft.external_plugins = *plugins;
  }
  reader.finish();
}

}  // namespace busbw::scenarios
