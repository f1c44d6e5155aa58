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

/// "2.28.9"; suffixes such as "+cuda12.4" or "-1" are dropped. "2.28" means the newest release of
/// that series (2.28.9; patch 0 for a series this code does not know). Nothing for other text.
std::optional<Version> parse_version(const std::string& text);
std::string to_string(Version version);
/// Releases examined: 2.18.1 to 2.30.7. Outside it the nearest table is used.
constexpr Version kOldest{2, 18, 1};
constexpr Version kNewest{2, 30, 7};

}  // namespace busbw::nccl
