// Networks of a cluster: which NIC ports hang on them, and the small fabric of leaf switches and a
// spine.
//
// A cable runs at the slower of its two ends. Switches are non-blocking inside; buffers, routing
// tables and adaptive routing are left out. The spines are ideal nodes: what limits is the trunk of
// each leaf, whose cables go to all spines alike.
#include "topologies/build_network.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "sim/core/check.h"
#include "sim/core/text.h"

namespace busbw::topologies {
namespace {

/// A NIC port as a network lists it: "mlx5_0" is all its ports, "mlx5_0:2" the second.
struct Listed {
  std::string nic;
  std::optional<std::int64_t> port;
};

Listed parse_listed(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) {
    return {text, std::nullopt};
  }
  // A port that is no number matches no NIC port and is reported as unknown.
  return {text.substr(0, colon), parse_integer(text.substr(colon + 1)).value_or(0)};
}

struct PortPlace {
  std::size_t host = 0;
  std::size_t nic = 0;
  std::size_t port = 0;  // from 0
};

std::string layer_name(NicLinkLayer layer) {
  return layer == NicLinkLayer::kInfiniBand ? "InfiniBand" : "Ethernet";
}

/// The P_Keys of a host's ports, in order of the partitions.
std::vector<networks::Pkey> pkeys_of(const std::vector<HostPartition>& partitions,
                                     std::size_t host) {
  std::vector<networks::Pkey> keys;
  const auto contains = [host](const std::vector<std::size_t>& hosts) {
    return std::find(hosts.begin(), hosts.end(), host) != hosts.end();
  };
  for (const HostPartition& partition : partitions) {
    const bool full = contains(partition.full);
    if (full || contains(partition.limited)) {
      keys.push_back(
          static_cast<networks::Pkey>(partition.key | (full ? networks::kFullMember : 0)));
    }
  }
  return keys;
}

class NetworkCabler {
 public:
  NetworkCabler(const Cluster& cluster, const Catalog& catalog, BuiltCluster& built,
                Problems& problems)
      : cluster_(cluster), catalog_(catalog), built_(built), problems_(problems) {}

  void cable(const Network& network);

 private:
  bool check_name(const Network& network);
  std::vector<PortPlace> find_ports(const Network& network);
  void check_layer(const Network& network, const SwitchModel& model, const MachineNic& nic);
  [[nodiscard]] std::vector<std::string> known_nics() const;

