// CHECK: a broken promise inside busbw itself. On in every build; main turns it into exit code 70.
#pragma once
#include <stdexcept>
#include <string>

#include <fmt/format.h>

namespace busbw {

/// Thrown by CHECK. Never caught except by main.
class CheckFailure : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Throws CheckFailure with "file:line: check failed: condition (detail)".
[[noreturn]] void fail_check(const char* file, int line, const char* condition,
                             const std::string& detail);

}  // namespace busbw

/// CHECK(condition) or CHECK(condition, "format {}", values...): the values explain the failure.
#define CHECK(condition, ...)                                                           \
  do {                                                                                  \
    if (!(condition)) {                                                                 \
      ::busbw::fail_check(__FILE__, __LINE__, #condition, fmt::format("" __VA_ARGS__)); \
    }                                                                                   \
  } while (false)
