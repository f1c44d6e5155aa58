// See jobs.h. Linux: PR_SET_PDEATHSIG, process groups.
#include "real/collect/jobs.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "real/base/system.h"
#include "sim/core/text.h"

namespace busbw::real::collect {
namespace {

/// How long a killed process may take to end before it is left to itself: one that hangs in the
/// kernel cannot be waited for.
constexpr Milliseconds kGrace{500};

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  list.reserve(texts.size() + 1);
  for (std::string& text : texts)
    list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

/// The environment of tools: ours, in the C locale.
std::vector<std::string> tool_environment() {
  std::vector<std::string> environment;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (!text.starts_with("LC_ALL=") && !text.starts_with("LANG="))
      environment.emplace_back(text);
  }
  environment.emplace_back("LC_ALL=C");
  return environment;
}

void write_all(int descriptor, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t size = ::write(descriptor, text.data() + done, text.size() - done);
    if (size < 0 && errno != EINTR)
      return;
    done += static_cast<std::size_t>(std::max<ssize_t>(0, size));
  }
}

class Running {
 public:
  explicit Running(const Job& job) : job_(job) { start(); }
  Running(Running&&) noexcept = default;
  Running& operator=(Running&&) = delete;
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() = default;

  [[nodiscard]] bool ended() const { return process_ < 0; }
  [[nodiscard]] int descriptor() const { return output_.get(); }
  [[nodiscard]] const Job& job() const { return job_; }
  [[nodiscard]] const JobResult& result() const { return result_; }
  JobResult take() { return std::move(result_); }

  /// Takes what is there; true when the output has ended.
  void read_some() {
    std::array<char, 65536> bytes{};
    const ssize_t size = ::read(output_.get(), bytes.data(), bytes.size());
    if (size > 0) {
      const std::size_t room = kMostOutput - std::min(kMostOutput, result_.text.size());
      result_.text.append(bytes.data(), std::min(room, static_cast<std::size_t>(size)));
    } else if (size == 0 || (errno != EINTR && errno != EAGAIN)) {
      output_.reset();
    }
  }

  /// After the end of the output: whether the process has ended, too.
  void look() {
    int status = 0;
    if (::waitpid(process_, &status, WNOHANG) != process_)
      return;
    process_ = -1;
    if (WIFSIGNALED(status)) {
      result_.end = JobEnd::kFailed;
      result_.reason =
          fmt::format("killed by signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
    } else if (WEXITSTATUS(status) != 0) {
      result_.end = JobEnd::kFailed;
      result_.reason = fmt::format("status {}", WEXITSTATUS(status));
    }
  }

  void kill(Milliseconds timeout) {
    ::kill(-process_, SIGKILL);
    const Deadline grace = Deadline::in(kGrace);
    int status = 0;
    while (::waitpid(process_, &status, WNOHANG) == 0 && !grace.passed())
      sleep_on({}, Milliseconds(5));
    process_ = -1;
    output_.reset();
    result_.end = JobEnd::kTimedOut;
    result_.reason = "nothing within " + to_string(timeout);
  }

 private:
  void start() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
      fail_call("pipe2", errno, job_.name);
    output_ = Descriptor(ends[0]);
    const Descriptor writer(ends[1]);
    std::vector<std::string> command = job_.command;
    std::vector<std::string> environment = tool_environment();
    const std::vector<char*> command_list = pointers(command);
    const std::vector<char*> environment_list = pointers(environment);
    const pid_t process = ::fork();
    if (process < 0)
      fail_call("fork", errno, job_.name);
    if (process == 0)
      become(writer.get(), command_list.data(), environment_list.data());
    ::setpgid(process, process);  // here as well, so that it is true before the first kill
    process_ = process;
  }

  /// In the child. A tool: only calls that are allowed between fork and exec. A function: this
  /// program has one thread here, so everything works.
  [[noreturn]] void become(int output, char* const* command, char* const* environment) const {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    const int spoken = job_.command.empty() ? nothing : output;  // what libraries say is no fact
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(spoken, STDOUT_FILENO);
    ::dup2(spoken, STDERR_FILENO);
    if (job_.command.empty()) {
      write_all(output, job_.work());
      ::_exit(0);
    }
    ::execve(command[0], command, environment);
    ::_exit(127);
  }

  const Job& job_;
  pid_t process_ = -1;
  Descriptor output_;
  JobResult result_;
};

/// Waits until one of the jobs has something to say, a little while, or `deadline`.
void wait_some(const std::vector<Running>& jobs, const Deadline& deadline) {
  constexpr Milliseconds kLook{20};  // for processes that have closed their output and still run
  std::vector<int> descriptors;
  bool closing = false;
  for (const Running& job : jobs) {
    if (job.ended())
      continue;
    closing = closing || job.descriptor() < 0;
    if (job.descriptor() >= 0)
      descriptors.push_back(job.descriptor());
  }
  sleep_on(descriptors, closing ? std::min(kLook, deadline.left()) : deadline.left());
}

}  // namespace

std::string find_program(const std::string& name, const std::string& search_path) {
  for (const std::string_view folder : split(search_path, ':')) {
    std::string path = fmt::format("{}/{}", folder, name);
    if (!folder.empty() && ::access(path.c_str(), X_OK) == 0)
      return path;
  }
  return "";
}

std::vector<JobResult> run_jobs(const std::vector<Job>& jobs, Milliseconds timeout,
                                const std::function<void(const Job&, const JobResult&)>& on_end) {
  const Deadline deadline = Deadline::in(timeout);
  std::vector<Running> running;
  running.reserve(jobs.size());
  for (const Job& job : jobs)
    running.emplace_back(job);
  std::size_t left = running.size();
  while (left > 0) {
    wait_some(running, deadline);
    for (Running& job : running) {
      if (job.ended())
        continue;
      if (job.descriptor() >= 0) {
        pollfd polled{job.descriptor(), POLLIN, 0};
        if (::poll(&polled, 1, 0) > 0)
          job.read_some();
      }
      if (job.descriptor() < 0)
        job.look();
      if (!job.ended() && deadline.passed())
        job.kill(timeout);
      if (job.ended()) {
        --left;
        on_end(job.job(), job.result());
      }
    }
  }
  std::vector<JobResult> results;
  results.reserve(running.size());
  for (Running& job : running)
    results.push_back(job.take());
  return results;
}

}  // namespace busbw::real::collect
