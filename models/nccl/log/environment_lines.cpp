// Lines that tell which variables were read. Numbers are printed as read and end with a full stop,
// texts as they stand without one; a level prints its name and passes every filter.
#include <limits>

#include <fmt/format.h>

#include "models/nccl/graph/path_type.h"
#include "models/nccl/log/lines.h"
#include "models/nccl/variables.h"

namespace busbw::nccl::log {
namespace {

/// Read while the tuning model is made.
constexpr const char* kTuning[] = {"NCCL_ALGO",
                                   "NCCL_PROTO",
                                   "NCCL_NTHREADS",
                                   "NCCL_LL128_NTHREADS",
                                   "NCCL_LL128_C2C",
                                   "NCCL_PAT_ENABLE",
                                   "NCCL_NVLSTREE_MAX_CHUNKSIZE",
                                   "NCCL_THREAD_THRESHOLDS"};

Stage stage_of(const Variable& variable) {
  for (const char* name : kTuning) {
    if (variable.name == name)
      return Stage::kTuning;
  }
  const bool network =
      variable.group == VariableGroup::kStartUp || variable.group == VariableGroup::kInfiniBand;
  return network ? Stage::kNetwork : Stage::kPaths;
}

bool told_already(const std::string& name, const Lines& told) {
  for (const LogLine& line : told) {
    if (line.text.rfind(name + " set ", 0) == 0)
      return true;
  }
  return false;
}

/// What the line says after the name; nothing when NCCL says nothing.
std::optional<LogLine> line_of(const View& view, const Variable& variable,
                               const std::string& value) {
  const Environment& environment = view.decision.environment;
  const std::string& name = variable.name;
  // P2P_DISABLE is read together with P2P_LEVEL, as the level LOC.
  if (name == "NCCL_P2P_DISABLE") {
    if (numeric(environment, name, 0) != 1)
      return std::nullopt;
    return info("ALL", view.from(2, 23, 4) ? "NCCL_P2P_DISABLE set by environment to 1"
                                           : "NCCL_P2P_LEVEL set by environment to LOC");
  }
  if (name == "NCCL_P2P_LEVEL" && numeric(environment, "NCCL_P2P_DISABLE", 0) == 1)
    return std::nullopt;
  switch (variable.kind) {
    case VariableKind::kPathLevel: {
      const auto level = graph::level(environment, name, view.decision.switches);
      if (!level)
        return std::nullopt;
      return info("ALL", fmt::format("{} set by environment to {}", name, to_string(*level)));
    }
    case VariableKind::kNumber: {
      constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();
      const std::int64_t number = numeric(environment, name, kNone);
      if (number == kNone)
        return std::nullopt;
      return info("ENV", fmt::format("{} set by environment to {}.", name, number));
    }
    default:
      return info("ENV", fmt::format("{} set by environment to {}", name, value));
  }
}

}  // namespace

Lines environment_lines(const View& view, Stage stage, const Lines& told) {
  Lines lines;
  for (const auto& [name, value] : view.decision.environment) {
    const Variable* variable = find_variable(name);
    if (variable == nullptr || variable->group == VariableGroup::kLogging ||
        view.decision.version < variable->since || name == "NCCL_CONF_FILE" ||
        stage_of(*variable) != stage || told_already(name, told))
      continue;
    if (variable->group == VariableGroup::kInfiniBand && view.network != "IB")
      continue;
    if (const auto line = line_of(view, *variable, value))
      lines.push_back(*line);
  }
  return lines;
}

}  // namespace busbw::nccl::log
