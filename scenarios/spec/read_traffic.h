// The keys of a network that say how its switches treat packets. Internal to this folder.
#pragma once
#include "models/params/traffic.h"
#include "sim/core/yaml.h"
#include "topologies/build.h"

namespace busbw::scenarios {

params::Traffic read_traffic(MappingReader& network);

/// What of it the network's NICs or the number of hosts rule out.
void check_traffic(const params::Traffic& traffic, const topologies::Network& network,
                   const topologies::Cluster& cluster, Problems& problems);

}  // namespace busbw::scenarios
