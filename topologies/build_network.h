// Internal to topologies: the seam between hosts and the networks between them.
//
// A network builder gets the NIC ports that hang on the network and cables them, in their order.
// There are two: leaves and one spine, and the switches of a fabric file.
#pragma once
#include <vector>

#include "topologies/build.h"

namespace busbw::topologies {

/// One NIC port to be cabled.
struct NicPort {
  NodeId nic;
  HostId host;
  std::int32_t in_host = 0;  // counts the ports of this network in this host
  Bandwidth out;             // what the NIC sends at most
  Bandwidth in;
  Duration latency;  // the NIC's share of the way, at its end
};

/// Cables `ports` to leaf switches, these to one spine, and returns the wires in order of `ports`.
/// `model` may be null: an ideal switch. Adds a problem for each leaf with more cables than the
/// model has ports.
std::vector<Wire> build_leaf_spine(Fabric& fabric, const Network& network, const SwitchModel* model,
                                   const std::vector<NicPort>& ports, Problems& problems);

/// Adds the switches and cables of network.fabric, routes its subnets and appends them to
/// `built.routed`; returns the wires in order of `ports`. Adds a problem for each port that the
/// fabric has no place for; then the result is empty.
std::vector<Wire> build_routed(BuiltCluster& built, const Network& network, const Catalog& catalog,
                               const std::vector<NicPort>& ports, Problems& problems);

/// Cables all networks of `cluster` into `built`, whose hosts stand already.
void build_networks(const Cluster& cluster, const Catalog& catalog, BuiltCluster& built,
                    Problems& problems);

}  // namespace busbw::topologies
