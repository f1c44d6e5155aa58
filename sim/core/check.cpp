#include "sim/core/check.h"

namespace busbw {

void fail_check(const char* file, int line, const char* condition, const std::string& detail) {
  // Only the part below the source tree: the same text on every machine.
  std::string name = file;
  for (const char* top :
       {"/sim/", "/models/", "/topologies/", "/scenarios/", "/real/", "/tools/", "/tests/"}) {
    const std::size_t at = name.rfind(top);
    if (at != std::string::npos) {
      name = name.substr(at + 1);
      break;
    }
  }
  throw CheckFailure(fmt::format("{}:{}: check failed: {}{}", name, line, condition,
                                 detail.empty() ? "" : " (" + detail + ")"));
}

}  // namespace busbw
