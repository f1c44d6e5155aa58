// From what a file says to machines and inventories: NIC changes applied to each host's machine,
// interfaces and HCAs derived from its NICs, then the file's own changes over them.
//
// Derived when the file lists no interfaces: lo, then one interface per NIC in the machine's order;
// NIC i of host h (from 1) has the address 10.i.(h / 256).(h % 256)/16.
#include <algorithm>
#include <utility>

#include "models/nccl/machine/inventory.h"
#include "scenarios/spec/draft.h"
#include "scenarios/spec/port_states.h"
#include "scenarios/spec/read_events.h"
#include "scenarios/spec/read_traffic.h"
#include "sim/core/quantity.h"
#include "sim/core/text.h"

namespace busbw::scenarios {
namespace {

using topologies::Machine;
using topologies::MachineNic;

std::int64_t megabits(Bandwidth rate) {
  return rate.bps() / 1'000'000;
}

void apply_nic_patches(const Draft& draft, std::int32_t host, Machine& machine,
                       Problems& problems) {
  for (const NicPatch& patch : draft.nic_patches) {
    const std::optional<std::size_t> index = machine.find_nic(patch.name);
    if (!index) {
      if (host == 0) {
        std::vector<std::string> names;
        for (const MachineNic& nic : machine.nics) {
          names.push_back(nic.name);
        }
        problems.add(patch.where, "machine '" + machine.name + "' has no NIC '" + patch.name +
                                      "'; allowed: " + quoted_list(names));
      }
      continue;
    }
    if (patch.host && *patch.host >= draft.hosts && host == 0) {
      problems.add(patch.where, "no host " + std::to_string(*patch.host + 1) + "; there are " +
                                    std::to_string(draft.hosts));
    }
    if (!patch.host || *patch.host == host) {
      MachineNic& nic = machine.nics[*index];
      nic.rate = patch.rate.value_or(nic.rate);
      nic.send_rate = patch.send_rate ? patch.send_rate : nic.send_rate;
    }
  }
}

/// The NIC behind an interface, or nullptr (lo, docker0, a VLAN).
const MachineNic* nic_behind(const Machine& machine, const std::string& interface) {
  for (const MachineNic& nic : machine.nics) {
    if (nccl::interface_name(nic) == interface) {
      return &nic;
    }
  }
  return nullptr;
}

/// Adds what `ip` does not print: speed, wire and place come from the machine's NIC of that name.
void complete(nccl::Interface& interface, const Machine& machine,
              const topologies::Catalog& catalog) {
  const MachineNic* nic = nic_behind(machine, interface.name);
  if (nic == nullptr) {
    return;
  }
  const nccl::Interface known = nccl::machine_interface(
      machine, static_cast<std::size_t>(nic - machine.nics.data()), catalog);
  if (interface.running) {
    interface.speed_mbit = known.speed_mbit;
  }
  interface.wire_rate = known.wire_rate;
  interface.pci_path = known.pci_path;
  interface.pci_vendor = known.pci_vendor;
}

void change(nccl::Interface& interface, const InterfaceDraft& draft, std::int32_t host,
            Problems& problems) {
  if (draft.addresses) {
    interface.addresses.clear();
    for (const std::string& text : *draft.addresses) {
      // read_interface has checked the text for the first host.
      if (auto address = nccl::parse_address(on_host(text, host))) {
        interface.addresses.push_back(std::move(*address));
      } else if (host > 0 && nccl::parse_address(on_host(text, 0))) {
        problems.add(draft.where, "'" + text + "' is no address on host " +
                                      std::to_string(host + 1) + ", '" + on_host(text, host) + "'");
      }
    }
  }
  interface.up = draft.up.value_or(interface.up);
  interface.running = draft.carrier.value_or(interface.running) && interface.up;
  if (draft.speed) {
    interface.speed_mbit = megabits(*draft.speed);
  } else if (!interface.running) {
    interface.speed_mbit.reset();  // the kernel reports no speed without a carrier
  }
  interface.mtu = draft.mtu.value_or(interface.mtu);
}

std::vector<nccl::Interface> interfaces_of(const Draft& draft, const Machine& machine,
                                           std::int32_t host, const topologies::Catalog& catalog,
                                           Problems& problems) {
  std::vector<nccl::Interface> interfaces;
  if (!draft.tool_output.empty()) {
    interfaces = draft.tool_output[static_cast<std::size_t>(host)].interfaces;
    for (nccl::Interface& interface : interfaces) {
      complete(interface, machine, catalog);
    }
  } else if (!draft.interfaces) {
    interfaces.push_back(nccl::loopback_interface());
    for (std::size_t i = 0; i < machine.nics.size(); ++i) {
      interfaces.push_back(nccl::machine_interface(machine, i, catalog));
      interfaces.back().addresses = {nccl::derived_address(i, host)};
    }
  } else {
    for (const InterfaceDraft& drafted : *draft.interfaces) {
      const MachineNic* nic = nic_behind(machine, drafted.name);
      nccl::Interface interface;
      if (nic != nullptr) {
        interface = nccl::machine_interface(
            machine, static_cast<std::size_t>(nic - machine.nics.data()), catalog);
      } else if (drafted.name == "lo") {
        interface = nccl::loopback_interface();
      }
      interface.name = drafted.name;
      change(interface, drafted, host, problems);
      interfaces.push_back(std::move(interface));
    }
  }
  for (const InterfaceDraft& patch : draft.interface_patches) {
    const auto found =
        std::find_if(interfaces.begin(), interfaces.end(),
                     [&](const nccl::Interface& known) { return known.name == patch.name; });
    if (found != interfaces.end()) {
      change(*found, patch, host, problems);
    } else if (host == 0) {
      std::vector<std::string> names;
      names.reserve(interfaces.size());
      for (const nccl::Interface& known : interfaces) {
        names.push_back(known.name);
      }
      problems.add(patch.where,
                   "no interface '" + patch.name + "'; allowed: " + quoted_list(names));
    }
  }
  return interfaces;
}

void change(nccl::Hca& hca, const HcaDraft& draft) {
  for (nccl::HcaPort& port : hca.ports) {
    port.state = draft.state.value_or(port.state);
    port.physical_state = draft.physical_state.value_or(port.physical_state);
    port.link_layer = draft.link_layer.value_or(port.link_layer);
    port.speed_mbit = draft.rate ? megabits(*draft.rate) : port.speed_mbit;
  }
}

std::vector<nccl::Hca> hcas_of(const Draft& draft, const Machine& machine, std::int32_t host,
                               const topologies::Catalog& catalog, Problems& problems) {
  std::vector<nccl::Hca> hcas;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < machine.nics.size() && draft.tool_output.empty(); ++i) {
    if (nccl::has_verbs(machine.nics[i], catalog)) {
      hcas.push_back(nccl::machine_hca(machine, i, host, catalog));
    }
  }
  if (!draft.tool_output.empty()) {
    hcas = draft.tool_output[static_cast<std::size_t>(host)].hcas;
    for (nccl::Hca& hca : hcas) {
      const std::optional<std::size_t> nic = machine.find_nic(hca.name);
      hca.pci_path = nic ? nccl::machine_pci_path(machine, *nic) : hca.pci_path;
    }
  }
  names.reserve(hcas.size());
  for (const nccl::Hca& hca : hcas) {
    names.push_back(hca.name);
  }
  for (const HcaDraft& patch : draft.hca_patches) {
    const auto found = std::find_if(
        hcas.begin(), hcas.end(), [&](const nccl::Hca& known) { return known.name == patch.name; });
    if (found != hcas.end()) {
      change(*found, patch);
    } else if (host == 0) {
      problems.add(patch.where, "no HCA '" + patch.name + "'; allowed: " +
                                    (names.empty() ? "none (no NIC of the machine has rdma)"
                                                   : quoted_list(names)));
    }
  }
  return hcas;
}

void check_networks(const Draft& draft, Problems& problems) {
  std::vector<std::string> names;
  for (const MachineNic& nic : draft.machine->nics) {
    names.push_back(nic.name);
  }
  for (const topologies::Network& network : draft.networks) {
    for (const std::string& nic : network.nics) {
      const std::string name = nic.substr(0, nic.rfind(':'));  // "mlx5_0:2" is a port of it
      if (!draft.machine->find_nic(name)) {
        const std::string meant = did_you_mean(nic, names);
        problems.add(network.where,
                     "network '" + network.name + "' names the NIC '" + nic + "' that machine '" +
                         draft.machine->name + "' has not" +
                         (meant.empty() ? "; allowed: " + quoted_list(names) : meant));
      }
    }
  }
}

void check_sizes(const Draft& draft, const topologies::Catalog& catalog, Problems& problems) {
  const topologies::GpuModel* gpu = catalog.gpu(draft.machine->gpu_model);
  const std::vector<Bytes>& sizes = draft.variant.workload.sizes;
  if (gpu != nullptr && !sizes.empty() && sizes.back() > gpu->memory) {
    problems.add(draft.variant.workload.where, "size " + to_string(sizes.back()) +
                                                   " does not fit in the " +
                                                   to_string(gpu->memory) + " of GPU " + gpu->name);
  }
}

Variant resolve_into(const Draft& draft, const topologies::Catalog& catalog, Problems& problems) {
  Variant variant = draft.variant;
  const auto missing = [&](const char* key) {
    problems.add(variant.where, "missing key '" + std::string(key) + "' in variant '" +
                                    variant.name + "' (neither in the variant nor above it)");
  };
  if (!draft.has_version) {
    missing("nccl");
  }
  if (!draft.has_workload) {
    missing("workload");
  }
  if (!draft.has_cluster) {
    missing("cluster");
  }
  if (!draft.machine) {
    return variant;
  }
  check_networks(draft, problems);
  const std::vector<std::string>& devices = variant.real.devices;
  if (!devices.empty() && devices.size() < static_cast<std::size_t>(draft.hosts)) {
    problems.add(variant.real.where, "'devices' of 'real' names " + std::to_string(devices.size()) +
                                         " for " + std::to_string(draft.hosts) + " hosts");
  }
  check_sizes(draft, catalog, problems);
  if (!draft.tool_output.empty() &&
      draft.tool_output.size() != static_cast<std::size_t>(draft.hosts)) {
    problems.add(draft.tool_output_where, std::to_string(draft.tool_output.size()) +
                                              " folders of tool output for " +
                                              std::to_string(draft.hosts) + " hosts");
    return variant;
  }
  variant.remarks = draft.remarks;
  variant.cluster.networks = draft.networks;
  variant.traffic = draft.traffic;
  for (std::int32_t host = 0; host < draft.hosts; ++host) {
    Machine machine = *draft.machine;
    apply_nic_patches(draft, host, machine, problems);
    nccl::Inventory inventory;
    inventory.host = draft.tool_output.empty()
                         ? "node" + std::to_string(host)
                         : draft.tool_output[static_cast<std::size_t>(host)].host;
    inventory.interfaces = interfaces_of(draft, machine, host, catalog, problems);
    inventory.hcas = hcas_of(draft, machine, host, catalog, problems);
    inventory.exposure = draft.exposure;
    inventory.external_plugins = draft.external_plugins;
    variant.inventories.push_back(std::move(inventory));
    variant.cluster.hosts.push_back(std::move(machine));
  }
  for (std::size_t i = 0; i < draft.networks.size(); ++i) {
    check_traffic(draft.traffic[i], draft.networks[i], variant.cluster, problems);
  }
  check_events(variant.events, variant.cluster, problems);
  set_port_states(catalog, variant);
  return variant;
}

}  // namespace

Variant resolve(const Draft& draft, const topologies::Catalog& catalog, Problems& all) {
  // What stands above the variants is resolved once per variant: each problem is reported once.
  Problems problems;
  Variant variant = resolve_into(draft, catalog, problems);
  for (const InputProblem& found : problems.all()) {
    const auto same = [&](const InputProblem& known) {
      return known.where == found.where && known.message == found.message;
    };
    if (std::none_of(all.all().begin(), all.all().end(), same)) {
      all.add(found.where, found.message);
    }
  }
  return variant;
}

}  // namespace busbw::scenarios
