// `busbw measure`: runs collectives for real on ranks, by the schedules that the simulator plays.
#pragma once
#include <string>
#include <vector>

#include "tools/console.h"
#include "tools/real_options.h"
#include "tools/scenario_file.h"

namespace busbw::tools {

struct MeasureOptions {
  RealOptions real;
  std::string scenario;               // file or name; empty: by the flags below
  std::vector<std::string> variants;  // of the scenario; empty: all that run
  std::vector<std::string> methods;   // write, read, send
  bool barrier = false;
  bool in_place = false;
  // Without a scenario; empty: the default.
  std::vector<std::string> collectives;  // all_reduce
  std::vector<std::string> algorithms;   // Ring, or Direct
  std::string ranks;                     // 2, or the launcher's
  std::string hosts;                     // the real ones
  std::string channels;                  // 1
  std::string chunk;                     // 128K
  std::string slots;                     // 8
  std::string type;                      // float
  std::string redop;                     // sum
  std::string root;                      // 0
};

/// Starts the ranks, or becomes one of them under a launcher. Returns their exit code: kExitFinding
/// when an element is wrong. Throws InputError with every problem.
int measure(const MeasureOptions& options, Console& console);

/// Sections of the flags, one for each collective, algorithm and method.
std::vector<real::Section> sections_of_flags(const MeasureOptions& options, Problems& problems);
/// Sections of the scenario's variants, titled by their names, one for each method over verbs;
/// variants that NCCL does not run become remarks.
std::vector<real::Section> sections_of_scenario(const MeasureOptions& options,
                                                const ScenarioFile& file,
                                                std::vector<std::string>& remarks);
/// Makes every schedule once, so that what cannot be made is said before a rank starts. Throws
/// InputError.
void check_schedules(const real::Task& task);
/// The methods asked for; nothing when none is.
std::vector<real::VerbsMethod> read_methods(const MeasureOptions& options, Problems& problems);

}  // namespace busbw::tools
