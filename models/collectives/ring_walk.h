// One rank's way round a ring: the steps of reduce-scatter and all-gather, loop by loop, which the
// ring and the hierarchical generator put together. Internal to this folder.
//
// Position p of a ring of n sends share p-1 first, then passes on p-2, p-3, ... after adding its
// own; after n-1 steps it holds the sum of share p, and n-1 more steps pass the sums around. This
// is the order of NCCL's runRing (src/device/all_reduce.h).
#pragma once
#include <vector>

#include "models/collectives/generate.h"
#include "models/collectives/partition.h"

namespace busbw::collectives {

/// One of the n shares that a loop cuts its data into.
struct Share {
  Piece piece;
  std::int32_t chunk = 0;  // number for traces
  std::int32_t wait_step =
      -1;  // step of the walk's wait lane after which this rank's own share is ready
};

class RingWalk {
 public:
  struct Settings {
    std::int64_t position = 0;     // of the rank in the ring
    Buffer own = Buffer::kInput;   // where the rank's own shares lie
    std::uint8_t connection = 0;   // index of the connections used
    std::int32_t wait_lane = -1;   // lane that shares wait for
    bool sums_in_scratch = false;  // sums that are passed on stay in their slot, else in kOutput
  };
  RingWalk(const RingOrder& ring, const Settings& settings, const Partition& partition,
           SlotRing slots);

  /// Makes room for so many loops of so many steps a slice: a schedule may be large.
  void reserve(std::int64_t loops, std::int64_t steps) {
    steps_.reserve(static_cast<std::size_t>(loops * steps * partition_.slices()));
  }
  /// Starts a loop over `shares`, one per position.
  void begin_loop(const std::vector<Share>& shares);
  /// n-1 steps: the sum of share `position` ends here; with `pass_sum` it is sent on at once.
  void reduce_scatter(bool pass_sum);
  /// n-1 steps that pass the sums around; without `send_own` the own one has been sent already.
  void all_gather(bool send_own);
  /// Sends the rank's own share and copies it from kInput to kOutput, slice by slice.
  void send_and_copy_own();
  /// Copies the rank's own share from kInput to kOutput.
  void copy_own();
  /// Where the rank's own shares lie from now on.
  void set_own(Buffer own) { settings_.own = own; }

  /// Index of the last step so far, -1 before the first.
  [[nodiscard]] std::int32_t last_step() const {
    return static_cast<std::int32_t>(steps_.size()) - 1;
  }
  /// Index of the step that put the sum of share `index` of this loop into kOutput, -1 if none did.
  [[nodiscard]] std::int32_t sum_step(std::int64_t index) const {
    return sum_step_[static_cast<std::size_t>(index)];
  }
  std::vector<Step> take_steps() { return std::move(steps_); }

 private:
  void send(std::int64_t index);
  void pass_on(std::int64_t index, bool reduce, bool send);
  void pass_sum_in_slot(std::int64_t index, Piece piece);
  void add(Step step, std::int64_t index, Piece piece);
  [[nodiscard]] std::size_t wrap(std::int64_t index) const {
    return static_cast<std::size_t>((index % count_ + count_) % count_);
  }

  std::int64_t count_;
  Settings settings_;
  RankId next_;
  RankId previous_;
  const Partition& partition_;
  SlotRing slots_;
  std::vector<Share> shares_;
  std::vector<std::int32_t> sum_step_;
  std::vector<Step> steps_;
};

/// The position of each rank in `ring`. Throws CheckFailure unless it is a permutation of
/// 0..ranks-1.
std::vector<std::int64_t> ring_positions(const RingOrder& ring, std::int32_t ranks);

}  // namespace busbw::collectives
