// The machine reader: CPUs, PCIe switches, GPUs, and the files of a directory.
// machine_reader_links.cpp has NVLink and NICs.
#include "topologies/machine_reader.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace busbw::topologies {
namespace {

constexpr std::int64_t kMaxGpus = 72;  // largest NVLink domain of one machine, GB200 NVL72
constexpr std::int64_t kMaxSockets = 8;
constexpr std::int64_t kMaxNumaNodes = 64;

}  // namespace

std::optional<std::int32_t> MachineReader::read_needed(MappingReader& reader,
                                                       const std::string& key, std::int64_t min,
                                                       std::int64_t max) {
  if (!reader.has(key)) {
    reader.required_integer(key, min, max);
    return std::nullopt;
  }
  const std::optional<std::int64_t> value = reader.integer(key, min, max);
  return value ? std::optional<std::int32_t>(static_cast<std::int32_t>(*value)) : std::nullopt;
}

std::int32_t MachineReader::read_generation(MappingReader& reader, const std::string& key,
                                            std::int32_t otherwise) {
  const std::optional<std::int64_t> value = reader.integer(key, 1, 99);
  if (!value) {
    return otherwise;
  }
  const std::int32_t generation = static_cast<std::int32_t>(*value);
  if (catalog_.pcie_generation(generation) == nullptr) {
    std::vector<std::string> known;
    for (const PcieGeneration& candidate : catalog_.pcie) {
      known.push_back(std::to_string(candidate.generation));
    }
    reader.problem(
        key, fmt::format("unknown PCIe generation {}; allowed: {}", generation, join(known, ", ")));
    return otherwise;
  }
  return generation;
}

std::int32_t MachineReader::read_lanes(MappingReader& reader, const std::string& key,
                                       std::int32_t otherwise) {
  const std::optional<std::int64_t> value = reader.integer(key, 0, 1'000'000);
  if (!value) {
    return otherwise;
  }
  if (*value != 1 && *value != 2 && *value != 4 && *value != 8 && *value != 16) {
    reader.problem(key, fmt::format("{} is {}; allowed: 1, 2, 4, 8, 16", key, *value));
    return otherwise;
  }
  return static_cast<std::int32_t>(*value);
}

bool MachineReader::check_place(const Location& where, const std::string& who,
                                const std::string& name) {
  if (!places_known_) {
    return false;
  }
  if (std::find(places_.begin(), places_.end(), name) != places_.end()) {
    return true;
  }
  const std::string meant = did_you_mean(name, places_);
  problems_.add(where, fmt::format("{} hangs on unknown element '{}'{}", who, name,
                                   meant.empty() ? "; known: " + quoted_list(places_) : meant));
  return false;
}

void MachineReader::claim_name(const Location& where, const std::string& what,
                               const std::string& name) {
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
  if (name.empty() || !plain) {
    problems_.add(
        where,
        fmt::format("{} has the name '{}'; allowed: letters, digits, '_', '-', '.'", what, name));
  } else if (!names_.insert(name).second) {
    problems_.add(where, fmt::format("second element of the name '{}'", name));
  }
}

Machine MachineReader::read() {
  machine_.where = top_.where();
  machine_.name = top_.required_text("name");
  machine_.title = top_.text("title").value_or(machine_.name);
  machine_.source = top_.text("source").value_or("");
  machine_.topology_file = top_.text("topology_file").value_or("");
  read_cpus();
  read_pcie();
  read_gpus();
  read_nvlink();
  read_nics();
  top_.finish();
  return std::move(machine_);
}

void MachineReader::read_cpus() {
  MappingReader cpus(top_.required_mapping("cpus"), "cpus", problems_);
  machine_.cpu_model = cpus.required_text("model");
  if (!machine_.cpu_model.empty()) {
    if (const CpuModel* model = catalog_.cpu(machine_.cpu_model)) {
      machine_.cpu_model = model->name;
    } else {
      cpus.problem("model", unknown("CPU model", machine_.cpu_model, catalog_.cpus));
    }
  }
  const std::size_t before = problems_.all().size();
  machine_.sockets = static_cast<std::int32_t>(cpus.integer("sockets", 1, kMaxSockets).value_or(1));
  machine_.numa_nodes = static_cast<std::int32_t>(
      cpus.integer("numa_nodes", 1, kMaxNumaNodes).value_or(machine_.sockets));
  if (machine_.numa_nodes % machine_.sockets != 0) {
    cpus.problem("numa_nodes", fmt::format("{} NUMA nodes do not divide evenly over {} sockets",
                                           machine_.numa_nodes, machine_.sockets));
  }
  places_known_ = problems_.all().size() == before && cpus.where().line != 0;
  for (std::int32_t i = 0; i < machine_.numa_nodes; i++) {
    places_.push_back(fmt::format("cpu{}", i));
  }
  // Names that the builder gives itself.
  names_.insert(places_.begin(), places_.end());
  names_.insert("nvswitch");
  for (std::int32_t i = 0; i < machine_.numa_nodes; i++) {
    names_.insert(fmt::format("memory{}", i));
    names_.insert(fmt::format("socket{}", i));
  }
  cpus.finish();
}

