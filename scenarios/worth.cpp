// See worth.h.
#include "scenarios/worth.h"

#include <algorithm>

#include "scenarios/perf.h"

namespace busbw::scenarios {
namespace {

using topologies::Machine;
using topologies::MachineNic;
using topologies::NicLinkLayer;

bool is_hca(const MachineNic& nic) {
  return nic.rdma && nic.link_layer == NicLinkLayer::kInfiniBand;
}

/// The machine with one HCA and one interface of the user's rates.
Machine found_machine(const Machine& base, const SocketJob& job) {
  Machine machine = base;
  MachineNic hca = *std::find_if(base.nics.begin(), base.nics.end(), is_hca);
  hca.rate = job.hca_rate;
  MachineNic interface;  // virtual: where it is attached is not known
  interface.name = job.interface;
  interface.rate = job.socket_rate;
  machine.nics = {interface, hca};
  return machine;
}

std::optional<double> algbw(const Machine& machine, const SocketJob& job,
                            const nccl::Environment& environment, const Context& context) {
  PerfRequest request;
  request.machine = machine;
  request.hosts.hosts = job.hosts;
  request.environment = environment;
  request.version = job.version;
  request.sizes = {job.bytes};
  const PerfResult result = perf(request, context);
  if (result.error || result.sizes.empty()) {
    return std::nullopt;
  }
  return result.sizes.front().algbw_GBps;
}

}  // namespace

std::optional<SocketWorth> worth_of_rdma(const SocketJob& job, const Library& library,
                                         const Context& context) {
  const auto base =
      std::find_if(library.machines.begin(), library.machines.end(), [&](const Machine& machine) {
        return static_cast<std::int32_t>(machine.gpus.size()) == job.gpus &&
               std::any_of(machine.nics.begin(), machine.nics.end(), is_hca);
      });
  if (base == library.machines.end()) {
    return std::nullopt;
  }
  const Machine machine = found_machine(*base, job);
  const std::optional<double> before = algbw(
      machine, job, {{"NCCL_IB_DISABLE", "1"}, {"NCCL_SOCKET_IFNAME", job.interface}}, context);
  const std::optional<double> after = algbw(machine, job, {}, context);
  if (!before || !after) {
    return std::nullopt;
  }
  return SocketWorth{*before, *after, base->title};
}

}  // namespace busbw::scenarios
