// `busbw show KIND SCENARIO`: what an emulated host of a scenario would print.
#pragma once
#include <string>
#include <vector>

#include "tools/console.h"

namespace busbw::tools {

struct ShowOptions {
  std::string kind;
  std::string scenario;  // file or name
  std::string variant;   // empty: the first
  std::string host;      // number from 0, or its name; empty: 0
  // Of the path of a byte:
  std::string from;     // HOST:GPU; empty: GPU 0 of the host
  std::string to;       // empty: the same GPU of the next host, else the next GPU
  std::string channel;  // empty: 0
  std::string json;     // file, "-" for standard output in place of the table
};

/// What can be shown, in the order of the help.
std::vector<std::string> show_kinds();

/// Prints it. Throws InputError with every problem of the options and of the scenario.
int show(const ShowOptions& options, Console& console);

}  // namespace busbw::tools
