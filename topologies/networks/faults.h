// Internal to networks: what a fabric file changes once the switches and cables stand.
#pragma once
#include "topologies/catalog.h"
#include "topologies/networks/build_fabric.h"

namespace busbw::networks {

/// Sets generation and lanes of a cable from its rate: the generation whose 4 lanes carry it, else
/// the newest whose 2 or 1 do. Nothing is set for a rate that no generation has.
void set_speed(Cable& cable, bool ethernet, const topologies::Catalog& catalog);

/// Takes the missing cables down and slows the degraded ones.
void apply_faults(const FabricSpec& spec, const topologies::Catalog& catalog, BuiltFabric& built,
                  Problems& problems);

/// Gives the endpoints their P_Keys. Without partitions all keep the default one.
void apply_partitions(const FabricSpec& spec, BuiltFabric& built, Problems& problems);

}  // namespace busbw::networks