  const Cluster& cluster_;
  const Catalog& catalog_;
  BuiltCluster& built_;
  Problems& problems_;
  std::map<std::string, std::string> network_of_;  // "host/nic/port" -> network
  std::set<std::string> names_;
};

std::vector<std::string> NetworkCabler::known_nics() const {
  std::vector<std::string> names;
  for (const Machine& machine : cluster_.hosts) {
    for (const MachineNic& nic : machine.nics) {
      if (std::find(names.begin(), names.end(), nic.name) == names.end()) {
        names.push_back(nic.name);
      }
    }
  }
  return names;
}

bool NetworkCabler::check_name(const Network& network) {
  // "node0" would put switches among the elements of host 0.
  const bool like_host =
      network.name.rfind("node", 0) == 0 && parse_integer(network.name.substr(4));
  if (network.name.empty() || like_host || network.name.find('/') != std::string::npos) {
    problems_.add(
        network.where,
        fmt::format("a network has the name '{}'; allowed: any without '/', not 'node' and "
                    "a number",
                    network.name));
    return false;
  }
  if (!names_.insert(network.name).second) {
    problems_.add(network.where, fmt::format("second network of the name '{}'", network.name));
    return false;
  }
  return true;
}

std::vector<PortPlace> NetworkCabler::find_ports(const Network& network) {
  std::vector<PortPlace> places;
  std::vector<bool> found(network.nics.size(), false);
  for (std::size_t host = 0; host < cluster_.hosts.size(); host++) {
    const Machine& machine = cluster_.hosts[host];
    for (std::size_t i = 0; i < network.nics.size(); i++) {
      const Listed listed = parse_listed(network.nics[i]);
      const std::optional<std::size_t> nic = machine.find_nic(listed.nic);
      found[i] = found[i] || (nic && (!listed.port || (*listed.port >= 1 &&
                                                       *listed.port <= machine.nics[*nic].ports)));
    }
    for (const CabledPort& port : cabled_ports(machine, network)) {
      const std::string key = fmt::format("{}/{}/{}", host, port.nic, port.port);
      const auto [other, fresh] = network_of_.emplace(key, network.name);
      if (fresh) {
        places.push_back({host, port.nic, port.port});
      } else {
        problems_.add(network.where,
                      fmt::format("NIC '{}' of host {} hangs on network '{}' and on '{}'",
                                  machine.nics[port.nic].name, host, other->second, network.name));
      }
    }
  }
  for (std::size_t i = 0; i < network.nics.size(); i++) {
    if (!found[i]) {
      problems_.add(network.where,
                    fmt::format("no host has the NIC '{}' of network '{}'{}", network.nics[i],
                                network.name, did_you_mean(network.nics[i], known_nics())));
    }
  }
  return places;
}

void NetworkCabler::check_layer(const Network& network, const SwitchModel& model,
                                const MachineNic& nic) {
  const bool ethernet_switch = model.fabric == "Ethernet";
  if ((nic.link_layer == NicLinkLayer::kEthernet) != ethernet_switch) {
    problems_.add(
        network.where,
        fmt::format("NIC '{}' of network '{}' speaks {}, but its switch '{}' is {}", nic.name,
                    network.name, layer_name(nic.link_layer), model.name, model.fabric));
  }
}

void NetworkCabler::cable(const Network& network) {
  if (!check_name(network)) {
    return;
  }
  const SwitchModel* model = nullptr;
  const std::string& model_name = network.fabric && !network.fabric->switches.empty()
                                      ? network.fabric->switches.front()
                                      : network.switch_model;
  if (!model_name.empty()) {
    model = catalog_.network_switch(model_name);
    if (model == nullptr && !network.fabric) {
      std::vector<std::string> names;
      for (const SwitchModel& known : catalog_.switches) {
        names.push_back(known.name);
      }
      problems_.add(network.where,
                    fmt::format("unknown switch model '{}' of network '{}'{}", network.switch_model,
                                network.name, did_you_mean(network.switch_model, names)));
    }
  }
  const std::vector<PortPlace> places = find_ports(network);
  std::vector<NicPort> ports;
  std::vector<std::int32_t> count(cluster_.hosts.size(), 0);
  std::vector<std::string> checked;
  for (const PortPlace& place : places) {
    const MachineNic& nic = cluster_.hosts[place.host].nics[place.nic];
    const NicModel* nic_model = nic.model.empty() ? nullptr : catalog_.nic(nic.model);
    if (model != nullptr && std::find(checked.begin(), checked.end(), nic.name) == checked.end()) {
      check_layer(network, *model, nic);
      checked.push_back(nic.name);
    }
    NicPort port;
    port.nic = built_.nics[place.host][place.nic];
    port.host = HostId(static_cast<std::int32_t>(place.host));
    port.in_host = count[place.host]++;
    port.in = nic.rate;
    port.out = nic.send_rate.value_or(nic.rate);
    port.latency = nic_model == nullptr ? Duration() : nic_model->latency;
    ports.push_back(port);
  }
  const std::vector<Wire> wires =
      network.fabric ? build_routed(built_, network, catalog_, ports, problems_)
                     : build_leaf_spine(built_.fabric, network, model, ports, problems_);
  if (network.fabric && wires.empty()) {
    return;  // reported
  }
  CHECK(wires.size() == places.size());
  for (std::size_t i = 0; i < places.size(); i++) {
    std::optional<Wire>& wire = built_.wires[places[i].host][places[i].nic][places[i].port];
    wire = wires[i];
    if (!network.partitions.empty()) {
      wire->pkeys = pkeys_of(network.partitions, places[i].host);
    }
  }
}

}  // namespace

