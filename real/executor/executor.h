// Plays one rank of a schedule on a mover: the counterpart of the simulator's player.
//
// One thread steps all lanes of the rank in turn, each as far as it gets; what waits for a message,
// a slot or another lane is looked at again after progress. A send hands its bytes to the mover
// without copying: the schedule promises that they stay. A receive copies out of its slot.
#pragma once
#include <cstdint>
#include <vector>

#include "models/collectives/connections.h"
#include "models/collectives/schedule.h"
#include "real/executor/buffers.h"
#include "real/movers/waiter.h"

namespace busbw::real {

/// The links that `schedules` need between them, with slots for the largest step of each; every
/// rank computes the same list. `slots`: how many messages may run ahead (NCCL_STEPS: 8), less
/// where a schedule allows less; joined steps, which make one message, have a slot each. Throws
/// InputError for a schedule that needs a switch which reduces.
std::vector<Link> links_of(const std::vector<const collectives::Schedule*>& schedules,
                           std::int32_t slots);

struct ExecutorOptions {
  ElementType type = ElementType::kFloat;
  Reduction reduction = Reduction::kSum;
};

/// What a run of a rank did, for reports.
struct ExecutorCounts {
  std::int64_t messages_sent = 0;
  Bytes bytes_sent;
  std::int64_t messages_received = 0;
  Bytes bytes_received;
};

class Executor {
 public:
  /// `schedule` is kept by reference. Its links must be open in `mover`, `buffers` added to it.
  Executor(const collectives::Schedule& schedule, RankId rank, Mover& mover, Buffers& buffers);

  /// Runs the collective once; may be called again. Returns when every message of this rank has
  /// been received and every received slot is free again, so that buffers may be changed. Throws
  /// SystemError naming lane, step and peer when `waiter` runs out of patience or a peer sends
  /// another byte count.
  ExecutorCounts run(const ExecutorOptions& options, Waiter& waiter);

 private:
  struct LaneState {
    std::size_t lane = 0;  // in the schedule
    std::size_t next = 0;
  };
  bool step_lane(LaneState& state, const ExecutorOptions& options);
  bool try_step(const LaneState& state, const collectives::Step& step,
                const ExecutorOptions& options);
  [[nodiscard]] bool finished() const;
  bool settled();
  [[nodiscard]] bool waits_for_lane(const collectives::Step& step) const;
  [[noreturn]] void refuse(const LaneState& state, const collectives::Step& step,
                           std::size_t bytes) const;
  [[noreturn]] void give_up(Waiter& waiter) const;

  const collectives::Schedule& schedule_;
  RankId rank_;
  Mover& mover_;
  Buffers& buffers_;
  std::vector<LaneState> lanes_;
  std::vector<std::int64_t> position_of_lane_;  // index in lanes_, -1: another rank's
  std::vector<std::vector<Sender*>> senders_;   // [lane of this rank][step]
  std::vector<std::vector<Receiver*>> receivers_;
  std::vector<std::pair<LinkId, Sender*>> all_senders_;
  std::vector<std::pair<LinkId, Receiver*>> all_receivers_;
  ExecutorCounts counts_;
};

}  // namespace busbw::real
