// The failing side of the unit arithmetic; the rest is constexpr in the header.
#include "sim/core/units.h"

#include "sim/core/check.h"

namespace busbw::detail {

void fail_division(const char* what) {
  fail_check(__FILE__, __LINE__, "unit arithmetic", what);
}

}  // namespace busbw::detail
