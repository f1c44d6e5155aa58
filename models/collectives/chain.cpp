// Broadcast and reduce along a ring, pipelined chunk by chunk.
//
// Broadcast: from the root along the ring to the rank before it. Reduce: from the rank after the
// root along the ring to the root, each rank adding its own. Every rank but the last (broadcast)
// or the root (reduce) sends S once. A sum on its way has no place in the output, which exists on
// the root alone: it stays in the slot in which it came. Source: NCCL src/device/broadcast.h,
// reduce.h (runRing), 2.18 to 2.30.
#include "models/collectives/ring_walk.h"
#include "sim/core/check.h"

namespace busbw::collectives {
namespace {

/// One rank's place on the chain; the ends have one neighbour.
struct Link {
  std::optional<RankId> from;
  std::optional<RankId> to;
};

class ChainLane {
 public:
  ChainLane(Link link, const Partition& partition, SlotRing slots)
      : link_(link), partition_(partition), slots_(slots) {}

  std::vector<Step> steps(Collective collective, Piece part) {
    const std::int64_t end = part.begin + part.size;
    steps_.reserve(static_cast<std::size_t>(3 * partition_.loops(part, 1) * partition_.slices()));
    for (std::int64_t at = part.begin; at < end; ++chunk_) {
      const Piece chunk = chunk_of(at, partition_.chunk_size(end - at, 1), 0, end);
      for (std::int32_t slice = 0; slice < partition_.slices(); ++slice) {
        const Piece piece = partition_.slice(chunk, slice);
        if (piece.size == 0) {
          break;
        }
        collective == Collective::kBroadcast ? broadcast(piece) : reduce(piece);
      }
      at += chunk.size;
    }
    return std::move(steps_);
  }

 private:
  void broadcast(Piece piece) {
    const Bytes at(piece.begin);
    if (link_.from) {
      add({Op::kReceive, Buffer::kOutput, *link_.from, at, Bytes(), piece.size});
    }
    if (link_.to) {
      const Buffer source = link_.from ? Buffer::kOutput : Buffer::kInput;
      add({Op::kSend, source, *link_.to, at, Bytes(), piece.size});
    }
    if (!link_.from) {
      add({Op::kCopy, Buffer::kInput, RankId(), at, at, piece.size});
    }
  }

  void reduce(Piece piece) {
    const Bytes at(piece.begin);
    if (!link_.from) {
      if (link_.to) {
        add({Op::kSend, Buffer::kInput, *link_.to, at, Bytes(), piece.size});
      } else {
        add({Op::kCopy, Buffer::kInput, RankId(), at, at, piece.size});
      }
      return;
    }
    const Bytes slot = slots_.next();
    add({Op::kReceive, Buffer::kScratch, *link_.from, slot, Bytes(), piece.size});
    if (link_.to) {
      add({Op::kAccumulate, Buffer::kInput, RankId(), at, slot, piece.size});
      add({Op::kSend, Buffer::kScratch, *link_.to, slot, Bytes(), piece.size});
    } else {
      add({Op::kReduce, Buffer::kInput, RankId(), at, slot, piece.size});
    }
  }

  void add(const Move& move) { steps_.push_back(make_step(move, chunk_)); }

  Link link_;
  const Partition& partition_;
  SlotRing slots_;
  std::vector<Step> steps_;
  std::int32_t chunk_ = 0;
};

Link link_of(const RingOrder& ring, std::int64_t position, std::int64_t root, bool from_root) {
  const auto n = static_cast<std::int64_t>(ring.size());
  // Place on the chain: the root is the first of a broadcast, the last of a reduce.
  const std::int64_t place = (position - root + (from_root ? 0 : n - 1) + n) % n;
  Link link;
  if (place > 0) {
    link.from = ring[static_cast<std::size_t>((position + n - 1) % n)];
  }
  if (place < n - 1) {
    link.to = ring[static_cast<std::size_t>((position + 1) % n)];
  }
  return link;
}

Schedule chain_schedule(Collective collective, const Shape& shape, const Options& options) {
  const auto channels = static_cast<std::int32_t>(shape.rings.size());
  const Partition partition(collective, shape, options, channels);
  Schedule schedule = empty_schedule({collective, Algorithm::kRing}, shape, options, channels);
  const bool broadcast = collective == Collective::kBroadcast;
  if (!broadcast) {
    schedule.max_slots = options.slots;
  }
  std::vector<std::vector<std::int64_t>> positions;
  for (const RingOrder& ring : shape.rings) {
    positions.push_back(ring_positions(ring, shape.ranks));
  }
  for (std::int32_t rank = 0; rank < shape.ranks; ++rank) {
    std::int64_t scratch = 0;
    for (std::int32_t channel = 0; channel < channels; ++channel) {
      const std::vector<std::int64_t>& place = positions[static_cast<std::size_t>(channel)];
      const Link link =
          link_of(shape.rings[static_cast<std::size_t>(channel)],
                  place[static_cast<std::size_t>(rank)], place[options.root.index()], broadcast);
      const SlotRing slots(scratch, partition.slot_size(), SlotRing::to_pass_on(options.slots, 1));
      scratch = slots.end();
      schedule.lanes.push_back(
          {RankId(rank), ChannelId(channel), "chain",
           ChainLane(link, partition, slots).steps(collective, partition.channel_part(channel))});
    }
    schedule.scratch_bytes = broadcast || shape.ranks == 1 ? Bytes() : Bytes(scratch);
  }
  return schedule;
}

}  // namespace

Schedule ring_broadcast(const Shape& shape, const Options& options) {
  return chain_schedule(Collective::kBroadcast, shape, options);
}

Schedule ring_reduce(const Shape& shape, const Options& options) {
  return chain_schedule(Collective::kReduce, shape, options);
}

}  // namespace busbw::collectives
