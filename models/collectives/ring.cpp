// Ring all-reduce, all-gather and reduce-scatter. One lane per rank and channel, as a NCCL thread
// block runs it: what arrives is sent on as soon as the rank's own share is added.
//
// All-reduce: each loop of (ranks x chunk) is reduce-scattered and all-gathered; each rank sends
// 2(n-1)/n S. All-gather and reduce-scatter: a loop is a chunk of every rank's part, each rank
// sends (n-1)/n S; sums of other ranks' parts have no place in the output and stay in the slot in
// which they came. Source: NCCL src/device/all_reduce.h, all_gather.h, reduce_scatter.h (runRing),
// 2.18 to 2.30; Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
// workstations", JPDC 69 (2009).
#include "models/collectives/ring_walk.h"
#include "sim/core/check.h"

namespace busbw::collectives {
namespace {

std::vector<Step> all_reduce_steps(RingWalk walk, Piece part, std::int64_t ranks,
                                   const Partition& partition) {
  std::vector<Share> shares(static_cast<std::size_t>(ranks));
  const std::int64_t end = part.begin + part.size;
  walk.reserve(partition.loops(part, ranks), 5 * ranks - 4);
  std::int32_t chunk = 0;
  for (std::int64_t at = part.begin; at < end;) {
    const std::int64_t size = partition.chunk_size(end - at, ranks);
    for (std::int64_t index = 0; index < ranks; ++index) {
      shares[static_cast<std::size_t>(index)] = {chunk_of(at, size, index, end), chunk++, -1};
    }
    walk.begin_loop(shares);
    if (ranks == 1) {
      walk.copy_own();
    } else {
      walk.reduce_scatter(/*pass_sum=*/true);
      walk.all_gather(/*send_own=*/false);
    }
    at += size * ranks;
  }
  return walk.take_steps();
}

/// The steps of all-gather or reduce-scatter over `part` of every rank's `block` bytes.
class BlockLoops {
 public:
  BlockLoops(const RingOrder& ring, std::int64_t block, const Partition& partition)
      : ring_(ring), block_(block), partition_(partition) {}

  [[nodiscard]] std::vector<Step> steps(RingWalk walk, Piece part, Collective collective) const {
    const auto ranks = static_cast<std::int64_t>(ring_.size());
    walk.reserve(partition_.loops(part, 1),
                 collective == Collective::kAllGather ? 2 * ranks : 3 * ranks);
    const std::int64_t end = part.begin + part.size;
    std::int32_t chunk = 0;
    std::vector<Share> shares(ring_.size());
    for (std::int64_t at = part.begin; at < end;) {
      const Piece piece = chunk_of(at, partition_.chunk_size(end - at, 1), 0, end);
      for (std::size_t index = 0; index < ring_.size(); ++index) {
        shares[index] = {{block_ * ring_[index].value() + piece.begin, piece.size}, chunk++, -1};
      }
      walk.begin_loop(shares);
      if (ranks == 1) {
        walk.copy_own();
      } else if (collective == Collective::kAllGather) {
        walk.send_and_copy_own();
        walk.all_gather(/*send_own=*/false);
      } else {
        walk.reduce_scatter(/*pass_sum=*/false);
      }
      at += piece.size;
    }
    return walk.take_steps();
  }

 private:
  const RingOrder& ring_;
  std::int64_t block_;
  const Partition& partition_;
};

Schedule ring_schedule(Collective collective, const Shape& shape, const Options& options) {
  const auto channels = static_cast<std::int32_t>(shape.rings.size());
  const Partition partition(collective, shape, options, channels);
  Schedule schedule = empty_schedule({collective, Algorithm::kRing}, shape, options, channels);
  const bool sums_in_scratch = collective == Collective::kReduceScatter;
  std::int32_t slot_count = options.slots;
  if (sums_in_scratch) {
    slot_count = SlotRing::to_pass_on(options.slots, options.slices);
    schedule.max_slots = options.slots;
  }
  const std::int64_t block = cut_bytes(collective, options.bytes, shape.ranks).count();
  std::vector<std::vector<std::int64_t>> positions;
  for (const RingOrder& ring : shape.rings) {
    positions.push_back(ring_positions(ring, shape.ranks));
  }
  for (std::int32_t rank = 0; rank < shape.ranks; ++rank) {
    std::int64_t scratch = 0;
    for (std::int32_t channel = 0; channel < channels; ++channel) {
      const auto c = static_cast<std::size_t>(channel);
      const SlotRing slots(scratch, partition.slot_size(), slot_count);
      scratch = slots.end();
      RingWalk::Settings settings;
      settings.position = positions[c][static_cast<std::size_t>(rank)];
      settings.sums_in_scratch = sums_in_scratch;
      const RingWalk walk(shape.rings[c], settings, partition, slots);
      const Piece part = partition.channel_part(channel);
      schedule.lanes.push_back(
          {RankId(rank), ChannelId(channel), "ring",
           collective == Collective::kAllReduce
               ? all_reduce_steps(walk, part, shape.ranks, partition)
               : BlockLoops(shape.rings[c], block, partition).steps(walk, part, collective)});
    }
    const bool receives_operands = collective != Collective::kAllGather && shape.ranks > 1;
    schedule.scratch_bytes = receives_operands ? Bytes(scratch) : Bytes();
  }
  return schedule;
}

}  // namespace

Schedule ring_all_reduce(const Shape& shape, const Options& options) {
  return ring_schedule(Collective::kAllReduce, shape, options);
}

Schedule ring_all_gather(const Shape& shape, const Options& options) {
  return ring_schedule(Collective::kAllGather, shape, options);
}

Schedule ring_reduce_scatter(const Shape& shape, const Options& options) {
  return ring_schedule(Collective::kReduceScatter, shape, options);
}

}  // namespace busbw::collectives
