// Plays a schedule with messages of one tick each and everything else free. See depth.h.
#include "models/collectives/depth.h"

#include <algorithm>
#include <deque>

#include "models/collectives/connections.h"
#include "sim/core/check.h"

namespace busbw::collectives {
namespace {

class Ticks {
 public:
  explicit Ticks(const Schedule& schedule)
      : schedule_(schedule),
        connections_(connections_of(schedule)),
        queues_(connections_.list.size()),
        done_(schedule.lanes.size()) {}

  std::int64_t run() {
    bool moved = true;
    while (moved) {
      moved = false;
      for (std::size_t lane = 0; lane < done_.size(); ++lane) {
        while (step(lane)) {
          moved = true;
        }
      }
    }
    for (std::size_t lane = 0; lane < done_.size(); ++lane) {
      CHECK(done_[lane].size() == schedule_.lanes[lane].steps.size(), "deadlock: {} cannot proceed",
            describe_step(schedule_, lane, done_[lane].size()));
    }
    return last_;
  }

 private:
  /// Does the lane's next step if what it waits for is there.
  bool step(std::size_t lane) {
    std::vector<std::int64_t>& done = done_[lane];
    const std::vector<Step>& steps = schedule_.lanes[lane].steps;
    if (done.size() == steps.size()) {
      return false;
    }
    const Step& step = steps[done.size()];
    std::int64_t tick = done.empty() ? 0 : done.back();
    if (step.wait_lane >= 0) {
      const std::vector<std::int64_t>& other = done_[static_cast<std::size_t>(step.wait_lane)];
      const auto wanted = static_cast<std::size_t>(step.wait_step);
      if (other.size() <= wanted) {
        return false;
      }
      tick = std::max(tick, other[wanted]);
    }
    if (step.op == Op::kSend) {
      queue(lane).push_back(tick + 1);
    } else if (step.op == Op::kReceive) {
      if (queue(lane).empty()) {
        return false;
      }
      tick = std::max(tick, queue(lane).front());
      queue(lane).pop_front();
    }
    done.push_back(tick);
    last_ = std::max(last_, tick);
    return true;
  }

  std::deque<std::int64_t>& queue(std::size_t lane) {
    return queues_[static_cast<std::size_t>(connections_.of_step[lane][done_[lane].size()])];
  }

  const Schedule& schedule_;
  Connections connections_;
  std::vector<std::deque<std::int64_t>> queues_;  // per connection: ticks at which messages arrive
  std::vector<std::vector<std::int64_t>> done_;   // per lane and step: tick at which it was done
  std::int64_t last_ = 0;
};

}  // namespace

std::int64_t message_depth(const Schedule& schedule) {
  validate(schedule);
  return Ticks(schedule).run();
}

}  // namespace busbw::collectives
