// See lanes.h.
#include "scenarios/lanes.h"

#include <utility>

#include "sim/core/check.h"

namespace busbw::scenarios {

Lanes::Lanes(const collectives::Schedule& schedule, std::function<void(std::int32_t)> go_on)
    : schedule_(schedule), go_on_(std::move(go_on)), states_(schedule.lanes.size()) {}

bool Lanes::at_end(std::int32_t lane) const {
  return of(lane).done == schedule_.lanes[static_cast<std::size_t>(lane)].steps.size();
}

void Lanes::advance(std::int32_t lane, std::size_t done) {
  State& state = of(lane);
  state.done = done;
  std::erase_if(state.waiters, [&](const Waiter& waiter) {
    if (state.done < waiter.step) {
      return false;
    }
    enqueue(waiter.lane);
    return true;
  });
}

void Lanes::enqueue(std::int32_t lane) {
  State& state = of(lane);
  if (!state.queued) {
    state.queued = true;
    runnable_.push_back(lane);
  }
}

void Lanes::enqueue_all() {
  for (std::size_t lane = 0; lane < states_.size(); ++lane) {
    enqueue(static_cast<std::int32_t>(lane));
  }
}

void Lanes::wake(std::int32_t& blocked) {
  if (blocked != kNone) {
    enqueue(std::exchange(blocked, kNone));
  }
}

void Lanes::run() {
  // FIFO, not recursion: a chain of lanes that wake each other may be as long as the communicator.
  for (std::size_t next = 0; next < runnable_.size(); ++next) {
    const std::int32_t lane = runnable_[next];
    of(lane).queued = false;
    go_on_(lane);
  }
  runnable_.clear();
}

bool Lanes::waited_for(std::int32_t lane, const collectives::Step& step) {
  if (step.wait_lane == kNone) {
    return true;
  }
  State& other = of(step.wait_lane);
  const auto needed = static_cast<std::size_t>(step.wait_step) + 1;
  if (other.done >= needed) {
    return true;
  }
  other.waiters.push_back({lane, needed});
  return false;
}

void Lanes::check_all_done() const {
  for (std::size_t index = 0; index < states_.size(); ++index) {
    const collectives::Lane& lane = schedule_.lanes[index];
    CHECK(states_[index].done == lane.steps.size(),
          "the schedule deadlocks: rank {} channel {} lane '{}' stands at step {} of {}",
          lane.rank.value(), lane.channel.value(), lane.role, states_[index].done,
          lane.steps.size());
  }
}

}  // namespace busbw::scenarios
