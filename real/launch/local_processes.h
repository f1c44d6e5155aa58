// Ranks as processes of this host: starts a command once per rank and sees all of them end.
//
// The ranks get torchrun's variables; rank 0 inherits a listening socket, so that no port has to be
// guessed. When one rank ends badly the others get `grace` to end by themselves (they hear of it
// through the session), then SIGTERM, then SIGKILL. A rank does not outlive its launcher.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <sys/types.h>
#include <vector>

#include "real/base/signals.h"

namespace busbw::real {

struct LocalJob {
  /// Per rank: program (a path) and its arguments; a prefix such as `ip netns exec` goes here.
  std::vector<std::vector<std::string>> commands;
  /// Per rank or empty: added to this process's environment.
  std::vector<std::map<std::string, std::string>> environments;
  std::string address = "127.0.0.1";  // where rank 0 listens
  Milliseconds grace{5000};
};

struct RankExit {
  std::int32_t rank = 0;
  pid_t process = 0;
  int status = 0;  // exit status
  int signal = 0;  // that killed it, 0 none
  [[nodiscard]] bool good() const { return status == 0 && signal == 0; }
};
/// "rank 3 (process 4711) was killed by signal 9 (Killed)".
std::string to_string(const RankExit& exit);

/// Runs the job to its end; the exits in the order in which they were noticed, one a rank. SIGINT
/// and SIGTERM are passed on to the ranks. Throws SystemError when a rank cannot be started (those
/// that were are ended).
std::vector<RankExit> run_local(const LocalJob& job, const SignalWatch& signals);

}  // namespace busbw::real
