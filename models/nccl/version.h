// NCCL release numbers: "2.18", "2.18.6", "2.28.9". Behaviour is switched by comparing them.
#pragma once
#include <compare>
#include <optional>
#include <string>

namespace busbw::nccl {

struct Version {
  int major = 2;
  int minor = 0;
  int patch = 0;
  constexpr auto operator<=>(const Version&) const = default;
};

/// "2.28.9", "2.18" (patch 0 = the first of the series: use newest_patch for the usual meaning), suffixes such as "+cuda12.4" dropped. Nothing for other text.
std::optional<Version> parse_version(const std::string& text);
std::string to_string(Version version);
/// Releases examined: 2.18.1 to 2.30.7. Outside it the nearest table is used.
constexpr Version kOldest{2, 18, 1};
constexpr Version kNewest{2, 30, 7};

}  // namespace busbw::nccl
