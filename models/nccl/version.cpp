// Parsing of NCCL release numbers and the newest patch of each series.
// Source: release tags of NCCL (v2.18.1-1 to v2.30.7-1).
#include "models/nccl/version.h"

#include <array>

#include <fmt/format.h>

#include "sim/core/text.h"

namespace busbw::nccl {
namespace {

constexpr std::array<Version, 13> kNewestOfSeries{{{2, 18, 6},
                                                   {2, 19, 4},
                                                   {2, 20, 5},
                                                   {2, 21, 5},
                                                   {2, 22, 3},
                                                   {2, 23, 4},
                                                   {2, 24, 3},
                                                   {2, 25, 1},
                                                   {2, 26, 6},
                                                   {2, 27, 7},
                                                   {2, 28, 9},
                                                   {2, 29, 7},
                                                   {2, 30, 7}}};

std::optional<int> small_number(std::string_view text) {
  if (text.empty() || text.size() > 3 || text.find_first_not_of("0123456789") != text.npos) {
    return std::nullopt;
  }
  return static_cast<int>(*parse_integer(text));
}

}  // namespace

std::optional<Version> parse_version(const std::string& text) {
  const std::string_view number = std::string_view(text).substr(0, text.find_first_of("+-"));
  const std::vector<std::string_view> parts = split(number, '.');
  if (parts.size() < 2 || parts.size() > 3)
    return std::nullopt;
  const std::optional<int> major = small_number(parts[0]);
  const std::optional<int> minor = small_number(parts[1]);
  if (!major || !minor)
    return std::nullopt;
  if (parts.size() == 3) {
    const std::optional<int> patch = small_number(parts[2]);
    if (!patch)
      return std::nullopt;
    return Version{*major, *minor, *patch};
  }
  for (const Version newest : kNewestOfSeries) {
    if (newest.major == *major && newest.minor == *minor)
      return newest;
  }
  return Version{*major, *minor, 0};
}

std::string to_string(Version version) {
  return fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
}

}  // namespace busbw::nccl
