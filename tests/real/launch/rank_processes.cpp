// See rank_processes.h.
#include "tests/real/launch/rank_processes.h"

#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

#include <fmt/format.h>

#include "sim/core/text.h"

namespace busbw::real {

RankOutcome run_rank_program(std::size_t ranks, const std::vector<std::string>& arguments,
                             Milliseconds grace) {
  LocalJob job;
  job.grace = grace;
  std::vector<std::string> command{BUSBW_RANK_PROGRAM};
  command.insert(command.end(), arguments.begin(), arguments.end());
  job.commands.assign(ranks, command);
  std::string path = (std::filesystem::temp_directory_path() / "rank-errors-XXXXXX").string();
  const Descriptor file(::mkostemp(path.data(), O_APPEND | O_CLOEXEC));
  const Descriptor saved(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
  ::dup2(file.get(), STDERR_FILENO);
  RankOutcome outcome;
  const SignalWatch signals;
  outcome.exits = run_local(job, signals);
  ::dup2(saved.get(), STDERR_FILENO);
  outcome.errors = read_file(path);
  ::unlink(path.c_str());
  return outcome;
}

std::string bad_ends(const RankOutcome& outcome) {
  std::string text;
  for (const RankExit& exit : outcome.exits) {
    if (!exit.good())
      text += to_string(exit) + "\n";
  }
  return text + outcome.errors;
}

std::vector<std::string> segments_left(const RankOutcome& outcome) {
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    const std::string name = entry.path().filename().string();
    for (const RankExit& exit : outcome.exits) {
      if (name.rfind(fmt::format("busbw-{}-", exit.process), 0) == 0)
        left.push_back(name);
    }
  }
  return left;
}

}  // namespace busbw::real
