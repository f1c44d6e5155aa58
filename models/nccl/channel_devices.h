// How many channels, and which device each of them uses.
//
// Channels: the devices of the highest reported speed share the load, one search channel each; the
// count is doubled, cut by NCCL_MAX_NCHANNELS / NCCL_MAX_CTAS and then raised to NCCL_MIN_NCHANNELS
// / NCCL_MIN_CTAS. Channel c uses device c mod n of the n fastest. This stands in for NCCL's graph
// search where each NIC is slower than the GPU's own link and no NIC is nearer to a GPU than the
// others, and where reported speeds are equal or more than a factor of two apart: the search may
// share a lower speed among NICs that are nearly as fast (a reason says so). A single NIC of 25
// GB/s or more on sm_90 has twice as many channels. Source: NCCL 2.18 to 2.30, src/graph/connect.cc
// (limits), src/graph/search.cc; measured for this project on H200, NCCL 2.28.9, 2026-11-29 (two
// hosts, 1 to 4 NICs).
#pragma once
#include <cstddef>
#include <vector>

#include "models/nccl/selection.h"

namespace busbw::nccl {

/// Positions in `devices` of those with the highest speed, in order.
std::vector<std::size_t> fastest(const std::vector<NetDevice>& devices);

struct ChannelPlan {
  std::vector<ChannelDevice> channels;  // of host 0
  int search_channels = 0;              // before doubling, the smallest over the hosts
  std::vector<Reason> reasons;
};
/// `hosts`: what each host decided, at least one, each with at least one device.
ChannelPlan plan_channels(const std::vector<HostDecision>& hosts, const SelectionInput& input);

/// Most channels a communicator may have: 32 up to 2.24, 64 from 2.25 on.
int most_channels(Version version);

}  // namespace busbw::nccl
