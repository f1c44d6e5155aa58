// The command line: from arguments to a command's options struct. The only user of CLI11 stands
// behind this header (it is slow to compile).
//
// To add a command: write tools/command_NAME.{h,cpp} with an options struct and a function
// `int NAME(const NAMEOptions&, Console&)` that returns an exit code, and an add_NAME in cli.cpp.
#pragma once
#include <string>
#include <vector>

#include "tools/console.h"

namespace busbw::tools {

/// Parses `arguments` (without the program's name) and runs the command. Returns the exit code.
/// Throws InputError for a wrong command line, and what the command throws.
int run_command_line(const std::vector<std::string>& arguments, Console& console);

}  // namespace busbw::tools
