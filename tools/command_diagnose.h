// `busbw diagnose`: from logs and tool output to the cause and the fix.
#pragma once
#include <string>
#include <vector>

#include "tools/console.h"

namespace busbw::tools {

struct DiagnoseOptions {
  std::vector<std::string> paths;  // files and folders
  std::string json;                // file, or "-" for standard output
  bool kinds = false;              // list the kinds of causes instead
};

/// Prints findings with their evidence. Returns kExitFinding when one is above low confidence.
/// Throws InputError for paths that are not there, all at once.
int diagnose(const DiagnoseOptions& options, Console& console);

}  // namespace busbw::tools
