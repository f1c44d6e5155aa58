// `busbw list`: what the catalogue holds, as tables for people or as JSON.
#pragma once
#include <string>
#include <vector>

#include "tools/console.h"

namespace busbw::tools {

struct ListOptions {
  std::string what;  // one of list_kinds()
  bool json = false;
};

/// "machines", "gpus", "nics", "cpus", "switches", "rates", "scenarios".
const std::vector<std::string>& list_kinds();

/// Prints one list. JSON: {"schema": "busbw.list/1", "list": kind, "items": [...]}. Throws
/// InputError when `what` is no list or the catalogue has problems.
int list(const ListOptions& options, Console& console);

}  // namespace busbw::tools
