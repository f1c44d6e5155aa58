// See child_process.h. Linux: process descriptors (pidfd) to sleep on, PR_SET_PDEATHSIG.
#include "tools/child_process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "real/launch/place.h"
#include "sim/core/check.h"
#include "sim/core/errors.h"
#include "sim/core/text.h"

namespace busbw::tools {
namespace {

namespace fs = std::filesystem;

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  list.reserve(texts.size() + 1);
  for (std::string& text : texts) {
    list.push_back(text.data());
  }
  list.push_back(nullptr);
  return list;
}

/// In the child: only calls that are allowed between fork and exec.
[[noreturn]] void become(char* const* command, char* const* environment, const char* directory,
                         const std::array<int, 3>& streams, int report) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE}) {
    ::signal(signal, SIG_DFL);
  }
  for (int target = 0; target < 3; target++) {
    if (streams[static_cast<std::size_t>(target)] >= 0) {
      ::dup2(streams[static_cast<std::size_t>(target)], target);
    }
  }
  if (*directory == '\0' || ::chdir(directory) == 0) {
    ::execve(command[0], command, environment);
  }
  const int error = errno;
  static_cast<void>(!::write(report, &error, sizeof error));
  ::_exit(127);
}

std::vector<std::string> assignments_of(const ChildCommand& command) {
  std::map<std::string, std::string> environment = real::process_environment();
  for (const auto& [name, value] : command.environment) {
    environment[name] = value;
  }
  std::vector<std::string> assignments;
  assignments.reserve(environment.size());
  for (const auto& [name, value] : environment) {
    assignments.push_back(fmt::format("{}={}", name, value));
  }
  return assignments;
}

}  // namespace

std::string find_program(const std::string& name, const std::string& package) {
  const std::map<std::string, std::string> environment = real::process_environment();
  const auto path = environment.find("PATH");
  const std::string folders =
      (path == environment.end() ? "" : path->second + ":") + "/usr/sbin:/usr/bin:/sbin:/bin";
  for (const std::string_view folder : split(folders, ':')) {
    const fs::path candidate = fs::path(folder) / name;
    if (!folder.empty() && ::access(candidate.c_str(), X_OK) == 0) {
      return candidate.string();
    }
  }
  throw SystemError({"exec", "program not found; install the Debian package " + package, name, ""});
}

ChildProcess::ChildProcess(const ChildCommand& command) {
  CHECK(!command.words.empty());
  std::vector<std::string> words = command.words;
  std::vector<std::string> assignments = assignments_of(command);
  const std::vector<char*> word_list = pointers(words);
  const std::vector<char*> environment_list = pointers(assignments);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    real::fail_call("pipe2", errno);
  }
  const real::Descriptor reader(ends[0]);
  real::Descriptor writer(ends[1]);
  process_ = ::fork();
  if (process_ < 0) {
    real::fail_call("fork", errno, words.front());
  }
  if (process_ == 0) {
    become(word_list.data(), environment_list.data(), command.directory.c_str(),
           {command.input, command.output, command.error}, writer.get());
  }
  descriptor_ = real::Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, process_, 0)));
  // The pipe closes at exec; what comes through it is the errno of a failed one.
  writer.reset();
  int error = 0;
  if (::read(reader.get(), &error, sizeof error) == static_cast<ssize_t>(sizeof error)) {
    ::waitpid(process_, nullptr, 0);
    real::fail_call("exec", error, words.front());
  }
}

ChildProcess::~ChildProcess() {
  if (!status_ && process_ > 0) {
    ::kill(process_, SIGKILL);
    while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

std::optional<int> ChildProcess::wait(real::Milliseconds longest,
                                      const real::SignalWatch* signals) {
  const real::Deadline deadline = real::Deadline::in(longest);
  while (!status_) {
    int status = 0;
    if (::waitpid(process_, &status, WNOHANG) == process_) {
      status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
      break;
    }
    if (deadline.passed() || (signals != nullptr && real::SignalWatch::pending() == SIGTERM)) {
      return std::nullopt;
    }
    std::vector<int> descriptors;
    if (descriptor_.open()) {
      descriptors.push_back(descriptor_.get());
    }
    real::sleep_on(descriptors, std::min(deadline.left(), real::Milliseconds(200)));
  }
  return status_;
}

void ChildProcess::send(int signal) const {
  if (!status_) {
    ::kill(process_, signal);
  }
}

PrivateFolder::PrivateFolder() {
  const std::map<std::string, std::string> environment = real::process_environment();
  const auto found = environment.find("TMPDIR");
  const std::string base =
      found == environment.end() || found->second.empty() ? "/tmp" : found->second;
  path_ = fs::absolute(base).string() + "/busbw-fabric-XXXXXX";
  if (::mkdtemp(path_.data()) == nullptr) {
    real::fail_call("mkdtemp", errno, path_);
  }
}

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;  // a folder that cannot be removed is no reason to end badly
  fs::remove_all(path_, ignored);
}

}  // namespace busbw::tools
