// Where a command prints, and whether colour is wanted there.
//
// Commands take a Console instead of std::cout so that tests can read what they print. A command
// computes everything first and prints last: after an error nothing has been written.
#pragma once
#include <ostream>
#include <string>
#include <string_view>

namespace busbw::tools {

struct Console {
  std::ostream& out;
  std::ostream& err;
  bool colour_out = false;
  bool colour_err = false;
  bool terminal_err = false;  // somebody watches: progress may be shown on `err`
};

/// Whether colour may be written to file descriptor `fd`: it is a terminal, TERM is not "dumb", and
/// NO_COLOR is unset or empty (no-color.org).
bool wants_colour(int fd);

/// `text` in bold, or as it is.
std::string bold(std::string_view text, bool colour);
/// `text` in bold red, or as it is.
std::string red(std::string_view text, bool colour);

}  // namespace busbw::tools
