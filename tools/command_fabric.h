// `busbw fabric FILE`: what a fabric is, costs and carries; its routes checked; exports; the real
// InfiniBand tools on it.
#pragma once
#include <string>
#include <vector>

#include "tools/console.h"

namespace busbw::tools {

struct FabricOptions {
  std::string file;    // of any kind that is understood, or a fabric of the catalogue
  std::string routes;  // ftree, updn, minhop, d-mod-k, opensm; empty: what the file says
  bool check = false;
  std::string export_kind;  // one of export_kinds()
  std::string output;       // of the export; empty: print
  std::string json;         // file, "-" for stdout in place of the text
  std::string subnet;       // which one is exported or emulated, when there are several
  bool shell = false;
  std::string shell_command;  // for sh -c; empty: a shell
  std::string attach;         // where the tools of the shell are attached; empty: the first host
  std::string timeout;        // seconds for the command of the shell
};

/// "ibsim", "ibnetdiscover", "edges", "dot", "svg", "lfts".
const std::vector<std::string>& export_kinds();

/// Prints the report, the export, or runs the shell. --check: exit code 1 when a pair that the
/// fabric means to connect is unreachable or there is a credit loop. Throws InputError and
/// SystemError.
int fabric(const FabricOptions& options, Console& console);

}  // namespace busbw::tools
