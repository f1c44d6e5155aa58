// The log that NCCL prints while it starts: made from a decision, line by line, in NCCL's order.
//
// What differs from run to run stands at a fixed value: process numbers, addresses of objects,
// driver and CUDA release, times. One process a rank, no plugin but the network's, cuMem working.
// Left out, since they tell of the machine at run time and of no decision: CPU affinity, lines of
// tuner and profiler plugins, proxy threads, DMA-BUF, MNNVL fabric ids, single NIC-GPU distances,
// connections of CollNet, NVLS trees and PAT.
// Source: NCCL 2.18 to 2.30.7, src/init.cc, src/debug.cc, src/graph, src/transport; public logs.
#pragma once
#include <string>
#include <vector>

#include "models/nccl/graph/decide.h"
#include "models/nccl/log_frame.h"
#include "models/nccl/selection.h"

namespace busbw::nccl::log {

struct RankLine {
  int rank = 0;
  int device = 0;     // CUDA ordinal, for the frame
  LogLine line;       // subsystem: flags joined by '|' ("INIT|NET"); "ALL" passes every filter
  bool bare = false;  // printed without host, process and level: the version before 2.22
};

struct StartUp {
  int rank = 0;
  /// Interfaces and network of the rank's host, with their lines; nullptr: those lines are left
  /// out and the network's name is "IB".
  const HostDecision* host = nullptr;
  /// From 2.22.3 on rings and trees connect at the first collective that needs them; true appends
  /// these lines too.
  bool first_collectives = false;
};

/// Every line of the rank, of all subsystems (see DebugFilter). The host's error ends the log.
/// The rank must exist.
std::vector<RankLine> start_up_log(const graph::Decision& decision, const StartUp& options);

/// The host (position in DecideInput::hosts) of a rank when all hosts have as many GPUs.
int host_of(const graph::Decision& decision, int rank);

/// The line in NCCL's frame: at most the 1022 characters that its buffer holds, no newline.
std::string framed(const RankLine& line, const std::string& host, Version version);

}  // namespace busbw::nccl::log
