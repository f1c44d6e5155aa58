// From a machine of ours to NCCL's topology XML: what NCCL would find on such a host and dump.
//
// Source of what is written and in which order: NCCL 2.18 to 2.30, src/graph/xml.cc and topo.cc.
// Assumes one rank per GPU, numbered like the GPUs. Left out are attributes that no decision reads
// and that only the host itself knows (`affinity`, `host_hash`, subsystem ids): NCCL fills in what
// a file lacks, while an invented CPU mask would pin threads wrongly.
#pragma once
#include "models/nccl/graph/xml.h"
#include "models/nccl/selection.h"
#include "topologies/machine.h"

namespace busbw::nccl {

/// The topology of one host, whose network and devices are those of `host`. CPUs without GPU or
/// device are not in it, as in a dump. Bus ids are of our own numbering: each GPU, in order,
/// after the PCIe switches above it, then the NICs. From 2.22.3 on the order of elements is that of
/// the merge over the ranks: GPU 0, network, other GPUs.
graph::Element machine_document(const topologies::Machine& machine,
                                const topologies::Catalog& catalog, const Inventory& inventory,
                                const HostDecision& host, Version version);

}  // namespace busbw::nccl
