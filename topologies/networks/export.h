// Fabrics as files of other tools, and as pictures.
#pragma once
#include <string>

#include "topologies/networks/build_fabric.h"

namespace busbw::networks {

/// Net file of ibsim: records with GUIDs, ports with width and speed (4x QDR at most, as ibsim
/// knows no faster). Cables that are down are left out. Names are the ids, so that SIM_HOST can say
/// "node0/mlx5_0".
std::string to_ibsim(const Subnet& subnet);

/// As ibnetdiscover prints the subnet: GUIDs, names, LIDs, widths and speeds.
std::string to_ibnetdiscover(const Subnet& subnet);

/// As read_edges reads it; all subnets one after the other.
std::string to_edges(const BuiltFabric& built);

/// Graphviz: hosts, switches in rows by tier, parallel cables as one edge.
std::string to_dot(const BuiltFabric& built);

/// A drawing by tiers, hosts below. Names are left out where there is no room for them.
std::string to_svg(const BuiltFabric& built);

}  // namespace busbw::networks
