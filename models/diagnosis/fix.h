// A finding's fix as it works on an environment.
#pragma once
#include <map>
#include <string>
#include <vector>

namespace busbw::diagnosis {

/// Sets and unsets in `environment` what the first line of `fix` with `export NAME=VALUE` or `unset
/// NAME ...` says; a value in <...> is the user's and is left out. True when there is such a line.
bool apply_fix(const std::vector<std::string>& fix,
               std::map<std::string, std::string>& environment);

}  // namespace busbw::diagnosis
