// The path of a byte as a table: GPU, PCIe switch, NIC, switches ..., each hop with rate and
// latency.
#pragma once
#include <vector>

#include "topologies/catalog_tables.h"
#include "topologies/fabric.h"

namespace busbw::topologies {

/// One row a link of `route`, in order: what it joins, its kind, its rate in GB/s after line
/// coding, its latency and the latency up to its end; "*" marks each link of the smallest rate.
/// CHECKs that every link starts where the one before ends.
CatalogTable path_table(const Fabric& fabric, const std::vector<LinkId>& route);

}  // namespace busbw::topologies
