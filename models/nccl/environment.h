// Environment variables of a job, and NCCL's own way of reading them.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace busbw::nccl {

/// Variable name -> value, sorted by name.
using Environment = std::map<std::string, std::string>;

/// NCCL's parsing of a numeric variable: C base detection, text that is no number counts as 0, trailing junk
/// dropped, overflow gives the default. Unset or empty: `fallback`.
std::int64_t numeric(const Environment& environment, const std::string& name, std::int64_t fallback);
/// The text, or nothing when unset.
std::optional<std::string> text(const Environment& environment, const std::string& name);

}  // namespace busbw::nccl
