// Runs tools and functions beside each other, each in a process of its own with one time limit:
// what hangs (a tool that waits for a dead GPU, a file of sysfs that never answers) is killed, what
// crashes is told, and neither stops the rest.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "real/base/deadline.h"

namespace busbw::real::collect {

struct Job {
  std::string name;
  std::vector<std::string> command;   // program as a path, and arguments; empty: `work`
  std::function<std::string()> work;  // must not throw
};

enum class JobEnd { kDone, kFailed, kTimedOut };

struct JobResult {
  JobEnd end = JobEnd::kDone;
  std::string text;  // standard output and error together, at most kMostOutput bytes
  std::string
      reason;  // "status 3", "killed by signal 11 (Segmentation fault)", "nothing within 5 s"
};

constexpr std::size_t kMostOutput = std::size_t{4} << 20U;

/// The program in the folders of `search_path` ("/usr/sbin:/usr/bin"); "" when it is in none.
std::string find_program(const std::string& name, const std::string& search_path);

/// Results in order of `jobs`. `on_end` hears of each as it ends. Tools get an empty standard input
/// and the C locale. Throws SystemError when no process can be started.
std::vector<JobResult> run_jobs(const std::vector<Job>& jobs, Milliseconds timeout,
                                const std::function<void(const Job&, const JobResult&)>& on_end);

}  // namespace busbw::real::collect
