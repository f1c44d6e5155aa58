// See faults.h.
#include "topologies/networks/faults.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/core/text.h"

namespace busbw::networks {
namespace {

using topologies::Catalog;

/// Whether a fault's word names this end: a switch, an endpoint, or a host with one port.
bool is_called(const Subnet& subnet, const End& end, const std::string& word) {
  if (subnet.name_of(end) == word) {
    return true;
  }
  return !end.at_switch && subnet.at(EndpointId(end.node)).host == word;
}

/// Cables that a fault names, in order.
std::vector<Cable*> find_cables(const CableFault& fault, BuiltFabric& built) {
  std::vector<Cable*> found;
  for (Subnet& subnet : built.subnets) {
    for (Cable& cable : subnet.cables) {
      for (const auto& [here, there] : {std::pair(cable.a, cable.b), std::pair(cable.b, cable.a)}) {
        const bool matches = is_called(subnet, here, fault.from) &&
                             (fault.to.empty() ? fault.port == 0 || here.port == fault.port
                                               : is_called(subnet, there, fault.to));
        if (matches) {
          found.push_back(&cable);
          break;
        }
      }
    }
  }
  return found;
}

std::vector<std::string> node_names(const BuiltFabric& built) {
  std::vector<std::string> names;
  for (const Subnet& subnet : built.subnets) {
    for (const Switch& node : subnet.switches) {
      names.push_back(node.name);
    }
    for (const Endpoint& endpoint : subnet.endpoints) {
      names.push_back(endpoint.name());
      names.push_back(endpoint.host);
    }
  }
  return names;
}

void no_such_cable(const CableFault& fault, const BuiltFabric& built, std::size_t found,
                   Problems& problems) {
  const std::vector<std::string> names = node_names(built);
  for (const std::string& word : {fault.from, fault.to}) {
    if (!word.empty() && std::find(names.begin(), names.end(), word) == names.end()) {
      problems.add(fault.where,
                   fmt::format("no switch or host port '{}'{}", word, did_you_mean(word, names)));
      return;
    }
  }
  const std::string to = !fault.to.empty() ? fmt::format("to '{}'", fault.to)
                         : fault.port > 0  ? fmt::format("at port {}", fault.port)
                                           : "of a host's port";
  problems.add(fault.where, fmt::format("'{}' has {} cables {}; number {} is not among them",
                                        fault.from, found, to, fault.number));
}

}  // namespace

void set_speed(Cable& cable, bool ethernet, const Catalog& catalog) {
  if (ethernet) {
    for (const topologies::EthernetRate& rate : catalog.ethernet) {
      if (rate.rate == cable.rate) {
        cable.speed = rate.name;
        cable.lanes = rate.lanes;
      }
    }
    return;
  }
  for (const std::int32_t lanes : {4, 2, 1}) {
    for (auto rate = catalog.infiniband.rbegin(); rate != catalog.infiniband.rend(); ++rate) {
      if (rate->data * lanes == cable.rate) {
        cable.speed = rate->name;
        cable.lanes = lanes;
        return;
      }
    }
  }
}

void apply_faults(const FabricSpec& spec, const Catalog& catalog, BuiltFabric& built,
                  Problems& problems) {
  for (const CableFault& fault : spec.faults) {
    const std::vector<Cable*> found = find_cables(fault, built);
    const auto number = static_cast<std::size_t>(fault.number);
    if (number > found.size()) {
      no_such_cable(fault, built, found.size(), problems);
      continue;
    }
    Cable& cable = *found[number - 1];
    if (fault.missing) {
      cable.up = false;
      continue;
    }
    Bandwidth rate = fault.rate.value_or(cable.rate);
    if (fault.lanes) {
      rate = cable.rate / cable.lanes * *fault.lanes;
    }
    if (rate <= Bandwidth() || rate > cable.rate) {
      problems.add(fault.where, fmt::format("a degraded cable may not be faster than {} Gb/s",
                                            cable.rate.as_gigabits_per_second()));
      continue;
    }
    cable.rate = rate;
    if (fault.lanes) {
      cable.lanes = *fault.lanes;  // the lanes that are left run as before
    } else {
      set_speed(cable, !built.subnets.empty() && built.subnets[0].layer == LinkLayer::kEthernet,
                catalog);
    }
  }
}

void apply_partitions(const FabricSpec& spec, BuiltFabric& built, Problems& problems) {
  if (spec.partitions.empty()) {
    return;
  }
  std::vector<std::string> hosts;
  for (Subnet& subnet : built.subnets) {
    for (Endpoint& endpoint : subnet.endpoints) {
      endpoint.pkeys.clear();
      hosts.push_back(endpoint.host);
    }
  }
  for (const Partition& partition : spec.partitions) {
    for (const std::string& host : partition.hosts) {
      if (std::find(hosts.begin(), hosts.end(), host) == hosts.end()) {
        problems.add(partition.where,
                     fmt::format("no host '{}'{}", host, did_you_mean(host, hosts)));
      }
    }
    for (Subnet& subnet : built.subnets) {
      for (Endpoint& endpoint : subnet.endpoints) {
        const bool member =
            partition.hosts.empty() || std::find(partition.hosts.begin(), partition.hosts.end(),
                                                 endpoint.host) != partition.hosts.end();
        if (member) {
          endpoint.pkeys.push_back(
              static_cast<Pkey>(partition.pkey | (partition.full ? kFullMember : 0)));
        }
      }
    }
  }
}

}  // namespace busbw::networks
