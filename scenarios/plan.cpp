// Shapes of rings and trees, ports of channels and the candidates to play.
#include "scenarios/plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "models/collectives/make_schedule.h"
#include "scenarios/cut.h"
#include "scenarios/plan_network.h"
#include "sim/core/check.h"
#include "sim/core/errors.h"
#include "sim/core/text.h"

namespace busbw::scenarios {
namespace {

using collectives::Algorithm;
using collectives::Collective;
using params::Protocol;

void set_shape(const nccl::graph::Decision& graph, Plan& plan) {
  collectives::Shape& shape = plan.shape;
  shape.ranks = graph.comm.ranks;
  for (int channel = 0; channel < graph.comm.channels; ++channel) {
    const auto at = static_cast<std::size_t>(channel);
    collectives::RingOrder& ring = shape.rings.emplace_back();
    for (const int rank :
         graph.rings.orders[static_cast<std::size_t>(graph.rings.channel_to_order[at])]) {
      ring.emplace_back(rank);
    }
    collectives::TreeParents& tree = shape.trees.emplace_back();
    if (graph.trees.parents.empty()) {  // one rank
      tree.emplace_back();
      continue;
    }
    for (const int parent :
         graph.trees.parents[static_cast<std::size_t>(graph.trees.channel_to_tree[at])]) {
      tree.push_back(parent < 0 ? std::nullopt : std::optional(RankId(parent)));
    }
  }
}

Algorithm schedule_name(nccl::graph::Algorithm algorithm) {
  switch (algorithm) {
    case nccl::graph::Algorithm::kTree:
      return Algorithm::kTree;
    case nccl::graph::Algorithm::kRing:
      return Algorithm::kRing;
    case nccl::graph::Algorithm::kCollNetDirect:
      return Algorithm::kCollNetDirect;
    case nccl::graph::Algorithm::kCollNetChain:
      return Algorithm::kCollNetChain;
    case nccl::graph::Algorithm::kNvls:
      return Algorithm::kNvls;
    case nccl::graph::Algorithm::kNvlsTree:
      return Algorithm::kNvlsTree;
    case nccl::graph::Algorithm::kPat:
      return Algorithm::kPat;
  }
  CHECK(false, "algorithm {}", static_cast<int>(algorithm));
}

/// The schedule's name of an algorithm; nothing when there is no schedule of it here.
std::optional<Algorithm> playable(nccl::graph::Algorithm algorithm, Collective collective,
                                  std::int32_t hosts) {
  const Algorithm name = schedule_name(algorithm);
  const std::vector<Algorithm> known = collectives::algorithms_of(collective);
  if (std::find(known.begin(), known.end(), name) == known.end() ||
      (name == Algorithm::kNvls && collective != Collective::kAllReduce && hosts > 1)) {
    return std::nullopt;
  }
  return name;
}

/// What NCCL's tuning knows; nothing for what goes point to point.
std::optional<nccl::graph::Collective> tuned(Collective collective) {
  switch (collective) {
    case Collective::kAllReduce:
      return nccl::graph::Collective::kAllReduce;
    case Collective::kReduce:
      return nccl::graph::Collective::kReduce;
    case Collective::kBroadcast:
      return nccl::graph::Collective::kBroadcast;
    case Collective::kAllGather:
      return nccl::graph::Collective::kAllGather;
    case Collective::kReduceScatter:
      return nccl::graph::Collective::kReduceScatter;
    case Collective::kAllToAll:
    case Collective::kSendRecv:
    case Collective::kGather:
    case Collective::kScatter:
      return std::nullopt;
  }
  CHECK(false, "collective {}", static_cast<int>(collective));
}

/// The first of `choices` (fastest first by NCCL's costs) with this algorithm.
std::optional<Candidate> first_with(const std::vector<nccl::graph::Choice>& choices,
                                    Algorithm algorithm) {
  // Hierarchical is cut and played as a ring with LL or Simple is.
  const bool ours = algorithm == Algorithm::kHierarchical;
  const Algorithm wanted = ours ? Algorithm::kRing : algorithm;
  for (const nccl::graph::Choice& choice : choices) {
    const Candidate candidate{algorithm, static_cast<Protocol>(choice.protocol)};
    if (schedule_name(choice.algorithm) == wanted &&
        !(ours && candidate.protocol == Protocol::kLowLatency128)) {
      return candidate;
    }
  }
  return std::nullopt;
}

/// Whether all hosts have NICs of the same rates (a shaped one looks like any other to NCCL), and
/// no fabric of its own gives them different ways.
bool equal_nics(const topologies::Cluster& cluster) {
  if (std::any_of(cluster.networks.begin(), cluster.networks.end(),
                  [](const topologies::Network& network) { return network.fabric.has_value(); })) {
    return false;
  }
  const std::vector<topologies::MachineNic>& first = cluster.hosts.front().nics;
  const auto same = [](const topologies::MachineNic& a, const topologies::MachineNic& b) {
    return a.name == b.name && a.rate == b.rate && a.send_rate == b.send_rate;
  };
  return std::all_of(
      cluster.hosts.begin(), cluster.hosts.end(), [&](const topologies::Machine& host) {
        return std::equal(first.begin(), first.end(), host.nics.begin(), host.nics.end(), same);
      });
}

std::string settings_text(const nccl::Environment& environment) {
  return "NCCL_ALGO='" + nccl::text(environment, "NCCL_ALGO").value_or("") + "' with NCCL_PROTO='" +
         nccl::text(environment, "NCCL_PROTO").value_or("") + "'";
}

/// Small messages go by LL, where its buffers exist: inside a node. What counts is a channel's
/// part, from 2.22 to 2.27 as if all channels of a peer took one. Source: NCCL, src/enqueue.cc,
/// addP2pToPlan.
Protocol direct_protocol(const Plan& plan, const Variant& variant, Bytes bytes) {
  if (plan.hosts > 1) {
    return Protocol::kSimple;
  }
  constexpr std::int64_t kThreshold = 16384;
  const Cut cut = cut_of(plan, variant, {Algorithm::kDirect, Protocol::kSimple}, bytes);
  const Bytes to_a_peer =
      collectives::cut_bytes(variant.workload.collective, bytes, plan.shape.ranks);
  const std::int64_t most =
      nccl::numeric(variant.environment, "NCCL_P2P_LL_THRESHOLD", kThreshold) *
      (parts_by_protocol(variant.version) ? std::max(1, plan.comm.p2p_channels_per_peer)
                                          : cut.options.channels_per_peer);
  return to_a_peer.count() <= most ? Protocol::kLowLatency : Protocol::kSimple;
}

}  // namespace

Candidates find_candidates(const Plan& plan, const Variant& variant, Bytes bytes) {
  Candidates found;
  if (plan.comm.ranks == 1) {
    found.list.push_back({});  // NCCL copies; nothing travels
    return found;
  }
  const Collective collective = variant.workload.collective;
  const std::optional<nccl::graph::Collective> known = tuned(collective);
  if (!known) {
    found.list.push_back({Algorithm::kDirect, direct_protocol(plan, variant, bytes)});
    return found;
  }
  const std::vector<nccl::graph::Choice> choices =
      nccl::graph::choices(plan.tuning, plan.comm, plan.switches, *known, bytes.count());
  const std::optional<Algorithm>& asked = variant.workload.algorithm;
  if (!asked && !choices.empty() && !playable(choices.front().algorithm, collective, plan.hosts)) {
    found.passed_over = fmt::format("{}/{}", to_string(choices.front().algorithm),
                                    to_string(choices.front().protocol));
  }
  for (const nccl::graph::Choice& choice : choices) {
    const std::optional<Algorithm> algorithm = playable(choice.algorithm, collective, plan.hosts);
    const bool listed = std::any_of(found.list.begin(), found.list.end(),
                                    [&](const Candidate& c) { return c.algorithm == algorithm; });
    const bool compared = algorithm == Algorithm::kRing || algorithm == Algorithm::kTree;
    if (algorithm && !asked && !listed && (compared || found.list.empty())) {
      found.list.push_back({*algorithm, static_cast<Protocol>(choice.protocol)});
    }
  }
  if (asked) {
    if (const std::optional<Candidate> candidate = first_with(choices, *asked)) {
      found.list.push_back(*candidate);
    }
  }
  return found;
}

Candidates candidates_of(const Plan& plan, const Variant& variant, Bytes bytes) {
  Candidates found = find_candidates(plan, variant, bytes);
  const std::optional<Algorithm>& asked = variant.workload.algorithm;
  if (found.list.empty()) {
    throw InputError(settings_text(variant.environment) + " leaves " +
                     (asked ? "no protocol for " + collectives::to_string(*asked)
                            : "no algorithm that can be played") +
                     " at " + to_string(bytes));
  }
  return found;
}

Plan make_plan(const Variant& variant, const Job& job) {
  CHECK(job.graph.has_value(), "variant '{}' does not run", variant.name);
  const nccl::graph::Decision& graph = *job.graph;
  Plan plan;
  plan.hosts = static_cast<std::int32_t>(graph.comm.nodes);
  plan.comm = graph.comm;
  plan.tuning = graph.tuning;
  plan.switches = graph.switches;
  for (std::size_t host = 0; host < variant.cluster.hosts.size(); ++host) {
    plan.shape.host_of.insert(plan.shape.host_of.end(), variant.cluster.hosts[host].gpus.size(),
                              static_cast<std::int32_t>(host));
  }
  set_shape(graph, plan);
  const std::size_t hosts = variant.cluster.hosts.size();
  plan.equal_hosts = graph.groups.size() == 1 && equal_nics(variant.cluster) &&
                     static_cast<std::size_t>(graph.comm.nodes) <= hosts;
  plan.shape.heads = nvls_heads(graph);
  plan.node_of = nodes_of(graph);
  for (const nccl::HostDecision& host : job.selection.hosts) {
    plan.addresses.push_back(host.bootstrap_address.value_or(""));
  }
  // The hosts of one NVLink domain are one node to NCCL; the GPUs of one host are several nodes
  // where it may use neither P2P nor shared memory between them.
  if (graph.comm.nodes > 1) {
    set_network(variant, job, plan);
    if (hosts > 1) {
      set_measured(variant, plan);
    }
  }
  plan.wiring.p2p = p2p_pairs(graph);
  plan.wiring.shm = nccl::numeric(variant.environment, "NCCL_SHM_DISABLE", 0) != 1;
  return plan;
}

std::string ring_text(const collectives::RingOrder& ring) {
  std::vector<std::string> ranks;
  for (const RankId rank : ring) {
    ranks.push_back(std::to_string(rank.value()));
  }
  return join(ranks, " ");
}

}  // namespace busbw::scenarios
