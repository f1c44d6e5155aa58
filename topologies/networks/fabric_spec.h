// A fabric as its file describes it (docs/formats/fabric.md): which topology, how many hosts, which
// switches and cables. build_fabric.h makes switches and cables of it.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/errors.h"
#include "sim/core/units.h"
#include "sim/core/yaml.h"
#include "topologies/networks/routing.h"
#include "topologies/networks/subnet.h"

namespace busbw::networks {

enum class Topology { kSingleSwitch, kFatTree, kRailOptimised, kRailOnly, kDragonflyPlus };
/// As in the file: "single switch", "fat-tree", "rail-optimised", "rail-only", "dragonfly+".
std::string to_string(Topology topology);

/// Hosts that are alike. Several groups make a mixed fabric; hosts count on from group to group.
struct HostGroup {
  std::string prefix = "node";  // of the names: "node0", "node1" ...
  std::int32_t count = 0;
  std::int32_t nics = 1;          // ports in the fabric of each
  std::optional<Bandwidth> rate;  // of a port; nothing: the leaf's
};

/// Generalised fat tree: tier t (0: leaf) of `children[t]` nodes below a switch, `parents[t]`
/// switches above a node, by `cables[t]` parallel cables. Source: Ohring et al., "On generalized
/// fat trees", IPPS 1995; parallel cables: Zahavi, CCIT report 776 (2010).
struct Xgft {
  std::vector<std::int64_t> children;
  std::vector<std::int64_t> parents;
  std::vector<std::int64_t> cables;
};

/// Groups of leaves and spines, every leaf on every spine of its group, every two groups joined by
/// cables between spines. Source: Shpiner et al., "Dragonfly+: low cost topology for scaling
/// datacenters", HiPINEB 2017.
struct Dragonfly {
  std::int32_t groups = 0;
  std::int32_t leaves = 0;         // of a group
  std::int32_t spines = 0;         // of a group
  std::int32_t global_cables = 1;  // between each two groups
};

struct TierCable {
  std::string model;  // catalogue name
  std::int64_t length_mm = 0;
};

/// Cables that are missing, or that came up slower than they should.
struct CableFault {
  std::string from;         // switch or "node3/mlx5_0"
  std::string to;           // the other end; empty with a port
  std::int32_t port = 0;    // of `from`; 0: by `to`
  std::int32_t number = 1;  // which of parallel cables
  bool missing = true;
  std::optional<Bandwidth> rate;  // of a degraded one
  std::optional<std::int32_t> lanes;
  Location where;
};

struct Partition {
  std::string name;
  Pkey pkey = 0;  // 15 bits
  bool full = true;
  std::vector<std::string> hosts;  // names; empty: all
  Location where;
};

enum class Manager { kRunning, kDown, kAbsent };

/// What a thing costs or draws, by catalogue name; "port" and "NIC" may stand beside models.
struct Inputs {
  std::map<std::string, double> switches;
  std::map<std::string, double> cables;
  double nic = 0;
  [[nodiscard]] bool empty() const { return switches.empty() && cables.empty() && nic == 0; }
};

struct FabricSpec {
  std::string name;
  std::string title;
  std::string source;
  Topology topology = Topology::kSingleSwitch;
  std::vector<HostGroup> hosts;
  std::vector<std::string> switches;    // models, leaf first; one stands for all tiers
  std::vector<Ratio> oversubscription;  // down / up of each tier but the top; one stands for all
  std::int32_t tiers = 0;               // 0: as few as do
  std::int32_t planes = 1;
  std::int32_t leaf_ports = 0;  // of a leaf for hosts; rail-optimised: hosts of a group. 0: all
  std::int32_t spines = 0;      // of a pod. 0: as few as do
  std::int32_t pod_leaves = 0;  // three tiers: leaves of a pod. 0: as many as fit
  std::optional<Xgft> xgft;
  Dragonfly dragonfly;
  std::vector<TierCable> cables;  // host to leaf, leaf to spine, spine to core (or to other groups)
  std::vector<CableFault> faults;
  std::optional<Engine> routing;  // nothing: ftree, minhop for dragonfly+ and one switch
  std::string tables;             // file with forwarding tables in place of an engine; empty: none
  Location tables_where;
  Manager manager = Manager::kRunning;
  bool hosts_init = false;  // kDown, and the ports of the hosts came up after that
  std::int32_t lmc = 0;
  std::int32_t sl = 0;
  std::vector<std::int32_t> sl2vl;
  std::vector<Partition> partitions;  // empty: all hosts in the default partition
  std::string currency;
  Inputs prices;
  Inputs power;  // W
  Location where;

  [[nodiscard]] std::int32_t host_count() const;
  /// The engine that `routing` or the topology names.
  [[nodiscard]] Engine engine() const;
};

/// Reads a fabric file. Every problem is added with its place; the result is whole only if none
/// was.
FabricSpec read_fabric(const YamlNode& node, Problems& problems);

/// "4x" or "1x" as lanes; nothing for another text. Widths: 1x, 2x, 4x, 8x, 12x.
std::optional<std::int32_t> parse_width(const std::string& text);

}  // namespace busbw::networks
