// See emulated.h.
#include "scenarios/emulated.h"

#include <fmt/format.h>

#include "models/nccl/machine/document.h"
#include "models/nccl/machine/inventory.h"
#include "sim/core/errors.h"

namespace busbw::scenarios {

facts::EmulatedHost emulated_host(const Variant& variant, const topologies::Catalog& catalog,
                                  std::size_t host) {
  facts::EmulatedHost emulated{variant.cluster.hosts[host], catalog, variant.inventories[host],
                               static_cast<std::int32_t>(host)};
  for (std::size_t before = 0; before < host; ++before) {
    for (const nccl::Hca& hca : variant.inventories[before].hcas) {
      emulated.first_lid += static_cast<std::uint32_t>(hca.ports.size());
    }
  }
  return emulated;
}

nccl::graph::Element emulated_topology(const Variant& variant, const topologies::Catalog& catalog,
                                       const Job& job, std::size_t host) {
  const topologies::Machine& machine = variant.cluster.hosts[host];
  const nccl::Inventory& inventory = variant.inventories[host];
  nccl::HostDecision decision = job.selection.hosts[host];
  if (!decision.network) {
    throw InputError(fmt::format("NCCL finds no network on {} in variant '{}': {}", inventory.host,
                                 variant.name, decision.error.value_or("no device is left")));
  }
  nccl::add_plugin_devices(machine, inventory, catalog, decision);
  return nccl::machine_document(machine, catalog, inventory, decision, variant.version);
}

}  // namespace busbw::scenarios
