// Hierarchical all-gather and reduce-scatter: rings across hosts among ranks of equal local index,
// and rings inside each host.
//
// A loop is a chunk of every rank's part. All-gather: the ring across hosts brings the parts of the
// rank's column, the ring inside passes each column on, round by round (a round is a host), in a
// second lane that waits for what it passes on. Reduce-scatter: the ring inside sums the parts
// that belong to one host, and the ring across adds them up host by host on the way to their owner;
// one lane, as a sum goes on from the slot in which it was made. With L ranks a host and H hosts a
// rank sends (H-1)/H S/L to other hosts and (L-1)/L S inside. Source: BlueConnect (Cho et al.,
// MLSys 2019), whose all-reduce is these two in a row. NCCL has no such algorithm.
#include "models/collectives/host_ranks.h"
#include "models/collectives/ring_walk.h"
#include "sim/core/check.h"

namespace busbw::collectives {
namespace {

struct Place {
  std::int64_t host = 0;
  std::int64_t local = 0;
};

/// The parts of ranks, of `block` bytes each.
class Blocks {
 public:
  Blocks(const HostRanks& hosts, std::int64_t block) : hosts_(hosts), block_(block) {}

  [[nodiscard]] std::int64_t hosts() const { return static_cast<std::int64_t>(hosts_.size()); }
  [[nodiscard]] std::int64_t locals() const { return static_cast<std::int64_t>(hosts_[0].size()); }
  [[nodiscard]] const RingOrder& mates(std::int64_t host) const {
    return hosts_[static_cast<std::size_t>(host)];
  }
  [[nodiscard]] RingOrder ring_across(std::int64_t local) const {
    return column(hosts_, static_cast<std::size_t>(local));
  }
  /// `piece` of the part of the rank at (host, local).
  [[nodiscard]] Share share(std::int64_t host, std::int64_t local, Piece piece,
                            std::int32_t chunk) const {
    const RankId rank = hosts_[static_cast<std::size_t>(host)][static_cast<std::size_t>(local)];
    return {{block_ * rank.value() + piece.begin, piece.size},
            chunk + static_cast<std::int32_t>(host * locals() + local),
            -1};
  }
  /// The shares of one host's ranks.
  [[nodiscard]] std::vector<Share> of_host(std::int64_t host, Piece piece,
                                           std::int32_t chunk) const {
    std::vector<Share> shares;
    for (std::int64_t local = 0; local < locals(); ++local) {
      shares.push_back(share(host, local, piece, chunk));
    }
    return shares;
  }
  /// The shares of one column.
  [[nodiscard]] std::vector<Share> of_column(std::int64_t local, Piece piece,
                                             std::int32_t chunk) const {
    std::vector<Share> shares;
    for (std::int64_t host = 0; host < hosts(); ++host) {
      shares.push_back(share(host, local, piece, chunk));
    }
    return shares;
  }

 private:
  const HostRanks& hosts_;
  std::int64_t block_;
};

class AllGatherLanes {
 public:
  AllGatherLanes(const Blocks& blocks, Place place, const Partition& partition,
                 std::int32_t first_lane)
      : blocks_(blocks),
        place_(place),
        across_(blocks.ring_across(place.local), settings(place.host, -1), partition,
                SlotRing(0, 0, 1)),
        inside_(blocks.mates(place.host), settings(place.local, first_lane), partition,
                SlotRing(0, 0, 1)) {}

  void add_loop(Piece piece, std::int32_t chunk) {
    across_.begin_loop(blocks_.of_column(place_.local, piece, chunk));
    across_.send_and_copy_own();
    across_.all_gather(/*send_own=*/false);
    for (std::int64_t step = 0; step < blocks_.hosts(); ++step) {
      const std::int64_t round = (place_.host - step + blocks_.hosts()) % blocks_.hosts();
      std::vector<Share> shares = blocks_.of_host(round, piece, chunk);
      if (step > 0) {
        shares[static_cast<std::size_t>(place_.local)].wait_step = across_.sum_step(round);
      }
      inside_.set_own(step == 0 ? Buffer::kInput : Buffer::kOutput);
      inside_.begin_loop(shares);
      inside_.all_gather(/*send_own=*/true);
    }
  }
  void append_to(std::vector<Lane>* lanes, RankId rank, ChannelId channel) {
    lanes->push_back({rank, channel, "across_hosts", across_.take_steps()});
    lanes->push_back({rank, channel, "all_gather", inside_.take_steps()});
  }

