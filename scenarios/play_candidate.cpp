// See play_candidate.h.
#include "scenarios/play_candidate.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <optional>

#include "models/collectives/make_schedule.h"
#include "models/transport/measured_wiring.h"
#include "scenarios/cut.h"
#include "scenarios/fault_outcome.h"
#include "scenarios/faults.h"
#include "scenarios/link_loads.h"
#include "scenarios/measured_player.h"
#include "scenarios/plan.h"
#include "scenarios/player.h"
#include "scenarios/simulate.h"
#include "sim/core/check.h"
#include "sim/core/errors.h"

namespace busbw::scenarios {
namespace {

using collectives::Algorithm;
using params::Protocol;

/// What each link has carried so far.
std::vector<Bytes> carried_of(const engine::Engine& engine) {
  std::vector<Bytes> carried;
  for (std::size_t i = 0; i < engine.link_count(); ++i) {
    carried.push_back(engine.usage(engine::LinkId(static_cast<std::int32_t>(i))).carried);
  }
  return carried;
}

/// `before`: what the links had carried when the time began.
Bottleneck bottleneck_of(const engine::Engine& engine, const std::vector<Bytes>& before,
                         Duration time) {
  Bottleneck worst;
  for (std::size_t i = 0; i < engine.link_count(); ++i) {
    const engine::LinkId link(static_cast<std::int32_t>(i));
    const Bandwidth capacity = engine.capacity(link);
    if (capacity == Bandwidth()) {
      continue;
    }
    const Bytes earlier = i < before.size() ? before[i] : Bytes();
    const double carried = static_cast<double>((engine.usage(link).carried - earlier).count()) * 8;
    const double possible = static_cast<double>(capacity.bps()) * time.as_seconds();
    const double utilization = possible > 0 ? carried / possible : 0;
    // A clear margin, so that links that carry the same do not swap places by a rounding.
    if (utilization > worst.utilization * (1 + 1e-6) && utilization > 0) {
      worst = {engine.name(link), capacity, utilization};
    }
  }
  return worst;
}

std::int32_t smallest_sm(const Variant& variant, const topologies::Catalog& catalog) {
  std::int32_t smallest = std::numeric_limits<std::int32_t>::max();
  for (const topologies::Machine& machine : variant.cluster.hosts) {
    const topologies::GpuModel* gpu = catalog.gpu(machine.gpu_model);
    CHECK(gpu != nullptr, "GPU model '{}'", machine.gpu_model);
    smallest = std::min(smallest, gpu->sm);
  }
  return smallest;
}

/// Payload that the host with the most of it sends to other hosts or the network's switch.
Bytes leaving_host(const collectives::Schedule& schedule,
                   const std::vector<std::int32_t>& host_of) {
  const auto host = [&](RankId node) {
    if (node.value() < schedule.ranks) {
      return host_of[node.index()];
    }
    return schedule.switches[node.index() - static_cast<std::size_t>(schedule.ranks)].host;
  };
  std::vector<Bytes> sent(host_of.size());
  for (const collectives::Lane& lane : schedule.lanes) {
    if (lane.rank.value() >= schedule.ranks) {
      continue;
    }
    for (const collectives::Step& step : lane.steps) {
      if (step.op == collectives::Op::kSend && host(step.peer) != host(lane.rank)) {
        sent[static_cast<std::size_t>(host(lane.rank))] += step.bytes;
      }
    }
  }
  return *std::max_element(sent.begin(), sent.end());
}

/// Lanes of each (rank, channel), which share a thread block.
std::map<std::pair<RankId, ChannelId>, std::int32_t> lane_counts(
    const collectives::Schedule& schedule) {
  std::map<std::pair<RankId, ChannelId>, std::int32_t> counts;
  for (const collectives::Lane& lane : schedule.lanes) {
    ++counts[{lane.rank, lane.channel}];
  }
  return counts;
}

collectives::Shape shape_for(const Plan& plan, Candidate candidate, const Cut& cut) {
  collectives::Shape shape = plan.shape;
  shape.host_of = plan.node_of;
  // The chain of CollNet goes over more channels than there are rings, and so may the cut of a
  // larger job: they repeat.
  const auto channels = static_cast<std::size_t>(cut.channels);
  for (std::size_t channel = shape.rings.size(); channel < channels; ++channel) {
    shape.rings.push_back(shape.rings[channel - plan.shape.rings.size()]);
  }
  shape.rings.resize(channels);
  if (candidate.algorithm == Algorithm::kTree) {
    for (std::size_t channel = shape.trees.size(); channel < channels; ++channel) {
      shape.trees.push_back(shape.trees[channel - plan.shape.trees.size()]);
    }
    shape.trees.resize(channels);
  }
  return shape;
}

/// Speed of a channel's block against the mean: evenly spread, neighbours far apart.
Ratio spread(const params::ThreadBlocks& blocks, ChannelId channel) {
  // Multiples of the golden ratio fill an interval evenly, however many there are.
  constexpr std::int64_t kWhole = 1'000'000;
  constexpr std::int64_t kGolden = 618'034;
  const std::int64_t place = (channel.value() * kGolden + kWhole / 2) % kWhole - kWhole / 2;
  return {kWhole + scale(place, blocks.spread), kWhole};
}

const RankPorts& ports_of(const Plan& plan, Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kTree:
    case Algorithm::kPat:
      return plan.tree_ports;
    case Algorithm::kNvls:
    case Algorithm::kNvlsTree:
      return plan.nvls_ports;
    default:
      // Hierarchical crosses hosts in the order of a ring, between ranks of equal local index.
      return plan.ring_ports;
  }
}

/// A connection of the catalogue for the measured player: all its legs as one path.
transport::MeasuredConnection as_measured(const transport::Connection& connection) {
  transport::MeasuredConnection measured;
  measured.name = connection.name;
  for (const auto* leg : {&connection.fill, &connection.path, &connection.drain}) {
    measured.path.insert(measured.path.end(), leg->begin(), leg->end());
  }
  measured.latency = connection.latency;
  measured.rate_cap = connection.rate_cap;
  return measured;
}

/// What the CPU of a process does for a call.
struct HostTime {
  Duration launch;  // all of it; the kernels are handed over while the call before runs
  Duration upload;  // of that, the work of channels, which does not hide behind that call
};

HostTime host_time(const params::HostWork& host, const Variant& variant, std::int32_t channels) {
  constexpr nccl::Version kWorkInArguments{2, 22, 3};
  const bool uploaded = variant.version < kWorkInArguments;
  const std::int32_t gpus = variant.workload.gpus_per_process;
  const Duration work = (uploaded ? host.per_channel_uploaded : host.per_channel) * channels * gpus;
  return {host.launch * gpus + work, uploaded ? work : Duration()};
}

/// The call ends when its GPUs have, but not before all of them have been given their kernels.
void add_host(Run& run, const Stage& stage) {
  const params::HostWork& host = stage.context.transports.host;
  const HostTime time = host_time(host, stage.variant, run.channels);
  const Duration alone = stage.variant.workload.timed_alone ? host.timed_alone : Duration();
  const Duration played = run.time;
  run.time = std::max(run.time + time.upload, time.launch) + alone;
  run.latency = std::max(run.latency + time.upload, time.launch) + alone;
  run.bottleneck.utilization *= played.as_seconds() / run.time.as_seconds();
}

/// What was played; `carried`: what the links had carried when it began.
struct Played {
  const collectives::Schedule& schedule;
  const collectives::Shape& shape;
  const Playback& playback;
  const std::vector<Bytes>& carried;
};

Run run_of(Candidate candidate, const Cut& cut, const Played& played,
           const engine::Engine& engine) {
  const Playback& playback = played.playback;
  Run run;
  run.algorithm = candidate.algorithm;
  run.protocol = candidate.protocol;
  run.channels = cut.channels;
  run.time = playback.period;
  run.latency = playback.time;
  run.messages = playback.messages;
  run.leaving_host = leaving_host(played.schedule, played.shape.host_of);
  run.failure = playback.failure;
  run.bottleneck = bottleneck_of(engine, played.carried, playback.period);
  return run;
}

/// Real ranks run a collective again and again: what is measured begins as the one before it has
/// left the buckets of shapers.
constexpr int kPlaysBefore = 2;

Run play_on_measured(const Stage& stage, Candidate candidate, const Cut& cut,
                     Fingerprint& fingerprint) {
  const MeasuredNetwork& network = *stage.plan.measured;
  const collectives::Shape shape = shape_for(stage.plan, candidate, cut);
  const collectives::Schedule schedule = collectives::make_schedule(
      {stage.variant.workload.collective, candidate.algorithm, shape, cut.options});
  if (schedule.needs_switch()) {
    throw InputError(collectives::to_string(candidate.algorithm) +
                     " needs a switch that reduces; measured parameters are those of ranks alone");
  }
  const std::unique_ptr<engine::Engine> engine = engine::make_engine(stage.engine);
  transport::WiringOptions inside = stage.plan.wiring;
  inside.protocol = candidate.protocol;
  transport::Wiring catalogue(*engine, stage.variant.cluster, stage.built, stage.context.transports,
                              inside);
  transport::MeasuredWiring wiring(*engine, *network.parameters,
                                   {network.mover, network.end_of_rank, stage.plan.shape.host_of});
  MeasuredPlayOptions options;
  options.slots = cut.slots;
  options.connect = [&](RankId from, RankId to, ChannelId channel) {
    return wiring.covers(from, to) ? wiring.connect(from, to)
                                   : as_measured(catalogue.connect(from, to, channel));
  };
  for (int before = 0; before < kPlaysBefore; ++before) {
    static_cast<void>(play_measured(*engine, schedule, options, fingerprint));
  }
  const std::vector<Bytes> carried = carried_of(*engine);
  const Playback playback = play_measured(*engine, schedule, options, fingerprint);
  return run_of(candidate, cut, {schedule, shape, playback, carried}, *engine);
}

transport::WiringOptions wiring_options(const Stage& stage, Candidate candidate,
                                        const collectives::Schedule& schedule) {
  const params::BlockSpeed& block = params::block_speed(stage.context.transports.blocks, stage.sm);
  transport::WiringOptions options = stage.plan.wiring;
  options.protocol = candidate.protocol;
  options.ports = ports_of(stage.plan, candidate.algorithm);
  if (candidate.algorithm == Algorithm::kDirect) {
    options.pair_ports = stage.plan.pair_ports;
  }
  options.tree = candidate.algorithm == Algorithm::kTree ||
                 candidate.algorithm == Algorithm::kNvlsTree ||
                 candidate.algorithm == Algorithm::kCollNetChain;
  options.nvls_share = block.nvls_share;
  options.nvlink_share = block.nvlink_share;
  options.slower = block.slower[static_cast<std::size_t>(candidate.protocol)];
  const std::vector<std::int32_t>& plan_nodes = stage.plan.node_of;
  for (const collectives::SwitchNode& node : schedule.switches) {
    transport::SwitchPlace& place = options.switches.emplace_back();
    if (node.kind == collectives::SwitchNode::Kind::kNvSwitch) {
      const auto first = std::find(plan_nodes.begin(), plan_nodes.end(), node.host);
      place.host = static_cast<std::size_t>(
          stage.plan.shape.host_of[static_cast<std::size_t>(first - plan_nodes.begin())]);
    }
  }
  return options;
}

/// What a lane has of its block, and the block of its speed.
struct LaneShare {
  Ratio of_block;
  Ratio of_speed;
};

LaneSpeed lane_speed(const Stage& stage, Candidate candidate, const Cut& cut, ChannelId channel,
                     LaneShare share) {
  const params::ThreadBlocks& blocks = stage.context.transports.blocks;
  const params::BlockSpeed& block = params::block_speed(blocks, stage.sm);
  const auto protocol = static_cast<std::size_t>(candidate.protocol);
  const std::int64_t full = blocks.threads[protocol];
  const Ratio part{std::min<std::int64_t>(cut.threads, full) * share.of_block.numerator,
                   full * share.of_block.denominator};
  const Ratio left = share.of_speed;
  LaneSpeed speed;
  speed.stream = block.stream[protocol] * part * spread(blocks, channel) * left;
  speed.stores_wait = blocks.stores_wait;
  speed.per_primitive = Duration::picoseconds(
      scale(scale(blocks.per_primitive[protocol].ps(), block.slower[protocol]),
            {left.denominator, left.numerator}));
  speed.read_round = blocks.round[protocol] * scale(full, part);
  speed.first_round = speed.read_round / cut.pieces;
  return speed;
}

}  // namespace

