// Steps of one rank on a ring. See ring_walk.h.
#include "models/collectives/ring_walk.h"

#include "sim/core/check.h"

namespace busbw::collectives {
namespace {

/// A step whose place add() fills in.
Step step_of(Op op, Buffer buffer, RankId peer = RankId(), Bytes source_offset = Bytes()) {
  return make_step({op, buffer, peer, Bytes(), source_offset, 0, 0}, 0);
}

RankId at(const RingOrder& ring, std::int64_t position) {
  return ring[static_cast<std::size_t>(position) % ring.size()];
}

}  // namespace

RingWalk::RingWalk(const RingOrder& ring, const Settings& settings, const Partition& partition,
                   SlotRing slots)
    : count_(static_cast<std::int64_t>(ring.size())),
      settings_(settings),
      next_(at(ring, settings.position + 1)),
      previous_(at(ring, settings.position + count_ - 1)),
      partition_(partition),
      slots_(slots) {}

void RingWalk::begin_loop(const std::vector<Share>& shares) {
  CHECK(static_cast<std::int64_t>(shares.size()) == count_);
  shares_ = shares;
  sum_step_.assign(shares.size(), -1);
}

void RingWalk::reduce_scatter(bool pass_sum) {
  if (count_ == 1) {
    return;
  }
  const std::int64_t position = settings_.position;
  send(position - 1);
  for (std::int64_t step = 2; step < count_; ++step) {
    pass_on(position - step, /*reduce=*/true, /*send=*/true);
  }
  pass_on(position, /*reduce=*/true, pass_sum);
  if (shares_[wrap(position)].piece.size > 0) {
    sum_step_[wrap(position)] = pass_sum ? last_step() - 1 : last_step();
  }
}

void RingWalk::all_gather(bool send_own) {
  const std::int64_t position = settings_.position;
  if (send_own && count_ > 1) {
    send(position);
  }
  for (std::int64_t step = 1; step < count_; ++step) {
    pass_on(position - step, /*reduce=*/false, /*send=*/step + 1 < count_);
    if (shares_[wrap(position - step)].piece.size > 0) {
      sum_step_[wrap(position - step)] = step + 1 < count_ ? last_step() - 1 : last_step();
    }
  }
}

void RingWalk::copy_own() {
  const Share& share = shares_[wrap(settings_.position)];
  Step step = step_of(Op::kCopy, Buffer::kInput, RankId(), Bytes(share.piece.begin));
  add(step, settings_.position, share.piece);
  sum_step_[wrap(settings_.position)] = last_step();
}

void RingWalk::send_and_copy_own() {
  const Share& share = shares_[wrap(settings_.position)];
  for (std::int32_t slice = 0; slice < partition_.slices(); ++slice) {
    const Piece piece = partition_.slice(share.piece, slice);
    Step step = step_of(Op::kSend, settings_.own, next_);
    step.wait_step = share.wait_step;
    add(step, settings_.position, piece);
    add(step_of(Op::kCopy, Buffer::kInput, RankId(), Bytes(piece.begin)), settings_.position,
        piece);
  }
  sum_step_[wrap(settings_.position)] = last_step();
}

void RingWalk::send(std::int64_t index) {
  const Share& share = shares_[wrap(index)];
  for (std::int32_t slice = 0; slice < partition_.slices(); ++slice) {
    Step step = step_of(Op::kSend, settings_.own, next_);
    step.wait_step = share.wait_step;
    add(step, index, partition_.slice(share.piece, slice));
  }
}

/// Receives a share, adds the rank's own or takes it as it is, and sends the result on, slice by
/// slice.
void RingWalk::pass_on(std::int64_t index, bool reduce, bool send) {
  const Share& share = shares_[wrap(index)];
  for (std::int32_t slice = 0; slice < partition_.slices(); ++slice) {
    const Piece piece = partition_.slice(share.piece, slice);
    if (piece.size == 0) {
      break;
    }
    if (reduce && send && settings_.sums_in_scratch) {
      pass_sum_in_slot(index, piece);
      continue;
    }
    if (reduce) {
      const Bytes slot = slots_.next();
      add(step_of(Op::kReceive, Buffer::kScratch, previous_), index, {slot.count(), piece.size});
      Step step = step_of(Op::kReduce, settings_.own, RankId(), slot);
      step.wait_step = share.wait_step;
      step.partial = send && wrap(index) != wrap(settings_.position);
      add(step, index, piece);
    } else {
      add(step_of(Op::kReceive, Buffer::kOutput, previous_), index, piece);
    }
    if (send) {
      add(step_of(Op::kSend, Buffer::kOutput, next_), index, piece);
    }
  }
}

/// Receives a share, adds the rank's own to it where it is and sends it on from there.
void RingWalk::pass_sum_in_slot(std::int64_t index, Piece piece) {
  const Bytes slot = slots_.next();
  const Piece in_slot = {slot.count(), piece.size};
  add(step_of(Op::kReceive, Buffer::kScratch, previous_), index, in_slot);
  Step step = step_of(Op::kAccumulate, settings_.own, RankId(), slot);
  step.wait_step = shares_[wrap(index)].wait_step;
  add(step, index, piece);
  add(step_of(Op::kSend, Buffer::kScratch, next_), index, in_slot);
}

void RingWalk::add(Step step, std::int64_t index, Piece piece) {
  if (piece.size == 0) {
    return;
  }
  step.connection = settings_.connection;
  step.wait_lane = step.wait_step < 0 ? -1 : settings_.wait_lane;
  step.offset = Bytes(piece.begin);
  step.bytes = Bytes(piece.size);
  step.chunk = shares_[wrap(index)].chunk;
  steps_.push_back(step);
}

std::vector<std::int64_t> ring_positions(const RingOrder& ring, std::int32_t ranks) {
  CHECK(static_cast<std::int64_t>(ring.size()) == ranks, "ring of {} for {} ranks", ring.size(),
        ranks);
  std::vector<std::int64_t> positions(ring.size(), -1);
  for (std::size_t position = 0; position < ring.size(); ++position) {
    const RankId rank = ring[position];
    CHECK(rank.value() >= 0 && rank.value() < ranks && positions[rank.index()] < 0,
          "rank {} at position {} of a ring of {}", rank.value(), position, ranks);
    positions[rank.index()] = static_cast<std::int64_t>(position);
  }
  return positions;
}

}  // namespace busbw::collectives
