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

}  // namespace busbw::tools
