// `busbw run FILE`: predicts every variant of a scenario.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "tools/console.h"

namespace busbw::tools {

struct RunOptions {
  std::string file;  // a path, or the name of a scenario of the catalogue
  std::string json;  // file for JSON, "-" for stdout in place of the report
  std::string csv;   // the same for CSV
  std::string engine = "auto";
  std::string seed = "1";  // a whole number from 0 on
  std::string parameters;  // parameter file for all variants, in place of the catalogue's
  std::optional<std::int64_t> hottest;  // links of each size to show; nothing: as Context has it
  bool log = false;
  bool brief = false;
};

/// Prints the report. Returns kExitFinding when a bound of the file was missed, else kExitDone.
/// Throws InputError with every problem of the file.
int run(const RunOptions& options, Console& console);

}  // namespace busbw::tools
