// Where the catalogues are: the hardware in topologies/catalog, the scenarios in scenarios/catalog.
//
// A data folder is one that has topologies/catalog. It is looked for, in this order,
//   1. beside the scenario file,
//   2. in the folder named by BUSBW_DATA; set, it must be a data folder: no silent fallback,
//   3. in the source tree of the build that the program lies in,
//   4. in share/busbw of the prefix that the program is installed in (PREFIX/bin/busbw).
// The first hit is used as a whole; folders are not merged.
#pragma once
#include <optional>
#include <string>

namespace busbw::tools {

struct DataQuery {
  std::optional<std::string> scenario_file;  // nothing for commands without a scenario
  std::optional<std::string> busbw_data;     // value of BUSBW_DATA; empty counts as unset
  std::string program;                       // absolute path of the running program
};

struct DataPath {
  std::string root;

  [[nodiscard]] std::string catalog() const { return root + "/topologies/catalog"; }
  [[nodiscard]] std::string scenarios() const { return root + "/scenarios/catalog"; }
};

/// The query of this process: BUSBW_DATA from the environment, the program from /proc/self/exe.
/// Throws SystemError when that cannot be read.
DataQuery process_query(std::optional<std::string> scenario_file = std::nullopt);

/// The data folder. Throws InputError that lists where it looked.
DataPath find_data(const DataQuery& query);

}  // namespace busbw::tools
