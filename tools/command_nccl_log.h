// `busbw nccl log`: the start-up log that NCCL would print on a topology.
#pragma once
#include <string>

#include "tools/console.h"
#include "tools/nccl_options.h"

namespace busbw::tools {

struct NcclLogOptions {
  NcclJobOptions job;
  int rank = 0;
  std::string subsystems;    // in place of NCCL_DEBUG_SUBSYS; empty: that variable or its default
  std::string network;       // name of an external network plugin; empty: IB or Socket
  bool connections = false;  // with the lines of the first ring and tree collective
};

/// Prints the log as NCCL prints it; remarks go to console.err. Throws InputError for a bad file or
/// option, all options at once, and when NCCL refuses the environment.
int nccl_log(const NcclLogOptions& options, Console& console);

}  // namespace busbw::tools
