// `busbw preflight`: what NCCL will choose on these nodes, and what is wrong, before a job starts.
#pragma once
#include <string>
#include <vector>

#include "tools/console.h"

namespace busbw::tools {

struct PreflightOptions {
  std::vector<std::string> paths;        // one scenario, or folders with tool output
  std::string version;                   // of NCCL; empty: the newest, or the scenario's
  std::vector<std::string> environment;  // NAME=VALUE that the job gets beyond what is there
  std::vector<std::string> unset;        // names that it loses
  std::string json;                      // file, or "-" for standard output
};

/// Prints choice and findings of each job. Returns kExitFinding when a finding is above low
/// confidence. Throws InputError for what is not there or cannot be read.
int preflight(const PreflightOptions& options, Console& console);

}  // namespace busbw::tools
