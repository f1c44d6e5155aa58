// `busbw collect`: gathers on this machine, or on every host of a job, what a diagnosis reads.
#pragma once
#include <string>

#include "tools/console.h"

namespace busbw::tools {

struct CollectCommandOptions {
  std::string output = "collected";  // folder
  bool all_nodes = false;            // under a launcher: output/HOST, once a host
  std::string root;                  // another root to read from; empty: this machine
  std::string timeout = "10";        // seconds, of everything together
  std::string json;                  // the manifest: file, or "-" in place of the table
};

/// Writes the folder. What is missing is told and is no failure. Throws InputError for wrong
/// options and for a folder that holds other things, SystemError when it cannot be written.
int collect(const CollectCommandOptions& options, Console& console);

}  // namespace busbw::tools
