// PAT: all-gather and reduce-scatter through binomial trees, aggregated. See generate_switch.h.
//
// The part of rank b goes through a tree over the distances k = (rank - b) mod n: from k to k + 2^d
// for every 2^d below the lowest set bit of k, as long as k + 2^d < n. Reduce-scatter is the same
// tree upwards. A rank stands in all n trees, at every distance once. With A trees a message
// (a power of two) and M = pow2up(n) / A, distances are k = q M + j:
// - top: the distances j = 0, the farthest step first (all-gather), one message each;
// - then j = 1, 2, ..., M - 1 in turn: receive the A parts at distance q M + j, send them on.
// Reduce-scatter takes the turns backwards and the top last. A turn needs no sum but its own, so
// scratch is a message for each partner. Each send waits for turns with smaller j (larger, for
// reduce-scatter) only, so no slots are too few.
#include "models/collectives/generate_switch.h"
#include "models/collectives/partition.h"
#include "sim/core/check.h"

namespace busbw::collectives {
namespace {

std::int32_t log2_up(std::int32_t value) {
  std::int32_t bits = 0;
  while ((std::int32_t{1} << bits) < value) {
    ++bits;
  }
  return bits;
}

std::int32_t lowest_bit(std::int32_t value) {
  std::int32_t bit = 0;
  while (((value >> bit) & 1) == 0) {
    ++bit;
  }
  return bit;
}

/// How the trees of a loop are put together.
struct Aggregation {
  std::int32_t bits = 0;      // of distances: log2(pow2up(n))
  std::int32_t low_bits = 0;  // log2(M): distances of turns
  [[nodiscard]] std::int32_t turns() const { return std::int32_t{1} << low_bits; }
};

/// As many trees a message as fit into `chunk` with `piece` bytes each. A message of a turn has a
/// piece of each tree; with no turns the largest is the top's last, with half of them.
Aggregation aggregation_of(std::int32_t ranks, std::int64_t piece, std::int64_t chunk) {
  Aggregation result;
  result.bits = log2_up(ranks);
  const auto pieces = [&](std::int32_t low_bits) {
    const std::int64_t trees = std::int64_t{1} << (result.bits - low_bits);
    return low_bits == 0 ? std::max<std::int64_t>(1, trees / 2) : trees;
  };
  while (result.low_bits < result.bits && pieces(result.low_bits) * piece > chunk) {
    ++result.low_bits;
  }
  return result;
}

/// A loop's data: `piece` of every rank's part of `block` bytes.
struct Loop {
  Piece piece;
  std::int32_t number = 0;
  Aggregation aggregation;
};

/// What both directions share: partners, distances, messages.
class PatLane {
 public:
  PatLane(RankId rank, std::int32_t ranks, std::int64_t block)
      : rank_(rank), ranks_(ranks), block_(block) {}
  std::vector<Step> take_steps() { return std::move(steps_); }

 protected:
  void begin(const Loop& loop) { loop_ = loop; }
  [[nodiscard]] const Loop& loop() const { return loop_; }
  [[nodiscard]] std::int32_t ranks() const { return ranks_; }
  /// The rank 2^bit further (side 1) or back (side -1).
  [[nodiscard]] RankId partner(std::int32_t bit, std::int32_t side) const {
    return RankId((rank_.value() + side * (std::int32_t{1} << bit) + ranks_) % ranks_);
  }
  /// Offset of the data at distance `k`, the part of rank - k.
  [[nodiscard]] Bytes offset(std::int32_t k) const {
    return Bytes(block_ * ((rank_.value() - k + ranks_) % ranks_) + loop_.piece.begin);
  }
  /// The distances j, j + step, j + 2 step, ... below n that `wanted` holds for.
  template <class Wanted>
  [[nodiscard]] std::vector<std::int32_t> distances(std::int32_t first, std::int32_t step,
                                                    const Wanted& wanted) const {
    std::vector<std::int32_t> list;
    for (std::int32_t k = first; k < ranks_; k += step) {
      if (wanted(k)) {
        list.push_back(k);
      }
    }
    return list;
  }
  /// One message of a step for each distance; at(k) says where it lies.
  template <class At>
  void message(Op op, RankId peer, const std::vector<std::int32_t>& list, const At& at) {
    for (const std::int32_t k : list) {
      const auto [buffer, place] = at(k);
      add({op, buffer, peer, place, Bytes(), loop_.piece.size, 0}, k);
      steps_.back().joined = k != list.back();
    }
  }
  void add(Move move, std::int32_t k) {
    move.bytes = loop_.piece.size;
    const std::int32_t part = (rank_.value() - k + ranks_) % ranks_;
    steps_.push_back(make_step(move, loop_.number * ranks_ + part));
  }

 private:
  RankId rank_;
  std::int32_t ranks_;
  std::int64_t block_;
  Loop loop_;
  std::vector<Step> steps_;
};

using Where = std::pair<Buffer, Bytes>;

class GatherLane : public PatLane {
 public:
  using PatLane::PatLane;

