// busbw-rank: one rank of a measurement. Started by busbw, which writes the task; links no
// simulator.
//
// Usage: busbw-rank TASK [ERRORS]. Its place comes from the launcher's variables
// (real/launch/place.h). A failure goes to the file ERRORS, which busbw reads, or to standard
// error. BUSBW_FAULT breaks one thing of one rank's verbs on purpose (real/verbs/faults.h). Exit
// status: that of busbw; 128 + n interrupted by signal n.
#include <cerrno>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <fstream>
#include <iostream>
#include <new>
#include <string>
#include <unistd.h>

#include "real/base/signals.h"
#include "real/launch/place.h"
#include "real/launch/session.h"
#include "real/measure/calibrate.h"
#include "real/measure/measure.h"
#include "real/measure/micro.h"
#include "real/measure/task.h"
#include "real/verbs/faults.h"
#include "sim/core/errors.h"
#include "sim/core/text.h"
#include "tools/exit_codes.h"
#include "tools/json/json.h"
#include "tools/rank/report.h"

namespace busbw::tools {
namespace {

/// To a file, or with "-" to standard output.
void write(const std::string& text, const std::string& path) {
  errno = 0;
  if (path == "-") {
    std::cout << text;
    if (!std::cout.flush())
      throw SystemError({"write", std::strerror(errno), "standard output", ""});
    return;
  }
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out)
    throw SystemError({"write", std::strerror(errno), path, ""});
}

/// The report of rank 0: text for people unless JSON takes its place, and the JSON.
void print(const real::Task& task, const std::string& text, const Value& value) {
  if (!task.json.empty())
    write(json::print(value), task.json);
  if (task.json != "-" && !task.quiet)
    write(text, "-");
}

/// A line on standard error that each text replaces, gone at the end.
class ProgressLine {
 public:
  explicit ProgressLine(bool shown) : shown_(shown) {}
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() { show(""); }
  void show(const std::string& text) const {
    const std::string line = "\r\x1b[K" + text;
    if (shown_)
      static_cast<void>(!::write(STDERR_FILENO, line.data(), line.size()));
  }

 private:
  bool shown_;
};

void report_calibration(const real::Task& task, const params::Measured& measured) {
  const std::string& output = task.calibration->output;
  if (!output.empty())
    write(to_yaml(measured), output);
  if (output != "-")
    print(task, format_calibration(task, measured), calibration_value(measured));
}

/// The verbs of this machine, null where this build has none; with this rank's fault.
std::shared_ptr<real::verbs::Api> verbs_of(RankId rank) {
  if (!real::verbs::has_system_verbs())
    return nullptr;
  std::shared_ptr<real::verbs::Api> api = real::verbs::open_system_verbs();
  const auto environment = real::process_environment();
  const auto text = environment.find("BUSBW_FAULT");
  if (text == environment.end() || text->second.empty())
    return api;
  const real::verbs::RankFault found = real::verbs::parse_fault(text->second);
  return found.rank == rank.value() ? with_fault(std::move(api), found.fault) : api;
}

int work(real::Session& session, const real::Task& task) {
  const std::shared_ptr<real::verbs::Api> api = verbs_of(session.rank());
  const bool prints = session.rank() == RankId(0);
  const ProgressLine line(task.progress && prints);
  const real::Progress progress = [&](const std::string& text) { line.show(text); };
  if (task.calibration) {
    const params::Measured measured = calibrate(session, task, api, progress);
    line.show("");
    if (prints)
      report_calibration(task, measured);
    return kExitDone;
  }
  if (task.micro) {
    const real::MicroResult result = run_micro(session, task, api);
    if (prints)
      print(task, format_micro(task, result), micro_value(task, result));
    return kExitDone;
  }
  const std::vector<real::SectionResult> results = measure(session, task, api, progress);
  line.show("");
  if (prints)
    print(task, format_measured(task, results), measured_value(task, results));
  for (const real::SectionResult& section : results) {
    for (const real::PointResult& point : section.points) {
      if (point.wrong > 0)
        return kExitFinding;
    }
  }
  return kExitDone;
}

int run_as_rank(const std::string& task_file) {
  real::SignalWatch signals;
  const real::Task task = real::task_from_bytes(read_file(task_file), task_file);
  const auto place = real::place_from_environment(real::process_environment());
  if (!place) {
    throw InputError(
        "busbw-rank is started by busbw, with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT or the "
        "variables of mpirun or srun");
  }
  const auto session = real::Session::join(*place, real::Milliseconds(task.timeout_ms), signals);
  int status = kExitDone;
  real::run_rank(*session, [&] { status = work(*session, task); });
  return status;
}

/// One line a failure; written at once, so that lines of several ranks do not mix.
void say(const std::string& text, const std::string& errors) {
  const std::string line = text + "\n";
  const int file =
      errors.empty() ? STDERR_FILENO : ::open(errors.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  static_cast<void>(!::write(file < 0 ? STDERR_FILENO : file, line.data(), line.size()));
}

int guarded(int argc, char** argv) {
  const std::string errors = argc > 2 ? argv[2] : "";
  try {
    if (argc < 2 || argc > 3)
      throw InputError("usage: busbw-rank TASK [ERRORS]; busbw starts it");
    return run_as_rank(argv[1]);
  } catch (const real::Interrupted& interrupted) {
    say(std::string("error: ") + interrupted.what(), errors);
    return 128 + interrupted.signal();
  } catch (const InputError& error) {
    for (const InputProblem& problem : error.problems())
      say(to_string(problem), errors);
    return kExitInput;
  } catch (const SystemError& error) {
    say(std::string("error: ") + error.what(), errors);
    return kExitSystem;
  } catch (const std::bad_alloc&) {
    say("error: out of memory: the buffers of all sizes do not fit", errors);
    return kExitSystem;
  } catch (const std::exception& error) {
    say(std::string("error: ") + error.what() + "; this is a bug in busbw; please report it",
        errors);
    return kExitBug;
  }
}

}  // namespace
}  // namespace busbw::tools

int main(int argc, char** argv) {
  return busbw::tools::guarded(argc, argv);
}
