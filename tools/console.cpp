// Terminal detection and the two escape sequences that busbw writes (ECMA-48 SGR).
#include "tools/console.h"

#include <cstdlib>
#include <unistd.h>

namespace busbw::tools {

bool wants_colour(int fd) {
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') {
    return false;
  }
  const char* term = std::getenv("TERM");
  if (term != nullptr && std::string_view(term) == "dumb") {
    return false;
  }
  return isatty(fd) == 1;
}

std::string bold(std::string_view text, bool colour) {
  return colour ? "\033[1m" + std::string(text) + "\033[0m" : std::string(text);
}

std::string red(std::string_view text, bool colour) {
  return colour ? "\033[1;31m" + std::string(text) + "\033[0m" : std::string(text);
}

}  // namespace busbw::tools
