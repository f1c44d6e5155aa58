// See waiter.h. The clock and the watch cost system calls: they are looked at every 64 rounds.
#include "real/movers/waiter.h"

#include <sched.h>

#include <fmt/format.h>

#include "real/base/system.h"
#include "sim/core/errors.h"

namespace busbw::real {
namespace {

constexpr unsigned kRoundsPerCheck = 64;
/// A sleep ends at the latest after this, so that a lost wake-up costs time and never a hang.
constexpr Milliseconds kLongestSleep{200};

}  // namespace

void Waiter::moved() {
  fresh_ = true;
  if (++rounds_ % kRoundsPerCheck == 0)
    watch_.check();
}

bool Waiter::idle() {
  if (fresh_) {
    deadline_ = Deadline::in(longest_);
    fresh_ = false;
  }
  if (completion_ == Completion::kPoll) {
    ::sched_yield();
    if (++rounds_ % kRoundsPerCheck != 0)
      return false;
    watch_.check();
    return deadline_.passed();
  }
  watch_.check();
  descriptors_.clear();
  if (!mover_.arm(descriptors_))
    return false;
  watch_.add_descriptors(descriptors_);
  sleep_on(descriptors_, std::min(kLongestSleep, deadline_.left()));
  watch_.check();
  return deadline_.passed();
}

void Waiter::fail(const std::string& what, const LinkId& link, const std::string& step) const {
  const LinkView view = mover_.look_at(link);
  throw SystemError({what, fmt::format("nothing within {}: {}", to_string(longest_), view.cause),
                     step.empty() ? view.object : fmt::format("{}, {}", step, view.object),
                     view.peer});
}

}  // namespace busbw::real
