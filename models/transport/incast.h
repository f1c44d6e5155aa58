// What several senders to one port do to it and to the links that lead there, where the network is
// not both lossless and fair: shares of the links' rates, as a steady state (congestion.h).
#pragma once
#include <map>
#include <set>
#include <utility>

#include "models/params/params.h"
#include "models/params/traffic.h"
#include "models/transport/network_choice.h"
#include "topologies/fabric.h"

namespace busbw::transport {

/// Who sends to whom over a link: pairs of ports.
using LinkPairs = std::map<topologies::LinkId, std::set<std::pair<PortPlace, PortPlace>>>;

struct IncastNetwork {
  bool tcp = false;
  Bytes packet;         // of payload
  Bytes largest_block;  // TCP: what a sender has to send before any goes on
};

/// Shares of the links on which connections of several ports meet. Of TCP: the port alone, where
/// its buffer is too small. RoCE without PFC: the port alone, if ECN does not keep the buffer from
/// overflowing. RoCE with PFC and without ECN: a port that n senders share pauses each to 1/n; a
/// link before it that also carries others goes no faster for them, so it carries its number of
/// destinations times that, at most.
std::map<topologies::LinkId, Ratio> incast_shares(const topologies::Fabric& fabric,
                                                  const LinkPairs& pairs,
                                                  const NetworkChoice& networks,
                                                  const params::Transports& transports,
                                                  const IncastNetwork& network);

}  // namespace busbw::transport
