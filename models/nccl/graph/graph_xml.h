// Graphs as NCCL writes and reads them: NCCL_GRAPH_DUMP_FILE and NCCL_GRAPH_FILE.
//
// graphs(version) > graph(id, pattern, crossnic, nchannels, speedintra, speedinter, latencyinter,
// typeintra, typeinter, samechannels) > channel > net(dev), gpu(dev) ..., net(dev). GB/s, us; dev
// of a GPU is its NVML number, with the number of its host from bit 56 on in an NVLink domain.
// From 2.21 on dev is hexadecimal, before it has C's base. Source: NCCL 2.18 to 2.30.7,
// src/graph/search.cc.
#pragma once
#include <optional>
#include <string>

#include "models/nccl/graph/channels.h"
#include "models/nccl/graph/xml.h"

namespace busbw::nccl::graph {

// NCCL's numbers of the graphs.
constexpr int kRingId = 0;
constexpr int kTreeId = 1;
constexpr int kCollNetChainId = 2;
constexpr int kNvlsId = 3;
constexpr int kCollNetDirectId = 4;

/// The graph of that number, as NCCL takes it over in place of a search: unchanged, without limits.
/// Nothing when the file has none, when its nchannels is 0, or when it crosses NICs (crossnic 1)
/// and `may_cross` is false. Throws InputError with places for devices that the node lacks, missing
/// attributes, unknown types, and channels that do not hold each GPU once.
std::optional<Graph> graph_of(const Element& graphs, int id, const System& system, bool may_cross);

/// The graphs of a node, in NCCL's order: ring, tree, CollNetDirect, CollNetChain, NVLS. Graphs
/// that were not searched have no channels.
Element graphs_element(const Group& group);

}  // namespace busbw::nccl::graph
