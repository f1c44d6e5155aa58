// See place_nics.h.
#include "scenarios/accuracy/place_nics.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/core/check.h"

namespace busbw::scenarios::accuracy {
namespace {

using topologies::Machine;
using topologies::MachineNic;

// A veth pair without a shaper has no wire: a rate that no NIC reaches leaves the limit to the CPU.
constexpr Bandwidth kNoWire = Bandwidth::gigabits_per_second(1000);

bool is_data_nic(const MachineNic& nic) {
  return nic.rdma;
}

/// Places where the GPUs of the machine hang, each once, in order of the GPUs.
std::vector<std::string> places_of(const Machine& machine) {
  std::vector<std::string> places;
  for (const topologies::MachineGpu& gpu : machine.gpus) {
    if (std::find(places.begin(), places.end(), gpu.attach) == places.end()) {
      places.push_back(gpu.attach);
    }
  }
  return places;
}

std::string place_of(std::int32_t nic, const SystemFacts& facts, const Machine& machine) {
  const std::vector<std::string> places = places_of(machine);
  const std::int32_t socket_size = machine.numa_nodes / machine.sockets;
  const std::int32_t near = machine.cpu_above(places.front());
  if (facts.gpu_nic_path == "SYS" && machine.sockets > 1) {
    // The first NUMA node of another socket than that of the first GPU.
    const std::int32_t other = near / socket_size == 0 ? socket_size : 0;
    return fmt::format("cpu{}", other);
  }
  if (facts.gpu_nic_path == "NODE" && socket_size > 1) {
    const std::int32_t socket = near / socket_size;
    return fmt::format("cpu{}", socket * socket_size + (near + 1) % socket_size);
  }
  if (facts.gpu_nic_path == "PHB" || facts.gpu_nic_path == "NODE") {
    return fmt::format("cpu{}", near);
  }
  const std::size_t at =
      static_cast<std::size_t>(nic) * places.size() / static_cast<std::size_t>(facts.nic.count);
  return places[std::min(at, places.size() - 1)];
}

void set_virtual(const NicFacts& facts, Machine& machine) {
  machine.nics.clear();
  for (const RecordInterface& interface : facts.interfaces) {
    MachineNic nic;
    nic.name = fmt::format("nic{}", machine.nics.size());
    nic.netdev = interface.name;
    nic.rate = kNoWire;
    nic.send_rate = interface.shaped;
    machine.nics.push_back(std::move(nic));
  }
}

/// Cards that a plugin joins to one device where several of them hang beside one GPU.
std::int32_t cards_per_device(const SystemFacts& facts, std::int32_t gpus) {
  const bool joined = facts.nic.carrier == Carrier::kPlugin &&
                      facts.nic.model->nccl_plugin == "Libfabric" && facts.nic.count > gpus &&
                      facts.nic.count % gpus == 0;
  return joined ? facts.nic.count / gpus : 1;
}

MachineNic real_nic(const SystemFacts& facts, std::int32_t index, std::int32_t cards,
                    const Machine& machine) {
  const NicFacts& facts_nic = facts.nic;
  const topologies::NicModel& model = *facts_nic.model;
  const bool socket = facts_nic.carrier == Carrier::kSocket;
  constexpr std::int32_t kWidest = 16;
  MachineNic nic;
  nic.name = socket ? fmt::format("eth{}", index) : fmt::format("mlx5_{}", index);
  if (!socket) {
    nic.netdev = fmt::format("rdma{}", index);
  }
  nic.model = model.name;
  nic.rate = facts_nic.rate * cards;
  nic.link_layer = facts_nic.layer;
  nic.rdma = !socket;  // a record that says RoCE has RDMA, whatever the catalogue calls the card
  nic.attach = place_of(index, facts, machine);
  nic.pcie_lanes = cards > 1 ? kWidest : model.pcie_lanes;
  const std::int32_t possible = machine.pcie_generation_at(*nic.attach);
  nic.pcie_generation = cards > 1 ? possible : std::min(model.pcie_generation, possible);
  return nic;
}

/// Whether the machine has these NICs already (a card counts as often as it has ports): as many,
/// that fast in all, of that plugin and layer.
bool has_them(const SystemFacts& facts, const topologies::Catalog& catalog,
              const Machine& machine) {
  std::int64_t rate = 0;
  std::int32_t count = 0;
  for (const MachineNic& nic : machine.nics) {
    if (!is_data_nic(nic)) {
      continue;
    }
    const topologies::NicModel* model = catalog.nic(nic.model);
    if (model == nullptr || model->nccl_plugin != facts.nic.model->nccl_plugin ||
        nic.link_layer != facts.nic.layer) {
      return false;
    }
    rate += nic.rate.bps() * nic.ports;
    count += nic.ports;
  }
  const bool joined = facts.nic.model->nccl_plugin == "Libfabric";
  return rate == facts.nic.rate.bps() * facts.nic.count && (joined || count == facts.nic.count) &&
         facts.gpu_nic_path.empty();
}

}  // namespace

void place_nics(const SystemFacts& facts, const topologies::Catalog& catalog, Machine& machine) {
  const NicFacts& nics = facts.nic;
  if (nics.carrier == Carrier::kNone) {
    return;
  }
  if (nics.model == nullptr) {
    set_virtual(nics, machine);
    return;
  }
  if (nics.carrier != Carrier::kSocket && has_them(facts, catalog, machine)) {
    return;
  }
  // Sockets take every interface: only those that the record names.
  const bool socket = nics.carrier == Carrier::kSocket;
  machine.nics.erase(
      std::remove_if(machine.nics.begin(), machine.nics.end(),
                     [&](const MachineNic& nic) { return socket || is_data_nic(nic); }),
      machine.nics.end());
  const auto gpus = static_cast<std::int32_t>(machine.gpus.size());
  const std::int32_t cards = cards_per_device(facts, gpus);
  SystemFacts devices = facts;
  devices.nic.count /= cards;
  for (std::int32_t i = 0; i < devices.nic.count; ++i) {
    machine.nics.push_back(real_nic(devices, i, cards, machine));
  }
}

}  // namespace busbw::scenarios::accuracy
