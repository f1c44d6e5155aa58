// Where a record comes from: the site that a fold of a cross validation leaves out as a whole.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/accuracy/record.h"

namespace busbw::scenarios::accuracy {

/// The repository, or the issue, that `source` names: "github.com/stas00/ml-engineering:a.md (lines
/// 1-2)" is "stas00/ml-engineering", "NVIDIA/nccl#2409" itself (each issue is somebody else's
/// cluster). A source that names neither is known by the record: its id up to the first '-'.
std::string site_of(const Record& record);

/// Folds 0 to `folds` - 1, one per site, sites of many points first and each to the fold with the
/// fewest points so far (the first of equal ones). `points[i]` belongs to `sites[i]`, which may
/// repeat. Returns the fold of each entry.
std::vector<std::int32_t> folds_of(const std::vector<std::string>& sites,
                                   const std::vector<std::int64_t>& points, std::int32_t folds);

}  // namespace busbw::scenarios::accuracy
