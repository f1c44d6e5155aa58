// Sizes of a tree from radix, oversubscription and hosts: see tree_shape.h.
//
// A switch with d ports down at rate r needs ceil(d x r / (o x R)) ports up at rate R for an
// oversubscription of o. Spines: the fewest that divide a leaf's ports up and have ports enough.
#include "topologies/networks/tree_shape.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace busbw::networks {
namespace {

using topologies::SwitchModel;

std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

class Sizer {
 public:
  Sizer(const FabricSpec& spec, const TreeDemand& demand) : spec_(spec), demand_(demand) {}

  /// A tree of that many tiers; nothing when it does not fit, `why` says why.
  std::optional<TreeShape> of(std::int32_t tiers, std::string& why) const;

 private:
  [[nodiscard]] Bandwidth rate_up(std::size_t tier) const {
    return std::min(demand_.models[tier]->port_rate, demand_.models[tier + 1]->port_rate);
  }
  [[nodiscard]] std::int64_t ports_up(std::size_t tier, std::int64_t down, Bandwidth rate) const {
    const std::vector<Ratio>& ratios = spec_.oversubscription;
    const Ratio ratio = ratios.empty() ? Ratio{1, 1} : ratios[std::min(tier, ratios.size() - 1)];
    return divide_up(down * (rate.bps() / 1'000'000) * ratio.denominator,
                     (rate_up(tier).bps() / 1'000'000) * ratio.numerator);
  }
  /// Most ports down of a switch that leave enough for those up.
  [[nodiscard]] std::int64_t most_down(std::size_t tier, Bandwidth rate) const {
    std::int64_t down = demand_.models[tier]->ports;
    while (down > 0 && down + ports_up(tier, down, rate) > demand_.models[tier]->ports) {
      down--;
    }
    return down;
  }
  bool add_spines(TreeShape& shape, std::string& why) const;
  bool add_cores(TreeShape& shape, std::string& why) const;

