// The keys of a network that say how its switches treat packets.
#pragma once
#include "models/params/traffic.h"
#include "sim/core/yaml.h"
#include "topologies/build.h"

namespace busbw::scenarios {

/// The partitions go into `network`, whose fabric file has been read.
params::Traffic read_traffic(MappingReader& reader, topologies::Network& network);

/// What of it the network's NICs or the number of hosts rule out.
void check_traffic(const params::Traffic& traffic, const topologies::Network& network,
                   const topologies::Cluster& cluster, Problems& problems);

}  // namespace busbw::scenarios
