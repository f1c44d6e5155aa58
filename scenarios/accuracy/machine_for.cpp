// See machine_for.h. NICs are put in place by place_nics.cpp.
#include "scenarios/accuracy/machine_for.h"

#include <algorithm>

#include <fmt/format.h>

#include "scenarios/accuracy/place_nics.h"
#include "scenarios/equal_hosts.h"
#include "sim/core/check.h"

namespace busbw::scenarios::accuracy {
namespace {

using topologies::Catalog;
using topologies::Machine;
using topologies::MachineNic;
using topologies::NvLinkWiring;

/// NICs that carry data on such a host: those with RDMA, else all.
std::vector<const MachineNic*> data_nics(const Machine& machine) {
  std::vector<const MachineNic*> list;
  for (const MachineNic& nic : machine.nics) {
    if (nic.rdma) {
      list.push_back(&nic);
    }
  }
  return list;
}

std::int32_t score(const Machine& machine, const SystemFacts& facts, const Catalog& catalog) {
  std::int32_t points = 0;
  const topologies::GpuModel* gpu = catalog.gpu(machine.gpu_model);
  points += gpu == facts.gpu ? 1000 : 0;
  const bool virtual_nics =
      std::all_of(machine.nics.begin(), machine.nics.end(),
                  [](const MachineNic& nic) { return !nic.attach.has_value(); });
  const std::vector<const MachineNic*> nics = data_nics(machine);
  const NicFacts& wanted = facts.nic;
  if (wanted.carrier == Carrier::kNone) {
    points += virtual_nics ? 0 : 10;  // a whole host rather than a virtual machine
  } else if (wanted.model == nullptr) {
    points += virtual_nics ? 100 : 0;
  } else if (!nics.empty()) {
    const topologies::NicModel* model = catalog.nic(nics.front()->model);
    points += model != nullptr && model->nccl_plugin == wanted.model->nccl_plugin ? 100 : 0;
    points += model == wanted.model ? 40 : 0;
    points += nics.front()->link_layer == wanted.layer ? 20 : 0;
    std::int32_t ports = 0;
    for (const MachineNic* nic : nics) {
      ports += nic->ports;
    }
    points += ports == wanted.count ? 10 : 0;
    points += nics.front()->rate == wanted.rate ? 5 : 0;
  }
  points += static_cast<std::int32_t>(machine.gpus.size()) == facts.gpus ? 8 : 0;
  points += machine.name.rfind("dgx", 0) == 0 ? 2 : 0;
  points += machine.topology_file.empty() ? 1 : 0;
  return points;
}

/// Same generation of NVLink and the same wiring, with GPUs enough.
bool can_stand_for(const Machine& machine, const SystemFacts& facts, const Catalog& catalog) {
  const topologies::GpuModel* gpu = catalog.gpu(machine.gpu_model);
  CHECK(gpu != nullptr, "machine '{}' names an unknown GPU", machine.name);
  const bool same_wiring = facts.gpus == 1 || machine.wiring == facts.wiring;
  return gpu->architecture == facts.gpu->architecture &&
         gpu->nvlink_generation == facts.gpu->nvlink_generation &&
         gpu->chip_to_chip.has_value() == facts.gpu->chip_to_chip.has_value() && same_wiring &&
         machine.gpus.size() >= static_cast<std::size_t>(facts.gpus);
}

const Machine* nearest_machine(const SystemFacts& facts, const Catalog& catalog,
                               const std::vector<Machine>& machines) {
  const Machine* best = nullptr;
  std::int32_t highest = 0;
  for (const Machine& machine : machines) {
    if (!can_stand_for(machine, facts, catalog)) {
      continue;
    }
    const std::int32_t points = score(machine, facts, catalog);
    if (best == nullptr || points > highest) {
      best = &machine;
      highest = points;
    }
  }
  return best;
}

/// The switch by which what hangs on `attach` reaches a CPU, or the CPU itself.
std::string uplink_of(const Machine& machine, const std::string& attach) {
  for (const topologies::PcieSwitch& each : machine.pcie_switches) {
    const bool below_another =
        std::any_of(machine.pcie_switches.begin(), machine.pcie_switches.end(),
                    [&](const topologies::PcieSwitch& other) { return other.name == each.attach; });
    if (each.name == attach) {
      return below_another ? uplink_of(machine, each.attach) : attach;
    }
  }
  return attach;
}

/// Adds GPUs, up to `count` in all, whose place no chosen one has.
template <class PlaceOf>
void add_apart(const Machine& machine, std::size_t count, const PlaceOf& place_of,
               std::vector<std::size_t>& chosen) {
  std::vector<std::string> taken;
  taken.reserve(chosen.size());
  for (const std::size_t gpu : chosen) {
    taken.push_back(place_of(machine, machine.gpus[gpu].attach));
  }
  for (std::size_t i = 0; i < machine.gpus.size() && chosen.size() < count; ++i) {
    const std::string place = place_of(machine, machine.gpus[i].attach);
    if (std::find(taken.begin(), taken.end(), place) == taken.end()) {
      taken.push_back(place);
      chosen.push_back(i);
    }
  }
}

/// Indices of the GPUs that take part.
std::vector<std::size_t> chosen_gpus(const Machine& machine, const SystemFacts& facts,
                                     const std::vector<std::int32_t>& asked) {
  std::vector<std::size_t> chosen;
  const auto count = static_cast<std::size_t>(facts.gpus);
  if (asked.size() == count && *std::max_element(asked.begin(), asked.end()) <
                                   static_cast<std::int32_t>(machine.gpus.size())) {
    for (const std::int32_t gpu : asked) {
      chosen.push_back(static_cast<std::size_t>(gpu));
    }
    return chosen;
  }
  // A NIC for each GPU: GPUs that share no uplink first, then those that share no PCIe switch.
  if (facts.nic.count == facts.gpus) {
    add_apart(machine, count, uplink_of, chosen);
    add_apart(
        machine, count, [](const Machine&, const std::string& attach) { return attach; }, chosen);
  }
  for (std::size_t i = 0; i < machine.gpus.size() && chosen.size() < count; ++i) {
    if (std::find(chosen.begin(), chosen.end(), i) == chosen.end()) {
      chosen.push_back(i);
    }
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

void set_links(const SystemFacts& facts, Machine& machine) {
  const auto gpus = static_cast<std::int32_t>(machine.gpus.size());
  machine.nvlink_generation = facts.gpu->nvlink_generation;
  if (machine.wiring == NvLinkWiring::kNvSwitch) {
    machine.nvlink_links_per_gpu = facts.gpu->nvlink_links;
  } else if (facts.links_per_pair > 0 && facts.wiring == NvLinkWiring::kMesh) {
    machine.nvlink_matrix = topologies::mesh_matrix(gpus, facts.links_per_pair);
  } else if (facts.wiring == NvLinkWiring::kPairs) {
    machine.nvlink_matrix = topologies::pairs_matrix(gpus, facts.links_per_pair);
  } else if (facts.wiring == NvLinkWiring::kHybridCubeMesh && machine.nvlink_matrix.empty()) {
    machine.nvlink_matrix = topologies::hybrid_cube_mesh_matrix();
    for (std::vector<std::int32_t>& row : machine.nvlink_matrix) {
      row.resize(machine.gpus.size());
    }
    machine.nvlink_matrix.resize(machine.gpus.size());
  }
}

/// The usual CPU beside GPUs of that architecture.
const char* usual_cpu(const std::string& architecture) {
  if (architecture == "Pascal" || architecture == "Volta") {
    return "Intel Skylake-SP";
  }
  if (architecture == "Turing") {
    return "Intel Cascade Lake-SP";
  }
  if (architecture == "Ampere") {
    return "AMD Rome";
  }
  if (architecture.rfind("Ada", 0) == 0) {
    return "AMD Milan";
  }
  return architecture == "Hopper" ? "Intel Sapphire Rapids" : "Intel Emerald Rapids";
}

/// Lanes of a card and of what it hangs on, where nobody says. GeForce stands in boards that split
/// their slots and in risers as often as in full slots; in full ones where a server's CPU is named
/// (eight and four RTX 5090 on Xeon Platinum 8480+, github.com/NVIDIA/nccl issue 1639).
std::int32_t usual_lanes(const SystemFacts& facts, std::vector<std::string>& assumptions) {
  constexpr std::int32_t kSplit = 8;
  const bool geforce = !facts.gpu->gpudirect_rdma;
  if (!geforce || facts.pcie_generation || facts.pcie_lanes || facts.gpus == 1) {
    return facts.gpu->pcie_lanes;
  }
  const std::int32_t lanes = facts.cpu != nullptr ? facts.gpu->pcie_lanes : kSplit;
  assumptions.push_back(fmt::format("PCIe of a GeForce host is not said: {} lanes", lanes));
  return lanes;
}

void add_switch(Machine& machine, const std::string& name, const std::string& cpu) {
  machine.pcie_switches.push_back({name, cpu, machine.pcie_generation, machine.gpu_pcie_lanes});
}

/// A host of one or two sockets whose GPUs stand as `facts` say.
Machine plain_host(const SystemFacts& facts, const Catalog& catalog,
                   std::vector<std::string>& assumptions) {
  Machine machine;
  machine.name = "plain-host";
  machine.title = "Host with " + facts.gpu->name;
  machine.gpu_model = facts.gpu->name;
  machine.gpu_pcie_lanes = usual_lanes(facts, assumptions);
  const topologies::CpuModel* cpu = facts.cpu != nullptr ? facts.cpu : facts.cpu_by_buses;
  if (cpu == nullptr) {
    cpu = catalog.cpu(usual_cpu(facts.gpu->architecture));
    CHECK(cpu != nullptr, "no CPU for {}", facts.gpu->architecture);
    assumptions.push_back(fmt::format("the CPU is not said: two {}", cpu->name));
  }
  machine.cpu_model = cpu->name;
  machine.sockets = 2;
  const std::int32_t per_socket = facts.numa_per_socket.value_or(1);
  machine.numa_nodes = machine.sockets * per_socket;
  machine.pcie_generation = facts.pcie_generation.value_or(facts.gpu->pcie_generation);
  if (facts.cpu_by_buses != nullptr) {
    machine.pcie_generation =
        std::min(machine.pcie_generation, facts.cpu_by_buses->pcie_generation);
  }
  const std::string far = fmt::format("cpu{}", per_socket);  // first NUMA node of socket 1
  const std::int32_t gpus = facts.gpus;
  for (std::int32_t i = 0; i < gpus; ++i) {
    std::string attach = "cpu0";
    if (facts.placement == Placement::kSwitches) {
      attach = fmt::format("pcie{}", i / facts.gpus_per_switch);
    } else if (facts.placement != Placement::kOneSocket && gpus > 1) {
      attach = i < (gpus + 1) / 2 ? "cpu0" : far;
    }
    machine.gpus.push_back({i, attach});
  }
  const std::int32_t switches = facts.placement == Placement::kSwitches
                                    ? (gpus + facts.gpus_per_switch - 1) / facts.gpus_per_switch
                                    : 0;
  for (std::int32_t i = 0; i < switches; ++i) {
    add_switch(machine, fmt::format("pcie{}", i), i < (switches + 1) / 2 ? "cpu0" : far);
  }
  machine.wiring = facts.wiring;
  return machine;
}

/// Pods that are parts of a host: Kubernetes allots each kind of device by itself, so a NIC that
/// shares a PCIe switch with the pod's GPU would be an accident.
bool are_parted(const SystemFacts& facts, const Machine& whole) {
  const bool rdma = facts.nic.model != nullptr && facts.nic.carrier != Carrier::kSocket;
  return facts.pods && rdma && facts.gpu_nic_path.empty() &&
         whole.gpus.size() > static_cast<std::size_t>(facts.gpus);
}

/// NVIDIA's advice for GPUs that use the host's memory is four NUMA nodes a socket on AMD
/// (github.com/NVIDIA/nccl-tests issue 115); what fewer cost differs from 1/7 there to 7/8 (issue
/// 293).
void tell_of_few_nodes(const SystemFacts& facts, const topologies::CpuModel* cpu,
                       std::vector<std::string>& assumptions) {
  constexpr std::int32_t kAdvised = 4;
  if (cpu != nullptr && cpu->vendor == "AuthenticAMD" && !facts.gpudirect &&
      facts.numa_per_socket.value_or(kAdvised) < kAdvised) {
    assumptions.push_back(
        fmt::format("what NPS={} costs GPUs that use host memory of AMD hosts is not modelled",
                    *facts.numa_per_socket));
  }
}

/// A slot or board that runs slower than the machine could.
void lower_pcie(const SystemFacts& facts, Machine& machine) {
  if (facts.pcie_generation && *facts.pcie_generation < machine.pcie_generation) {
    machine.pcie_generation = *facts.pcie_generation;
    for (topologies::PcieSwitch& each : machine.pcie_switches) {
      each.generation = std::min(each.generation, *facts.pcie_generation);
    }
    for (MachineNic& nic : machine.nics) {
      nic.pcie_generation = std::min(nic.pcie_generation, *facts.pcie_generation);
    }
  }
  if (facts.pcie_lanes && *facts.pcie_lanes < machine.gpu_pcie_lanes) {
    machine.gpu_pcie_lanes = *facts.pcie_lanes;
    for (MachineNic& nic : machine.nics) {
      nic.pcie_lanes = std::min(nic.pcie_lanes, *facts.pcie_lanes);
    }
  }
}

}  // namespace

Machine machine_for(const SystemFacts& said, const std::vector<std::int32_t>& gpus,
                    const Catalog& catalog, const std::vector<Machine>& machines,
                    std::vector<std::string>& assumptions) {
  const Machine* nearest = nearest_machine(said, catalog, machines);
  SystemFacts facts = said;
  if (nearest != nullptr && are_parted(said, *nearest)) {
    facts.gpu_nic_path = "PHB";
    assumptions.push_back("a pod gets its GPUs and its NICs apart: no PCIe switch in common (PHB)");
  }
  const bool no_links = facts.wiring == NvLinkWiring::kNone && facts.gpu->nvlink_generation == 0;
  const bool very_same = nearest != nullptr && catalog.gpu(nearest->gpu_model) == facts.gpu &&
                         nearest->gpus.size() == static_cast<std::size_t>(facts.gpus) &&
                         facts.placement == Placement::kUnknown;
  // A board of modules brings its PCIe switches along, with the NICs on them, whatever the CPUs.
  const bool board = is_on_a_board(*facts.gpu);
  const bool on_switch = facts.gpu_nic_path.empty() ||
                         (board && (facts.gpu_nic_path == "PIX" || facts.gpu_nic_path == "PXB"));
  const bool said_apart =
      (facts.cpu != nullptr && !board) || facts.cpu_by_buses != nullptr || !on_switch;
  Machine machine;
  if (nearest == nullptr || said_apart || (no_links && !very_same)) {
    machine = plain_host(facts, catalog, assumptions);
  } else {
    machine = *nearest;
    if (catalog.gpu(machine.gpu_model) != facts.gpu) {
      assumptions.push_back(fmt::format("a host like {} with {}", machine.name, facts.gpu->name));
    }
    machine.gpu_model = facts.gpu->name;
    if (facts.cpu != nullptr && !facts.gpu->chip_to_chip) {
      machine.cpu_model = facts.cpu->name;
    }
    machine = with_gpus(machine, chosen_gpus(machine, facts, gpus));
  }
  set_links(facts, machine);
  place_nics(facts, catalog, machine);
  machine.peer_to_peer =
      facts.peer_to_peer.value_or(no_links ? facts.gpu->gpudirect_rdma : machine.peer_to_peer);
  machine.acs_redirect = machine.acs_redirect || facts.acs_redirect;
  machine.dma_translation = machine.dma_translation || facts.dma_translation;
  lower_pcie(facts, machine);
  tell_of_few_nodes(facts, catalog.cpu(machine.cpu_model), assumptions);
  return machine;
}

}  // namespace busbw::scenarios::accuracy
