// The one place of real mode that catches: a rank that fails tells the others why, then goes on
// failing. See session.h.
#include <exception>

#include "real/base/signals.h"
#include "real/launch/session.h"

namespace busbw::real {
namespace {

/// How long a rank that lost a connection waits for word of who ended and why.
constexpr Milliseconds kWaitForCause{1000};

}  // namespace

void run_rank(Session& session, const std::function<void()>& body) {
  try {
    body();
    session.leave();
  } catch (const PeerLost& lost) {
    if (const std::optional<SystemError> cause = session.cause(kWaitForCause)) {
      SystemError::Details details = cause->details();
      details.reason += std::string("; here: ") + lost.what();
      throw SystemError(details);
    }
    session.report(lost.what());
    throw;
  } catch (const std::exception& error) {
    session.report(error.what());
    throw;
  }
}

}  // namespace busbw::real
