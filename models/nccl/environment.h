// Environment variables of a job, and NCCL's own way of reading them.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/nccl/version.h"

namespace busbw::nccl {

/// Variable name -> value, sorted by name.
using Environment = std::map<std::string, std::string>;

/// NCCL's parsing of a numeric variable: C base detection, text that is no number counts as 0,
/// trailing junk dropped, overflow gives the default. Unset or empty: `fallback`.
std::int64_t numeric(const Environment& environment, const std::string& name,
                     std::int64_t fallback);
/// The text, or nothing when unset.
std::optional<std::string> text(const Environment& environment, const std::string& name);

/// Problems of the environment that NCCL itself passes over in silence: unknown NCCL_* names (with
/// did-you-mean), variables younger than `version`, text where a number is read, words in the wrong
/// spelling, list items that can never match. One sentence each, in order of the names.
std::vector<std::string> environment_warnings(const Environment& environment, Version version);

}  // namespace busbw::nccl
