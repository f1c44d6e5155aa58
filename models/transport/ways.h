// The ways of a network between two of its switches, and which of them a message takes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "models/transport/connection.h"
#include "topologies/fabric.h"

namespace busbw::transport {

/// What ECMP hashes.
struct FlowKey {
  std::uint32_t source = 0;  // addresses
  std::uint32_t destination = 0;
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 0;
  std::uint8_t protocol = 0;  // 6 TCP, 17 UDP
};

/// A hash that spreads evenly: equal keys with equal seeds give equal values. Finaliser of
/// splitmix64 (Steele et al., "Fast splittable pseudorandom number generators", OOPSLA 2014) over
/// the parts of the key, one after the other; real switches have hashes of their own (CRC, XOR).
std::uint64_t hash_flow(const FlowKey& key, std::uint64_t seed);
/// The same of one number.
std::uint64_t hash_number(std::uint64_t number, std::uint64_t seed);

/// UDP source port of an RC queue pair on RoCE v2, from the numbers of both ends. Source: Linux,
/// include/rdma/ib_verbs.h, rdma_calc_flow_label and rdma_flow_label_to_udp_sport.
std::uint16_t roce_source_port(std::uint32_t local, std::uint32_t remote);

/// The way of message `number` of a connection with Spread::kDrawn.
std::size_t draw_way(const Connection& connection, std::size_t number);

/// Shortest ways over the network links of a fabric that are up, less those that are avoided.
/// Refers to it.
class Ways {
 public:
  using FabricPath = std::vector<topologies::LinkId>;

  explicit Ways(const topologies::Fabric& fabric);

  /// Routes go around a link from now on, or use it again.
  void avoid(topologies::LinkId link, bool avoided);
  [[nodiscard]] bool avoids(const FabricPath& way) const;

  /// All of them in order of their links' ids; where there are more than `most`, that many evenly
  /// spread over all. One empty way from a node to itself; none where there is no way.
  /// Valid until a link is avoided or used again.
  const std::vector<FabricPath>& all(topologies::NodeId from, topologies::NodeId to,
                                     std::size_t most);
  /// The one that switches take which hash: each by `hash` and its own number, over the links that
  /// lead nearer. Empty from a node to itself, and where there is no way.
  FabricPath hashed(topologies::NodeId from, topologies::NodeId to, std::uint64_t hash);

 private:
  /// Links to go from each node; -1: no way.
  const std::vector<std::int32_t>& distances(topologies::NodeId to);
  [[nodiscard]] FabricPath nearer(topologies::NodeId at,
                                  const std::vector<std::int32_t>& distance) const;
  /// Ways from a node, at most kMany; fills `known`.
  std::uint64_t count(topologies::NodeId at, const std::vector<std::int32_t>& distance,
                      std::map<topologies::NodeId, std::uint64_t>& known) const;

  const topologies::Fabric& fabric_;
  std::map<topologies::NodeId, std::vector<topologies::LinkId>> links_from_;  // of the network
  std::map<topologies::NodeId, std::vector<topologies::LinkId>> links_to_;
  std::set<topologies::LinkId> avoided_;
  std::map<topologies::NodeId, std::vector<std::int32_t>> distances_;  // by target
  std::map<std::tuple<topologies::NodeId, topologies::NodeId, std::size_t>, std::vector<FabricPath>>
      all_;  // asked for before
};

}  // namespace busbw::transport
