// See api.h.
#include "real/verbs/api.h"

#include <cerrno>

namespace busbw::real::verbs {

int Api::query_gids(ContextHandle context, int port, int count,
                    std::vector<std::optional<GidEntry>>& entries) {
  entries.assign(static_cast<std::size_t>(count), std::nullopt);
  for (int index = 0; index < count; ++index) {
    GidEntry entry;
    const int status = query_gid(context, port, index, entry);
    if (status == 0) {
      entries[static_cast<std::size_t>(index)] = entry;
    } else if (status != ENODATA) {  // that one is empty
      return status;
    }
  }
  return 0;
}

}  // namespace busbw::real::verbs
