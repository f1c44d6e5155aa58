// What a failed CHECK says.
#include "sim/core/check.h"

#include <string_view>

namespace busbw {

void fail_check(const char* file, int line, const char* condition, const std::string& detail) {
  // Only the part below the source tree, whose path this very file gives: the same text on every
  // machine.
  constexpr std::string_view kThisFile = __FILE__;
  constexpr std::string_view kBelowRoot = "sim/core/check.cpp";
  static_assert(kThisFile.ends_with(kBelowRoot));
  constexpr std::string_view kRoot = kThisFile.substr(0, kThisFile.size() - kBelowRoot.size());
  std::string_view name = file;
  if (name.starts_with(kRoot)) {
    name.remove_prefix(kRoot.size());
  }
  throw CheckFailure(fmt::format("{}:{}: check failed: {}{}", name, line, condition,
                                 detail.empty() ? "" : " (" + detail + ")"));
}

}  // namespace busbw
