// Internal to networks: how many switches and cables a tree needs.
#pragma once
#include <array>
#include <optional>
#include <string>

#include "topologies/catalog.h"
#include "topologies/networks/build_fabric.h"

namespace busbw::networks {

/// What a tree is asked for. `leaf_unit`: rail-optimised leaves come in groups of that many.
struct TreeDemand {
  std::int64_t leaf_places =
      0;  // hosts to be placed; rail-optimised: hosts, `leaf_unit` leaves each
  std::int32_t leaf_unit = 1;
  Bandwidth host_rate;                                     // of the fastest port of a host
  std::array<const topologies::SwitchModel*, 3> models{};  // by tier
};

/// The smallest tree that holds `demand`, or nothing and a problem at spec.where.
std::optional<TreeShape> shape_of(const FabricSpec& spec, const TreeDemand& demand,
                                  Problems& problems);

}  // namespace busbw::networks
