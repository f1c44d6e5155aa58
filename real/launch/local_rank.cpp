// See local_rank.h.
#include "real/launch/local_rank.h"

#include <algorithm>
#include <vector>

#include "sim/core/text.h"

namespace busbw::real {

using Environment = std::map<std::string, std::string>;

std::optional<std::int32_t> local_rank(const Environment& environment) {
  constexpr std::int64_t kMost = 1 << 20;
  for (const char* name : {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID",
                           "MPI_LOCALRANKID", "MV2_COMM_WORLD_LOCAL_RANK"}) {
    const auto found = environment.find(name);
    const std::optional<std::int64_t> number =
        found == environment.end() ? std::nullopt : parse_integer(found->second);
    if (number && *number >= 0 && *number < kMost)
      return static_cast<std::int32_t>(*number);
  }
  return std::nullopt;
}

bool is_launched(const Environment& environment) {
  const std::vector<const char*> ranks = {"PMI_RANK", "PMIX_RANK", "RANK"};
  return local_rank(environment) || std::any_of(ranks.begin(), ranks.end(), [&](const char* name) {
           return environment.count(name) != 0;
         });
}

}  // namespace busbw::real
