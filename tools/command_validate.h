// `busbw validate`: calibrates, predicts and measures a scenario, and judges the difference.
#pragma once
#include <string>
#include <vector>

#include "tools/console.h"
#include "tools/real_options.h"

namespace busbw::tools {

struct ValidateOptions {
  RealOptions real;
  std::string scenario;               // file or name
  std::vector<std::string> variants;  // empty: all
  std::string parameters;             // parameter file; empty: the scenario's, else measured first
  std::string output;                 // file for the parameters that were measured
  std::string calibration_iterations = "100";
  std::string csv;
  std::string engine = "auto";
  bool setup = false;  // only say what tools/soft-roce needs
};

/// Prints the comparison. Returns kExitFinding when a bound was missed or an element was wrong, and
/// the ranks' exit code when they failed. Throws InputError with every problem.
int validate(const ValidateOptions& options, Console& console);

}  // namespace busbw::tools
