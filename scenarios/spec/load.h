// Reads scenarios from YAML.
#pragma once
#include <string>
#include <vector>

#include "scenarios/spec/scenario.h"
#include "sim/core/errors.h"
#include "topologies/catalog.h"
#include "topologies/machine.h"

namespace busbw::scenarios {

/// What a scenario may refer to by name.
struct Library {
  topologies::Catalog catalog;
  std::vector<topologies::Machine> machines;
};

/// Reads the catalogue of `directory` (gpus.yaml ... and machines/). Adds its problems to
/// `problems`.
Library load_library(const std::string& directory, Problems& problems);

/// Reads the scenario in `path`. Adds every problem of the file to `problems`; the result is usable
/// only when there was none.
Scenario load_scenario(const std::string& path, const Library& library, Problems& problems);

/// The same from text; `file` names it in messages and is where paths beside the file start.
Scenario parse_scenario(const std::string& text, const std::string& file, const Library& library,
                        Problems& problems);

}  // namespace busbw::scenarios