Stage::Stage(const Variant& of, const Plan& planned, const Context& within, engine::Kind kind)
    : variant(of),
      plan(planned),
      context(within),
      engine(kind),
      built(topologies::build(variant.cluster, context.catalog)),
      sm(smallest_sm(variant, context.catalog)) {}

namespace {

/// How one play is done, beside what is played.
struct PlayMode {
  bool with_faults = false;  // connections try again, and give up with NCCL's lines
  std::int32_t hottest = 0;  // links to report
};

Run play_once(const Stage& stage, Candidate candidate, const Cut& cut, PlayMode mode,
              Fingerprint& fingerprint) {
  const collectives::Shape shape = shape_for(stage.plan, candidate, cut);
  const collectives::Schedule schedule = collectives::make_schedule(
      {stage.variant.workload.collective, candidate.algorithm, shape, cut.options});
  const std::unique_ptr<engine::Engine> engine = engine::make_engine(stage.engine);
  const params::Transports& transports = stage.context.transports;
  transport::Wiring wiring(*engine, stage.variant.cluster, stage.built, transports,
                           wiring_options(stage, candidate, schedule));
  std::optional<Faults> faults;
  if (mode.with_faults) {
    faults.emplace(stage, wiring);
  }
  const auto protocol = static_cast<std::size_t>(candidate.protocol);
  PlayOptions options;
  options.slots = cut.slots;
  options.launch = transports.launch[protocol];
  options.payload_share = transports.payload_share[protocol];
  options.pieces = cut.pieces;
  options.piece_per_chunk = cut.options.slices == 1;
  LinkLoads loads;
  options.connect = [&](RankId from, RankId to, ChannelId channel) {
    transport::Connection connection = wiring.connect(from, to, channel);
    if (mode.hottest > 0) {
      loads.add(connection, from, to);
    }
    return connection;
  };
  options.connected = [&] { wiring.settle(cut.options.chunk); };
  const auto lanes = lane_counts(schedule);
  options.speed = [&](const collectives::Lane& lane) -> std::optional<LaneSpeed> {
    if (lane.rank.value() >= schedule.ranks) {
      return std::nullopt;
    }
    const std::int32_t beside = lanes.at({lane.rank, lane.channel});
    return lane_speed(stage, candidate, cut, lane.channel,
                      {lane_share(transports.blocks, candidate, lane, beside),
                       faults ? faults->speed_of(lane.rank) : Ratio{1, 1}});
  };
  options.trouble = faults ? &faults->trouble() : nullptr;
  const Playback playback = play(*engine, schedule, options, fingerprint);
  Run run = run_of(candidate, cut, {schedule, shape, playback, {}}, *engine);
  if (faults) {
    // A call of its own: others before and after it would meet other events.
    run.time = run.latency;
    run.faults = fault_outcome(stage, *faults, playback, wiring,
                               cut.options.bytes / stage.variant.workload.element);
    run.failure.reset();
    if (!run.faults->completed) {
      run.failure = playback.failure.value_or("the watchdog");
      run.time = run.latency = run.faults->end;
      run.bottleneck = {};
      return run;
    }
  }
  add_host(run, stage);
  run.hottest = loads.hottest(*engine, run.time, static_cast<std::size_t>(mode.hottest));
  return run;
}

/// Where nothing is asked for: some, on a network with a fabric file.
std::int32_t hottest_of(const Stage& stage) {
  constexpr std::int32_t kFew = 3;
  const std::vector<topologies::Network>& networks = stage.variant.cluster.networks;
  const bool fabric =
      std::any_of(networks.begin(), networks.end(),
                  [](const topologies::Network& network) { return network.fabric.has_value(); });
  return stage.context.hottest_links.value_or(fabric ? kFew : 0);
}

}  // namespace

Run play_candidate(const Stage& stage, Candidate candidate, const Cut& cut,
                   Fingerprint& fingerprint) {
  if (stage.plan.measured) {
    return play_on_measured(stage, candidate, cut, fingerprint);
  }
  PlayMode mode{!is_calm(stage.variant), hottest_of(stage)};
  Fingerprint attempt = fingerprint;
  Run run = play_once(stage, candidate, cut, mode, attempt);
  if (!mode.with_faults && run.failure) {
    // Partitions, tables or a cable of the fabric file break a connection: how it ends takes time.
    mode.with_faults = true;
    attempt = fingerprint;
    run = play_once(stage, candidate, cut, mode, attempt);
  }
  fingerprint = attempt;
  return run;
}

}  // namespace busbw::scenarios
