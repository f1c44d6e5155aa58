// `busbw show path`: the way of a byte as a table, or as JSON.
#pragma once
#include <cstddef>
#include <string>

#include "sim/core/errors.h"
#include "tools/command_show.h"
#include "tools/console.h"
#include "tools/scenario_file.h"

namespace busbw::tools {

/// Refers to what it is made from.
struct PathRequest {
  const ShowOptions& options;
  const ScenarioFile& file;
  const scenarios::Variant& variant;
  std::size_t host;
};

/// Host (from 0) by number or name. An unknown one is a problem of `option`; 0 then.
std::size_t find_host(const scenarios::Variant& variant, const std::string& text,
                      const char* option, Problems& problems);

/// Throws InputError with `problems` and those of the ends.
int show_path(const PathRequest& request, Problems& problems, Console& console);

}  // namespace busbw::tools