void MachineReader::read_pcie() {
  MappingReader pcie(top_.required_mapping("pcie"), "pcie", problems_);
  if (pcie.has("generation")) {
    machine_.pcie_generation = read_generation(pcie, "generation", 0);
  } else {
    pcie.required_integer("generation", 1, 99);
  }
  machine_.acs_redirect = pcie.boolean("acs_redirect").value_or(false);
  machine_.dma_translation = pcie.boolean("dma_translation").value_or(false);
  if (const std::optional<YamlNode> switches = pcie.sequence("switches")) {
    for (const YamlNode& node : switches->elements()) {
      read_pcie_switch(node);
    }
  } else if (pcie.has("switches")) {
    places_known_ = false;
  }
  pcie.finish();
}

void MachineReader::read_pcie_switch(const YamlNode& node) {
  MappingReader reader(node, "PCIe switch", problems_);
  PcieSwitch added;
  added.name = reader.required_text("name");
  added.attach = reader.required_text("attach");
  const std::string who = fmt::format("PCIe switch '{}'", added.name);
  if (added.name.empty()) {
    places_known_ = false;
  } else {
    claim_name(reader.where("name"), "PCIe switch", added.name);
  }
  if (!added.attach.empty()) {
    check_place(reader.where("attach"), who, added.attach);
  }
  added.generation = read_generation(reader, "generation", machine_.pcie_generation);
  added.uplink_lanes = read_lanes(reader, "uplink_lanes", 16);
  reader.finish();
  places_.push_back(added.name);
  machine_.pcie_switches.push_back(std::move(added));
}

void MachineReader::read_gpus() {
  MappingReader gpus(top_.required_mapping("gpus"), "gpus", problems_);
  machine_.gpu_model = gpus.required_text("model");
  if (!machine_.gpu_model.empty()) {
    gpu_ = catalog_.gpu(machine_.gpu_model);
    if (gpu_ == nullptr) {
      gpus.problem("model", unknown("GPU model", machine_.gpu_model, catalog_.gpus));
    } else {
      machine_.gpu_model = gpu_->name;
    }
  }
  const std::int32_t count = read_needed(gpus, "count", 1, kMaxGpus).value_or(0);
  for (std::int32_t i = 0; i < count; i++) {
    machine_.gpus.push_back({i, ""});
    names_.insert(fmt::format("gpu{}", i));
  }
  machine_.peer_to_peer = gpus.boolean("peer_to_peer").value_or(true);
  const std::int32_t model_lanes = gpu_ == nullptr ? 16 : gpu_->pcie_lanes;
  machine_.gpu_pcie_lanes = read_lanes(gpus, "pcie_lanes", model_lanes);
  if (machine_.gpu_pcie_lanes > model_lanes) {
    gpus.problem("pcie_lanes",
                 fmt::format("pcie_lanes is {}, but '{}' has {}", machine_.gpu_pcie_lanes,
                             machine_.gpu_model, model_lanes));
  }
  read_gpu_places(gpus);
  gpus.finish();
}

void MachineReader::read_gpu_places(MappingReader& gpus) {
  const std::size_t count = machine_.gpus.size();
  const std::optional<YamlNode> attach = gpus.node("attach");
  if (!attach) {
    // In equal blocks over the PCIe switches if there are any, else over the CPUs.
    const std::size_t cpus = static_cast<std::size_t>(machine_.numa_nodes);
    const std::size_t first = machine_.pcie_switches.empty() ? 0 : cpus;
    for (std::size_t i = 0; i < count; i++) {
      machine_.gpus[i].attach = places_[first + i * (places_.size() - first) / count];
    }
    return;
  }
  const std::vector<YamlNode> nodes =
      attach->is_sequence() ? attach->elements() : std::vector<YamlNode>(count, *attach);
  if (count > 0 && nodes.size() != count) {
    gpus.problem("attach",
                 fmt::format("attach lists {} elements for {} GPUs", nodes.size(), count));
    return;
  }
  for (std::size_t i = 0; i < count; i++) {
    if (!nodes[i].is_scalar()) {
      problems_.add(nodes[i].where(),
                    "expected the name of an element, found " + nodes[i].describe());
    } else if (check_place(nodes[i].where(), fmt::format("GPU {}", i), nodes[i].text())) {
      machine_.gpus[i].attach = nodes[i].text();
    } else if (!attach->is_sequence()) {
      return;  // one text for all GPUs: one problem
    }
  }
}

Machine read_machine(const YamlNode& node, const Catalog& catalog, Problems& problems) {
  return MachineReader(node, catalog, problems).read();
}

std::vector<Machine> load_machines(const std::string& directory, const Catalog& catalog,
                                   Problems& problems) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (entry.path().extension() == ".yaml") {
      files.push_back(entry.path());
    }
  }
  if (error) {
    throw SystemError({"opendir", error.message(), directory, ""});
  }
  std::sort(files.begin(), files.end());
  std::vector<Machine> machines;
  for (const std::filesystem::path& file : files) {
    const std::size_t before = problems.all().size();
    const YamlNode node = load_yaml(file.string(), problems);
    if (problems.all().size() != before) {
      continue;
    }
    Machine machine = read_machine(node, catalog, problems);
    if (machine.name != file.stem().string() && !machine.name.empty()) {
      problems.add(machine.where,
                   fmt::format("machine '{}' must be in a file of its name, '{}.yaml'",
                               machine.name, machine.name));
    }
    if (machine.source.empty()) {
      problems.add(machine.where, fmt::format("machine '{}' has no source", machine.name));
    }
    machines.push_back(std::move(machine));
  }
  return machines;
}

}  // namespace busbw::topologies
