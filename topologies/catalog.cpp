// Reads the hardware catalogue from YAML and looks records up.
//
// Each file is a mapping with one list named after the file. Beyond types and ranges the reader
// checks what a typing error would break: a name or alias used twice, signalling x coding against
// the data rate, generations that the other files lack, a source that is missing. It does not judge
// whether a number is right: tests hold the well-known ones by hand.
#include "topologies/catalog.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>

#include <fmt/format.h>

#include "sim/core/quantity.h"
#include "sim/core/text.h"
#include "sim/core/yaml.h"
#include "topologies/catalog_fields.h"

namespace busbw::topologies {
namespace {

using namespace fields;  // NOLINT(google-build-using-namespace): the vocabulary of this file

NvLinkGeneration read_nvlink(MappingReader& reader) {
  NvLinkGeneration result;
  result.name = reader.required_text("name");
  result.generation = whole(reader, "generation", 1, 100);
  result.year = year(reader);
  result.per_link = positive_bandwidth(reader, "per_link");
  result.links = whole(reader, "links", 1, kMostLanes);
  result.latency = positive_duration(reader, "latency");
  result.source = source(reader);
  return result;
}

PcieGeneration read_pcie(MappingReader& reader) {
  PcieGeneration result;
  result.name = reader.required_text("name");
  result.generation = whole(reader, "generation", 1, 100);
  result.year = year(reader);
  result.megatransfers = reader.required_integer("megatransfers", 1, 10'000'000);
  result.encoding = share(reader, "encoding").value_or(Ratio());
  result.efficiency = share(reader, "efficiency").value_or(Ratio());
  result.latency = positive_duration(reader, "latency");
  result.source = source(reader);
  return result;
}

InfiniBandRate read_infiniband(MappingReader& reader) {
  InfiniBandRate result;
  result.name = reader.required_text("name");
  result.year = year(reader);
  result.signalling = positive_bandwidth(reader, "signalling");
  result.data = positive_bandwidth(reader, "data");
  result.encoding = reader.required_text("encoding");
  const std::optional<Ratio> coding = share(reader, "coding");
  result.coding = coding.value_or(Ratio());
  if (coding) {
    check_coding(reader, "data", result.signalling, *coding, 1);
  }
  result.lanes = lanes(reader);
  result.latency = positive_duration(reader, "latency");
  result.source = source(reader);
  return result;
}

EthernetRate read_ethernet(MappingReader& reader) {
  EthernetRate result;
  result.name = reader.required_text("name");
  result.year = year(reader);
  result.rate = positive_bandwidth(reader, "rate");
  result.lanes = whole(reader, "lanes", 1, kMostLanes);
  result.signalling = positive_bandwidth(reader, "signalling");
  result.encoding = reader.required_text("encoding");
  const std::optional<Ratio> coding = share(reader, "coding");
  result.coding = coding.value_or(Ratio());
  if (coding) {
    check_coding(reader, "rate", result.signalling, *coding, result.lanes);
  }
  result.latency = positive_duration(reader, "latency");
  result.source = source(reader);
  return result;
}

/// `key` must name a generation of `known`; nothing is checked when `known` could not be read.
template <class Generation>
void check_generation(MappingReader& reader, std::string_view key, std::int32_t found,
                      const std::vector<Generation>& known) {
  std::vector<std::string> allowed;
  for (const Generation& generation : known) {
    if (generation.generation == found) {
      return;
    }
    allowed.push_back(std::to_string(generation.generation));
  }
  if (!known.empty() && found > 0) {
    wrong(reader, key, "one of " + join(allowed, ", "), std::to_string(found));
  }
}

GpuModel read_gpu(MappingReader& reader, const Catalog& catalog) {
  GpuModel result;
  result.name = reader.required_text("name");
  result.aliases = aliases(reader);
  result.architecture = reader.required_text("architecture");
  result.sm = whole(reader, "sm", 10, 999);
  result.memory = positive_bytes(reader, "memory");
  result.memory_bandwidth = positive_bandwidth(reader, "memory_bandwidth");
  result.pcie_generation = whole(reader, "pcie_generation", 1, 100);
  check_generation(reader, "pcie_generation", result.pcie_generation, catalog.pcie);
  result.pcie_lanes = whole(reader, "pcie_lanes", 1, kMostLanes);
  result.nvlink_generation =
      static_cast<std::int32_t>(reader.integer("nvlink_generation", 1, 100).value_or(0));
  check_generation(reader, "nvlink_generation", result.nvlink_generation, catalog.nvlink);
  result.nvlink_links =
      static_cast<std::int32_t>(reader.integer("nvlink_links", 1, kMostLanes).value_or(0));
  if (reader.has("nvlink_generation") != reader.has("nvlink_links")) {
    reader.problem(
        reader.has("nvlink_links") ? "nvlink_links" : "nvlink_generation",
        fmt::format("'nvlink_generation' and 'nvlink_links' in {} need each other", reader.what()));
  }
  if (reader.has("chip_to_chip")) {
    result.chip_to_chip = positive_bandwidth(reader, "chip_to_chip");
  }
  result.pci_device = pci_id(reader, "pci_device");
  result.gpudirect_rdma = reader.boolean("gpudirect_rdma").value_or(true);
  result.source = source(reader);
  return result;
}

std::vector<NicLinkLayer> link_layers(MappingReader& reader) {
  std::vector<NicLinkLayer> result;
  for (const std::string& text : reader.required_texts("link_layers")) {
    if (text == "InfiniBand") {
      result.push_back(NicLinkLayer::kInfiniBand);
    } else if (text == "Ethernet") {
      result.push_back(NicLinkLayer::kEthernet);
    } else {
      wrong(reader, "link_layers", "'InfiniBand' or 'Ethernet'", text,
            did_you_mean(text, {"InfiniBand", "Ethernet"}));
    }
  }
  return result;
}

NicModel read_nic(MappingReader& reader, const Catalog& catalog) {
  NicModel result;
  result.name = reader.required_text("name");
  result.aliases = aliases(reader);
  result.link_layers = link_layers(reader);
  result.port_rate = positive_bandwidth(reader, "port_rate");
  result.ports = static_cast<std::int32_t>(reader.integer("ports", 1, 8).value_or(1));
  result.rdma = reader.required_boolean("rdma");
  result.pcie_generation = whole(reader, "pcie_generation", 1, 100);
  check_generation(reader, "pcie_generation", result.pcie_generation, catalog.pcie);
  result.pcie_lanes = whole(reader, "pcie_lanes", 1, kMostLanes);
  result.pci_vendor = pci_id(reader, "pci_vendor");
  result.pci_device = pci_id(reader, "pci_device");
  result.nccl_plugin = reader.text("nccl_plugin").value_or("");
  if (reader.has("plugin_latency")) {
    result.plugin_latency = positive_duration(reader, "plugin_latency");
    if (result.nccl_plugin.empty()) {
      reader.problem("plugin_latency",
                     fmt::format("'plugin_latency' in {} needs 'nccl_plugin'", reader.what()));
    }
  }
  if (reader.has("software_verbs")) {
    result.software_verbs = positive_bandwidth(reader, "software_verbs");
  }
  result.latency = positive_duration(reader, "latency");
  result.source = source(reader);
  return result;
}

/// Bus numbers as lspci writes them: two hexadecimal digits.
std::vector<std::int32_t> root_buses(MappingReader& reader) {
  std::vector<std::int32_t> result;
  for (const std::string& text : reader.required_texts("root_buses")) {
    if (const std::optional<std::int32_t> bus = parse_bus(text)) {
      result.push_back(*bus);
    } else {
      wrong(reader, "root_buses", "two hexadecimal digits such as '3a'", text);
    }
  }
  return result;
}

CpuModel read_cpu(MappingReader& reader, const Catalog& catalog) {
  CpuModel result;
  result.name = reader.required_text("name");
  result.aliases = aliases(reader);
  result.vendor =
      reader.required_choice("vendor", {"GenuineIntel", "AuthenticAMD", "arm64", "ppc64le"});
  result.family = whole(reader, "family", 0, 4095);
  result.model = whole(reader, "model", 0, 4095);
  result.interconnect = positive_bandwidth(reader, "interconnect");
  result.interconnect_latency = positive_duration(reader, "interconnect_latency");
  result.memory_bandwidth = positive_bandwidth(reader, "memory_bandwidth");
  if (reader.has("root_buses") || reader.has("pcie_generation")) {
    result.root_buses = root_buses(reader);
    result.pcie_generation = whole(reader, "pcie_generation", 1, 100);
    check_generation(reader, "pcie_generation", result.pcie_generation, catalog.pcie);
  }
  result.source = source(reader);
  return result;
}

SwitchModel read_switch(MappingReader& reader) {
  SwitchModel result;
  result.name = reader.required_text("name");
  result.aliases = aliases(reader);
  result.fabric = reader.required_choice("fabric", {"InfiniBand", "Ethernet", "Omni-Path"});
  result.ports = whole(reader, "ports", 1, 4096);
  result.port_rate = positive_bandwidth(reader, "port_rate");
  result.latency = positive_duration(reader, "latency");
  result.source = source(reader);
  return result;
}

CableModel read_cable(MappingReader& reader) {
  CableModel result;
  result.name = reader.required_text("name");
  result.aliases = aliases(reader);
  result.medium = reader.required_choice("medium", {"copper", "active copper", "fibre"});
  result.connector = reader.required_text("connector");
  result.port_rate = positive_bandwidth(reader, "port_rate");
  result.max_length_m = whole(reader, "max_length_m", 1, 100'000);
  result.latency_per_metre = positive_duration(reader, "latency_per_metre");
  result.latency = reader.required_duration("latency");
  if (result.latency < Duration() || result.latency > Duration::seconds(1)) {
    wrong(reader, "latency", "from 0 to 1 s", to_string(result.latency));
  }
  result.source = source(reader);
  return result;
}

/// Names and aliases of one file: each may be used once, whatever its case.
class NameRegister {
 public:
  explicit NameRegister(Problems& problems) : problems_(problems) {}

  void add(const YamlNode& record) {
    if (!record.is_mapping()) {
      return;
    }
    if (const YamlNode* name = record.find("name")) {
      add_text(*name);
    }
    if (const YamlNode* list = record.find("aliases")) {
      if (list->is_sequence()) {
        for (const YamlNode& alias : list->elements()) {
          add_text(alias);
        }
      } else {
        add_text(*list);
      }
    }
  }

 private:
  void add_text(const YamlNode& node) {
    if (!node.is_scalar()) {
      return;  // reported by the reader of the record
    }
    const auto [known, is_new] = first_.try_emplace(lower(node.text()), node.where());
    if (!is_new) {
      problems_.add(
          node.where(),
          fmt::format("name '{}' is used already at line {}; names and aliases must differ",
                      node.text(), known->second.line));
    }
  }

  Problems& problems_;
  std::map<std::string, Location> first_;
};

/// "GPU 'A100'", or "GPU number 3" when it has no name to go by.
std::string record_title(const YamlNode& record, const std::string& kind, std::size_t index) {
  const YamlNode* name = record.is_mapping() ? record.find("name") : nullptr;
  return name != nullptr && name->is_scalar() ? fmt::format("{} '{}'", kind, name->text())
                                              : fmt::format("{} number {}", kind, index + 1);
}

/// The list `section` of the file of that name.
template <class Record>
std::vector<Record> read_file_of(const std::string& directory, const std::string& section,
                                 const std::string& kind,
                                 const std::function<Record(MappingReader&)>& read,
                                 Problems& problems) {
  std::vector<Record> result;
  const std::size_t before = problems.all().size();
  const YamlNode root = load_yaml(directory + "/" + section + ".yaml", problems);
  if (root.is_null() && problems.all().size() > before) {
    return result;  // unreadable, reported
  }
  MappingReader file(root, "the catalogue file", problems);
  const YamlNode list = file.required_sequence(section);
  file.finish();
  if (!list.is_sequence()) {
    return result;
  }
  NameRegister names(problems);
  for (std::size_t i = 0; i < list.elements().size(); i++) {
    const YamlNode& record = list.elements()[i];
    MappingReader reader(record, record_title(record, kind, i), problems);
    result.push_back(read(reader));
    reader.finish();
    names.add(record);
  }
  return result;
}

template <class Record>
bool is_called(const Record& record, const std::string& wanted) {
  return lower(record.name) == wanted ||
         std::any_of(record.aliases.begin(), record.aliases.end(),
                     [&](const std::string& alias) { return lower(alias) == wanted; });
}

template <class Record>
const Record* find_by_name(const std::vector<Record>& records, const std::string& name) {
  const std::string wanted = lower(name);
  const auto found = std::find_if(records.begin(), records.end(),
                                  [&](const Record& record) { return is_called(record, wanted); });
  return found == records.end() ? nullptr : &*found;
}

template <class Record>
const Record* find_rate(const std::vector<Record>& records, const std::string& name) {
  const auto found = std::find_if(records.begin(), records.end(), [&](const Record& record) {
    return lower(record.name) == lower(name);
  });
  return found == records.end() ? nullptr : &*found;
}

template <class Record>
const Record* find_generation(const std::vector<Record>& records, std::int32_t generation) {
  const auto found = std::find_if(records.begin(), records.end(), [&](const Record& record) {
    return record.generation == generation;
  });
  return found == records.end() ? nullptr : &*found;
}

}  // namespace

const GpuModel* Catalog::gpu(const std::string& name) const {
  return find_by_name(gpus, name);
}
const NicModel* Catalog::nic(const std::string& name) const {
  return find_by_name(nics, name);
}
const CpuModel* Catalog::cpu(const std::string& name) const {
  return find_by_name(cpus, name);
}

const SwitchModel* Catalog::network_switch(const std::string& name) const {
  return find_by_name(switches, name);
}

const CableModel* Catalog::cable(const std::string& name) const {
  return find_by_name(cables, name);
}

const NvLinkGeneration* Catalog::nvlink_generation(std::int32_t generation) const {
  return find_generation(nvlink, generation);
}

const PcieGeneration* Catalog::pcie_generation(std::int32_t generation) const {
  return find_generation(pcie, generation);
}

const InfiniBandRate* Catalog::infiniband_rate(const std::string& name) const {
  return find_rate(infiniband, name);
}

const EthernetRate* Catalog::ethernet_rate(const std::string& name) const {
  return find_rate(ethernet, name);
}

std::optional<std::int32_t> parse_bus(const std::string& text) {
  std::int32_t bus = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, bus, 16);
  const bool whole_text = error == std::errc() && stop == end;
  return text.size() == 2 && whole_text && bus >= 0 ? std::optional(bus) : std::nullopt;
}

Bandwidth pcie_bandwidth(const PcieGeneration& generation, std::int32_t lanes) {
  return Bandwidth::megabits_per_second(generation.megatransfers * lanes) * generation.encoding;
}

Catalog load_catalog(const std::string& directory, Problems& problems) {
  Catalog catalog;
  catalog.directory = directory;
  catalog.nvlink = read_file_of<NvLinkGeneration>(directory, "nvlink", "NVLink generation",
                                                  read_nvlink, problems);
  catalog.pcie =
      read_file_of<PcieGeneration>(directory, "pcie", "PCIe generation", read_pcie, problems);
  catalog.infiniband = read_file_of<InfiniBandRate>(directory, "infiniband", "InfiniBand rate",
                                                    read_infiniband, problems);
  catalog.ethernet =
      read_file_of<EthernetRate>(directory, "ethernet", "Ethernet rate", read_ethernet, problems);
  catalog.gpus = read_file_of<GpuModel>(
      directory, "gpus", "GPU", [&](MappingReader& reader) { return read_gpu(reader, catalog); },
      problems);
  catalog.nics = read_file_of<NicModel>(
      directory, "nics", "NIC", [&](MappingReader& reader) { return read_nic(reader, catalog); },
      problems);
  catalog.cpus = read_file_of<CpuModel>(
      directory, "cpus", "CPU", [&](MappingReader& reader) { return read_cpu(reader, catalog); },
      problems);
  catalog.switches =
      read_file_of<SwitchModel>(directory, "switches", "switch", read_switch, problems);
  catalog.cables = read_file_of<CableModel>(directory, "cables", "cable", read_cable, problems);
  return catalog;
}

}  // namespace busbw::topologies
