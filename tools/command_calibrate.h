// `busbw calibrate`: LogGP parameters of the networks between ranks, from micro-benchmarks.
#pragma once
#include <string>
#include <vector>

#include "scenarios/spec/scenario.h"
#include "tools/console.h"
#include "tools/real_options.h"

namespace busbw::tools {

struct CalibrateOptions {
  RealOptions real;                   // its network is not used
  std::string scenario;               // file or name; empty: by the flags below
  std::vector<std::string> variants;  // of the scenario; empty: all that run
  std::string output;                 // file for the parameters; "-" standard output
  bool all_pairs = false;
  // Without a scenario; empty: the default.
  std::vector<std::string> networks;  // auto's choice, or verbs, tcp, shm
  std::vector<std::string> methods;   // over verbs: write
  std::vector<std::string> devices;   // of each rank: NCCL's choice
  std::string ranks;                  // as many as devices, or 2, or the launcher's
};

/// Starts the ranks, or becomes one of them under a launcher. Returns their exit code. Throws
/// InputError with every problem.
int calibrate(const CalibrateOptions& options, Console& console);

}  // namespace busbw::tools
