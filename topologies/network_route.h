// The seam between the networks of a cluster and what runs over them: which links a message takes
// from one NIC port to another, and whether its packets are let through.
//
// A network with a fabric file is routed by the forwarding tables of its subnets
// (topologies/networks); a network of leaves and a spine by the shortest way in the graph.
//
// NCCL asks no subnet manager for a path: ranks tell each other LIDs over TCP, and queue pairs
// connect. Where the tables lead nowhere (NetworkWay::lost) or the P_Keys do not match
// (share_partition) their packets are dropped, and the sender gives up after all its tries.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
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
  /// Its messages keep to the tables: InfiniBand, or a file that names an engine or tables.
  /// Otherwise the hashes of Ethernet switches choose among equal ways.
  bool by_tables = true;
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
  std::string refused;        // "they are on different networks": nothing joins the two ports
  std::string lost;           // they are joined, but the tables lead nowhere: why, and where
};

/// The subnet in which both ports are; null when they are not in one routed subnet.
const RoutedSubnet* common_subnet(const BuiltCluster& built, const Wire& from, const Wire& to);

/// Whether packets pass between queue pairs of entry `index` of both ports' tables of P_Keys
/// (NCCL_IB_PKEY). An entry that a table has not matches none.
bool share_partition(const Wire& a, const Wire& b, int index);

/// Ways by the tables as they are now: cables between switches that are to be avoided are left out
/// and the engine computes its tables anew, as the subnet manager does at its next sweep (minhop
/// where the tables came from a file). Refers to what it is made from.
class PresentRoutes {
 public:
  explicit PresentRoutes(const BuiltCluster& built) : built_(built) {}

  /// Routes go around a link from now on, or use it again.
  void avoid(LinkId link, bool avoided);
  /// The way from one NIC port to another for the flow `flow`: by the tables to LID
  /// `flow mod 2^lmc` of the target. A network without a fabric file: the shortest way in the
  /// graph, whatever is to be avoided.
  NetworkWay way(const Wire& from, const Wire& to, std::uint64_t flow);

 private:
  struct Tables {
    networks::PortMap map;
    networks::Routes routes;
  };
  /// Index of a network, and of a subnet of it.
  using Place = std::pair<std::size_t, std::size_t>;

  const Tables* present(Place place, const RoutedSubnet& routed);

  const BuiltCluster& built_;
  std::set<LinkId> avoided_;
  std::map<Place, std::optional<Tables>> tables_;  // nothing: as they were built
};

/// The same with nothing to be avoided.
NetworkWay network_way(const BuiltCluster& built, const Wire& from, const Wire& to,
                       std::uint64_t flow);

}  // namespace busbw::topologies
