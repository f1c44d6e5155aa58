// Search for the data folder. The build tree is known by its CMakeCache.txt beside the program, so
// that no path of the building machine is compiled into the program.
#include "tools/data_path.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

#include "sim/core/errors.h"
#include "sim/core/text.h"

namespace busbw::tools {
namespace {

namespace fs = std::filesystem;

bool is_data_folder(const fs::path& folder) {
  std::error_code ignored;  // unreadable counts as absent; the error below lists the folder
  return fs::is_directory(folder / "topologies" / "catalog", ignored);
}

/// Source folder of the build tree `folder`, or nothing when it is no build tree.
std::optional<std::string> source_of_build(const fs::path& folder) {
  constexpr std::string_view kKey = "CMAKE_HOME_DIRECTORY:INTERNAL=";
  std::ifstream cache(folder / "CMakeCache.txt");
  for (std::string line; std::getline(cache, line);) {
    if (line.starts_with(kKey)) {
      return line.substr(kKey.size());
    }
  }
  return std::nullopt;
}

}  // namespace

DataQuery process_query(std::optional<std::string> scenario_file) {
  DataQuery query;
  query.scenario_file = std::move(scenario_file);
  if (const char* value = std::getenv("BUSBW_DATA"); value != nullptr) {
    query.busbw_data = value;
  }
  std::error_code error;
  query.program = fs::read_symlink("/proc/self/exe", error).string();
  if (error) {
    throw SystemError({"readlink", error.message(), "/proc/self/exe", ""});
  }
  return query;
}

DataPath find_data(const DataQuery& query) {
  std::vector<std::string> looked;
  const auto try_folder = [&looked](const fs::path& folder) {
    looked.push_back((folder / "topologies" / "catalog").lexically_normal().string());
    return is_data_folder(folder);
  };
  if (query.scenario_file) {
    const fs::path beside = fs::path(*query.scenario_file).parent_path();
    if (try_folder(beside.empty() ? fs::path(".") : beside)) {
      return {beside.empty() ? "." : beside.string()};
    }
  }
  if (query.busbw_data && !query.busbw_data->empty()) {
    if (try_folder(*query.busbw_data)) {
      return {*query.busbw_data};
    }
    throw InputError("BUSBW_DATA is '" + *query.busbw_data + "', but there is no folder '" +
                     looked.back() + "'");
  }
  const fs::path program_folder = fs::path(query.program).parent_path();
  if (const std::optional<std::string> source = source_of_build(program_folder);
      source && try_folder(*source)) {
    return {*source};
  }
  const fs::path installed = program_folder.parent_path() / "share" / "busbw";
  if (try_folder(installed)) {
    return {installed.string()};
  }
  throw InputError("no hardware catalogue found; looked for " + quoted_list(looked) +
                   "; set BUSBW_DATA to a folder that has topologies/catalog");
}

}  // namespace busbw::tools
