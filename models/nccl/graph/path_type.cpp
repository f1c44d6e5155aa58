// Names and order of path types. Source: NCCL 2.18 to 2.30.7, src/graph/topo.h and paths.cc.
#include "models/nccl/graph/path_type.h"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace busbw::nccl::graph {
namespace {

constexpr std::array<const char*, 12> kPathNames{"LOC", "NVL", "NVB", "C2C", "PIX", "PXB",
                                                 "P2C", "PXN", "PHB", "SYS", "NET", "DIS"};
constexpr std::array<const char*, 6> kLinkNames{"LOC", "NVL", "C2C", "PCI", "SYS", "NET"};
constexpr std::array<PathType, 5> kOldLevels{PathType::kLoc, PathType::kPix, PathType::kPxb,
                                             PathType::kPhb, PathType::kSys};

bool exists(PathType type, const Switches& switches) {
  return (type != PathType::kC2c || switches.c2c) && (type != PathType::kP2c || switches.p2c);
}

}  // namespace

const char* to_string(PathType type) {
  return kPathNames.at(static_cast<std::size_t>(type));
}
const char* to_string(LinkKind kind) {
  return kLinkNames.at(static_cast<std::size_t>(kind));
}

PathType next(PathType type, const Switches& switches) {
  auto result = type;
  do {
    if (result == PathType::kDis)
      return result;
    result = static_cast<PathType>(static_cast<int>(result) + 1);
  } while (!exists(result, switches));
  return result;
}

std::optional<PathType> level(const Environment& environment, const std::string& name,
                              const Switches& switches) {
  const std::optional<std::string> value = text(environment, name);
  if (!value)
    return std::nullopt;
  for (int i = 0; i <= static_cast<int>(PathType::kSys); i++) {
    const auto type = static_cast<PathType>(i);
    if (exists(type, switches) && *value == to_string(type))
      return type;
  }
  if (value->empty() || value->front() < '0' || value->front() > '9')
    return std::nullopt;
  const long long old = std::strtoll(value->c_str(), nullptr, 0);
  return kOldLevels.at(static_cast<std::size_t>(
      std::clamp<long long>(old, 0, static_cast<long long>(kOldLevels.size()) - 1)));
}

}  // namespace busbw::nccl::graph
