// Which lines NCCL_DEBUG and NCCL_DEBUG_SUBSYS let through.
// Source: NCCL 2.18 to 2.30.7, src/debug.cc.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "models/nccl/environment.h"
#include "models/nccl/log/start_up.h"

namespace busbw::nccl::log {

/// Subsystems of NCCL_DEBUG_SUBSYS in that release, without ALL.
std::vector<std::string> subsystems(Version version);

class DebugFilter {
 public:
  /// NCCL_DEBUG unset counts as INFO here: whoever asks for a log wants one. Names count in any
  /// letter case; what NCCL does not know is passed over.
  DebugFilter(const Environment& environment, Version version);
  [[nodiscard]] bool shows(const RankLine& line) const;

 private:
  enum class Level { kNone, kVersion, kWarn, kInfo };
  Version version_;
  Level level_ = Level::kInfo;
  std::set<std::string> shown_;
};

}  // namespace busbw::nccl::log
