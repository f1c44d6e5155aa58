// The unit of work of a lane: the steps that a NCCL kernel does in one pass over the data.
// Internal to scenarios.
#pragma once
#include <cstdint>
#include <vector>

#include "models/collectives/schedule.h"

namespace busbw::scenarios {

/// One message of a primitive.
struct PrimitiveMessage {
  std::int32_t wire = 0;  // index of its connection
  Bytes bytes;
};

/// Steps [begin, end) of a lane.
struct Primitive {
  std::size_t begin = 0;
  std::size_t end = 0;
  Bytes touched;  // what the threads read and write, all operands together
  Bytes longest;  // operand
  Bytes stored;   // in the rank's own output
  std::vector<PrimitiveMessage> receives;
  std::vector<PrimitiveMessage> sends;
};

/// Which steps make a primitive.
enum class Grouping {
  kSingle,      // each step, or one message, stands alone
  kPrimitives,  // as NCCL's kernels do them: a send passes on the chunk that was received
  /// The last receive of a ring's loop and the first send of its next one too are one. For lanes
  /// that use the network: the channels of a NIC drift apart and fill each other's gaps (a ring
  /// of two hosts with a GPU each reaches 22.9 of 25 GB/s, github.com/eth-cscs/cscs-docs), while
  /// equal shares of a link keep them in step.
  kAcrossLoops
};

/// The primitive of `lane` that starts at step `begin`: receives, reductions and copies, sends, in
/// this order, each connection at most once; messages of several joined steps are one. `wires` has
/// the connection of each step, -1 for none.
///
/// Touched: what arrived, the rank's own share where it is added or sent (once, where several sends
/// take the same), every send, and the output where a result is written that is not only on its way
/// (Step::partial).
/// Writes into `primitive`, whose vectors are reused.
void parse_primitive(const collectives::Lane& lane, const std::vector<std::int32_t>& wires,
                     std::size_t begin, Grouping grouping, Primitive& primitive);

}  // namespace busbw::scenarios
