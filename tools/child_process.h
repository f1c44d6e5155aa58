// Other programs as children: started with an environment of their own, waited for with a deadline,
// and never left behind.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "real/base/deadline.h"
#include "real/base/signals.h"
#include "real/base/system.h"

namespace busbw::tools {

/// Full path of a program in PATH or the folders of system programs. Throws SystemError that names
/// the Debian package which has it.
std::string find_program(const std::string& name, const std::string& package);

struct ChildCommand {
  std::vector<std::string> words;                  // path and arguments
  std::map<std::string, std::string> environment;  // added to this process's
  std::string directory;                           // where it works; empty: this process's own
  int input = -1;                                  // descriptors; -1: this process's own
  int output = -1;
  int error = -1;
};

class ChildProcess {
 public:
  /// Throws SystemError when it cannot start.
  explicit ChildProcess(const ChildCommand& command);
  /// Kills what still runs.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// Exit status, or 128 + n after signal n; nothing when it still runs after `longest`. Ends early
  /// when `signals` has one pending.
  std::optional<int> wait(real::Milliseconds longest, const real::SignalWatch* signals = nullptr);
  void send(int signal) const;

 private:
  pid_t process_ = -1;
  real::Descriptor descriptor_;  // readable when it has ended
  std::optional<int> status_;
};

/// A folder of our own that is removed with everything in it.
class PrivateFolder {
 public:
  /// Below TMPDIR or /tmp. Throws SystemError.
  PrivateFolder();
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace busbw::tools
