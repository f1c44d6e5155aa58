// Puts log lines into the frame that NCCL prints them in.
//
// INFO: "host:pid:tid [dev] NCCL INFO text". WARN: an empty line, then "host:pid:tid [dev]
// file:line NCCL WARN text"; from 2.26 on a time stamp stands in front of a WARN, 2.30 adds the
// function. File, line and function of a WARN differ by build and are left out; the time is the
// caller's. Source: NCCL 2.18 to 2.30, src/debug.cc.
#pragma once
#include <string>
#include <vector>

#include "models/nccl/selection.h"

namespace busbw::nccl {

struct LogFrame {
  std::string host = "host";
  int pid = 1;
  int tid = 1;
  int device = 0;         // CUDA ordinal inside the process
  std::string timestamp;  // "2026-11-29 10:00:00", for WARN lines from 2.26 on; empty: none
};

/// The line as NCCL of this version prints it, without the closing newline; a WARN starts with an
/// empty line.
std::string framed(const LogLine& line, const LogFrame& frame, Version version);
/// All lines of a host, each ended by a newline.
std::string framed(const std::vector<LogLine>& lines, const LogFrame& frame, Version version);

}  // namespace busbw::nccl
