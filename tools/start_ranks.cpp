// See start_ranks.h.
#include "tools/start_ranks.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "real/base/signals.h"
#include "real/base/system.h"
#include "real/launch/local_processes.h"
#include "sim/core/errors.h"
#include "sim/core/text.h"
#include "tools/data_path.h"
#include "tools/exit_codes.h"

namespace busbw::tools {
namespace {

/// When a rank has failed, the others get this long to notice.
constexpr real::Milliseconds kGrace{5000};

std::string rank_program() {
  const std::filesystem::path own = process_query().program;
  const std::filesystem::path beside = own.parent_path() / "busbw-rank";
  std::error_code error;
  if (!std::filesystem::exists(beside, error)) {
    throw SystemError({"start of the ranks", "the program busbw-rank is missing beside busbw",
                       beside.string(), ""});
  }
  return beside.string();
}

/// What the ranks said, each text once; what others repeat of it ("rank 1 (host:7) failed: text")
/// goes, but for the name of the rank.
std::vector<std::string> distinct(const std::string& text) {
  constexpr std::string_view kMarker = "error: ";
  std::vector<std::string> lines;
  for (const std::string_view line : split_lines(text)) {
    if (!line.empty() && std::find(lines.begin(), lines.end(), line) == lines.end())
      lines.emplace_back(line);
  }
  std::vector<std::string> kept;
  for (const std::string& line : lines) {
    const std::string_view body =
        std::string_view(line).substr(line.rfind(kMarker, 0) == 0 ? kMarker.size() : 0);
    const bool repeated = std::any_of(lines.begin(), lines.end(), [&](const std::string& other) {
      return other != line && other.find(body) != std::string::npos;
    });
    if (!repeated)
      kept.push_back(line);
  }
  return kept;
}

/// The same failure of several ranks is one line: "error: rank 0 (host:7), rank 1 (host:8) failed:
/// text".
std::vector<std::string> merged(const std::vector<std::string>& lines) {
  constexpr std::string_view kStart = "error: rank ";
  constexpr std::string_view kFailed = " failed: ";
  std::vector<std::pair<std::string, std::string>> found;  // who, and what follows
  for (const std::string& line : lines) {
    const std::size_t end = line.rfind(kStart, 0) == 0 ? line.find(kFailed) : line.size();
    const std::string who = line.substr(0, end);
    const std::string rest = end < line.size() ? line.substr(end) : "";
    const auto same = std::find_if(found.begin(), found.end(), [&](const auto& known) {
      return !rest.empty() && known.second == rest;
    });
    if (same == found.end()) {
      found.emplace_back(who, rest);
    } else {
      same->first += ", " + who.substr(std::string_view("error: ").size());
    }
  }
  std::vector<std::string> texts;
  texts.reserve(found.size());
  for (const auto& [who, rest] : found) {
    texts.push_back(who + rest);
  }
  return texts;
}

/// Bugs before wrong input before failures of the system before wrong results.
int worst(const std::vector<real::RankExit>& exits) {
  const auto any = [&](int status) {
    return std::any_of(exits.begin(), exits.end(),
                       [&](const real::RankExit& exit) { return exit.status == status; });
  };
  for (const int status : {kExitBug, kExitInput, kExitSystem}) {
    if (any(status))
      return status;
  }
  const bool other = std::any_of(exits.begin(), exits.end(), [](const real::RankExit& exit) {
    return !exit.good() && exit.status != kExitFinding;
  });
  return other ? kExitSystem : any(kExitFinding) ? kExitFinding : kExitDone;
}

}  // namespace

SharedFile::SharedFile(const char* name, const std::string& text) : file_(::memfd_create(name, 0)) {
  if (!file_.open())
    real::fail_call("memfd_create", errno, name);
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(file_.get(), text.data() + done, text.size() - done);
    if (count < 0)
      real::fail_call("write", errno, name);
    done += static_cast<std::size_t>(count);
  }
}

std::string SharedFile::path() const {
  return fmt::format("/proc/self/fd/{}", file_.get());
}

std::optional<real::Place> launched_place() {
  return real::place_from_environment(real::process_environment());
}

int run_here(const real::Task& task, std::int32_t ranks, Console& console) {
  const SharedFile task_file("busbw-task", to_bytes(task));
  const SharedFile errors("busbw-errors");
  real::LocalJob job;
  job.commands.assign(static_cast<std::size_t>(ranks),
                      {rank_program(), task_file.path(), errors.path()});
  job.grace = kGrace;
  const real::SignalWatch signals;
  const std::vector<real::RankExit> exits = run_local(job, signals);
  const std::vector<std::string> lines = merged(distinct(read_file(errors.path())));
  const int signal = real::SignalWatch::pending();
  if (signal == 0) {
    for (const std::string& line : lines)
      console.err << line << '\n';
  }
  for (const real::RankExit& exit : exits) {
    if (exit.signal != 0 && signal == 0)
      console.err << red("error:", console.colour_err) << ' ' << to_string(exit) << '\n';
  }
  if (signal != 0) {
    console.err << red("error:", console.colour_err) << ' ' << real::Interrupted(signal).what()
                << '\n';
    return 128 + signal;
  }
  return worst(exits);
}

void become_rank(const real::Task& task, const std::map<std::string, std::string>& variables) {
  const SharedFile task_file("busbw-task", to_bytes(task));
  std::map<std::string, std::string> environment = real::process_environment();
  for (const auto& [name, value] : variables)
    environment[name] = value;
  std::vector<std::string> texts;
  texts.reserve(environment.size());
  for (const auto& [name, value] : environment)
    texts.push_back(fmt::format("{}={}", name, value));
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts)
    pointers.push_back(text.data());
  pointers.push_back(nullptr);
  std::string program = rank_program();
  std::string path = task_file.path();
  const std::array<char*, 3> command = {program.data(), path.data(), nullptr};
  ::execve(command[0], command.data(), pointers.data());
  real::fail_call("exec", errno, program);
}

}  // namespace busbw::tools
