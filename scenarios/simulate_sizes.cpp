// One variant: every size of the workload with NCCL's choice and what stands beside it.
#include <algorithm>
#include <limits>
#include <memory>

#include "models/collectives/make_schedule.h"
#include "scenarios/plan.h"
#include "scenarios/player.h"
#include "scenarios/simulate.h"
#include "sim/core/check.h"

namespace busbw::scenarios {
namespace {

using collectives::Algorithm;
using params::Protocol;

Bottleneck bottleneck_of(const engine::Engine& engine, Duration time) {
  Bottleneck worst;
  for (std::size_t i = 0; i < engine.link_count(); ++i) {
    const engine::LinkId link(static_cast<std::int32_t>(i));
    const Bandwidth capacity = engine.capacity(link);
    if (capacity == Bandwidth()) {
      continue;
    }
    const double carried = static_cast<double>(engine.usage(link).carried.count()) * 8;
    const double possible = static_cast<double>(capacity.bps()) * time.as_seconds();
    const double utilization = possible > 0 ? carried / possible : 0;
    // A clear margin, so that links that carry the same do not swap places by a rounding.
    if (utilization > worst.utilization * (1 + 1e-6) && utilization > 0) {
      worst = {engine.name(link), capacity, utilization};
    }
  }
  return worst;
}

struct Stage {
  const Variant& variant;
  const Context& context;
  const topologies::BuiltCluster& built;
  const Plan& plan;
  engine::Kind engine;
  std::int32_t sm = 0;  // smallest compute capability, as NCCL takes it
};

std::int32_t smallest_sm(const Variant& variant, const topologies::Catalog& catalog) {
  std::int32_t smallest = std::numeric_limits<std::int32_t>::max();
  for (const topologies::Machine& machine : variant.cluster.hosts) {
    const topologies::GpuModel* gpu = catalog.gpu(machine.gpu_model);
    CHECK(gpu != nullptr, "GPU model '{}'", machine.gpu_model);
    smallest = std::min(smallest, gpu->sm);
  }
  return smallest;
}

/// Payload that the host with the most of it sends to other hosts.
Bytes leaving_host(const collectives::Schedule& schedule,
                   const std::vector<std::int32_t>& host_of) {
  std::vector<Bytes> sent(host_of.size());
  for (const collectives::Lane& lane : schedule.lanes) {
    const std::int32_t host = host_of[lane.rank.index()];
    for (const collectives::Step& step : lane.steps) {
      if (step.op == collectives::Op::kSend && host_of[step.peer.index()] != host) {
        sent[static_cast<std::size_t>(host)] += step.bytes;
      }
    }
  }
  return *std::max_element(sent.begin(), sent.end());
}

Run play_candidate(const Stage& stage, Candidate candidate, Bytes bytes, Fingerprint& fingerprint) {
  const Cut cut = cut_of(stage.plan, stage.variant, candidate, bytes);
  collectives::Shape shape = stage.plan.shape;
  shape.rings.resize(static_cast<std::size_t>(cut.channels));
  shape.trees.resize(static_cast<std::size_t>(cut.channels));
  const collectives::Schedule schedule = collectives::make_schedule(
      {collectives::Collective::kAllReduce, candidate.algorithm, shape, cut.options});
  const std::unique_ptr<engine::Engine> engine = engine::make_engine(stage.engine);
  transport::WiringOptions wiring_options = stage.plan.wiring;
  wiring_options.protocol = candidate.protocol;
  // Hierarchical crosses hosts in the order of a ring, between ranks of equal local index.
  wiring_options.ports =
      candidate.algorithm == Algorithm::kTree ? stage.plan.tree_ports : stage.plan.ring_ports;
  transport::Wiring wiring(*engine, stage.variant.cluster, stage.built, stage.context.transports,
                           wiring_options);
  const auto protocol = static_cast<std::size_t>(candidate.protocol);
  PlayOptions options;
  options.slots = cut.slots;
  options.launch = stage.context.transports.launch[protocol];
  options.payload_share = stage.context.transports.payload_share[protocol];
  options.connect = [&](RankId from, RankId to, ChannelId channel) {
    transport::Connection connection = wiring.connect(from, to, channel);
    if (candidate.algorithm == Algorithm::kTree) {
      const Bandwidth limit =
          params::tree_connection_limit(stage.context.transports, stage.sm, stage.plan.hosts);
      connection.rate_cap = connection.rate_cap ? std::min(*connection.rate_cap, limit) : limit;
    }
    return connection;
  };
  const Playback playback = play(*engine, schedule, options, fingerprint);
  Run run;
  run.algorithm = candidate.algorithm;
  run.protocol = candidate.protocol;
  run.channels = cut.channels;
  run.time = playback.time;
  run.messages = playback.messages;
  run.leaving_host = leaving_host(schedule, shape.host_of);
  run.failure = playback.failure;
  run.bottleneck = bottleneck_of(*engine, playback.time);
  return run;
}

void set_rates(SizeResult& result, std::int32_t ranks) {
  const double seconds = result.chosen.time.as_seconds();
  const Ratio factor = collectives::busbw_factor(result.collective, ranks);
  result.algbw_GBps = static_cast<double>(result.bytes.count()) / seconds / 1e9;
  result.busbw_GBps = result.algbw_GBps * static_cast<double>(factor.numerator) /
                      static_cast<double>(factor.denominator);
}

SizeResult simulate_size(const Stage& stage, Bytes bytes, Fingerprint& fingerprint) {
  SizeResult result;
  result.collective = stage.variant.workload.collective;
  result.bytes = bytes;
  result.count = bytes / stage.variant.workload.element;
  const Candidates candidates = candidates_of(stage.plan, stage.variant, bytes);
  result.passed_over = candidates.passed_over;
  for (const Candidate& candidate : candidates.list) {
    result.runs.push_back(play_candidate(stage, candidate, bytes, fingerprint));
  }
  result.chosen = result.runs.front();
  set_rates(result, stage.plan.shape.ranks);
  return result;
}

}  // namespace

std::vector<SizeResult> simulate_sizes(const Variant& variant, const Plan& plan,
                                       const Context& context, engine::Kind engine,
                                       Fingerprint& fingerprint) {
  const topologies::BuiltCluster built = topologies::build(variant.cluster, context.catalog);
  const Stage stage{variant, context, built, plan, engine, smallest_sm(variant, context.catalog)};
  std::vector<SizeResult> results;
  for (const Bytes bytes : variant.workload.sizes) {
    results.push_back(simulate_size(stage, bytes, fingerprint));
  }
  return results;
}

}  // namespace busbw::scenarios
