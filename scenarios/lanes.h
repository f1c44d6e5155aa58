// The lanes of a schedule while a player plays it: how far each is, which may go on, who waits for
// whom. What a step takes is the player's.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "models/collectives/schedule.h"

namespace busbw::scenarios {

class Lanes {
 public:
  static constexpr std::int32_t kNone = -1;

  /// `go_on(lane)` does what the lane can do now. It outlives no call of run().
  Lanes(const collectives::Schedule& schedule, std::function<void(std::int32_t lane)> go_on);

  /// Steps that the lane has done.
  [[nodiscard]] std::size_t done(std::int32_t lane) const { return of(lane).done; }
  [[nodiscard]] bool at_end(std::int32_t lane) const;

  /// The lane stands before step `done` now; who waited for that goes on with the next run().
  void advance(std::int32_t lane, std::size_t done);

  void enqueue(std::int32_t lane);
  void enqueue_all();
  /// Enqueues the lane that is noted in `blocked`, if one is, and clears the note.
  void wake(std::int32_t& blocked);
  /// Every lane that was enqueued goes on, in the order of that, with those enqueued meanwhile.
  void run();

  /// Whether what `step` waits for in another lane is done; otherwise `lane` is enqueued then.
  bool waited_for(std::int32_t lane, const collectives::Step& step);

  /// CHECKs that all are at their ends: a schedule that deadlocks is our bug.
  void check_all_done() const;

 private:
  struct Waiter {
    std::int32_t lane = kNone;
    std::size_t step = 0;  // waits until this many steps of the other lane are done
  };
  struct State {
    std::size_t done = 0;
    std::vector<Waiter> waiters;  // other lanes that wait for this one
    bool queued = false;
  };

  [[nodiscard]] const State& of(std::int32_t lane) const {
    return states_[static_cast<std::size_t>(lane)];
  }
  State& of(std::int32_t lane) { return states_[static_cast<std::size_t>(lane)]; }

  const collectives::Schedule& schedule_;
  std::function<void(std::int32_t)> go_on_;
  std::vector<State> states_;
  std::vector<std::int32_t> runnable_;
};

}  // namespace busbw::scenarios
