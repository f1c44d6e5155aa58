// Shapes of rings and trees, ports of channels and the candidates to play.
#include "scenarios/plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "scenarios/plan_network.h"
#include "sim/core/check.h"
#include "sim/core/errors.h"
#include "sim/core/text.h"

namespace busbw::scenarios {
namespace {

using collectives::Algorithm;
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

/// The schedule's name of an algorithm; nothing when it is not played.
std::optional<Algorithm> playable(nccl::graph::Algorithm algorithm) {
  switch (algorithm) {
    case nccl::graph::Algorithm::kTree:
      return Algorithm::kTree;
    case nccl::graph::Algorithm::kRing:
      return Algorithm::kRing;
    default:
      return std::nullopt;
  }
}

/// The first of `choices` (fastest first by NCCL's costs) with this algorithm.
std::optional<Candidate> first_with(const std::vector<nccl::graph::Choice>& choices,
                                    Algorithm algorithm) {
  // Hierarchical is cut and played as a ring with LL or Simple is.
  const bool ours = algorithm == Algorithm::kHierarchical;
  const Algorithm wanted = ours ? Algorithm::kRing : algorithm;
  for (const nccl::graph::Choice& choice : choices) {
    const Candidate candidate{algorithm, static_cast<Protocol>(choice.protocol)};
    if (playable(choice.algorithm) == wanted &&
        !(ours && candidate.protocol == Protocol::kLowLatency128)) {
      return candidate;
    }
  }
  return std::nullopt;
}

std::string settings_text(const nccl::Environment& environment) {
  return "NCCL_ALGO='" + nccl::text(environment, "NCCL_ALGO").value_or("") + "' with NCCL_PROTO='" +
         nccl::text(environment, "NCCL_PROTO").value_or("") + "'";
}

}  // namespace

Candidates find_candidates(const Plan& plan, const Variant& variant, Bytes bytes) {
  Candidates found;
  if (plan.comm.ranks == 1) {
    found.list.push_back({});  // NCCL copies; nothing travels
    return found;
  }
  const std::vector<nccl::graph::Choice> choices = nccl::graph::choices(
      plan.tuning, plan.comm, plan.switches, nccl::graph::Collective::kAllReduce, bytes.count());
  const std::optional<Algorithm>& asked = variant.workload.algorithm;
  if (!asked && !choices.empty() && !playable(choices.front().algorithm)) {
    found.passed_over = fmt::format("{}/{}", to_string(choices.front().algorithm),
                                    to_string(choices.front().protocol));
  }
  for (const nccl::graph::Choice& choice : choices) {
    const std::optional<Algorithm> algorithm = playable(choice.algorithm);
    const bool known = std::any_of(found.list.begin(), found.list.end(),
                                   [&](const Candidate& c) { return c.algorithm == algorithm; });
    if (algorithm && !asked && !known) {
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
                            : "neither Ring nor Tree with LL, LL128 or Simple") +
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
  // The hosts of one NVLink domain are one node to NCCL.
  if (variant.cluster.hosts.size() > 1 && graph.comm.nodes > 1) {
    set_network(variant, job, plan);
  }
  plan.wiring.p2p = p2p_pairs(graph);
  plan.wiring.shm = nccl::numeric(variant.environment, "NCCL_SHM_DISABLE", 0) != 1;
  return plan;
}

Cut cut_of(const Plan& plan, const Variant& variant, Candidate candidate, Bytes bytes) {
  nccl::Call call;
  call.version = variant.version;
  call.algorithm =
      candidate.algorithm == Algorithm::kTree ? nccl::Algorithm::kTree : nccl::Algorithm::kRing;
  // Both enumerations list LL, LL128, Simple.
  call.protocol = static_cast<nccl::Protocol>(candidate.protocol);
  call.bytes = bytes;
  call.element = variant.workload.element;
  call.channels = plan.switches.rank_views ? plan.comm.channels : plan.comm.coll_channels;
  call.ranks = plan.shape.ranks;
  call.nodes = plan.hosts;
  // CollNet and NVLS, whose threads are others, are not played.
  call.most_threads = plan.tuning.most_threads[static_cast<std::size_t>(
      candidate.algorithm == Algorithm::kTree ? nccl::graph::Algorithm::kTree
                                              : nccl::graph::Algorithm::kRing)]
                                              [static_cast<std::size_t>(candidate.protocol)];
  call.buffer = Bytes(plan.comm.buffer_bytes[static_cast<std::size_t>(Protocol::kSimple)]);
  const std::vector<nccl::ChannelWork> works = nccl::channel_works(call);
  Cut cut;
  cut.channels = static_cast<std::int32_t>(works.size());
  cut.options.bytes = bytes;
  cut.options.element = variant.workload.element;
  cut.options.chunk = works.front().chunk;
  for (const nccl::ChannelWork& work : works) {
    cut.options.channel_bytes.push_back(work.bytes);
  }
  const bool sliced = works.front().slice < works.front().chunk;
  // Ring/Simple cuts a chunk of four slots into two messages of two slots each. Hierarchical has
  // no slices: its chunk is such a message.
  const bool ours = candidate.algorithm == Algorithm::kHierarchical;
  cut.options.chunk = ours ? works.front().slice : works.front().chunk;
  cut.options.slices = sliced && !ours ? 2 : 1;
  cut.slots = nccl::kSteps / (sliced ? 2 : 1);
  cut.options.slots = cut.slots;
  return cut;
}

std::string ring_text(const collectives::RingOrder& ring) {
  std::vector<std::string> ranks;
  for (const RankId rank : ring) {
    ranks.push_back(std::to_string(rank.value()));
  }
  return join(ranks, " ");
}

}  // namespace busbw::scenarios
