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
  std::vector<RingOrder> rings;            // per channel
  std::vector<TreeParents> trees;          // per channel
  std::vector<std::int32_t> host_of;       // host index of each rank, from 0
  std::vector<std::vector<RankId>> heads;  // [host][head] of NVLS, CollNetDirect; empty: all ranks
};

struct Options {
  Bytes bytes;                         // per nccl-tests' S; rounded_bytes() of the collective
  Bytes element = Bytes(4);            // element size, at most 16: chunks are whole elements
  Bytes chunk;                         // largest chunk of one step, >= element
  std::int32_t slices = 1;             // messages per chunk, each passed on by itself; rings only
  std::int32_t slots = 8;              // scratch slots per receiving connection (NCCL_STEPS); > 0
  std::vector<Bytes> channel_bytes;    // of cut_bytes() in order of channels; empty: even parts
  RankId root = RankId(0);             // broadcast, reduce, gather, scatter
  std::int32_t channels = 1;           // where neither rings nor trees say
  std::int32_t channels_per_peer = 1;  // Direct: channels that share the data of one peer
};

/// Ring all-reduce over shape.rings: per loop of (ranks x chunk) bytes of a channel, n-1
/// reduce-scatter and n-1 all-gather steps. Every rank sends 2(n-1)/n S when ranks divide the data.
/// An executor needs slots >= slices.
Schedule ring_all_reduce(const Shape& shape, const Options& options);

/// Ring all-gather and reduce-scatter over shape.rings: per loop a chunk of every rank's part, n-1
/// steps. Every rank sends (n-1)/n S.
Schedule ring_all_gather(const Shape& shape, const Options& options);
Schedule ring_reduce_scatter(const Shape& shape, const Options& options);

/// Broadcast and reduce as a chain along shape.rings, from options.root or towards it. Every rank
/// but the last (of reduce: but the root) sends S.
Schedule ring_broadcast(const Shape& shape, const Options& options);
Schedule ring_reduce(const Shape& shape, const Options& options);

/// Tree all-reduce over shape.trees: channel c reduces up and broadcasts down tree c, chunks
/// pipelined. A rank has a lane for each direction; the root does both in one. Each edge carries
/// the channel's part once up, once down.
Schedule tree_all_reduce(const Shape& shape, const Options& options);

/// Tree broadcast and reduce: over shape.trees, each turned_to options.root; each edge carries the
/// channel's part once. NCCL runs these two by ring only.
Schedule tree_broadcast(const Shape& shape, const Options& options);
Schedule tree_reduce(const Shape& shape, const Options& options);

/// The same edges with `root` on top.
TreeParents turned_to(TreeParents parents, RankId root);

/// Hierarchical all-reduce: reduce-scatter inside the host, all-reduce (ring) across hosts among
/// ranks of equal local index, all-gather inside the host; three lanes pipelined loop by loop. All
/// hosts must have the same number of ranks. Channels and the order inside a host come from
/// shape.rings (the order of appearance); the hosts' order from host_of. Each host sends 2(H-1)/H S
/// to other hosts, the least possible.
Schedule hierarchical_all_reduce(const Shape& shape, const Options& options);

/// Hierarchical all-gather: a ring across hosts among ranks of equal local index, then a ring
/// inside the host, round by round. Reduce-scatter: the other way round. Each host sends
/// (H-1)/H S to other hosts, the least possible.
Schedule hierarchical_all_gather(const Shape& shape, const Options& options);
Schedule hierarchical_reduce_scatter(const Shape& shape, const Options& options);

/// Point to point: what every pair of ranks exchanges goes straight from one to the other, in the
/// rounds of NCCL's p2p schedule, over channels_per_peer of `channels` (both powers of two). A rank
/// sends and receives up to eight peers of a channel at a time. sendrecv: each rank to the next.
Schedule direct_all_to_all(const Shape& shape, const Options& options);
Schedule direct_send_recv(const Shape& shape, const Options& options);
Schedule direct_gather(const Shape& shape, const Options& options);
Schedule direct_scatter(const Shape& shape, const Options& options);

}  // namespace busbw::collectives
