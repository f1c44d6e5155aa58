// Internal to networks: cables as lists name them, and the subnet that they make.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "topologies/networks/import.h"

namespace busbw::networks {

struct EdgeEnd {
  std::string name;
  std::int32_t port = 0;  // 0: the next that is free
};

struct Edge {
  EdgeEnd a;
  EdgeEnd b;
  Bandwidth rate;  // 0: not said
  Location where;
};

struct DeclaredSwitch {
  std::string name;
  std::int32_t ports = 0;  // 0: not said
  Location where;
};

/// What is no switch is a port of a host: "node0/mlx5_0" of host node0.
Imported subnet_of(const std::vector<DeclaredSwitch>& switches, const std::vector<Edge>& edges,
                   const std::string& file, const topologies::Catalog& catalog, Problems& problems);

}  // namespace busbw::networks
