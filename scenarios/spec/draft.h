// A variant while its file is being read: what the file says, before names are resolved and
// machines, NICs and inventories are put together. Internal to this folder.
//
// The base of a file is one draft; each variant starts as a copy of it and reads its own keys over
// it.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/params/traffic.h"
#include "scenarios/spec/load.h"
#include "scenarios/spec/scenario.h"
#include "sim/core/yaml.h"

namespace busbw::scenarios {

/// Changes of one NIC, on all hosts or on one.
struct NicPatch {
  std::string name;
  std::optional<std::int32_t> host;  // from 0
  std::optional<Bandwidth> rate;
  std::optional<Bandwidth> send_rate;
  Location where;
};

/// An interface as the file describes it; what it leaves out comes from the NIC of that name.
struct InterfaceDraft {
  std::string name;
  std::optional<std::vector<std::string>> addresses;  // "{host}" stands for 1, 2 ...
  std::optional<bool> up;
  std::optional<bool> carrier;
  std::optional<Bandwidth> speed;
  std::optional<std::int64_t> mtu;
  Location where;
};

/// Changes of an HCA that the machine's NICs imply.
struct HcaDraft {
  std::string name;
  std::optional<nccl::PortState> state;
  std::optional<std::string> physical_state;
  std::optional<nccl::LinkLayer> link_layer;
  std::optional<Bandwidth> rate;
  Location where;
};

struct Draft {
  Variant variant;  // the parts that need no resolving
  bool has_version = false;
  bool has_cluster = false;
  bool has_workload = false;
  std::int32_t hosts = 1;
  std::optional<topologies::Machine> machine;
  std::vector<topologies::Network> networks;
  std::vector<params::Traffic> traffic;  // of each network
  std::vector<NicPatch> nic_patches;
  std::optional<std::vector<InterfaceDraft>> interfaces;  // the whole list; nothing: derived
  std::vector<InterfaceDraft> interface_patches;
  std::vector<HcaDraft> hca_patches;
  std::vector<nccl::Inventory> tool_output;  // one per host; empty: none was given
  Location tool_output_where;
  std::vector<std::string> remarks;  // contradictions in the tool output
  nccl::Exposure exposure;
  std::vector<std::string> external_plugins;
};

/// Reads the keys that a scenario and a variant share into `draft`.
void read_sections(MappingReader& reader, const Library& library, Draft& draft);

// Parts of it, one a source file.
void read_cluster(const YamlNode& node, const Library& library, Problems& problems, Draft& draft);
void read_nic_patches(const YamlNode& list, Problems& problems, Draft& draft);
void read_inventory(const YamlNode& node, Problems& problems, Draft& draft);
Workload read_workload(const YamlNode& node, Problems& problems);
Training read_training(const YamlNode& node, Problems& problems);
Measured read_measured(const YamlNode& node, Problems& problems);
void read_real(const YamlNode& node, Problems& problems, RealRun& real);
/// The file that the key 'parameters' names, beside the scenario; nothing without the key.
std::optional<params::Measured> read_parameters(MappingReader& reader);
Validation read_validation(const YamlNode& node, Problems& problems);

/// `text` with every "{host}" replaced by the number of host `host` (from 0), counted from 1.
std::string on_host(std::string text, std::int32_t host);

/// Puts machines, NICs and inventories together. Problems get the places of the file's own words.
Variant resolve(const Draft& draft, const topologies::Catalog& catalog, Problems& all);

}  // namespace busbw::scenarios