std::vector<CabledPort> cabled_ports(const Machine& machine, const Network& network) {
  std::vector<CabledPort> found;
  for (const std::string& text : network.nics) {
    const Listed listed = parse_listed(text);
    const std::optional<std::size_t> nic = machine.find_nic(listed.nic);
    for (std::int32_t port = 1; nic && port <= machine.nics[*nic].ports; port++) {
      if (!listed.port || *listed.port == port) {
        found.push_back({*nic, static_cast<std::size_t>(port - 1)});
      }
    }
  }
  return found;
}

std::vector<Wire> build_leaf_spine(Fabric& fabric, const Network& network, const SwitchModel* model,
                                   const std::vector<NicPort>& ports, Problems& problems) {
  CHECK(network.leaf_switches >= 1, "{} leaf switches", network.leaf_switches);
  const Duration switch_latency = model == nullptr ? Duration() : model->latency;
  const std::size_t leaves = static_cast<std::size_t>(network.leaf_switches);
  std::vector<NodeId> leaf;
  for (std::int32_t i = 0; i < network.leaf_switches; i++) {
    const std::string name = fmt::format("{}/leaf{}", network.name, i);
    leaf.push_back(fabric.add_node({NodeKind::kSwitch, name, std::nullopt, i}));
  }
  std::int32_t hosts = 1;
  for (const NicPort& port : ports) {
    hosts = std::max(hosts, port.host.value() + 1);
  }
  std::vector<Wire> wires;
  std::vector<std::int64_t> used(leaves, 0);
  for (const NicPort& port : ports) {
    const std::size_t at = network.placement == LeafPlacement::kByNic
                               ? static_cast<std::size_t>(port.in_host) % leaves
                               : port.host.index() * leaves / static_cast<std::size_t>(hosts);
    Bandwidth out = port.out;
    Bandwidth in = port.in;
    if (model != nullptr) {
      out = std::min(out, model->port_rate);
      in = std::min(in, model->port_rate);
    }
    const Duration cable = network.cable_latency + port.latency;
    Wire wire;
    wire.leaf = leaf[at];
    wire.out = fabric.add_link(LinkKind::kNetwork, port.nic, leaf[at], out, cable);
    wire.in = fabric.add_link(LinkKind::kNetwork, leaf[at], port.nic, in, cable + switch_latency);
    wires.push_back(wire);
    used[at]++;
  }
  if (leaves > 1 && network.trunk > Bandwidth()) {
    std::vector<NodeId> spines;
    for (std::int32_t i = 0; i < network.spine_switches; i++) {
      const std::string number = network.spine_switches == 1 ? "" : std::to_string(i);
      spines.push_back(
          fabric.add_node({NodeKind::kSwitch, network.name + "/spine" + number, std::nullopt, i}));
    }
    const Bandwidth part = network.trunk / network.spine_switches;
    for (std::size_t i = 0; i < leaves; i++) {
      for (const NodeId spine : spines) {
        fabric.add_duplex(LinkKind::kNetwork, leaf[i], spine, part,
                          network.cable_latency + switch_latency);
        if (model != nullptr) {
          // Whole ports: a trunk of 1 Tb/s takes three of 400 Gb/s.
          used[i] += (part.bps() + model->port_rate.bps() - 1) / model->port_rate.bps();
        }
      }
    }
  }
  for (std::size_t i = 0; i < leaves && model != nullptr; i++) {
    if (used[i] > model->ports) {
      problems.add(network.where,
                   fmt::format("leaf switch {} of network '{}' needs {} ports, but '{}' has {}", i,
                               network.name, used[i], model->name, model->ports));
    }
  }
  return wires;
}

void build_networks(const Cluster& cluster, const Catalog& catalog, BuiltCluster& built,
                    Problems& problems) {
  NetworkCabler cabler(cluster, catalog, built, problems);
  for (const Network& network : cluster.networks) {
    cabler.cable(network);
  }
}

}  // namespace busbw::topologies
