// The ranks of each host in the order of a ring. Internal to this folder.
#pragma once
#include <cstdint>
#include <vector>

#include "models/collectives/generate.h"

namespace busbw::collectives {

/// ranks[host][local index] of one channel.
using HostRanks = std::vector<RingOrder>;

/// Throws CheckFailure unless host_of names a host of every rank and all have equally many.
HostRanks host_ranks(const std::vector<std::int32_t>& host_of, const RingOrder& order);

/// The ranks of one local index over the hosts.
RingOrder column(const HostRanks& hosts, std::size_t local);

/// Local index of `rank` on `host`.
std::int64_t local_of(const HostRanks& hosts, std::int64_t host, RankId rank);

}  // namespace busbw::collectives
