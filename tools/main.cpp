// The program: wires streams to the command line and turns what is thrown into exit codes. The only
// place that catches.
#include <cerrno>
#include <cstring>
#include <exception>
#include <iostream>
#include <string>
#include <unistd.h>
#include <vector>

#include "sim/core/check.h"
#include "sim/core/errors.h"
#include "tools/cli.h"
#include "tools/console.h"
#include "tools/exit_codes.h"

namespace {

using busbw::tools::Console;

void print_input_error(const busbw::InputError& error, const Console& console) {
  for (const busbw::InputProblem& problem : error.problems()) {
    std::string line = to_string(problem);
    const std::string marker = "error:";
    if (const std::size_t at = line.find(marker); at != std::string::npos) {
      line.replace(at, marker.size(), busbw::tools::red(marker, console.colour_err));
    }
    console.err << line << '\n';
  }
}

int bug(const std::string& what, const Console& console) {
  console.err << busbw::tools::red("error:", console.colour_err) << ' ' << what
              << "\nthis is a bug in busbw; please report it with the command and its input\n";
  return busbw::tools::kExitBug;
}

}  // namespace

int main(int argc, char** argv) {
  // Nothing here uses C streams; untied output is several times faster for long tables.
  std::ios::sync_with_stdio(false);
  Console console{std::cout, std::cerr, busbw::tools::wants_colour(STDOUT_FILENO),
                  busbw::tools::wants_colour(STDERR_FILENO), ::isatty(STDERR_FILENO) == 1};
  try {
    const int code =
        busbw::tools::run_command_line(std::vector<std::string>(argv + 1, argv + argc), console);
    errno = 0;
    if (!std::cout.flush()) {  // a full disk must not look like success
      const char* reason = errno != 0 ? std::strerror(errno) : "output was cut";
      throw busbw::SystemError({"write", reason, "standard output", ""});
    }
    return code;
  } catch (const busbw::InputError& error) {
    print_input_error(error, console);
    return busbw::tools::kExitInput;
  } catch (const busbw::SystemError& error) {
    console.err << busbw::tools::red("error:", console.colour_err) << ' ' << error.what() << '\n';
    return busbw::tools::kExitSystem;
  } catch (const std::exception& error) {
    return bug(error.what(), console);
  } catch (...) {
    return bug("an exception of an unknown type", console);
  }
}
