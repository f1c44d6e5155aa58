// See debug_filter.h.
#include "models/nccl/log/debug_filter.h"

#include "sim/core/text.h"

namespace busbw::nccl::log {
namespace {

constexpr Version kBootstrapSubsystem{2, 22, 3};

struct Subsystem {
  const char* name;
  Version since;
};
constexpr Subsystem kSubsystems[] = {
    {"init", {}},
    {"coll", {}},
    {"p2p", {}},
    {"shm", {}},
    {"net", {}},
    {"graph", {}},
    {"tuning", {}},
    {"env", {}},
    {"alloc", {}},
    {"call", {}},
    {"proxy", {}},
    {"nvls", {}},
    {"bootstrap", kBootstrapSubsystem},
    {"reg", {2, 21, 5}},
    {"profile", {2, 22, 3}},
    {"ras", {2, 24, 3}},
};

}  // namespace

std::vector<std::string> subsystems(Version version) {
  std::vector<std::string> names;
  for (const Subsystem& subsystem : kSubsystems) {
    if (version < subsystem.since)
      continue;
    std::string name = subsystem.name;
    for (char& letter : name)
      letter = static_cast<char>(letter >= 'a' && letter <= 'z' ? letter - 'a' + 'A' : letter);
    names.push_back(std::move(name));
  }
  return names;
}

DebugFilter::DebugFilter(const Environment& environment, Version version) : version_(version) {
  const std::string level = lower(text(environment, "NCCL_DEBUG").value_or("INFO"));
  level_ = level == "version"                                        ? Level::kVersion
           : level == "warn"                                         ? Level::kWarn
           : level == "info" || level == "abort" || level == "trace" ? Level::kInfo
                                                                     : Level::kNone;
  std::set<std::string> all;
  for (const std::string& name : subsystems(version))
    all.insert(lower(name));
  const std::optional<std::string> wanted = text(environment, "NCCL_DEBUG_SUBSYS");
  if (!wanted) {
    shown_ = {"init", "env", "bootstrap"};
    return;
  }
  const bool inverted = wanted->rfind('^', 0) == 0;
  if (inverted)
    shown_ = all;
  const std::string list = inverted ? wanted->substr(1) : *wanted;
  for (const std::string_view part : split(list, ',')) {
    const std::string name = lower(part);
    const std::set<std::string> meant = name == "all"         ? all
                                        : all.count(name) > 0 ? std::set<std::string>{name}
                                                              : std::set<std::string>{};
    for (const std::string& one : meant) {
      if (inverted) {
        shown_.erase(one);
      } else {
        shown_.insert(one);
      }
    }
  }
}

bool DebugFilter::shows(const RankLine& line) const {
  if (line.bare)
    return level_ != Level::kNone;
  if (level_ < (line.line.warning ? Level::kWarn : Level::kInfo))
    return false;
  if (line.line.warning || line.line.subsystem == "ALL")
    return line.line.warning || !shown_.empty();
  for (const std::string_view flag : split(line.line.subsystem, '|')) {
    // Before it had a subsystem of its own the bootstrap logged as INIT.
    const std::string name =
        flag == "BOOTSTRAP" && version_ < kBootstrapSubsystem ? "init" : lower(flag);
    if (shown_.count(name) > 0)
      return true;
  }
  return false;
}

}  // namespace busbw::nccl::log
