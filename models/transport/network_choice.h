// Which ways of the network the messages of a connection take, by what is said of the network
// (params::Traffic).
//
// Networks with tables of their own (a fabric file) keep to them unless something is said of how
// they spread or hashes of Ethernet switches do; elsewhere: by destination: one way to each port,
// its number modulo the ways: what forwarding tables of d-mod-k give. By flow: every queue pair or
// socket of the connection is a flow with ports of its own, and has the way that the switches'
// hashes give it. Flowlets: each message draws a way anew, as bursts do after a gap. By packet:
// each message over all ways alike (at most 64 of them).
#pragma once
#include <compare>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "models/params/traffic.h"
#include "models/transport/ways.h"
#include "sim/core/ids.h"
#include "topologies/build.h"

namespace busbw::transport {

/// A port of a NIC of a host, all from 0.
struct PortPlace {
  std::size_t host = 0;
  std::size_t nic = 0;
  std::size_t port = 0;
  auto operator<=>(const PortPlace&) const = default;
};

/// A connection between hosts, as the network sees it.
struct NetworkEnds {
  RankId from;
  RankId to;
  ChannelId channel;
  PortPlace out;
  PortPlace in;
  topologies::NodeId out_leaf;
  topologies::NodeId in_leaf;
};

/// What a connection consists of.
struct FlowOptions {
  bool ethernet = false;
  bool tcp = false;
  std::int32_t flows = 1;  // queue pairs or sockets
  bool split = true;       // each message over all of them, else one after the other
};

class NetworkChoice {
 public:
  struct Chosen {
    std::vector<Ways::FabricPath> ways;  // between the leaves; empty: there is none
    Spread spread = Spread::kCut;
    std::uint64_t draw = 0;
  };

  /// `traffic` by number of Cluster::networks; may be empty. Refers to cluster and fabric.
  NetworkChoice(const topologies::Cluster& cluster, const topologies::Fabric& fabric,
                std::vector<params::Traffic> traffic, FlowOptions options);

  Chosen choose(const NetworkEnds& ends);
  void avoid(topologies::LinkId link, bool avoided) { ways_.avoid(link, avoided); }
  [[nodiscard]] bool avoids(const Ways::FabricPath& way) const { return ways_.avoids(way); }
  /// What is said of the network that a switch belongs to.
  [[nodiscard]] const params::Traffic& traffic_at(topologies::NodeId node) const;
  /// Some network loses or pauses packets where senders meet.
  [[nodiscard]] bool unfair() const;

 private:
  using Pair = std::tuple<RankId, RankId, ChannelId>;

  [[nodiscard]] FlowKey key_of(const NetworkEnds& ends, std::int32_t flow, std::uint64_t seed);
  std::uint32_t first_number(const NetworkEnds& ends);

  const topologies::Cluster& cluster_;
  const topologies::Fabric& fabric_;
  std::vector<params::Traffic> traffic_;
  FlowOptions options_;
  Ways ways_;
  std::map<Pair, std::uint32_t> numbers_;                 // of the first queue pair
  std::map<std::size_t, std::uint32_t> numbers_of_host_;  // so far
};

}  // namespace busbw::transport
