// Builds the switches and cables of a fabric file.
//
// Which port of a host hangs where:
//   single switch    all on one
//   fat-tree         host by host, port by port, leaf by leaf; with several planes port k of a host
//                    is in plane k mod planes, each a subnet of its own
//   rail-optimised   groups of hosts; port k of the hosts of a group on leaf k of that group
//   rail-only        port k of all hosts in subnet "rail<k>", there as in a fat tree
//   dragonfly+       as fat-tree, groups after each other
// Trees above one tier are generalised fat trees: every leaf of a pod has cables to every spine of
// it; spine j of every pod to the same cores. As many spines and cores as the cables up need, with
// as many parallel cables as their ports allow.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topologies/catalog.h"
#include "topologies/networks/fabric_spec.h"
#include "topologies/networks/subnet.h"

namespace busbw::networks {

/// Subnets that no cable joins: one, or one a plane or rail. Pairs of different subnets are not
/// meant to connect.
struct BuiltFabric {
  std::string name;
  std::string title;
  std::string topology;  // as in the file; "imported" for a file of another tool
  std::vector<Subnet> subnets;
  std::int32_t hosts = 0;
  Engine engine = Engine::kMinHop;
  std::optional<Lfts> tables;  // from a file, of the one subnet; then engine is kTables
  Manager manager = Manager::kRunning;
};

/// Adds every problem with its place: unknown models, more cables than a switch has ports, a cable
/// that is too long, a fault that names no cable, more LIDs than there are.
BuiltFabric build_fabric(const FabricSpec& spec, const topologies::Catalog& catalog,
                         Problems& problems);

/// The tables of one of its subnets: those of the file, else by its engine.
Routes routes_of(const BuiltFabric& built, const Subnet& subnet, const PortMap& map);

/// Internal: one tree of switches. Leaves l of `leaves` hold up to `leaf_ports` endpoints each.
struct TreeShape {
  std::int32_t tiers = 1;
  std::int32_t leaf_ports = 0;
  std::int32_t leaves = 1;
  std::int32_t pod_leaves = 1;    // two tiers: all leaves
  std::int32_t spines = 0;        // of a pod
  std::int32_t spine_cables = 1;  // leaf to spine
  std::int32_t cores_of_spine = 0;
  std::int32_t core_cables = 1;  // spine to core
  [[nodiscard]] std::int32_t pods() const { return (leaves + pod_leaves - 1) / pod_leaves; }
};

}  // namespace busbw::networks
