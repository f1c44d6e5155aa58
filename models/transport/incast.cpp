// See incast.h.
#include "models/transport/incast.h"

#include <algorithm>

#include "models/transport/congestion.h"

namespace busbw::transport {
namespace {

using topologies::LinkId;

class Incast {
 public:
  Incast(const topologies::Fabric& fabric, const LinkPairs& pairs, const NetworkChoice& networks,
         const params::Transports& transports, const IncastNetwork& network)
      : fabric_(fabric),
        pairs_(pairs),
        networks_(networks),
        transports_(transports),
        network_(network) {}

  std::map<LinkId, Ratio> shares() {
    for (const auto& [link, ends] : pairs_) {
      if (fabric_.node(fabric_.link(link).to).kind == topologies::NodeKind::kNic) {
        port(link, ends);
      }
    }
    return std::move(shares_);
  }

 private:
  using Ends = std::set<std::pair<PortPlace, PortPlace>>;

  void lower(LinkId link, double share) {
    if (share >= 1) {
      return;
    }
    const Ratio found = share_of(share);
    const auto [entry, fresh] = shares_.try_emplace(link, found);
    if (!fresh && found.as_double() < entry->second.as_double()) {
      entry->second = found;
    }
  }

  void port(LinkId link, const Ends& ends) {
    std::set<PortPlace> sources;
    for (const auto& pair : ends) {
      sources.insert(pair.first);
    }
    const auto senders = static_cast<std::int64_t>(sources.size());
    if (senders < 2) {
      return;
    }
    const topologies::Link& last = fabric_.link(link);
    const params::Congestion& congestion = transports_.congestion;
    if (network_.tcp) {
      lower(link, tcp_incast_share({senders, network_.largest_block, network_.packet, last.capacity,
                                    transports_.recovery.tcp.first},
                                   congestion));
      return;
    }
    const params::Traffic& traffic = networks_.traffic_at(last.from);
    if (!traffic.pfc && !(traffic.ecn && marks_in_time(senders, last.capacity, congestion))) {
      lower(link,
            lossy_incast_share(senders, window_packets(last.capacity, congestion.rdma_round_trip,
                                                       network_.packet)));
    } else if (traffic.pfc && !traffic.ecn) {
      pause(last.capacity, senders, ends.begin()->second);
    }
  }

  /// Every link before the port `to` passes its rate / senders for each of its destinations.
  void pause(Bandwidth rate, std::int64_t senders, const PortPlace& to) {
    for (const auto& [link, ends] : pairs_) {
      std::set<PortPlace> destinations;
      for (const auto& pair : ends) {
        destinations.insert(pair.second);
      }
      const topologies::Link& before = fabric_.link(link);
      if (destinations.count(to) == 0 ||
          fabric_.node(before.to).kind == topologies::NodeKind::kNic) {
        continue;
      }
      lower(link, static_cast<double>(destinations.size()) / static_cast<double>(senders) *
                      static_cast<double>(rate.bps()) / static_cast<double>(before.capacity.bps()));
    }
  }

  const topologies::Fabric& fabric_;
  const LinkPairs& pairs_;
  const NetworkChoice& networks_;
  const params::Transports& transports_;
  const IncastNetwork& network_;
  std::map<LinkId, Ratio> shares_;
};

}  // namespace

std::map<LinkId, Ratio> incast_shares(const topologies::Fabric& fabric, const LinkPairs& pairs,
                                      const NetworkChoice& networks,
                                      const params::Transports& transports,
                                      const IncastNetwork& network) {
  return Incast(fabric, pairs, networks, transports, network).shares();
}

}  // namespace busbw::transport
