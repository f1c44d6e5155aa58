// See candidate_runs.h.
#include "scenarios/candidate_runs.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "scenarios/faults.h"
#include "scenarios/job.h"
#include "sim/core/check.h"
#include "sim/core/errors.h"

namespace busbw::scenarios {
namespace {

using collectives::Algorithm;
using collectives::Collective;

/// Jobs that `auto` plays whole.
constexpr std::int32_t kMostRanks = 64;
constexpr Bytes kMostBytes = Bytes::gib(2);
/// What `steady` plays of larger sizes, and `auto` with more ranks.
constexpr Bytes kSteadyBytes = Bytes::mib(256);
/// Fewer nodes than these are cases of their own: on two, a tree's edges carry both ways alike.
constexpr std::int32_t kLeastNodes = 4;
constexpr std::int32_t kLeastLarger = 6;

constexpr std::int64_t kCopyWidth = 16;  // of NCCL's kernels

/// What the time of a candidate grows with on more hosts.
enum class Growth { kRanks, kTreeHeight, kNothing };

/// Nothing: neither; such a candidate is always played whole.
std::optional<Growth> growth_of(Candidate candidate, Collective collective) {
  switch (candidate.algorithm) {
    case Algorithm::kRing:
    case Algorithm::kPat:
      return Growth::kRanks;
    case Algorithm::kTree:
    case Algorithm::kNvlsTree:
      return Growth::kTreeHeight;
    case Algorithm::kNvls:
    case Algorithm::kCollNetDirect:
    case Algorithm::kCollNetChain:
      return Growth::kNothing;
    case Algorithm::kDirect:
      return collective == Collective::kSendRecv ? Growth::kNothing : Growth::kRanks;
    case Algorithm::kHierarchical:
      return std::nullopt;  // a ring between hosts and one inside: neither share stays the same
  }
  CHECK(false, "algorithm {}", static_cast<int>(candidate.algorithm));
}

/// Edges between nodes on the way to the root, in thousandths: nine tenths of the longest way,
/// one of the mean. The root waits for the longest, and each node the longer the fuller its
/// subtrees are; the weights are those by which played jobs of 4 to 8 nodes come out
/// (steady_state_test).
std::int64_t tree_height(const Plan& plan) {
  std::int64_t longest = 0;
  std::int64_t edges = 0;
  std::int64_t ways = 0;
  for (const collectives::TreeParents& tree : plan.shape.trees) {
    for (std::size_t rank = 0; rank < tree.size(); ++rank) {
      std::int64_t way = 0;
      std::size_t at = rank;
      while (tree[at]) {
        const std::size_t parent = tree[at]->index();
        way += plan.node_of[parent] != plan.node_of[at] ? 1 : 0;
        at = parent;
      }
      longest = std::max(longest, way);
      edges += way;
      ++ways;
    }
  }
  return 900 * longest + 100 * edges / std::max<std::int64_t>(1, ways);
}

std::int64_t extent_of(const Plan& plan, Growth growth) {
  switch (growth) {
    case Growth::kRanks:
      return plan.shape.ranks;
    case Growth::kTreeHeight:
      return tree_height(plan);
    case Growth::kNothing:
      return 0;
  }
  CHECK(false, "growth {}", static_cast<int>(growth));
}

/// The cut of `share` of the data, for as many ranks or for others. Chunks, channels and threads
/// stay.
Cut part_of(const Cut& cut, Collective collective, Ratio share, std::int32_t from,
            std::int32_t to) {
  const std::int64_t unit = std::max(kCopyWidth, cut.options.element.count());
  const auto part = [&](Bytes whole) {
    const std::int64_t bytes = scale(whole.count(), share);
    return whole == Bytes() ? whole : Bytes(std::max(unit, bytes - bytes % unit));
  };
  Bytes sum;
  Cut smaller = cut;
  for (Bytes& bytes : smaller.options.channel_bytes) {
    bytes = part(bytes);
    sum += bytes;
  }
  if (cut.options.channel_bytes.empty()) {
    sum = part(collectives::cut_bytes(collective, cut.options.bytes, from));
  }
  smaller.options.bytes = sum * (collectives::cuts_by_rank(collective) ? to : 1);
  return smaller;
}

/// The cut of a job on `from` ranks for `to` ranks, each message as large as before: of a ring
/// all-reduce each rank has its share of the data, and collectives that are cut by rank keep
/// theirs.
Cut on_ranks(const Cut& cut, Candidate candidate, Collective collective, std::int32_t from,
             std::int32_t to) {
  const bool shared =
      collective == Collective::kAllReduce && candidate.algorithm == Algorithm::kRing;
  return part_of(cut, collective, shared ? Ratio{to, from} : Ratio{1, 1}, from, to);
}

/// A value that is `from` at `small` and `to` at `large`, on the line through both.
struct Line {
  std::int64_t small = 0;
  std::int64_t large = 0;
  std::int64_t extent = 0;

