// `busbw version`. The facts come from the configure step (tools/CMakeLists.txt); an empty text
// means that the library was not found there.
#include "tools/command_version.h"

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "sim/core/value.h"
#include "tools/exit_codes.h"
#include "tools/json/json.h"

namespace busbw::tools {
namespace {

struct Library {
  std::string_view key;
  std::string_view title;
  std::string_view version;
  std::string_view absent;  // what its absence means
};

constexpr Library kLibraries[] = {
    {"simgrid", "SimGrid", BUSBW_SIMGRID_VERSION, "not found when this was built"},
    {"verbs", "verbs", BUSBW_VERBS_VERSION,
     "not in this build: libibverbs was not found (Debian: libibverbs-dev)"},
    {"cuda", "CUDA", BUSBW_CUDA_VERSION, "not in this build: the CUDA Toolkit was not found"},
    {"hwloc", "hwloc", BUSBW_HWLOC_VERSION, "not in this build: hwloc was not found"},
};

}  // namespace

int version(const VersionOptions& options, Console& console) {
  if (options.json) {
    Value value = Value::object();
    value.set("schema", "busbw.version/1").set("version", BUSBW_VERSION);
    Value libraries = Value::object();
    for (const Library& library : kLibraries) {
      libraries.set(library.key, library.version.empty() ? Value() : Value(library.version));
    }
    value.set("libraries", std::move(libraries));
    console.out << json::print(value);
    return kExitDone;
  }
  std::string text = fmt::format("busbw {}\n", BUSBW_VERSION);
  for (const Library& library : kLibraries) {
    text += fmt::format("{:<8} {}\n", library.title,
                        library.version.empty() ? library.absent : library.version);
  }
  console.out << text;
  return kExitDone;
}

}  // namespace busbw::tools
