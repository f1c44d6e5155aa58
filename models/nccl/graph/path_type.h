// Types of links and paths, their order ("distance") and their names.
// Source: NCCL 2.18 to 2.30.7, src/graph/topo.h. The numbers behind the names changed twice, so
// only names are shown.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "models/nccl/environment.h"
#include "models/nccl/graph/release.h"

namespace busbw::nccl::graph {

enum class LinkKind : std::uint8_t { kLoc, kNvl, kC2c, kPci, kSys, kNet };

/// From near to far.
enum class PathType : std::uint8_t {
  kLoc,
  kNvl,
  kNvb,
  kC2c,  // from 2.26.2 on
  kPix,
  kPxb,
  kP2c,  // from 2.27.3 on
  kPxn,
  kPhb,
  kSys,
  kNet,
  kDis
};

const char* to_string(PathType type);
const char* to_string(LinkKind kind);
/// The next farther type that the release knows; kDis is the last.
PathType next(PathType type, const Switches& switches);

/// A level variable (NCCL_P2P_LEVEL, NCCL_NET_GDR_LEVEL): a name in upper case or an old digit.
/// Nothing when unset or not understood, as NCCL passes over it.
std::optional<PathType> level(const Environment& environment, const std::string& name,
                              const Switches& switches);

}  // namespace busbw::nccl::graph
