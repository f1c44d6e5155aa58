// How generators cut data: channel parts, loops and chunks in whole elements. Internal to this
// folder.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "models/collectives/generate.h"

namespace busbw::collectives {

/// A range of bytes of the data.
struct Piece {
  std::int64_t begin = 0;
  std::int64_t size = 0;
};

/// ceil(a / b), a >= 0, b > 0.
constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}
constexpr std::int64_t align_up(std::int64_t a, std::int64_t unit) {
  return divide_up(a, unit) * unit;
}

class Partition {
 public:
  /// Cuts the cut_bytes() of `collective`. Checks the options: sizes positive, data a whole number
  /// of elements.
  Partition(Collective collective, const Shape& shape, const Options& options,
            std::int32_t channels);

  /// Part of channel `channel`.
  [[nodiscard]] Piece channel_part(std::int32_t channel) const;

  /// Chunk size for a loop of `chunks` chunks that has `rest` bytes left to walk: the full chunk,
  /// or the rest shared evenly, rounded up to a unit.
  [[nodiscard]] std::int64_t chunk_size(std::int64_t rest, std::int64_t chunks) const {
    return rest >= chunk_ * chunks ? chunk_ : align_up(divide_up(rest, chunks), unit_);
  }
  /// Loops of `chunks` chunks that `part` takes.
  [[nodiscard]] std::int64_t loops(Piece part, std::int64_t chunks) const {
    return divide_up(part.size, chunk_ * chunks);
  }
  /// Slice `slice` of `piece`; later slices may be empty.
  [[nodiscard]] Piece slice(Piece piece, std::int32_t slice) const {
    if (slices_ == 1) {
      return piece;
    }
    const std::int64_t size = align_up(divide_up(piece.size, slices_), unit_);
    const std::int64_t from = std::min(piece.size, size * slice);
    return {piece.begin + from, std::min(size, piece.size - from)};
  }
  [[nodiscard]] std::int32_t slices() const { return slices_; }
  /// Bytes of one scratch slot: the largest message.
  [[nodiscard]] std::int64_t slot_size() const {
    return align_up(divide_up(chunk_, slices_), unit_);
  }

 private:
  std::int64_t total_;
  std::vector<Bytes> channel_bytes_;
  std::int64_t unit_;
  std::int64_t chunk_;
  std::int32_t channels_;
  std::int32_t slices_;
};

/// Chunk `index` of `size` bytes of a loop that starts at `begin` and may not pass `end`.
constexpr Piece chunk_of(std::int64_t begin, std::int64_t size, std::int64_t index,
                         std::int64_t end) {
  const std::int64_t from = std::min(end, begin + size * index);
  return {from, std::min(size, end - from)};
}

/// A schedule without steps.
struct Kind {
  Collective collective = Collective::kAllReduce;
  Algorithm algorithm = Algorithm::kRing;
};
Schedule empty_schedule(Kind kind, const Shape& shape, const Options& options,
                        std::int32_t channels);

/// What a step moves, in the order of its fields that matter; see Step.
struct Move {
  Op op = Op::kSend;
  Buffer buffer = Buffer::kOutput;
  RankId peer;
  Bytes offset;
  Bytes source_offset;
  std::int64_t bytes = 0;
  std::uint8_t connection = 0;
};
inline Step make_step(const Move& move, std::int32_t chunk) {
  Step step;
  step.op = move.op;
  step.buffer = move.buffer;
  step.connection = move.connection;
  step.peer = move.peer;
  step.chunk = chunk;
  step.offset = move.offset;
  step.source_offset = move.source_offset;
  step.bytes = Bytes(move.bytes);
  return step;
}

/// Hands out scratch slots of one receiving connection in order.
class SlotRing {
 public:
  SlotRing(std::int64_t base, std::int64_t slot_size, std::int32_t slots)
      : base_(base), slot_size_(slot_size), slots_(slots) {}
  Bytes next() {
    const std::int64_t slot = base_ + slot_size_ * next_;
    next_ = (next_ + 1) % slots_;
    return Bytes(slot);
  }
  /// Slots that a connection needs so that what is sent on from one is received before the slot
  /// comes round again, while no connection runs ahead by more than `ahead` messages: those, the
  /// one in the slot, and as many as a loop's last share lags behind the next loop's first send.
  static std::int32_t to_pass_on(std::int32_t ahead, std::int32_t slices) { return ahead + slices; }
  [[nodiscard]] std::int64_t end() const { return base_ + slot_size_ * slots_; }

 private:
  std::int64_t base_;
  std::int64_t slot_size_;
  std::int32_t slots_;
  std::int32_t next_ = 0;
};

}  // namespace busbw::collectives
