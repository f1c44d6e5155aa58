// The seam between the networks of a cluster and what runs over them: which links a message takes
// from one NIC port to another.
//
// A network with a fabric file is routed by the forwarding tables of its subnets
// (topologies/networks); a network of leaves and a spine by the shortest way in the graph.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topologies/fabric.h"
#include "topologies/networks/build_fabric.h"
#include "topologies/networks/routing.h"

namespace busbw::topologies {

struct BuiltCluster;
struct Wire;

/// One subnet of a network with its tables, and where its cables are in the cluster's graph.
struct RoutedSubnet {
  networks::Subnet subnet;
  networks::PortMap map;
  networks::Routes routes;
  /// [cable]: links from end a to end b and back; nothing for the cable of a host outside the
  /// cluster. A cable that is down has links of capacity 0.
  std::vector<std::optional<std::pair<LinkId, LinkId>>> links;
};

/// A network of the cluster that has a fabric file.
struct RoutedNetwork {
  std::string name;
  std::vector<RoutedSubnet> subnets;
};

/// Where a NIC port hangs in a routed network.
struct FabricPlace {
  std::size_t network = 0;  // index in BuiltCluster::routed
  std::size_t subnet = 0;
  networks::EndpointId endpoint;
};

/// The links of a message, or why there are none.
struct NetworkWay {
  std::vector<LinkId> links;  // NIC to leaf first, leaf to NIC last
  std::string refused;        // "they are on different networks"; empty when there is a way
};

/// The way from one NIC port to another for the flow `flow`: by the tables to LID
/// `flow mod 2^lmc` of the target. New connections only: refused without a common P_Key and when
/// the subnet manager does not answer, although data on known ways still passes (known_way).
NetworkWay network_way(const BuiltCluster& built, const Wire& from, const Wire& to,
                       std::uint64_t flow);

/// The same for a connection that stands: the tables alone decide.
NetworkWay known_way(const BuiltCluster& built, const Wire& from, const Wire& to,
                     std::uint64_t flow);

/// The subnet in which both ports are; null when they are not in one routed subnet.
const RoutedSubnet* common_subnet(const BuiltCluster& built, const Wire& from, const Wire& to);

}  // namespace busbw::topologies