  void add_loop(const Loop& loop) {
    begin(loop);
    const Aggregation& aggregation = loop.aggregation;
    add({Op::kCopy, Buffer::kInput, RankId(), offset(0), offset(0), 0, 0}, 0);
    for (std::int32_t bit = aggregation.bits - 1; bit >= aggregation.low_bits; --bit) {
      send(bit, 0, std::int32_t{2} << bit);
      receive(bit, std::int32_t{1} << bit, std::int32_t{2} << bit);
    }
    pass_on(0, aggregation.low_bits);
    for (std::int32_t turn = 1; turn < aggregation.turns(); ++turn) {
      const std::int32_t bit = lowest_bit(turn);
      receive(bit, turn, aggregation.turns());
      pass_on(turn, bit);
    }
  }

 private:
  void pass_on(std::int32_t turn, std::int32_t below) {
    for (std::int32_t bit = below - 1; bit >= 0; --bit) {
      send(bit, turn, loop().aggregation.turns());
    }
  }
  void send(std::int32_t bit, std::int32_t first, std::int32_t step) {
    const std::int32_t length = std::int32_t{1} << bit;
    message(Op::kSend, partner(bit, 1),
            distances(first, step, [&](std::int32_t k) { return k + length < ranks(); }),
            [&](std::int32_t k) {
              return Where{k == 0 ? Buffer::kInput : Buffer::kOutput, offset(k)};
            });
  }
  void receive(std::int32_t bit, std::int32_t first, std::int32_t step) {
    message(Op::kReceive, partner(bit, -1),
            distances(first, step, [](std::int32_t) { return true; }), [&](std::int32_t k) {
              return Where{Buffer::kOutput, offset(k)};
            });
  }
};

class ReduceLane : public PatLane {
 public:
  /// Slots for a message of `chunk` bytes: for each partner that a sum goes to, those of sums until
  /// they were received; for each partner that sends, those that are added to a sum at once.
  struct Slots {
    std::vector<SlotRing> sums;
    std::vector<SlotRing> operands;
  };
  ReduceLane(RankId rank, std::int32_t ranks, std::int64_t block, Slots slots)
      : PatLane(rank, ranks, block), slots_(std::move(slots)) {}

  void add_loop(const Loop& loop) {
    begin(loop);
    const Aggregation& aggregation = loop.aggregation;
    for (std::int32_t turn = aggregation.turns() - 1; turn > 0; --turn) {
      const std::int32_t top = lowest_bit(turn);
      const std::vector<std::int32_t> list =
          distances(turn, aggregation.turns(), [](std::int32_t) { return true; });
      begin_sums(list);
      for (std::int32_t bit = 0; bit < top; ++bit) {
        receive(bit, list);
      }
      send(top, list);
    }
    begin_sums(distances(0, aggregation.turns(), [](std::int32_t) { return true; }));
    for (std::int32_t bit = 0; bit < aggregation.bits; ++bit) {
      const std::int32_t length = std::int32_t{1} << bit;
      const std::int32_t step = std::max(aggregation.turns(), 2 * length);
      if (bit >= aggregation.low_bits) {
        send(bit, distances(length, 2 * length, [](std::int32_t) { return true; }));
      }
      receive(bit, distances(0, step, [](std::int32_t) { return true; }));
    }
  }

 private:
  /// Nothing but the rank's own data is in the sums at these distances. Gives each distance a place
  /// in the slot of the message that it will be sent with.
  void begin_sums(const std::vector<std::int32_t>& list) {
    const auto count = static_cast<std::size_t>(ranks());
    sum_.assign(count, {Buffer::kInput, Bytes()});
    place_.assign(count, Bytes());
    std::vector<std::int64_t> used(slots_.sums.size(), -1);
    std::vector<Bytes> slot(slots_.sums.size());
    for (const std::int32_t k : list) {
      sum_[static_cast<std::size_t>(k)] = {Buffer::kInput, offset(k)};
      if (k == 0 || lowest_bit(k) == 0) {
        continue;  // the result goes to kOutput; an odd distance has nothing to add
      }
      const auto to = static_cast<std::size_t>(lowest_bit(k));
      if (++used[to] == 0) {
        slot[to] = slots_.sums[to].next();
      }
      place_[static_cast<std::size_t>(k)] = slot[to] + used[to] * Bytes(loop().piece.size);
    }
  }

