// Routing engines: the tables that a subnet manager would write.
//
// ftree     as OpenSM's: leaves in order of an index, each destination over the least loaded ports
//           up and down, places without a host counted as hosts. Only on pure fat trees.
//           Source: Zahavi et al., "Optimized InfiniBand fat-tree routing for shift all-to-all
//           communication patterns", Concurrency and Computation 22 (2010); OpenSM 3.3.23.
// updn      shortest ways that go up and then down, from root switches found by their distances
//           to the hosts. Source: OpenSM 3.3.23, doc/current-routing.txt.
// minhop    shortest ways, spread evenly over the ports. Same source.
// d-mod-k   in a tree the port up is the number of the destination modulo the ports; any shift of
//           a full non-blocking tree is free of contention. Source: Zahavi, "D-Mod-K routing
//           providing non-blocking traffic for shift permutations on real life fat trees",
//           Technion CCIT report 776 (2010).
//
// An engine that cannot route a subnet falls back to minhop, as OpenSM does, and says why.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "topologies/networks/lfts.h"
#include "topologies/networks/subnet.h"

namespace busbw::networks {

/// kTables: read from a file, not computed here.
enum class Engine { kFtree, kUpDown, kMinHop, kDModK, kTables };
/// "ftree", "updn", "minhop", "d-mod-k", "tables".
std::string to_string(Engine engine);
/// One that computes; nothing for another word.
std::optional<Engine> parse_engine(const std::string& text);

struct Routes {
  Engine asked = Engine::kMinHop;
  Engine used = Engine::kMinHop;
  std::string why;  // it fell back; empty when it did not
  Lfts lfts;        // empty when no subnet manager manages the subnet
};

/// Routes a subnet whose LIDs are assigned. `engine` is one that computes.
Routes route(const Subnet& subnet, const PortMap& map, Engine engine);

/// For one destination switch: by which ports each switch may send on, in order of number, and how
/// many cables between switches are still to go. No ports: the destination itself, or no way.
struct NextPorts {
  static constexpr std::int32_t kFar = 1 << 20;
  std::vector<std::vector<std::uint8_t>> ports;  // [switch]
  std::vector<std::int32_t> hops;                // [switch]; kFar: no way
};

/// All shortest ways to a switch: what ECMP may use.
void min_hop_ports(const Subnet& subnet, const PortMap& map, SwitchId to, NextPorts& next);

/// Order of switches in an up/down routing: smaller is nearer to the roots. No two are equal.
using Ranks = std::vector<std::int32_t>;  // [switch]
/// Legal up/down ways to a switch: down as soon as only down leads there, else up by the shortest.
void up_down_ports(const Subnet& subnet, const PortMap& map, const Ranks& ranks, SwitchId to,
                   NextPorts& next);

/// The order in which OpenSM goes through nodes: by GUID, its last byte first.
std::vector<SwitchId> switch_order(const Subnet& subnet);

/// The engines themselves. Those that may refuse return the reason instead.
struct EngineResult {
  Lfts lfts;
  std::string refused;
};
Lfts min_hop(const Subnet& subnet, const PortMap& map);
EngineResult up_down(const Subnet& subnet, const PortMap& map);
EngineResult ftree(const Subnet& subnet, const PortMap& map);
EngineResult d_mod_k(const Subnet& subnet, const PortMap& map);

/// Tables with each LID spread over the ports that `fill` allows, least used first.
Lfts spread(const Subnet& subnet, const PortMap& map,
            const std::function<void(SwitchId, NextPorts&)>& fill);

}  // namespace busbw::networks
