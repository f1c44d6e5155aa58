// How a collective is cut: channels, chunks, messages in flight and threads of one candidate.
//
// Ring and Tree: models/nccl/chunking. The others here. Source: NCCL 2.18 to 2.30, src/enqueue.cc
// (calcCollChunking, addP2pToPlan; computeColl before 2.22), src/include/device.h.
#pragma once
#include <cstdint>

#include "models/collectives/generate.h"
#include "scenarios/plan.h"

namespace busbw::scenarios {

/// How the collective is cut with this candidate: generator options, channels in use, messages of a
/// connection that may be ahead of the receiver, and threads of a channel's block.
struct Cut {
  collectives::Options options;
  std::int32_t channels = 1;
  std::int32_t slots = 8;
  std::int32_t threads = 0;
  std::int32_t pieces = 1;  // that stand for the lines of a message of LL or LL128
};

/// `bytes` is S of nccl-tests, as rounded_bytes() makes it.
Cut cut_of(const Plan& plan, const Variant& variant, Candidate candidate, Bytes bytes);

/// Releases that choose LL for point-to-point data before they cut it, by the step of that protocol
/// (2.22 to 2.27; before and after they cut for Simple and then look at a channel's part). Source:
/// addP2pToPlan in copies of src/enqueue.cc; 2.26.6 is named in one, the bounds are inferred.
bool parts_by_protocol(nccl::Version version);

/// Share of its block's speed that a lane has: a tree's and NVLS's lanes as the catalogue says,
/// those of another block with several evenly. `lanes`: of this rank and channel.
Ratio lane_share(const params::ThreadBlocks& blocks, Candidate candidate,
                 const collectives::Lane& lane, std::int32_t lanes);

}  // namespace busbw::scenarios