  /// Receives from 2^bit further what belongs to those of `list` that have a child there.
  void receive(std::int32_t bit, const std::vector<std::int32_t>& list) {
    const std::int32_t length = std::int32_t{1} << bit;
    std::vector<std::int32_t> children;
    for (const std::int32_t k : list) {
      if (k + length < ranks()) {
        children.push_back(k);
      }
    }
    if (children.empty()) {
      return;
    }
    const Bytes slot = slots_.operands[static_cast<std::size_t>(bit)].next();
    std::vector<Bytes> operands(static_cast<std::size_t>(ranks()));
    std::int64_t used = 0;
    for (const std::int32_t k : children) {
      // The first child's sum becomes the sum's place; later ones are added to it.
      operands[static_cast<std::size_t>(k)] = bit == 0 && k != 0
                                                  ? place_[static_cast<std::size_t>(k)]
                                                  : slot + used++ * Bytes(loop().piece.size);
    }
    message(Op::kReceive, partner(bit, 1), children, [&](std::int32_t k) {
      return Where{Buffer::kScratch, operands[static_cast<std::size_t>(k)]};
    });
    for (const std::int32_t k : children) {
      add_operand(k, operands[static_cast<std::size_t>(k)]);
    }
  }

  void add_operand(std::int32_t k, Bytes operand) {
    Where& sum = sum_[static_cast<std::size_t>(k)];
    if (k == 0) {
      add({Op::kReduce, sum.first, RankId(), offset(0), operand, 0, 0}, k);
      sum = {Buffer::kOutput, offset(0)};
    } else if (sum.first == Buffer::kInput) {
      add({Op::kAccumulate, Buffer::kInput, RankId(), offset(k), operand, 0, 0}, k);
      sum = {Buffer::kScratch, operand};
    } else {
      add({Op::kAccumulate, Buffer::kScratch, RankId(), operand, sum.second, 0, 0}, k);
    }
  }

  void send(std::int32_t bit, const std::vector<std::int32_t>& list) {
    message(Op::kSend, partner(bit, -1), list,
            [&](std::int32_t k) { return sum_[static_cast<std::size_t>(k)]; });
  }

  Slots slots_;
  std::vector<Where> sum_;    // of each distance: where its sum is
  std::vector<Bytes> place_;  // of each distance: its place in the slot it is sent from
};

ReduceLane::Slots slots_of(std::int32_t ranks, const Options& options, std::int64_t size,
                           std::int64_t* scratch) {
  ReduceLane::Slots slots;
  for (std::int32_t bit = 0; bit < log2_up(ranks); ++bit) {
    slots.sums.emplace_back(*scratch, size, SlotRing::to_pass_on(options.slots, 1));
    slots.operands.emplace_back(slots.sums.back().end(), size, options.slots);
    *scratch = slots.operands.back().end();
  }
  return slots;
}

Schedule pat_schedule(Collective collective, const Shape& shape, const Options& options) {
  CHECK(options.slices == 1, "PAT passes whole chunks, slices {}", options.slices);
  const std::int32_t channels = options.channels;
  const Partition partition(collective, shape, options, channels);
  Schedule schedule = empty_schedule({collective, Algorithm::kPat}, shape, options, channels);
  if (shape.ranks == 1) {
    Shape alone = shape;
    alone.rings.assign(static_cast<std::size_t>(channels), {RankId(0)});
    schedule = ring_all_gather(alone, options);
    schedule.collective = collective;
    schedule.algorithm = Algorithm::kPat;
    return schedule;
  }
  const bool gathers = collective == Collective::kAllGather;
  if (!gathers) {
    schedule.max_slots = options.slots;
  }
  const std::int64_t block = cut_bytes(collective, options.bytes, shape.ranks).count();
  for (std::int32_t rank = 0; rank < shape.ranks; ++rank) {
    std::int64_t scratch = 0;
    for (std::int32_t channel = 0; channel < channels; ++channel) {
      GatherLane gather(RankId(rank), shape.ranks, block);
      ReduceLane reduce(RankId(rank), shape.ranks, block,
                        slots_of(shape.ranks, options, partition.slot_size(), &scratch));
      const Piece part = partition.channel_part(channel);
      const std::int64_t end = part.begin + part.size;
      Loop loop;
      for (std::int64_t at = part.begin; at < end; ++loop.number) {
        const std::int64_t size = partition.chunk_size(end - at, 1);
        loop.piece = chunk_of(at, size, 0, end);
        loop.aggregation = aggregation_of(shape.ranks, loop.piece.size, partition.slot_size());
        gathers ? gather.add_loop(loop) : reduce.add_loop(loop);
        at += loop.piece.size;
      }
      schedule.lanes.push_back({RankId(rank), ChannelId(channel), "pat",
                                gathers ? gather.take_steps() : reduce.take_steps()});
    }
    schedule.scratch_bytes = gathers ? Bytes() : Bytes(scratch);
  }
  return schedule;
}

}  // namespace

Schedule pat_all_gather(const Shape& shape, const Options& options) {
  return pat_schedule(Collective::kAllGather, shape, options);
}

Schedule pat_reduce_scatter(const Shape& shape, const Options& options) {
  return pat_schedule(Collective::kReduceScatter, shape, options);
}

}  // namespace busbw::collectives
