// The one place of real mode that catches: a rank that fails tells the others why, then goes on
// failing. See session.h.
#include <exception>
#include <string_view>

#include <fmt/format.h>

#include "real/base/signals.h"
#include "real/launch/session.h"

namespace busbw::real {
namespace {

/// How long a rank that lost a connection waits for word of who ended and why; twice as long for a
/// mere echo, so that it never speaks before the rank that knows more.
constexpr Milliseconds kWaitForCause{1000};

/// What another rank has said, or this one through an inner tell_others(): passed on as it is.
bool is_known(const Session& session, const SystemError& error) {
  const std::optional<SystemError> known = session.failure();
  return known && std::string_view(error.what()).rfind(known->what(), 0) == 0;
}

/// The failure of this rank as every rank shall see it: with its name.
[[noreturn]] void end_with(Session& session, const std::string& why) {
  session.report(why);
  throw SystemError({session.name(), why, "", ""});
}

}  // namespace

void tell_others(Session& session, const std::function<void()>& body) {
  try {
    body();
  } catch (const PeerLost& lost) {
    const Milliseconds longest = lost.echo() ? 2 * kWaitForCause : kWaitForCause;
    if (const std::optional<SystemError> cause = session.cause(longest)) {
      SystemError::Details details = cause->details();
      details.reason += fmt::format("; {} saw: {}", session.name(), lost.what());
      throw SystemError(details);
    }
    end_with(session, lost.what());
  } catch (const Interrupted& interrupted) {
    session.report(interrupted.what());
    throw;
  } catch (const SystemError& error) {
    if (is_known(session, error))
      throw;
    end_with(session, error.what());
  } catch (const std::exception& error) {
    session.report(error.what());
    throw;
  }
}

void run_rank(Session& session, const std::function<void()>& body) {
  tell_others(session, [&] {
    body();
    session.leave();
  });
}

}  // namespace busbw::real
