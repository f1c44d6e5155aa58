// From the file to the document that NCCL builds its system from: what each rank sees, and the
// merge of these views over the ranks of a node.
//
// Source: NCCL 2.30.7, src/graph/topo.cc and xml.cc. The order of the merged document decides the
// order of GPUs, NICs and CPUs in everything that follows.
#pragma once
#include <vector>

#include "models/nccl/graph/release.h"
#include "models/nccl/graph/xml.h"

namespace busbw::nccl::graph {

/// Number of GPUs (pci elements with a gpu) in the document.
int count_gpus(const Element& system);

/// The document of one host or, with several entries, of the hosts of one NVLink domain: GPUs carry
/// their number within it as attribute `rank`, CPUs the number of their host as `host_hash`.
/// Topologies are those of the hosts, in order of rank.
Element merged_document(const std::vector<const Element*>& hosts, const Switches& switches);

}  // namespace busbw::nccl::graph
