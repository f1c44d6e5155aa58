// In place of system_verbs.cpp where libibverbs was not found when this was built.
#include "real/verbs/api.h"
#include "sim/core/errors.h"

namespace busbw::real::verbs {

std::unique_ptr<Api> open_system_verbs() {
  throw SystemError(
      {"verbs", "not in this build: libibverbs was not found (Debian: libibverbs-dev)", "", ""});
}

bool has_system_verbs() {
  return false;
}

}  // namespace busbw::real::verbs