  [[nodiscard]] std::int64_t at(std::int64_t from, std::int64_t to) const {
    return large == small ? to : to + scale(to - from, {extent - large, large - small});
  }
  [[nodiscard]] Duration at(Duration from, Duration to) const {
    return Duration::picoseconds(at(from.ps(), to.ps()));
  }
  /// Both runs' bottleneck, and what else stays as it is, is that of the larger one.
  [[nodiscard]] Run at(const Run& from, Run to) const {
    to.time = at(from.time, to.time);
    to.latency = at(from.latency, to.latency);
    to.messages = at(from.messages, to.messages);
    to.leaving_host = Bytes(at(from.leaving_host.count(), to.leaving_host.count()));
    return to;
  }
};

/// Least of the two sizes from which a line is drawn: NVLS and CollNet overlap their loops, each a
/// chunk for every head on every channel, and fewer than four of them say nothing of many.
Bytes least_steady(const Plan& plan, Candidate candidate, const Cut& cut, Bytes usual) {
  const bool loops = candidate.algorithm == Algorithm::kNvls ||
                     candidate.algorithm == Algorithm::kNvlsTree ||
                     candidate.algorithm == Algorithm::kCollNetDirect;
  constexpr std::int64_t kLoops = 4;
  const std::int64_t heads = plan.shape.heads.empty()
                                 ? plan.shape.ranks / std::max(1, plan.hosts)
                                 : static_cast<std::int64_t>(plan.shape.heads.front().size());
  const Bytes needed = loops ? cut.options.chunk * (heads * cut.channels * kLoops) : Bytes();
  Bytes most = usual;
  while (most / 2 < needed) {
    most = most * 2;
  }
  return most;
}

/// What a byte adds to the time from `small` to `large`, in picoseconds.
double cost_of_bytes(const Line& bytes, const Run& small, const Run& large) {
  return static_cast<double>((large.time - small.time).ps()) /
         static_cast<double>(std::max<std::int64_t>(1, bytes.large - bytes.small));
}

/// Whether the time grows from `small` to `large` as it does from there on. `before` is how it grew
/// up to `small`, per byte; nothing where that was not played.
///
/// The busiest link must have had as much more time as it needs for the bytes that were added:
/// while latency rules, bytes cost less, and a line through two such jobs would soon be above what
/// the link carries. And either the link is full, or bytes cost what they cost before: a job of few
/// loops, which do not overlap yet, has idle links too.
bool is_steady(const Line& bytes, const Run& small, const Run& large,
               std::optional<double> before) {
  constexpr double kNear = 0.03;
  constexpr double kSame = 0.015;  // channels of a host drift apart through many sizes
  constexpr double kFull = 0.95;
  const double cost = cost_of_bytes(bytes, small, large);
  const double busy = large.bottleneck.utilization * static_cast<double>(large.time.ps()) /
                      static_cast<double>(std::max<std::int64_t>(1, bytes.large));
  const bool same = before && std::abs(cost - *before) <= kSame * *before;
  return cost >= (1 - kNear) * busy && (large.bottleneck.utilization >= kFull || same);
}

/// Holds an extrapolated run to the busiest link of the played one, which carries `to` where it
/// carried `from`: no time is below that, and the utilization shown is that of the whole.
void hold_to_link(const Run& played, Bytes from, Bytes to, Run& run) {
  const double more = static_cast<double>(to.count()) /
                      static_cast<double>(std::max<std::int64_t>(1, from.count()));
  const double busy = played.bottleneck.utilization * static_cast<double>(played.time.ps()) * more;
  const Duration least = Duration::picoseconds(std::llround(busy));
  if (run.time < least) {
    run.latency += least - run.time;
    run.time = least;
  }
  run.bottleneck.utilization = busy / static_cast<double>(std::max<std::int64_t>(1, run.time.ps()));
}

/// The variant on its first hosts, with as much of each network's trunk.
Variant with_hosts(const Variant& variant, std::int32_t hosts) {
  Variant smaller = variant;
  const auto before = static_cast<std::int64_t>(variant.cluster.hosts.size());
  smaller.cluster.hosts.resize(static_cast<std::size_t>(hosts));
  smaller.inventories.resize(static_cast<std::size_t>(hosts));
  for (topologies::Network& network : smaller.cluster.networks) {
    network.trunk = network.trunk * Ratio{hosts, before};
  }
  return smaller;
}

/// Nodes of the larger job from which the time of `plan` follows, which has more. Even but for
/// trees: NCCL lets the rings of every other node cross rails.
std::int32_t larger_of(const Plan& plan, Growth growth) {
  const std::int32_t a_node = plan.shape.ranks / plan.hosts;
  const std::int32_t nodes = std::clamp(kMostRanks / a_node, kLeastLarger, plan.hosts - 1);
  return growth == Growth::kTreeHeight ? nodes : nodes / 2 * 2;
}

bool has_smaller(const Plan& plan) {
  return plan.equal_hosts && plan.hosts > kLeastLarger;
}

}  // namespace

std::int32_t played_ranks(const Plan& plan) {
  if (plan.shape.ranks <= kMostRanks || !has_smaller(plan)) {
    return plan.shape.ranks;
  }
  return plan.shape.ranks / plan.hosts * larger_of(plan, Growth::kTreeHeight);
}

/// The same job on fewer hosts.
struct CandidateRuns::Smaller {
  Variant variant;
  Plan plan;
  std::optional<Stage> stage;
};

/// Two of them to draw a line through.
struct CandidateRuns::Pair {
  const Smaller* small = nullptr;
  const Smaller* large = nullptr;
  Growth growth = Growth::kNothing;
};

CandidateRuns::CandidateRuns(const Variant& variant, const Plan& plan, const Context& context,
                             EngineChoice engine)
    : choice_(engine), stage_(variant, plan, context, engine.kind) {}

CandidateRuns::~CandidateRuns() = default;

Run CandidateRuns::run(Candidate candidate, Bytes bytes, Fingerprint& fingerprint) {
  const Cut cut = cut_of(stage_.plan, stage_.variant, candidate, bytes);
  Run run = on_level(candidate, cut, fingerprint);
  run.level_why = run.steady.empty() ? why_played(candidate) : why_steady(cut.options.bytes);
  return run;
}

Run CandidateRuns::on_level(Candidate candidate, const Cut& cut, Fingerprint& fingerprint) {
  // What an event does to a part of the job says nothing of the whole.
  if (choice_.level == Level::kPlayed || stage_.plan.measured || !is_calm(stage_.variant)) {
    return play_candidate(stage_, candidate, cut, fingerprint);
  }
  if (choice_.level == Level::kSteady || stage_.plan.shape.ranks > kMostRanks) {
    if (std::optional<Run> run = in_hosts(candidate, cut, fingerprint)) {
      return *std::move(run);
    }
  }
  return in_bytes(stage_, candidate, cut, fingerprint);
}

std::string CandidateRuns::why_played(Candidate candidate) const {
  if (choice_.level == Level::kPlayed) {
    return "asked for";
  }
  if (stage_.plan.measured) {
    return "parameters were measured";
  }
  if (!is_calm(stage_.variant)) {
    return "events hit parts of a job";
  }
  const std::int32_t ranks = stage_.plan.shape.ranks;
  if (choice_.level == Level::kAuto && ranks <= kMostRanks) {
    return fmt::format("{} ranks are at most {}, sizes at most {}", ranks, kMostRanks,
                       to_string(kMostBytes));
  }
  const bool grows = growth_of(candidate, stage_.variant.workload.collective).has_value();
  return has_smaller(stage_.plan) && grows ? "no smaller job stands for it"
         : grows                           ? "hosts differ or are few"
                                           : "the algorithm has no steady state";
}

std::string CandidateRuns::why_steady(Bytes bytes) const {
  if (choice_.level == Level::kSteady) {
    return "asked for";
  }
  const std::int32_t ranks = stage_.plan.shape.ranks;
  return ranks > kMostRanks
             ? fmt::format("{} ranks are more than {}", ranks, kMostRanks)
             : fmt::format("{} is more than {}", to_string(bytes), to_string(kMostBytes));
}

Run CandidateRuns::in_bytes(const Stage& stage, Candidate candidate, const Cut& cut,
                            Fingerprint& fingerprint) {
  const bool steady = choice_.level == Level::kSteady || stage_.plan.shape.ranks > kMostRanks;
  const Bytes whole = cut.options.bytes;
  const Collective collective = stage.variant.workload.collective;
  const std::int32_t ranks = stage.plan.shape.ranks;
  const auto part = [&](Bytes bytes) {
    return part_of(cut, collective, {bytes.count(), whole.count()}, ranks, ranks);
  };
  const auto play = [&](Bytes bytes) {
    return play_candidate(stage, candidate, part(bytes), fingerprint);
  };
  std::optional<Run> small;
  std::optional<double> before;
  Bytes most = least_steady(stage.plan, candidate, cut, steady ? kSteadyBytes : kMostBytes);
  for (; most < whole; most = most * 2) {
    if (!small) {
      small = play(most / 2);
    }
    Run large = play(most);
    if (small->failure || large.failure) {  // how a part ends says nothing of the whole
      break;
    }
    const Line line{part(most / 2).options.bytes.count(), part(most).options.bytes.count(),
                    whole.count()};
    if (is_steady(line, *small, large, before)) {
      Run run = line.at(*small, large);
      hold_to_link(large, Bytes(line.large), whole, run);
      for (HotLink& link : run.hottest) {
        link.carried = Bytes(scale(link.carried.count(), {line.extent, line.large}));
      }
      run.steady = fmt::format("{} and {}", to_string(most / 2), to_string(most));
      return run;
    }
    before = cost_of_bytes(line, *small, large);
    small = std::move(large);
  }
  return play_candidate(stage, candidate, cut, fingerprint);
}

std::optional<Run> CandidateRuns::in_hosts(Candidate candidate, const Cut& cut,
                                           Fingerprint& fingerprint) {
  const std::optional<Pair> pair = pair_for(candidate);
  if (!pair) {
    return std::nullopt;
  }
  const Collective collective = stage_.variant.workload.collective;
  const std::int32_t ranks = stage_.plan.shape.ranks;
  const auto run_on = [&](const Smaller& smaller) {
    return in_bytes(*smaller.stage, candidate,
                    on_ranks(cut, candidate, collective, ranks, smaller.plan.shape.ranks),
                    fingerprint);
  };
  const Line line{extent_of(pair->small->plan, pair->growth),
                  extent_of(pair->large->plan, pair->growth), extent_of(stage_.plan, pair->growth)};
  const Run first = run_on(*pair->small);
  const Run second = run_on(*pair->large);
  Run run = line.at(first, second);
  hold_to_link(second, second.leaving_host, run.leaving_host, run);
  run.steady = fmt::format("{} and {} hosts{}{}", pair->small->variant.cluster.hosts.size(),
                           pair->large->variant.cluster.hosts.size(),
                           run.steady.empty() ? "" : ", ", run.steady);
  return run;
}

std::optional<CandidateRuns::Pair> CandidateRuns::pair_for(Candidate candidate) {
  const std::optional<Growth> growth = growth_of(candidate, stage_.variant.workload.collective);
  const std::int32_t nodes = stage_.plan.hosts;
  if (!growth || !has_smaller(stage_.plan)) {
    return std::nullopt;
  }
  const std::int32_t large = larger_of(stage_.plan, *growth);
  const auto hosts = [&](std::int32_t count) {
    return static_cast<std::int32_t>(stage_.variant.cluster.hosts.size()) / nodes * count;
  };
  Pair pair;
  pair.growth = *growth;
  pair.large = on_hosts(hosts(large));
  if (pair.large == nullptr) {
    return std::nullopt;
  }
  pair.small = on_hosts(hosts(std::max(kLeastNodes, large / 4 * 2)));
  return pair.small == nullptr ? std::nullopt : std::optional(pair);
}

const CandidateRuns::Smaller* CandidateRuns::on_hosts(std::int32_t hosts) {
  const auto [entry, fresh] = smaller_.try_emplace(hosts);
  if (fresh) {
    auto smaller = std::make_unique<Smaller>();
    smaller->variant = with_hosts(stage_.variant, hosts);
    const Job job = decide(smaller->variant, stage_.context.catalog);
    if (job.selection.outcome == nccl::Outcome::kRuns) {
      smaller->plan = make_plan(smaller->variant, job);
      smaller->stage.emplace(smaller->variant, smaller->plan, stage_.context, choice_.kind);
      entry->second = std::move(smaller);
    }
  }
  return entry->second.get();
}

}  // namespace busbw::scenarios
