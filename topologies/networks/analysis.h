// What a subnet's tables come to: who reaches whom in how many hops, what the cables carry, whether
// the ways can block each other for good, and what the subnet carries from half to half.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "topologies/networks/lfts.h"
#include "topologies/networks/subnet.h"

namespace busbw::networks {

/// One direction of a cable, as a number: 2 x CableId, + 1 from end b to end a.
using Channel = std::size_t;
/// "leaf0:33 -> spine0:1".
std::string channel_name(const Subnet& subnet, Channel channel);

struct PairReport {
  std::int64_t pairs = 0;        // ordered pairs of endpoints that share a partition
  std::int64_t unreachable = 0;  // of them, by any of the destination's LIDs
  std::vector<std::pair<EndpointId, EndpointId>> examples;  // of them, the first 20
  std::map<std::int32_t, std::int64_t> hops;  // cables between switches -> pairs, by the first LID
  /// [channel] between switches: pairs whose way uses it, by the first LID.
  std::vector<std::int64_t> loads;
};

/// Follows the tables from every endpoint to every other: time switches x endpoints.
PairReport check_pairs(const Subnet& subnet, const PortMap& map, const Lfts& lfts);

/// Circles of channels that wait for each other's credits, one list a strongly connected component
/// of the graph of dependencies; empty when there is none. All LIDs of endpoints count, those of
/// switches do not: they carry no data. Source: Dally and Seitz, "Deadlock-free message routing in
/// multiprocessor interconnection networks", IEEE Transactions on Computers C-36 (1987). One
/// virtual lane for all.
std::vector<std::vector<Channel>> credit_loops(const Subnet& subnet, const PortMap& map,
                                               const Lfts& lfts);

/// Endpoints leaf by leaf, on a leaf by port; those without a cable are left out.
std::vector<EndpointId> leaf_order(const Subnet& subnet, const PortMap& map);

/// Shift k: each endpoint sends to the k-th after it in leaf order, all at once.
struct ShiftReport {
  std::int64_t shifts = 0;       // looked at: all, or evenly spaced ones of a large subnet
  std::int64_t all_shifts = 0;   // endpoints - 1
  std::int64_t worst_flows = 0;  // over one channel
  Channel worst_channel = 0;     // the first of that many
  std::int64_t worst_shift = 0;
  double mean_of_worst = 0;             // over the shifts: 1 is free of contention
  std::int64_t free_of_contention = 0;  // shifts in which no channel has two flows
};
ShiftReport check_shifts(const Subnet& subnet, const PortMap& map, const Lfts& lfts);

/// What crosses from the first half of the hosts (in order of the fabric) to the second at most, by
/// max-flow; host cables bound it as all others. Switches inside are not blocking.
struct Bisection {
  Bandwidth rate;            // one way
  Bandwidth edge;            // what the hosts of the smaller half can send
  std::vector<CableId> cut;  // cables whose rates sum up to it, nearest to the second half
};
/// `hosts`: of the whole fabric; those below hosts / 2 are the first half.
Bisection bisect(const Subnet& subnet, std::int32_t hosts);

/// Rates of the cables down and up of the switches of a tier, as built and up.
struct TierRates {
  std::int32_t tier = 0;
  std::int32_t switches = 0;
  Bandwidth down;    // sum over the tier: towards the hosts
  Bandwidth up;      // sum: away from them
  double worst = 0;  // largest down / up of a switch; 0 for the top tier
};
std::vector<TierRates> tier_rates(const Subnet& subnet, const PortMap& map);

}  // namespace busbw::networks