  const FabricSpec& spec_;
  const TreeDemand& demand_;
};

/// The fewest of `up` ports' targets that divide it and whose ports do, as (targets, parallel).
std::optional<std::pair<std::int32_t, std::int32_t>> fewest(std::int64_t up, std::int64_t below,
                                                            std::int64_t ports) {
  for (std::int64_t count = 1; count <= up; count++) {
    if (up % count == 0 && below * (up / count) <= ports) {
      return std::pair(static_cast<std::int32_t>(count), static_cast<std::int32_t>(up / count));
    }
  }
  return std::nullopt;
}

bool Sizer::add_spines(TreeShape& shape, std::string& why) const {
  const std::int64_t up = ports_up(0, shape.leaf_ports, demand_.host_rate);
  const SwitchModel& spine = *demand_.models[1];
  for (std::int64_t count = 1; count <= up; count++) {
    if (up % count != 0 || (spec_.spines > 0 && count != spec_.spines)) {
      continue;
    }
    const std::int64_t down = shape.pod_leaves * (up / count);
    const std::int64_t all = down + (shape.tiers > 2 ? ports_up(1, down, rate_up(0)) : 0);
    if (all <= spine.ports) {
      shape.spines = static_cast<std::int32_t>(count);
      shape.spine_cables = static_cast<std::int32_t>(up / count);
      return true;
    }
  }
  why =
      spec_.spines > 0 && up % spec_.spines != 0
          ? fmt::format("the {} ports up of a leaf do not divide over {} spines", up, spec_.spines)
          : fmt::format("{} leaf switches need spines of more than the {} ports of '{}'",
                        shape.pod_leaves, spine.ports, spine.name);
  return false;
}

bool Sizer::add_cores(TreeShape& shape, std::string& why) const {
  const SwitchModel& core = *demand_.models[2];
  const std::int64_t up =
      ports_up(1, std::int64_t{shape.pod_leaves} * shape.spine_cables, rate_up(0));
  const auto found = fewest(up, shape.pods(), core.ports);
  if (!found) {
    why = fmt::format("{} pods need cores of more than the {} ports of '{}'", shape.pods(),
                      core.ports, core.name);
    return false;
  }
  std::tie(shape.cores_of_spine, shape.core_cables) = *found;
  return true;
}

std::optional<TreeShape> Sizer::of(std::int32_t tiers, std::string& why) const {
  TreeShape shape;
  shape.tiers = tiers;
  const SwitchModel& leaf = *demand_.models[0];
  std::int64_t down = tiers == 1 ? leaf.ports : most_down(0, demand_.host_rate);
  if (spec_.leaf_ports > 0) {
    down = spec_.leaf_ports;
  }
  down = std::min(down, demand_.leaf_places);
  if (down < 1) {
    why = fmt::format("'{}' has no ports left for hosts", leaf.name);
    return std::nullopt;
  }
  shape.leaf_ports = static_cast<std::int32_t>(down);
  const std::int64_t leaves = divide_up(demand_.leaf_places, down) * demand_.leaf_unit;
  shape.leaves = static_cast<std::int32_t>(leaves);
  shape.pod_leaves = shape.leaves;
  if (tiers == 1) {
    if (leaves > 1) {
      why = fmt::format("{} ports of hosts do not fit on the {} of one '{}'", demand_.leaf_places,
                        leaf.ports, leaf.name);
      return std::nullopt;
    }
    return shape;
  }
  if (tiers == 3) {
    const std::int64_t most = spec_.pod_leaves > 0 ? spec_.pod_leaves : most_down(1, rate_up(0));
    shape.pod_leaves = static_cast<std::int32_t>(std::clamp<std::int64_t>(most, 1, leaves));
  }
  if (!add_spines(shape, why) || (tiers == 3 && !add_cores(shape, why))) {
    return std::nullopt;
  }
  return shape;
}

std::optional<TreeShape> explicit_shape(const FabricSpec& spec, const TreeDemand& demand,
                                        Problems& problems) {
  const Xgft& xgft = *spec.xgft;
  const auto at = [](const std::vector<std::int64_t>& list, std::size_t tier) {
    return tier < list.size() ? static_cast<std::int32_t>(list[tier]) : 1;
  };
  TreeShape shape;
  shape.tiers = static_cast<std::int32_t>(xgft.children.size());
  shape.leaf_ports = at(xgft.children, 0);
  shape.leaves = static_cast<std::int32_t>(divide_up(demand.leaf_places, shape.leaf_ports));
  const std::int32_t most = at(xgft.children, 1) * at(xgft.children, 2);
  if (shape.leaves > most) {
    problems.add(spec.where, fmt::format("{} ports of hosts need {} leaves of 'xgft', which has {}",
                                         demand.leaf_places, shape.leaves, most));
    return std::nullopt;
  }
  shape.pod_leaves = std::min(shape.leaves, at(xgft.children, 1));
  shape.spines = shape.tiers > 1 ? at(xgft.parents, 1) : 0;
  shape.spine_cables = at(xgft.cables, 1);
  shape.cores_of_spine = shape.tiers > 2 ? at(xgft.parents, 2) : 0;
  shape.core_cables = at(xgft.cables, 2);
  return shape;
}

}  // namespace

std::optional<TreeShape> shape_of(const FabricSpec& spec, const TreeDemand& demand,
                                  Problems& problems) {
  if (spec.xgft) {
    return explicit_shape(spec, demand, problems);
  }
  const Sizer sizer(spec, demand);
  const std::int32_t first = spec.tiers > 0                             ? spec.tiers
                             : spec.topology == Topology::kSingleSwitch ? 1
                             : spec.topology == Topology::kRailOnly     ? 1
                                                                        : 2;
  const std::int32_t last = spec.tiers > 0                             ? spec.tiers
                            : spec.topology == Topology::kSingleSwitch ? 1
                                                                       : 3;
  std::string why;
  for (std::int32_t tiers = first; tiers <= last; tiers++) {
    if (const std::optional<TreeShape> shape = sizer.of(tiers, why)) {
      return shape;
    }
  }
  problems.add(spec.where, fmt::format("the fabric '{}' does not fit: {}", spec.name, why));
  return std::nullopt;
}

}  // namespace busbw::networks
