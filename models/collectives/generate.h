// Generators of schedules. Each takes the shape that the NCCL model decided (ring orders, trees,
// channels) and cuts the data into chunks; none knows links, time or transports.
//
// Cutting: channel c of C takes the units [U c/C, U (c+1)/C) of 16 bytes (NCCL's copy width; one
// element where 16 is no multiple of it), each channel walks its part in loops, and where the rest
// of a part is smaller than a full loop the chunk shrinks to the rest shared evenly, rounded up to
// a unit. This is the cut of NCCL since 2.22 (src/device/all_reduce.h); before it the channels of a
// loop lay side by side, which moves the same bytes over the same links.
#pragma once
#include <optional>
#include <vector>

#include "models/collectives/schedule.h"

namespace busbw::collectives {

/// One ring: ranks in the order in which data travels; the last sends to the first.
using RingOrder = std::vector<RankId>;

/// One tree over all ranks: parent of each rank, nothing for the root.
using TreeParents = std::vector<std::optional<RankId>>;

struct Shape {
  std::int32_t ranks = 1;
  std::vector<RingOrder> rings;       // per channel
  std::vector<TreeParents> trees;     // per channel
  std::vector<std::int32_t> host_of;  // host index of each rank; hierarchical only
};

struct Options {
  Bytes bytes;                       // per nccl-tests' S; a whole number of elements
  Bytes element = Bytes(4);          // element size, at most 16: chunks are whole elements
  Bytes chunk;                       // largest chunk of one step, >= element
  std::int32_t slices = 1;           // messages per chunk of a ring, each passed on by itself
  std::int32_t slots = 8;            // scratch slots per receiving connection (NCCL_STEPS); > 0
  std::vector<Bytes> channel_bytes;  // of each channel in order; empty: even parts
};

/// Ring all-reduce over shape.rings: per loop of (ranks x chunk) bytes of a channel, n-1
/// reduce-scatter and n-1 all-gather steps. Every rank sends 2(n-1)/n S when ranks divide the data.
/// An executor needs slots >= slices.
Schedule ring_all_reduce(const Shape& shape, const Options& options);

/// Tree all-reduce over shape.trees: channel c reduces up and broadcasts down tree c, chunks
/// pipelined. A rank has a lane for each direction; the root does both in one. Each edge carries
/// the channel's part once up, once down.
Schedule tree_all_reduce(const Shape& shape, const Options& options);

/// Hierarchical all-reduce: reduce-scatter inside the host, all-reduce (ring) across hosts among
/// ranks of equal local index, all-gather inside the host; three lanes pipelined loop by loop. All
/// hosts must have the same number of ranks. Channels and the order inside a host come from
/// shape.rings (the order of appearance); the hosts' order from host_of. Each host sends 2(H-1)/H S
/// to other hosts, the least possible.
Schedule hierarchical_all_reduce(const Shape& shape, const Options& options);

}  // namespace busbw::collectives
