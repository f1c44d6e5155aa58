// `busbw pingpong`, `send-lat`, `read-lat`, `write-bw`: benchmarks of two ranks.
#pragma once
#include <string>

#include "real/measure/task.h"
#include "tools/console.h"
#include "tools/real_options.h"

namespace busbw::tools {

struct MicroOptions {
  real::MicroKind kind = real::MicroKind::kPingPong;
  RealOptions real;
  std::string method = "write";  // pingpong over verbs
  std::string depth = "128";     // write-bw
  std::string server;            // port to listen on: this is rank 0 of two hosts
  std::string connect;           // HOST:PORT of the server: this is rank 1
};

/// Two processes of this host, or one of two hosts. Returns the ranks' exit code.
int micro(const MicroOptions& options, Console& console);

/// WRITE, READ or SEND by name in any case; a problem for other text.
real::VerbsMethod read_method(const std::string& text, Problems& problems);

}  // namespace busbw::tools