 private:
  static RingWalk::Settings settings(std::int64_t position, std::int32_t wait_lane) {
    RingWalk::Settings settings;
    settings.position = position;
    settings.wait_lane = wait_lane;
    return settings;
  }

  const Blocks& blocks_;
  Place place_;
  RingWalk across_;
  RingWalk inside_;
};

class ReduceScatterLane {
 public:
  /// Scratch slots: of sums on their way inside the host and across, and of those that start the
  /// way across, one a loop, which need their slot until they were received.
  struct Slots {
    SlotRing inside;
    SlotRing across;
    SlotRing first;
  };
  ReduceScatterLane(const Blocks& blocks, Place place, const Partition& partition, Slots slots)
      : blocks_(blocks),
        place_(place),
        partition_(partition),
        slots_(slots),
        next_mate_(neighbour(blocks.mates(place.host), place.local + 1)),
        previous_mate_(neighbour(blocks.mates(place.host), place.local - 1)),
        next_host_(neighbour(blocks.ring_across(place.local), place.host + 1)),
        previous_host_(neighbour(blocks.ring_across(place.local), place.host - 1)) {}

  void add_loop(Piece piece, std::int32_t chunk) {
    for (step_ = 1; step_ <= blocks_.hosts(); ++step_) {  // rounds host-1, host-2, ..., host
      const std::int64_t round = (place_.host - step_ + blocks_.hosts()) % blocks_.hosts();
      for (std::int64_t inner = 1; inner <= blocks_.locals(); ++inner) {
        const std::int64_t local = (place_.local - inner + blocks_.locals()) % blocks_.locals();
        const Share share = blocks_.share(round, local, piece, chunk);
        chunk_ = share.chunk;
        for (std::int32_t slice = 0; slice < partition_.slices(); ++slice) {
          const Piece part = partition_.slice(share.piece, slice);
          if (part.size == 0) {
            break;
          }
          if (inner == 1) {
            add({Op::kSend, Buffer::kInput, next_mate_, Bytes(part.begin), Bytes(), part.size});
          } else if (inner < blocks_.locals()) {
            pass_on_inside(part);
          } else {
            finish_inside(part);
          }
        }
      }
    }
  }
  std::vector<Step> take_steps() { return std::move(steps_); }

 private:
  static RankId neighbour(const RingOrder& ring, std::int64_t position) {
    const auto count = static_cast<std::int64_t>(ring.size());
    return ring[static_cast<std::size_t>((position + count) % count)];
  }

  void pass_on_inside(Piece part) {
    const Bytes slot = slots_.inside.next();
    receive(previous_mate_, slot, part);
    add_to_slot(Buffer::kInput, Bytes(part.begin), slot, part);
    send(next_mate_, slot, part);
  }

  /// The host's sum of `part` is complete: on across hosts with it.
  void finish_inside(Piece part) {
    const Bytes slot = step_ == 1 ? slots_.first.next() : slots_.inside.next();
    receive(previous_mate_, slot, part);
    const bool own = step_ == blocks_.hosts();
    if (own) {
      add({Op::kReduce, Buffer::kInput, RankId(), Bytes(part.begin), slot, part.size});
    } else {
      add_to_slot(Buffer::kInput, Bytes(part.begin), slot, part);
    }
    if (step_ == 1) {
      send(next_host_, slot, part);
      return;
    }
    const Bytes sum = slots_.across.next();
    receive(previous_host_, sum, part);
    if (own) {
      add({Op::kReduce, Buffer::kOutput, RankId(), Bytes(part.begin), sum, part.size});
    } else {
      add_to_slot(Buffer::kScratch, slot, sum, part);
      send(next_host_, sum, part);
    }
  }

  void receive(RankId from, Bytes slot, Piece part) {
    add({Op::kReceive, Buffer::kScratch, from, slot, Bytes(), part.size});
  }
  void send(RankId to, Bytes slot, Piece part) {
    add({Op::kSend, Buffer::kScratch, to, slot, Bytes(), part.size});
  }
  void add_to_slot(Buffer buffer, Bytes offset, Bytes slot, Piece part) {
    add({Op::kAccumulate, buffer, RankId(), offset, slot, part.size});
  }
  void add(const Move& move) { steps_.push_back(make_step(move, chunk_)); }

