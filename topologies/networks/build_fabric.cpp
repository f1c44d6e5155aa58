// See build_fabric.h: places endpoints on leaves, then lays the cables of trees and dragonflies.
#include "topologies/networks/build_fabric.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>

#include <fmt/format.h>

#include "sim/core/check.h"
#include "sim/core/text.h"
#include "topologies/networks/faults.h"
#include "topologies/networks/lft_dump.h"
#include "topologies/networks/tree_shape.h"

namespace busbw::networks {
namespace {

using topologies::CableModel;
using topologies::Catalog;
using topologies::SwitchModel;

// ibsim's own first GUIDs, so that what is exported there and what is built here are alike.
constexpr std::uint64_t kFirstHcaGuid = 0x100000;
constexpr std::uint64_t kFirstSwitchGuid = 0x200000;

/// A port of a host that is to be placed.
struct Place {
  std::int32_t host = 0;
  std::int32_t nic = 0;
  const HostGroup* group = nullptr;
  std::int32_t number = 0;  // of the host in its names
};

std::vector<Place> all_places(const FabricSpec& spec) {
  std::vector<Place> places;
  std::map<std::string, std::int32_t> numbers;
  std::int32_t host = 0;
  for (const HostGroup& group : spec.hosts) {
    for (std::int32_t i = 0; i < group.count; i++, host++) {
      const std::int32_t number = numbers[group.prefix]++;
      for (std::int32_t nic = 0; nic < group.nics; nic++) {
        places.push_back({host, nic, &group, number});
      }
    }
  }
  return places;
}

class FabricBuilder {
 public:
  FabricBuilder(const FabricSpec& spec, const Catalog& catalog, Problems& problems)
      : spec_(spec), catalog_(catalog), problems_(problems) {}

  BuiltFabric build();

 private:
  bool find_models();
  void check_cables();
  void add_tree(const std::string& name, const std::vector<Place>& places);
  void add_rails();
  void add_dragonfly(const std::vector<Place>& places);
  void lay_tree(Subnet& subnet, const TreeShape& shape);
  void lay_dragonfly(Subnet& subnet);
  Subnet& start_subnet(const std::string& name);
  void add_switches(Subnet& subnet, std::int32_t tier, std::int32_t count, const char* what);
  void place_on_leaf(Subnet& subnet, const Place& place, std::int32_t leaf);
  void join(Subnet& subnet, std::int32_t below, std::int32_t above, std::int32_t tier);
  [[nodiscard]] Cable cable_of(std::int32_t tier, Bandwidth rate) const;
  std::int32_t take_port(const Subnet& subnet, std::int32_t at);
  void check_ports(const Subnet& subnet);
  void read_tables();
  [[nodiscard]] const SwitchModel& model_of(std::int32_t tier) const {
    return *models_[static_cast<std::size_t>(tier)];
  }
  void problem(const std::string& message) { problems_.add(spec_.where, message); }

