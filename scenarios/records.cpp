// Variants from selection records, and their answers as plain data.
#include "scenarios/records.h"

#include <string>
#include <utility>

#include "scenarios/plan.h"
#include "sim/core/errors.h"

namespace busbw::scenarios {
namespace {

// A veth pair without a shaper has no wire: a rate that no NIC reaches leaves the limit to the CPU.
constexpr Bandwidth kNoWire = Bandwidth::gigabits_per_second(1000);

/// The NIC of interface `index`. Its own name keeps clear of the machine's other elements, whatever
/// the interface is called; NCCL's devices find it by the interface.
topologies::MachineNic nic_of(const nccl::Interface& interface, std::size_t index) {
  topologies::MachineNic nic;
  nic.name = "nic" + std::to_string(index);
  nic.netdev = interface.name;
  nic.rate = kNoWire;
  nic.send_rate = interface.wire_rate;
  if (interface.speed_mbit && *interface.speed_mbit > 0) {
    nic.reported_speed = Bandwidth::megabits_per_second(*interface.speed_mbit);
  }
  return nic;
}

/// The catalogue's virtual machine with as many H200 as the record says. Other numbers than the
/// catalogue has: the largest one, its GPUs repeated or cut; they stand alike under one NVSwitch.
topologies::Machine machine_of(const nccl::SelectionRecord& record, const Library& library) {
  const auto wanted = static_cast<std::size_t>(record.gpus_per_host);
  const topologies::Machine* nearest = nullptr;
  for (const topologies::Machine& machine : library.machines) {
    const bool named = machine.name.rfind("h200-vm-x", 0) == 0;
    const bool found = nearest != nullptr && nearest->gpus.size() == wanted;
    if (named && !found &&
        (nearest == nullptr || machine.gpus.size() == wanted ||
         machine.gpus.size() > nearest->gpus.size())) {
      nearest = &machine;
    }
  }
  if (nearest == nullptr) {
    throw InputError("the catalogue has no machine 'h200-vm-x1', 'h200-vm-x2' or 'h200-vm-x4'");
  }
  topologies::Machine copy = *nearest;
  copy.nics.clear();
  copy.gpus.clear();
  for (std::size_t i = 0; i < wanted; ++i) {
    copy.gpus.push_back(nearest->gpus[i % nearest->gpus.size()]);
    copy.gpus.back().index = static_cast<std::int32_t>(i);
  }
  return copy;
}

}  // namespace

Variant variant_of(const nccl::SelectionRecord& record, const Library& library) {
  Variant variant;
  variant.name = record.id;
  variant.environment = record.input.environment;
  variant.version = record.input.version;
  variant.inventories = record.input.hosts;
  for (const nccl::Inventory& inventory : record.input.hosts) {
    topologies::Machine machine = machine_of(record, library);
    for (const nccl::Interface& interface : inventory.interfaces) {
      if (!interface.loopback && interface.name != "lo") {
        machine.nics.push_back(nic_of(interface, machine.nics.size()));
      }
    }
    variant.cluster.hosts.push_back(std::move(machine));
  }
  for (const topologies::MachineNic& nic : variant.cluster.hosts.front().nics) {
    topologies::Network network;
    network.name = nic.name + "-net";
    network.nics = {nic.name};
    variant.cluster.networks.push_back(std::move(network));
  }
  return variant;
}

std::optional<double> predict_point(const nccl::SelectionRecord& record,
                                    const nccl::Decision& decision, const nccl::RecordPoint& point,
                                    const Library& library, const Context& context) {
  if (decision.outcome != nccl::Outcome::kRuns || point.collective != "all_reduce") {
    return std::nullopt;
  }
  Variant variant = variant_of(record, library);
  const std::string& model = variant.cluster.hosts.front().gpu_model;
  const topologies::GpuModel* gpu = context.catalog.gpu(model);
  if (gpu == nullptr || Bytes(point.bytes) > gpu->memory) {
    return std::nullopt;
  }
  variant.workload.sizes = {Bytes(point.bytes)};
  if (point.bytes % variant.workload.element.count() != 0) {
    variant.workload.element = Bytes(1);
  }
  const Plan plan = make_plan(variant, decide(variant, decision, context.catalog));
  if (find_candidates(plan, variant, Bytes(point.bytes)).list.empty()) {
    return std::nullopt;
  }
  Fingerprint unused;
  const std::vector<SizeResult> results = simulate_sizes(variant, plan, context, {}, unused);
  return results.front().busbw_GBps;
}

}  // namespace busbw::scenarios
