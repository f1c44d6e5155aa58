// A collective as plain data: the list of steps that every rank performs, produced once and played by
// two executors, the simulator (scenarios) and queue pairs (real).
//
// A rank has one or more lanes per channel. The steps of a lane run in order; lanes of a rank run side
// by side. A lane is what NCCL calls a thread block (or half of one: a tree reduces in one lane and
// broadcasts in the other). A step may also wait for an earlier step of another lane of its own rank.
//
// Sends and receives of one connection (source rank, destination rank, channel, connection index)
// match in order: the k-th send fills the k-th receive. A send may run ahead of the matching receive by
// at most the slots of the connection, which the executor sets (NCCL_STEPS, 8).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/ids.h"
#include "sim/core/units.h"

namespace busbw::collectives {

/// The collectives of NCCL, named as nccl-tests names its programs.
enum class Collective {
  kAllReduce, kReduce, kBroadcast, kAllGather, kReduceScatter, kAllToAll, kSendRecv, kGather, kScatter
};
/// "all_reduce", "sendrecv", ... as in nccl-tests.
std::string to_string(Collective collective);
std::optional<Collective> parse_collective(const std::string& name);

enum class Algorithm { kRing, kTree, kHierarchical };
/// NCCL's spelling: "Ring", "Tree"; ours: "Hierarchical".
std::string to_string(Algorithm algorithm);

enum class Op : std::uint8_t {
  kSend,     // send `bytes` at `offset` of `buffer` to `peer`
  kReceive,  // receive from `peer` into `offset` of `buffer`
  kReduce,   // buffer kOutput[offset] = kOutput[offset] + kScratch[source_offset]
  kCopy,     // buffer kOutput[offset] = buffer `buffer`[source_offset]
};

enum class Buffer : std::uint8_t { kInput, kOutput, kScratch };

struct Step {
  Op op = Op::kSend;
  Buffer buffer = Buffer::kOutput;
  RankId peer;                      // send and receive only
  std::int32_t chunk = 0;           // which chunk of the collective, for traces
  Bytes offset;                     // in the destination (or sent) buffer
  Bytes source_offset;              // reduce and copy: where the operand lies
  Bytes bytes;                      // may be 0: then the step is left out by the generator
  std::int32_t wait_lane = -1;      // lane index (in Schedule::lanes) of the same rank to wait for, -1 none
  std::int32_t wait_step = -1;      // ... until this step of it has completed
};

struct Lane {
  RankId rank;
  ChannelId channel;
  std::string role;  // "ring", "reduce", "broadcast", ...: for traces
  std::vector<Step> steps;
};

struct Schedule {
  Collective collective = Collective::kAllReduce;
  Algorithm algorithm = Algorithm::kRing;
  std::int32_t ranks = 1;
  std::int32_t channels = 1;
  Bytes bytes;            // S of nccl-tests: what algbw counts
  Bytes input_bytes;      // per rank
  Bytes output_bytes;     // per rank
  Bytes scratch_bytes;    // per rank; staging for received operands
  std::vector<Lane> lanes;  // in order of (rank, channel, lane)
};

/// busbw = algbw * factor, for n ranks: 2(n-1)/n for all_reduce; (n-1)/n for all_gather, reduce_scatter,
/// alltoall, gather, scatter; 1 for broadcast, reduce, sendrecv. Source: nccl-tests doc/PERFORMANCE.md.
Ratio busbw_factor(Collective collective, std::int32_t ranks);

}  // namespace busbw::collectives
