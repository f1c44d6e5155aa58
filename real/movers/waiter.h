// How a rank waits when none of its links can go on: asleep, or by yielding.
//
// Polling always yields: on a machine with fewer cores than ranks a spinning rank keeps its peer
// from running (measured on an emulated single core: 8 ms instead of 90 us for 64 bytes).
#pragma once
#include <string>
#include <vector>

#include "real/movers/mover.h"
#include "sim/core/check.h"

namespace busbw::real {

enum class Completion {
  kEvent,  // sleep in poll() until a descriptor is readable
  kPoll,   // sched_yield() between looks
  kAuto    // one of them, by the machine: see settle_completion()
};

class Waiter {
 public:
  /// `completion`: settled, not kAuto. `longest`: how long nothing at all may happen before a wait
  /// fails.
  Waiter(Mover& mover, Watch& watch, Completion completion, Milliseconds longest)
      : mover_(mover),
        watch_(watch),
        completion_(completion),
        longest_(longest),
        deadline_(Deadline::in(longest)) {
    CHECK(completion != Completion::kAuto, "completion is not settled");
  }

  /// Something happened: the deadline starts anew. Looks at the watch now and then.
  void moved();
  /// Nothing could be done: waits a little. Throws what the watch throws. True when the deadline
  /// has passed: the caller says what it waited for and calls fail().
  [[nodiscard]] bool idle();
  /// Throws SystemError "`what` failed: nothing within 30 s: the port is Down: link down (on rxe0
  /// port 1 QP 0x11 ...) (peer ...)", from what the mover knows of `link`. `step`: more about
  /// where.
  [[noreturn]] void fail(const std::string& what, const LinkId& link,
                         const std::string& step = "") const;

 private:
  Mover& mover_;
  Watch& watch_;
  Completion completion_;
  Milliseconds longest_;
  Deadline deadline_;
  bool fresh_ = false;  // moved since the deadline was set
  unsigned rounds_ = 0;
  std::vector<int> descriptors_;
};

}  // namespace busbw::real
