// Ranks by host. See host_ranks.h.
#include "models/collectives/host_ranks.h"

#include "sim/core/check.h"

namespace busbw::collectives {

HostRanks host_ranks(const std::vector<std::int32_t>& host_of, const RingOrder& order) {
  CHECK(host_of.size() == order.size(), "host_of has {} of {} ranks", host_of.size(), order.size());
  HostRanks hosts;
  for (const RankId rank : order) {
    const std::int32_t host = host_of[rank.index()];
    CHECK(host >= 0 && static_cast<std::size_t>(host) < host_of.size(), "rank {} on host {}",
          rank.value(), host);
    if (hosts.size() <= static_cast<std::size_t>(host)) {
      hosts.resize(static_cast<std::size_t>(host) + 1);
    }
    hosts[static_cast<std::size_t>(host)].push_back(rank);
  }
  for (std::size_t host = 0; host < hosts.size(); ++host) {
    CHECK(hosts[host].size() == hosts[0].size(), "host {} has {} ranks, host 0 has {}", host,
          hosts[host].size(), hosts[0].size());
  }
  return hosts;
}

RingOrder column(const HostRanks& hosts, std::size_t local) {
  RingOrder ring;
  ring.reserve(hosts.size());
  for (const RingOrder& host : hosts) {
    ring.push_back(host[local]);
  }
  return ring;
}

std::int64_t local_of(const HostRanks& hosts, std::int64_t host, RankId rank) {
  const RingOrder& mates = hosts[static_cast<std::size_t>(host)];
  std::int64_t local = 0;
  while (mates[static_cast<std::size_t>(local)] != rank) {
    ++local;
  }
  return local;
}

}  // namespace busbw::collectives
