// SIGINT and SIGTERM as something that waits notice, so that every resource is freed on the way
// out.
//
// A handler only writes to a pipe; check() throws from ordinary code. One object at a time, in the
// main thread: signal dispositions belong to the process.
#pragma once
#include <csignal>

#include "real/base/system.h"
#include "real/base/watch.h"
#include "sim/core/errors.h"

namespace busbw::real {

/// A signal asked the process to end. main turns it into exit status 128 + signal().
class Interrupted : public SystemError {
 public:
  explicit Interrupted(int signal);
  [[nodiscard]] int signal() const { return signal_; }

 private:
  int signal_;
};

/// Takes SIGINT and SIGTERM while it lives and ignores SIGPIPE; the former dispositions come back.
class SignalWatch : public Watch {
 public:
  SignalWatch();
  ~SignalWatch() override;
  void add_descriptors(std::vector<int>& descriptors) const override;
  void check() override;
  /// The signal that arrived, 0 none.
  [[nodiscard]] static int pending();

 private:
  Descriptor reader_;
  Descriptor writer_;
  struct sigaction old_interrupt_ {};
  struct sigaction old_terminate_ {};
  struct sigaction old_pipe_ {};
};

}  // namespace busbw::real