  const FabricSpec& spec_;
  const Catalog& catalog_;
  Problems& problems_;
  std::array<const SwitchModel*, 3> models_{};
  std::vector<std::int32_t> used_;  // ports of each switch of the present subnet
  std::uint64_t next_hca_ = kFirstHcaGuid;
  std::uint64_t next_switch_ = kFirstSwitchGuid;
  BuiltFabric built_;
};

bool FabricBuilder::find_models() {
  std::vector<std::string> names;
  for (const SwitchModel& known : catalog_.switches) {
    names.push_back(known.name);
  }
  for (std::size_t tier = 0; tier < models_.size(); tier++) {
    if (spec_.switches.empty()) {
      return false;
    }
    const std::string& name = spec_.switches[std::min(tier, spec_.switches.size() - 1)];
    models_[tier] = catalog_.network_switch(name);
    if (models_[tier] == nullptr) {
      problem(fmt::format("unknown switch model '{}' of fabric '{}'{}", name, spec_.name,
                          did_you_mean(name, names)));
      return false;
    }
    if (models_[tier]->fabric != models_[0]->fabric) {
      problem(fmt::format("'{}' is {}, but '{}' is {}", name, models_[tier]->fabric,
                          models_[0]->name, models_[0]->fabric));
      return false;
    }
    if (models_[tier]->ports > 254) {
      problem(
          fmt::format("'{}' has {} ports; a forwarding table has 254", name, models_[tier]->ports));
      return false;
    }
  }
  return true;
}

void FabricBuilder::check_cables() {
  std::vector<std::string> names;
  for (const CableModel& known : catalog_.cables) {
    names.push_back(known.name);
  }
  for (const TierCable& cable : spec_.cables) {
    const CableModel* model = catalog_.cable(cable.model);
    if (model == nullptr) {
      problem(fmt::format("unknown cable '{}' of fabric '{}'{}", cable.model, spec_.name,
                          did_you_mean(cable.model, names)));
    } else if (cable.length_mm > std::int64_t{model->max_length_m} * 1000) {
      problem(fmt::format("a cable of {} m: '{}' reaches {} m",
                          static_cast<double>(cable.length_mm) / 1000, model->name,
                          model->max_length_m));
    }
  }
}

Subnet& FabricBuilder::start_subnet(const std::string& name) {
  Subnet& subnet = built_.subnets.emplace_back();
  subnet.name = name;
  subnet.layer = models_[0]->fabric == "Ethernet" ? LinkLayer::kEthernet : LinkLayer::kInfiniBand;
  subnet.lmc = spec_.lmc;
  const bool ethernet = subnet.layer == LinkLayer::kEthernet;  // needs no subnet manager
  subnet.managed = ethernet || spec_.manager != Manager::kAbsent;
  subnet.hosts_init = !ethernet && spec_.hosts_init;
  subnet.sl = spec_.sl;
  subnet.sl2vl = spec_.sl2vl;
  used_.clear();
  return subnet;
}

void FabricBuilder::add_switches(Subnet& subnet, std::int32_t tier, std::int32_t count,
                                 const char* what) {
  for (std::int32_t i = 0; i < count; i++) {
    Switch node;
    node.name = fmt::format("{}{}{}{}", subnet.name, subnet.name.empty() ? "" : "/", what, i);
    node.model = model_of(tier).name;
    node.guid = next_switch_++;
    node.tier = tier;
    node.ports = model_of(tier).ports;
    node.latency = model_of(tier).latency;
    subnet.switches.push_back(std::move(node));
    used_.push_back(0);
  }
}

std::int32_t FabricBuilder::take_port(const Subnet& subnet, std::int32_t at) {
  // More than there are is reported by check_ports once the subnet stands.
  CHECK(at >= 0 && static_cast<std::size_t>(at) < subnet.switches.size(), "switch {}", at);
  return ++used_[static_cast<std::size_t>(at)];
}

Cable FabricBuilder::cable_of(std::int32_t tier, Bandwidth rate) const {
  Cable cable;
  cable.tier = tier;
  cable.rate = rate;
  set_speed(cable, models_[0]->fabric == "Ethernet", catalog_);
  if (spec_.cables.empty()) {
    return cable;
  }
  const TierCable& kind =
      spec_.cables[std::min(static_cast<std::size_t>(tier), spec_.cables.size() - 1)];
  cable.length_mm = kind.length_mm;
  if (const CableModel* model = catalog_.cable(kind.model)) {
    cable.model = model->name;
    cable.latency = model->latency +
                    Duration::picoseconds(model->latency_per_metre.ps() * kind.length_mm / 1000);
  }
  return cable;
}

void FabricBuilder::place_on_leaf(Subnet& subnet, const Place& place, std::int32_t leaf) {
  Endpoint endpoint;
  endpoint.host = fmt::format("{}{}", place.group->prefix, place.number);
  endpoint.hca =
      fmt::format("{}{}", subnet.layer == LinkLayer::kEthernet ? "eth" : "mlx5_", place.nic);
  endpoint.host_index = place.host;
  endpoint.nic_index = place.nic;
  endpoint.node_guid = next_hca_;
  endpoint.port_guid = next_hca_ + 1;
  next_hca_ += 2;
  const auto index = static_cast<std::int32_t>(subnet.endpoints.size());
  subnet.endpoints.push_back(std::move(endpoint));
  const Bandwidth port = model_of(0).port_rate;
  Cable cable = cable_of(0, std::min(place.group->rate.value_or(port), port));
  cable.a = {false, index, 1};
  cable.b = {true, leaf, take_port(subnet, leaf)};
  subnet.cables.push_back(std::move(cable));
}

void FabricBuilder::join(Subnet& subnet, std::int32_t below, std::int32_t above,
                         std::int32_t tier) {
  const auto rate = [&](std::int32_t at) {
    return model_of(subnet.switches[static_cast<std::size_t>(at)].tier).port_rate;
  };
  Cable cable = cable_of(tier, std::min(rate(below), rate(above)));
  cable.a = {true, below, take_port(subnet, below)};
  cable.b = {true, above, take_port(subnet, above)};
  subnet.cables.push_back(std::move(cable));
}

void FabricBuilder::lay_tree(Subnet& subnet, const TreeShape& shape) {
  const std::int32_t pods = shape.pods();
  const std::int32_t first_core = shape.leaves + pods * shape.spines;
  for (std::int32_t leaf = 0; leaf < shape.leaves; leaf++) {
    const std::int32_t pod = leaf / shape.pod_leaves;
    for (std::int32_t spine = 0; spine < shape.spines; spine++) {
      for (std::int32_t k = 0; k < shape.spine_cables; k++) {
        join(subnet, leaf, shape.leaves + pod * shape.spines + spine, 1);
      }
    }
  }
  for (std::int32_t spine = 0; spine < pods * shape.spines; spine++) {
    for (std::int32_t core = 0; core < shape.cores_of_spine; core++) {
      const std::int32_t above = first_core + spine % shape.spines * shape.cores_of_spine + core;
      for (std::int32_t k = 0; k < shape.core_cables; k++) {
        join(subnet, shape.leaves + spine, above, 2);
      }
    }
  }
}

void FabricBuilder::add_tree(const std::string& name, const std::vector<Place>& places) {
  const bool rails = spec_.topology == Topology::kRailOptimised;
  TreeDemand demand;
  demand.models = models_;
  demand.leaf_places = static_cast<std::int64_t>(places.size());
  for (const Place& place : places) {
    const Bandwidth port = model_of(0).port_rate;
    demand.host_rate = std::max(demand.host_rate, std::min(place.group->rate.value_or(port), port));
    demand.leaf_unit = rails ? std::max(demand.leaf_unit, place.nic + 1) : 1;
  }
  if (rails) {
    demand.leaf_places = built_.hosts;
  }
  const std::optional<TreeShape> shape = shape_of(spec_, demand, problems_);
  if (!shape) {
    return;
  }
  Subnet& subnet = start_subnet(name);
  add_switches(subnet, 0, shape->leaves, "leaf");
  add_switches(subnet, 1, shape->pods() * shape->spines, "spine");
  add_switches(subnet, 2, shape->spines * shape->cores_of_spine, "core");
  for (std::size_t i = 0; i < places.size(); i++) {
    const std::int32_t leaf =
        rails ? places[i].host / shape->leaf_ports * demand.leaf_unit + places[i].nic
              : static_cast<std::int32_t>(i) / shape->leaf_ports;
    place_on_leaf(subnet, places[i], leaf);
  }
  lay_tree(subnet, *shape);
  check_ports(subnet);
}

void FabricBuilder::add_dragonfly(const std::vector<Place>& places) {
  const Dragonfly& shape = spec_.dragonfly;
  const std::int32_t down =
      spec_.leaf_ports > 0 ? spec_.leaf_ports : model_of(0).ports - shape.spines;
  const std::int64_t room = std::int64_t{shape.groups} * shape.leaves * down;
  if (down < 1 || static_cast<std::int64_t>(places.size()) > room) {
    problem(fmt::format("{} ports of hosts do not fit on the {} of {} groups of {} leaves",
                        places.size(), std::max<std::int64_t>(0, room), shape.groups,
                        shape.leaves));
    return;
  }
  Subnet& subnet = start_subnet("");
  add_switches(subnet, 0, shape.groups * shape.leaves, "leaf");
  add_switches(subnet, 1, shape.groups * shape.spines, "spine");
  for (std::size_t i = 0; i < places.size(); i++) {
    place_on_leaf(subnet, places[i], static_cast<std::int32_t>(i) / down);
  }
  lay_dragonfly(subnet);
  check_ports(subnet);
}

void FabricBuilder::lay_dragonfly(Subnet& subnet) {
  const Dragonfly& shape = spec_.dragonfly;
  const std::int32_t first_spine = shape.groups * shape.leaves;
  for (std::int32_t leaf = 0; leaf < first_spine; leaf++) {
    for (std::int32_t spine = 0; spine < shape.spines; spine++) {
      join(subnet, leaf, first_spine + leaf / shape.leaves * shape.spines + spine, 1);
    }
  }
  // Each group hands its spines out in turn, so that no spine has two cables more than another.
  std::vector<std::int32_t> turn(static_cast<std::size_t>(shape.groups), 0);
  const auto next_spine = [&](std::int32_t group) {
    const std::int32_t spine = turn[static_cast<std::size_t>(group)]++ % shape.spines;
    return first_spine + group * shape.spines + spine;
  };
  for (std::int32_t a = 0; a < shape.groups; a++) {
    for (std::int32_t b = a + 1; b < shape.groups; b++) {
      for (std::int32_t k = 0; k < shape.global_cables; k++) {
        const std::int32_t from = next_spine(a);
        join(subnet, from, next_spine(b), 2);
      }
    }
  }
}

void FabricBuilder::check_ports(const Subnet& subnet) {
  std::set<std::int32_t> reported;  // tiers
  for (std::size_t i = 0; i < used_.size(); i++) {
    const Switch& node = subnet.switches[i];
    if (used_[i] > node.ports && reported.insert(node.tier).second) {
      problem(fmt::format("'{}' needs {} ports, but '{}' has {}", node.name, used_[i], node.model,
                          node.ports));
    }
  }
}

void FabricBuilder::add_rails() {
  std::map<std::int32_t, std::vector<Place>> rails;
  for (const Place& place : all_places(spec_)) {
    rails[place.nic].push_back(place);
  }
  for (const auto& [rail, places] : rails) {
    add_tree(fmt::format("rail{}", rail), places);
  }
}

BuiltFabric FabricBuilder::build() {
  built_.name = spec_.name;
  built_.title = spec_.title;
  built_.topology = to_string(spec_.topology);
  built_.hosts = spec_.host_count();
  built_.manager = spec_.manager;
  check_cables();
  if (!find_models() || built_.hosts == 0) {
    return std::move(built_);
  }
  if (spec_.topology == Topology::kRailOnly) {
    add_rails();
  } else if (spec_.topology == Topology::kDragonflyPlus) {
    add_dragonfly(all_places(spec_));
  } else if (spec_.planes > 1) {
    std::map<std::int32_t, std::vector<Place>> planes;
    for (const Place& place : all_places(spec_)) {
      planes[place.nic % spec_.planes].push_back(place);
    }
    for (const auto& [plane, places] : planes) {
      add_tree(fmt::format("plane{}", plane), places);
    }
  } else {
    add_tree("", all_places(spec_));
  }
  const bool one_switch =
      std::all_of(built_.subnets.begin(), built_.subnets.end(),
                  [](const Subnet& subnet) { return subnet.switches.size() < 2; });
  built_.engine = one_switch && !spec_.routing ? Engine::kMinHop : spec_.engine();
  apply_faults(spec_, catalog_, built_, problems_);
  apply_partitions(spec_, built_, problems_);
  for (Subnet& subnet : built_.subnets) {
    if (subnet.managed) {
      if (const auto missing = assign_lids(subnet)) {
        problem(fmt::format("{} LIDs more than the {} of a subnet", *missing, kTopLid));
      }
    }
  }
  if (!spec_.tables.empty() && problems_.empty()) {
    read_tables();
  }
  return std::move(built_);
}

void FabricBuilder::read_tables() {
  if (built_.subnets.size() != 1 || !std::filesystem::is_regular_file(spec_.tables)) {
    problems_.add(
        spec_.tables_where,
        built_.subnets.size() != 1
            ? fmt::format("'tables' are of one subnet; the fabric has {}", built_.subnets.size())
            : fmt::format("no file '{}'", spec_.tables));
    return;
  }
  built_.tables =
      read_lft_dump(read_file(spec_.tables), spec_.tables, built_.subnets.front(), problems_);
  built_.engine = Engine::kTables;
}

}  // namespace

BuiltFabric build_fabric(const FabricSpec& spec, const Catalog& catalog, Problems& problems) {
  return FabricBuilder(spec, catalog, problems).build();
}

Routes routes_of(const BuiltFabric& built, const Subnet& subnet, const PortMap& map) {
  if (built.engine != Engine::kTables) {
    return route(subnet, map, built.engine);
  }
  CHECK(built.tables.has_value(), "fabric '{}'", built.name);
  return {Engine::kTables, Engine::kTables, "", *built.tables};
}

}  // namespace busbw::networks