  const Blocks& blocks_;
  Place place_;
  const Partition& partition_;
  Slots slots_;
  RankId next_mate_;
  RankId previous_mate_;
  RankId next_host_;
  RankId previous_host_;
  std::int64_t step_ = 0;
  std::int32_t chunk_ = 0;
  std::vector<Step> steps_;
};

/// Calls add(piece, number of its first chunk) for each loop over the channel's part.
template <class Lanes>
void walk_part(Lanes* lanes, const Partition& partition, std::int32_t channel, std::int64_t ranks) {
  const Piece part = partition.channel_part(channel);
  const std::int64_t end = part.begin + part.size;
  std::int32_t chunk = 0;
  for (std::int64_t at = part.begin; at < end;) {
    const Piece piece = chunk_of(at, partition.chunk_size(end - at, 1), 0, end);
    lanes->add_loop(piece, chunk);
    chunk += static_cast<std::int32_t>(ranks);
    at += piece.size;
  }
}

ReduceScatterLane::Slots slots_of(const Partition& partition, const Options& options,
                                  std::int64_t hosts, std::int64_t* scratch) {
  const std::int64_t size = partition.slot_size();
  const std::int32_t slots = SlotRing::to_pass_on(options.slots, options.slices);
  const SlotRing inside(*scratch, size, slots);
  const SlotRing across(inside.end(), size, slots);
  // A sum that starts a loop's way across is received once as many sends as may be ahead follow;
  // a loop has hosts - 1 a slice. One loop more for the last, which may have fewer slices.
  const std::int64_t loops = divide_up(options.slots + 1, (hosts - 1) * options.slices) + 1;
  const SlotRing first(across.end(), size, static_cast<std::int32_t>(loops) * options.slices);
  *scratch = first.end();
  return {inside, across, first};
}

Schedule hierarchical_schedule(Collective collective, const Shape& shape, const Options& options) {
  const auto channels = static_cast<std::int32_t>(shape.rings.size());
  CHECK(channels > 0, "no ring");
  const HostRanks first = host_ranks(shape.host_of, shape.rings[0]);
  if (first.size() == 1 || first[0].size() == 1) {  // one of the two rings is all there is
    Schedule schedule = collective == Collective::kAllGather ? ring_all_gather(shape, options)
                                                             : ring_reduce_scatter(shape, options);
    schedule.algorithm = Algorithm::kHierarchical;
    return schedule;
  }
  const Partition partition(collective, shape, options, channels);
  Schedule schedule =
      empty_schedule({collective, Algorithm::kHierarchical}, shape, options, channels);
  if (collective == Collective::kReduceScatter) {
    schedule.max_slots = options.slots;
  }
  const std::int64_t block = cut_bytes(collective, options.bytes, shape.ranks).count();
  std::vector<HostRanks> hosts;
  for (const RingOrder& ring : shape.rings) {
    ring_positions(ring, shape.ranks);
    hosts.push_back(host_ranks(shape.host_of, ring));
  }
  for (std::int32_t rank = 0; rank < shape.ranks; ++rank) {
    std::int64_t scratch = 0;
    for (std::int32_t channel = 0; channel < channels; ++channel) {
      const Blocks blocks(hosts[static_cast<std::size_t>(channel)], block);
      Place place;
      place.host = shape.host_of[static_cast<std::size_t>(rank)];
      place.local = local_of(hosts[static_cast<std::size_t>(channel)], place.host, RankId(rank));
      if (collective == Collective::kAllGather) {
        AllGatherLanes lanes(blocks, place, partition,
                             static_cast<std::int32_t>(schedule.lanes.size()));
        walk_part(&lanes, partition, channel, shape.ranks);
        lanes.append_to(&schedule.lanes, RankId(rank), ChannelId(channel));
      } else {
        ReduceScatterLane lane(blocks, place, partition,
                               slots_of(partition, options, blocks.hosts(), &scratch));
        walk_part(&lane, partition, channel, shape.ranks);
        schedule.lanes.push_back(
            {RankId(rank), ChannelId(channel), "reduce_scatter", lane.take_steps()});
      }
    }
    schedule.scratch_bytes = Bytes(scratch);
  }
  return schedule;
}

}  // namespace

Schedule hierarchical_all_gather(const Shape& shape, const Options& options) {
  return hierarchical_schedule(Collective::kAllGather, shape, options);
}

Schedule hierarchical_reduce_scatter(const Shape& shape, const Options& options) {
  return hierarchical_schedule(Collective::kReduceScatter, shape, options);
}

}  // namespace busbw::collectives
