// See local_processes.h. Linux: process descriptors (pidfd) to sleep on, PR_SET_PDEATHSIG.
#include "real/launch/local_processes.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "real/base/socket.h"
#include "real/launch/place.h"
#include "sim/core/check.h"

namespace busbw::real {
namespace {

struct Child {
  std::int32_t rank = 0;
  pid_t process = 0;
  Descriptor descriptor;  // readable when it has ended
};

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  list.reserve(texts.size() + 1);
  for (std::string& text : texts)
    list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

/// In the child: only calls that are allowed between fork and exec.
[[noreturn]] void become(char* const* command, char* const* environment, int inherited,
                         int report) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE})
    ::signal(signal, SIG_DFL);
  if (inherited >= 0)
    ::fcntl(inherited, F_SETFD, 0);
  ::execve(command[0], command, environment);
  const int error = errno;
  static_cast<void>(!::write(report, &error, sizeof error));
  ::_exit(127);
}

class LocalRun {
 public:
  LocalRun(const LocalJob& job, const SignalWatch& signals) : job_(job), signals_(signals) {
    listener_ = listen_on({job.address, ""}, 0);
  }
  ~LocalRun() { end_all(SIGKILL); }
  LocalRun(const LocalRun&) = delete;
  LocalRun& operator=(const LocalRun&) = delete;

  std::vector<RankExit> run() {
    for (std::size_t rank = 0; rank < job_.commands.size(); ++rank)
      start(rank);
    // From now on only rank 0 holds it: when rank 0 ends, late ranks are refused at once.
    listener_.reset();
    while (!children_.empty()) {
      sleep();
      collect();
      if (const int signal = SignalWatch::pending(); signal != 0 && !passed_on_) {
        passed_on_ = true;
        end_all(signal);
        escalate_to(SIGKILL);
      }
      const bool bad = std::any_of(exits_.begin(), exits_.end(),
                                   [](const RankExit& exit) { return !exit.good(); });
      if (bad && next_signal_ == 0)
        escalate_to(SIGTERM);
      if (next_signal_ != 0 && deadline_.passed()) {
        end_all(next_signal_);
        escalate_to(SIGKILL);
      }
    }
    return std::move(exits_);
  }

 private:
  void start(std::size_t rank) {
    CHECK(!job_.commands[rank].empty(), "no command for rank {}", rank);
    std::map<std::string, std::string> environment = process_environment();
    if (rank < job_.environments.size()) {
      for (const auto& [name, value] : job_.environments[rank])
        environment[name] = value;
    }
    environment["RANK"] = environment["LOCAL_RANK"] = std::to_string(rank);
    environment["WORLD_SIZE"] = environment["LOCAL_WORLD_SIZE"] =
        std::to_string(job_.commands.size());
    environment["MASTER_ADDR"] = job_.address;
    environment["MASTER_PORT"] = std::to_string(local_port(listener_.get()));
    environment.erase("BUSBW_LISTENING");
    const int inherited = rank == 0 ? listener_.get() : -1;
    if (inherited >= 0)
      environment["BUSBW_LISTENING"] = std::to_string(inherited);
    std::vector<std::string> assignments;
    assignments.reserve(environment.size());
    for (const auto& [name, value] : environment)
      assignments.push_back(fmt::format("{}={}", name, value));
    std::vector<std::string> command = job_.commands[rank];
    const std::vector<char*> command_list = pointers(command);
    const std::vector<char*> environment_list = pointers(assignments);

    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
      fail_call("pipe2", errno);
    const Descriptor reader(ends[0]);
    Descriptor writer(ends[1]);
    const pid_t process = ::fork();
    if (process < 0)
      fail_call("fork", errno, fmt::format("rank {}", rank));
    if (process == 0)
      become(command_list.data(), environment_list.data(), inherited, writer.get());
    Child child;
    child.rank = static_cast<std::int32_t>(rank);
    child.process = process;
    child.descriptor = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
    const int pidfd_error = errno;
    const bool has_descriptor = child.descriptor.open();
    children_.push_back(std::move(child));
    if (!has_descriptor)
      fail_call("pidfd_open", pidfd_error, fmt::format("rank {}", rank));
    // The pipe closes at exec; what comes through it is the errno of a failed one.
    writer.reset();
    int error = 0;
    if (::read(reader.get(), &error, sizeof error) == static_cast<ssize_t>(sizeof error))
      fail_call("exec", error, command.front());
  }

  void sleep() {
    std::vector<int> descriptors;
    for (const Child& child : children_)
      descriptors.push_back(child.descriptor.get());
    if (!passed_on_)
      signals_.add_descriptors(descriptors);
    sleep_on(descriptors, next_signal_ == 0 ? Milliseconds(1000) : deadline_.left());
  }

  void collect() {
    for (std::size_t i = 0; i < children_.size();) {
      int status = 0;
      if (::waitpid(children_[i].process, &status, WNOHANG) != children_[i].process) {
        ++i;
        continue;
      }
      RankExit exit;
      exit.rank = children_[i].rank;
      exit.process = children_[i].process;
      if (WIFSIGNALED(status)) {
        exit.signal = WTERMSIG(status);
      } else {
        exit.status = WEXITSTATUS(status);
      }
      exits_.push_back(exit);
      children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  void escalate_to(int signal) {
    next_signal_ = signal;
    deadline_ = Deadline::in(job_.grace);
  }
  /// Signals what still runs; after SIGKILL also waits for it.
  void end_all(int signal) {
    for (const Child& child : children_)
      ::kill(child.process, signal);
    if (signal != SIGKILL)
      return;
    for (const Child& child : children_) {
      int status = 0;
      while (::waitpid(child.process, &status, 0) < 0 && errno == EINTR) {
      }
      exits_.push_back({child.rank, child.process, 0, SIGKILL});
    }
    children_.clear();
  }

  const LocalJob& job_;
  const SignalWatch& signals_;
  Descriptor listener_;
  std::vector<Child> children_;
  std::vector<RankExit> exits_;
  bool passed_on_ = false;
  int next_signal_ = 0;  // sent when the deadline passes, 0 none
  Deadline deadline_ = Deadline::in(Milliseconds(0));
};

}  // namespace

std::string to_string(const RankExit& exit) {
  const std::string who = fmt::format("rank {} (process {})", exit.rank, exit.process);
  if (exit.signal != 0) {
    return fmt::format("{} was killed by signal {} ({})", who, exit.signal,
                       ::strsignal(exit.signal));
  }
  return fmt::format("{} ended with status {}", who, exit.status);
}

std::vector<RankExit> run_local(const LocalJob& job, const SignalWatch& signals) {
  return LocalRun(job, signals).run();
}

}  // namespace busbw::real
