// See signals.h. The handler may touch only lock-free atomics and write().
#include "real/base/signals.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "sim/core/check.h"

namespace busbw::real {
namespace {

// What the handler sees: dispositions are process-wide, so this cannot be a member.
std::atomic<int> arrived{0};
std::atomic<int> wake_descriptor{-1};

extern "C" void on_signal(int signal) {
  const int saved = errno;
  arrived.store(signal);
  const char byte = 0;
  // A full pipe has woken the reader already.
  if (const int descriptor = wake_descriptor.load(); descriptor >= 0)
    static_cast<void>(!::write(descriptor, &byte, 1));
  errno = saved;
}

void take(int signal, void (*handler)(int), struct sigaction& old) {
  struct sigaction action {};
  action.sa_handler = handler;  // NOLINT(cppcoreguidelines-pro-type-union-access)
  sigemptyset(&action.sa_mask);
  if (::sigaction(signal, &action, &old) != 0)
    fail_call("sigaction", errno);
}

const char* name_of(int signal) {
  return signal == SIGINT ? "SIGINT" : "SIGTERM";
}

}  // namespace

Interrupted::Interrupted(int signal)
    : SystemError({"wait", fmt::format("interrupted by {}", name_of(signal)), "", ""}),
      signal_(signal) {}

SignalWatch::SignalWatch() {
  CHECK(wake_descriptor.load() < 0, "signals are watched already");
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0)
    fail_call("pipe2", errno);
  reader_ = Descriptor(ends[0]);
  writer_ = Descriptor(ends[1]);
  arrived.store(0);
  wake_descriptor.store(writer_.get());
  take(SIGINT, on_signal, old_interrupt_);
  take(SIGTERM, on_signal, old_terminate_);
  take(SIGPIPE, SIG_IGN, old_pipe_);
}

SignalWatch::~SignalWatch() {
  ::sigaction(SIGINT, &old_interrupt_, nullptr);
  ::sigaction(SIGTERM, &old_terminate_, nullptr);
  ::sigaction(SIGPIPE, &old_pipe_, nullptr);
  wake_descriptor.store(-1);
}

void SignalWatch::add_descriptors(std::vector<int>& descriptors) const {
  descriptors.push_back(reader_.get());
}

void SignalWatch::check() {
  if (const int signal = pending(); signal != 0)
    throw Interrupted(signal);
}

int SignalWatch::pending() {
  return arrived.load();
}

}  // namespace busbw::real
