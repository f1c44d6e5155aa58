// Finds a scenario file by path or by the name of one in the catalogue, and reads it.
#pragma once
#include <string>
#include <vector>

#include "models/params/params.h"
#include "scenarios/spec/load.h"
#include "tools/data_path.h"

namespace busbw::tools {

/// A path that exists, else a scenario of the catalogue by name. Throws InputError with the nearest
/// name.
std::string find_scenario(const std::string& file, const DataPath& data);

/// A scenario with what it refers to.
struct ScenarioFile {
  scenarios::Library library;
  params::Transports transports;
  scenarios::Scenario scenario;
};
/// Reads the scenario that `name` finds and, unless it is empty, the parameter file `parameters`,
/// which then holds for every variant. Throws InputError with the problems of all files.
ScenarioFile read_scenario_file(const std::string& name, const std::string& parameters = "");

/// Keeps the variants of these names in their order; all without names. Throws InputError with
/// every name that there is not.
void keep_variants(scenarios::Scenario& scenario, const std::vector<std::string>& names);

}  // namespace busbw::tools
