// See emulated_subnets.h.
#include "scenarios/emulated_subnets.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "models/facts/print/emulated.h"
#include "scenarios/emulated.h"
#include "sim/core/errors.h"
#include "sim/core/text.h"
#include "topologies/networks/build_fabric.h"

namespace busbw::scenarios {
namespace {

using networks::End;
using networks::Endpoint;
using networks::Subnet;

constexpr std::uint64_t kSwitchGuids = 0x0200'00ff'fe00'0000;  // locally administered

/// "100 Gb/sec (4X EDR)" -> lanes and generation; a rate without a generation is SDR's.
void set_speed(networks::Cable& cable, std::string_view rate) {
  const std::size_t open = rate.find('(');
  const std::vector<std::string_view> words =
      open == std::string_view::npos ? std::vector<std::string_view>()
                                     : split_blanks(rate.substr(open + 1, rate.size() - open - 2));
  cable.speed = words.size() > 1 ? std::string(words[1]) : "SDR";
  if (!words.empty()) {
    cable.lanes = static_cast<std::int32_t>(
        parse_integer(words[0].substr(0, words[0].find('X'))).value_or(cable.lanes));
  }
}

/// Leaves and spines of one network, and the ports on them.
class Draft {
 public:
  Draft(const Variant& variant, const topologies::Catalog& catalog,
        const topologies::Network& network)
      : variant_(variant), catalog_(catalog), network_(network) {
    for (std::int32_t i = 0; i < network.leaf_switches; i++) {
      add_switch(fmt::format("{}/leaf{}", network.name, i), 0);
    }
  }

  /// Nothing hangs on it when no port is InfiniBand.
  Subnet make(std::uint64_t first_guid) {
    for (std::size_t host = 0; host < variant_.cluster.hosts.size(); host++) {
      add_host(host);
    }
    if (!subnet_.endpoints.empty()) {
      add_spines();
    }
    for (networks::Switch& node : subnet_.switches) {
      node.guid = first_guid + static_cast<std::uint64_t>(&node - subnet_.switches.data());
      node.lid = networks::Lid(++last_lid_);
    }
    return std::move(subnet_);
  }

 private:
  void add_switch(const std::string& name, std::int32_t tier) {
    networks::Switch node;
    node.name = name;
    node.tier = tier;
    subnet_.switches.push_back(node);
  }

  [[nodiscard]] bool hangs_here(const facts::PrintedHca& hca,
                                const facts::PrintedPort& port) const {
    const std::string with_port = fmt::format("{}:{}", hca.name, port.number);
    return std::any_of(network_.nics.begin(), network_.nics.end(), [&](const std::string& nic) {
      return nic == hca.name || nic == with_port || (!nic.empty() && nic == port.netdev);
    });
  }

  void add_host(std::size_t host) {
    std::int32_t in_host = 0;
    for (const facts::PrintedHca& hca :
         facts::emulated_hcas(emulated_host(variant_, catalog_, host))) {
      for (const facts::PrintedPort& port : hca.ports) {
        if (port.link_layer != "InfiniBand" || !hangs_here(hca, port)) {
          continue;
        }
        Endpoint endpoint;
        endpoint.host = variant_.inventories[host].host;
        endpoint.hca = hca.name;
        endpoint.host_index = static_cast<std::int32_t>(host);
        endpoint.nic_index = in_host;
        endpoint.port = port.number;
        endpoint.hca_ports = static_cast<std::int32_t>(hca.ports.size());
        endpoint.node_guid = hca.node_guid;
        endpoint.port_guid = port.guid;
        endpoint.lid = networks::Lid(static_cast<std::int32_t>(port.base_lid));
        last_lid_ = std::max(last_lid_, static_cast<std::int32_t>(port.base_lid));
        networks::Cable cable;
        cable.a = {false, static_cast<std::int32_t>(subnet_.endpoints.size()), port.number};
        cable.b = next_port(leaf_of(host, in_host));
        cable.up = port.state > 1;
        set_speed(cable, port.rate);
        subnet_.endpoints.push_back(endpoint);
        subnet_.cables.push_back(cable);
        in_host++;
      }
    }
  }

  [[nodiscard]] std::int32_t leaf_of(std::size_t host, std::int32_t in_host) const {
    const std::int32_t leaves = network_.leaf_switches;
    return network_.placement == topologies::LeafPlacement::kByNic
               ? in_host % leaves
               : static_cast<std::int32_t>(host) * leaves /
                     static_cast<std::int32_t>(variant_.cluster.hosts.size());
  }

  End next_port(std::int32_t at) {
    networks::Switch& node = subnet_.switches[static_cast<std::size_t>(at)];
    node.ports++;
    return {true, at, node.ports};
  }

  /// One cable from each leaf to each spine, as wide as those of the hosts: how many make up the
  /// trunk's rate is not the scenario's to say.
  void add_spines() {
    if (network_.leaf_switches < 2 || network_.trunk == Bandwidth()) {
      return;
    }
    for (std::int32_t i = 0; i < network_.spine_switches; i++) {
      const std::string number = network_.spine_switches == 1 ? "" : std::to_string(i);
      add_switch(network_.name + "/spine" + number, 1);
      const std::int32_t spine = static_cast<std::int32_t>(subnet_.switches.size()) - 1;
      for (std::int32_t leaf = 0; leaf < network_.leaf_switches; leaf++) {
        networks::Cable cable = subnet_.cables.front();
        cable.a = next_port(leaf);
        cable.b = next_port(spine);
        cable.up = true;
        cable.tier = 1;
        subnet_.cables.push_back(cable);
      }
    }
  }

  const Variant& variant_;
  const topologies::Catalog& catalog_;
  const topologies::Network& network_;
  Subnet subnet_;
  std::int32_t last_lid_ = 0;
};

}  // namespace

std::vector<Subnet> emulated_subnets(const Variant& variant, const topologies::Catalog& catalog) {
  std::vector<Subnet> subnets;
  std::uint64_t guid = kSwitchGuids;
  for (const topologies::Network& network : variant.cluster.networks) {
    if (network.fabric) {
      Problems problems;
      networks::BuiltFabric built = build_fabric(*network.fabric, catalog, problems);
      problems.throw_if_any();
      for (Subnet& subnet : built.subnets) {
        if (subnet.layer == networks::LinkLayer::kInfiniBand) {
          subnets.push_back(std::move(subnet));
        }
      }
      continue;
    }
    Subnet subnet = Draft(variant, catalog, network).make(guid);
    guid += subnet.switches.size();
    if (!subnet.endpoints.empty()) {
      subnets.push_back(std::move(subnet));
    }
  }
  if (subnets.empty()) {
    throw InputError(
        fmt::format("variant '{}' has no InfiniBand: no port of that link layer hangs "
                    "on one of its networks",
                    variant.name));
  }
  return subnets;
}

}  // namespace busbw::scenarios
