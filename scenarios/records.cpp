// Variants from selection records, and their answers as plain data.
#include "scenarios/records.h"

#include <utility>

#include <fmt/format.h>

#include "sim/core/errors.h"

namespace busbw::scenarios {
namespace {

// A veth pair without a shaper has no wire: a rate that no NIC reaches leaves the limit to the CPU.
constexpr Bandwidth kNoWire = Bandwidth::gigabits_per_second(1000);

topologies::MachineNic nic_of(const nccl::Interface& interface) {
  topologies::MachineNic nic;
  nic.name = interface.name;
  nic.rate = kNoWire;
  nic.send_rate = interface.wire_rate;
  if (interface.speed_mbit && *interface.speed_mbit > 0) {
    nic.reported_speed = Bandwidth::megabits_per_second(*interface.speed_mbit);
  }
  return nic;
}

topologies::Machine machine_of(const nccl::SelectionRecord& record, const Library& library) {
  const std::string name = fmt::format("h200-vm-x{}", record.gpus_per_host);
  for (const topologies::Machine& machine : library.machines) {
    if (machine.name == name) {
      topologies::Machine copy = machine;
      copy.nics.clear();
      return copy;
    }
  }
  throw InputError(fmt::format("record '{}' has {} GPUs a host; the catalogue has no machine '{}'",
                               record.id, record.gpus_per_host, name));
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
        machine.nics.push_back(nic_of(interface));
      }
    }
    variant.cluster.hosts.push_back(std::move(machine));
  }
  for (const topologies::MachineNic& nic : variant.cluster.hosts.front().nics) {
    topologies::Network network;
    network.name = nic.name;
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
  variant.workload.sizes = {Bytes(point.bytes)};
  Fingerprint unused;
  const std::vector<SizeResult> results =
      simulate_sizes(variant, decision, context, engine::Kind::kFluid, unused);
  return results.front().busbw_GBps;
}

}  // namespace busbw::scenarios
