// See scenario_file.h.
#include "tools/scenario_file.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "sim/core/errors.h"
#include "sim/core/text.h"

namespace busbw::tools {
namespace {

std::vector<std::string> scenario_names(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".yaml") {
      names.push_back(entry.path().stem().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::string find_scenario(const std::string& file, const DataPath& data) {
  if (std::filesystem::exists(file)) {
    return file;
  }
  std::string named = data.scenarios() + "/" + file + ".yaml";
  if (file.find('/') == std::string::npos && std::filesystem::exists(named)) {
    return named;
  }
  const std::vector<std::string> names = scenario_names(data.scenarios());
  throw InputError("no scenario file '" + file + "', and none of that name in " + data.scenarios() +
                   did_you_mean(file, names));
}

ScenarioFile read_scenario_file(const std::string& name, const std::string& parameters) {
  const bool is_file = std::filesystem::exists(name);
  const DataPath data = find_data(process_query(is_file ? std::optional(name) : std::nullopt));
  const std::string file = find_scenario(name, data);
  Problems problems;
  ScenarioFile read;
  read.library = scenarios::load_library(data.catalog(), problems);
  read.transports = params::load_transports(data.catalog(), problems);
  read.scenario = scenarios::load_scenario(file, read.library, problems);
  if (!parameters.empty()) {
    const params::Measured measured = params::load_measured(parameters, problems);
    for (scenarios::Variant& variant : read.scenario.variants) {
      variant.parameters = measured;
    }
  }
  problems.throw_if_any();
  return read;
}

void keep_variants(scenarios::Scenario& scenario, const std::vector<std::string>& names) {
  if (names.empty()) {
    return;
  }
  std::vector<std::string> known;
  for (const scenarios::Variant& variant : scenario.variants) {
    known.push_back(variant.name);
  }
  Problems problems;
  for (const std::string& wanted : names) {
    if (std::find(known.begin(), known.end(), wanted) == known.end()) {
      problems.add({}, "no variant '" + wanted + "' in " + scenario.file +
                           "; allowed: " + quoted_list(known) + did_you_mean(wanted, known));
    }
  }
  problems.throw_if_any();
  std::erase_if(scenario.variants, [&](const scenarios::Variant& variant) {
    return std::find(names.begin(), names.end(), variant.name) == names.end();
  });
}

}  // namespace busbw::tools
