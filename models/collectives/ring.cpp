// Ring all-reduce: each loop of (ranks x chunk) is reduce-scattered and all-gathered around the
// ring.
//
// Each rank sends 2(n-1)/n S in 2(n-1) messages a loop (times slices). One lane per rank and
// channel, as a NCCL thread block runs it: a sum is sent on as soon as it is made. Source: NCCL
// src/device/all_reduce.h (runRing); Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms
// for clusters of workstations", JPDC 69 (2009).
#include "models/collectives/ring_walk.h"
#include "sim/core/check.h"

namespace busbw::collectives {
namespace {

std::vector<Step> walk_part(RingWalk walk, Piece part, std::int64_t ranks,
                            const Partition& partition) {
  std::vector<Share> shares(static_cast<std::size_t>(ranks));
  const std::int64_t end = part.begin + part.size;
  walk.reserve(partition.loops(part, ranks));
  std::int32_t chunk = 0;
  for (std::int64_t at = part.begin; at < end;) {
    const std::int64_t size = partition.chunk_size(end - at, ranks);
    for (std::int64_t index = 0; index < ranks; ++index) {
      shares[static_cast<std::size_t>(index)] = {chunk_of(at, size, index, end), chunk++, -1};
    }
    walk.begin_loop(shares);
    if (ranks == 1) {
      walk.copy();
    } else {
      walk.reduce_scatter(/*pass_sum=*/true);
      walk.all_gather(/*send_own=*/false);
    }
    at += size * ranks;
  }
  return walk.take_steps();
}

}  // namespace

Schedule ring_all_reduce(const Shape& shape, const Options& options) {
  const auto channels = static_cast<std::int32_t>(shape.rings.size());
  const Partition partition(options, channels);
  Schedule schedule = empty_all_reduce(Algorithm::kRing, options, shape.ranks, channels);
  std::vector<std::vector<std::int64_t>> positions;
  for (const RingOrder& ring : shape.rings) {
    positions.push_back(ring_positions(ring, shape.ranks));
  }
  for (std::int32_t rank = 0; rank < shape.ranks; ++rank) {
    std::int64_t scratch = 0;
    for (std::int32_t channel = 0; channel < channels; ++channel) {
      const auto c = static_cast<std::size_t>(channel);
      const SlotRing slots(scratch, partition.slot_size(), options.slots);
      scratch = slots.end();
      RingWalk::Settings settings;
      settings.position = positions[c][static_cast<std::size_t>(rank)];
      const RingWalk walk(shape.rings[c], settings, partition, slots);
      schedule.lanes.push_back(
          {RankId(rank), ChannelId(channel), "ring",
           walk_part(walk, partition.channel_part(channel), shape.ranks, partition)});
    }
    schedule.scratch_bytes = shape.ranks == 1 ? Bytes() : Bytes(scratch);
  }
  return schedule;
}

}  // namespace busbw::collectives
