// Internal to topologies: reads one machine from YAML; docs/formats/machine.md documents each key.
//
// The file gives shape (counts, tree, wiring) and names catalogue models; numbers of the hardware
// come from the catalogue. All problems are reported at once; a check that depends on a part that
// is itself wrong stays silent, so that one mistake is one message.
#pragma once
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/core/text.h"
#include "topologies/machine.h"

namespace busbw::topologies {

/// "unknown GPU model 'A100'" with what was perhaps meant, or else with what there is.
template <class Model>
std::string unknown(const std::string& what, const std::string& name,
                    const std::vector<Model>& models) {
  std::vector<std::string> names;
  names.reserve(models.size());
  for (const Model& model : models) {
    names.push_back(model.name);
  }
  const std::string meant = did_you_mean(name, names);
  return fmt::format("unknown {} '{}'{}", what, name,
                     meant.empty() ? "; known: " + quoted_list(names) : meant);
}

class MachineReader {
 public:
  MachineReader(const YamlNode& node, const Catalog& catalog, Problems& problems)
      : top_(node, "machine", problems), catalog_(catalog), problems_(problems) {}

  Machine read();

 private:
  void read_cpus();
  void read_pcie();
  void read_pcie_switch(const YamlNode& node);
  void read_gpus();
  void read_gpu_places(MappingReader& gpus);
  void read_nvlink();
  void read_nvlink_wiring(MappingReader& nvlink, std::int32_t links_of_gpu);
  std::optional<LinkMatrix> read_matrix(MappingReader& nvlink);
  void read_nics();
  void read_nic(const YamlNode& node);
  std::optional<Bandwidth> read_infiniband(MappingReader& reader, const MachineNic& nic);
  void read_nic_rates(MappingReader& reader, MachineNic& nic, const NicModel* model);
  void read_nic_link_layer(MappingReader& reader, MachineNic& nic, const NicModel* model);
  void read_nic_place(MappingReader& reader, MachineNic& nic, const NicModel* model);

  /// A needed key: unlike required_integer it tells a wrong value from a right one.
  static std::optional<std::int32_t> read_needed(MappingReader& reader, const std::string& key,
                                                 std::int64_t min, std::int64_t max);
  std::int32_t read_generation(MappingReader& reader, const std::string& key,
                               std::int32_t otherwise);
  std::int32_t read_lanes(MappingReader& reader, const std::string& key, std::int32_t otherwise);
  /// Adds a problem unless `name` is a CPU or PCIe switch known so far.
  bool check_place(const Location& where, const std::string& who, const std::string& name);
  /// Adds a problem if the name cannot name an element or was given before.
  void claim_name(const Location& where, const std::string& what, const std::string& name);

  MappingReader top_;
  const Catalog& catalog_;
  Problems& problems_;
  Machine machine_;
  const GpuModel* gpu_ = nullptr;
  std::vector<std::string> places_;  // CPUs and PCIe switches: what a device can hang on
  bool places_known_ = true;         // false when the CPUs or switches could not be read
  std::set<std::string> names_;      // of all elements
};

}  // namespace busbw::topologies
