// Generators of the algorithms in which a switch reduces or multiplies messages, and of PAT.
//
// NVLS: every GPU gives its data to the NVSwitch, which adds it up and hands each head its share of
// the sum (multimem.ld_reduce); the head gives that back to the switch, which copies it to every
// GPU (multimem.st). So with L heads S + S/L goes up each GPU's link and as much comes down.
// CollNet (SHARP): heads give their sums to the network, which adds them up and returns the total
// to each. A switch is a node of the schedule (Schedule::switches) with lanes of its own; it can
// only be simulated.
//
// Sources: NCCL 2.18 to 2.30.7, src/transport/nvls.cc, src/graph/connect.cc (connectNvls,
// connectCollNet), src/device/all_reduce.h, all_gather.h, reduce_scatter.h. Left out: sums of a
// head in a register between the switch and the network, which take no step of their own.
#pragma once
#include "models/collectives/generate.h"

namespace busbw::collectives {

/// NVLS's widest group (NCCL_MAX_NVLS_ARITY), and so the most heads of a host.
constexpr std::int32_t kMaxHeads = 32;

/// All-reduce with NVSwitches: a loop of a channel is a chunk for each head. On several hosts the
/// heads of equal index reduce over the network's switch (SHARP).
Schedule nvls_all_reduce(const Shape& shape, const Options& options);

/// All-gather and reduce-scatter of one host of at most kMaxHeads ranks; every rank is the head of
/// its own part: all-gather sends S/n up and S down, reduce-scatter S up and S/n down.
Schedule nvls_all_gather(const Shape& shape, const Options& options);
Schedule nvls_reduce_scatter(const Shape& shape, const Options& options);

/// NVLS inside each host, between hosts the double binary tree of the heads of equal index: tree 0
/// for the first half of the channels, tree 1 for the second.
Schedule nvls_tree_all_reduce(const Shape& shape, const Options& options);

/// Every rank gives each head of its host its chunk, the heads reduce over the network's switch and
/// hand the total out again. A rank starts with the head after its own place, so that not all
/// send to one head at a time.
Schedule collnet_direct_all_reduce(const Shape& shape, const Options& options);

/// A chain inside each host, in the order of shape.rings, whose first rank is the head: it reduces
/// over the network's switch.
Schedule collnet_chain_all_reduce(const Shape& shape, const Options& options);

/// PAT (parallel aggregated trees): Bruck's algorithm with the farthest partner first, so that what
/// travels far is small. Each part goes through a binomial tree of ranks; as many trees as fit into
/// one chunk share their messages (one message of joined steps), the rest run one after the other.
/// log2(n) messages deep for small data; (n-1)/n S a rank always. Source: Jeaugey, "PAT: a new
/// algorithm for all-gather and reduce-scatter operations at scale", arXiv 2506.20252 (2025); NCCL
/// 2.23. NCCL packs a message in a buffer; the order in which trees follow each other is ours.
Schedule pat_all_gather(const Shape& shape, const Options& options);
Schedule pat_reduce_scatter(const Shape& shape, const Options& options);

}  // namespace busbw::collectives
