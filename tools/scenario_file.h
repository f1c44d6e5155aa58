// Finds a scenario file by path or by the name of one in the catalogue.
#pragma once
#include <string>

#include "tools/data_path.h"

namespace busbw::tools {

/// A path that exists, else a scenario of the catalogue by name. Throws InputError with the nearest
/// name.
std::string find_scenario(const std::string& file, const DataPath& data);

}  // namespace busbw::tools
