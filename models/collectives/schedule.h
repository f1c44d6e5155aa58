// A collective as plain data: the list of steps that every rank performs, produced once and played
// by two executors, the simulator (scenarios) and queue pairs (real).
//
// A rank has one or more lanes per channel. The steps of a lane run in order; lanes of a rank run
// side by side. A lane is what NCCL calls a thread block (or half of one: a tree reduces in one
// lane and broadcasts in the other). A step may also wait for an earlier step of another lane of
// its own rank.
//
// Sends and receives of one connection (source rank, destination rank, channel, connection index)
// match in order: the k-th send fills the k-th receive, and both have the same size. One lane sends
// on a connection and one lane receives. A send may run ahead of the matching receive by at most
// the slots of the connection, which the executor sets (NCCL_STEPS, 8).
//
// What a generator promises, so that a schedule also runs on queue pairs without copies:
// - the bytes that a send reads do not change until the matching receive has completed;
// - kInput is only read, and a byte of it is never read again once the byte at the same offset of
// kOutput
//   has been written: input and output may be the same buffer ("in place");
// - kScratch is a ring of slots per receiving connection, reused in order; its size does not grow
// with S. execute() checks all of this. Left out: time, links, transports, which executors own.
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
  kAllReduce,
  kReduce,
  kBroadcast,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kSendRecv,
  kGather,
  kScatter
};
/// "all_reduce", "alltoall", "sendrecv", ... as in nccl-tests (its programs less "_perf").
std::string to_string(Collective collective);
std::optional<Collective> parse_collective(const std::string& name);

enum class Algorithm { kRing, kTree, kHierarchical };
/// NCCL's spelling: "Ring", "Tree"; ours: "Hierarchical".
std::string to_string(Algorithm algorithm);

enum class Op : std::uint8_t {
  kSend,     // send `bytes` at `offset` of `buffer` to `peer`
  kReceive,  // receive from `peer` into `offset` of `buffer`
  kReduce,   // kOutput[offset] = `buffer`[offset] + kScratch[source_offset]; `buffer` kInput or
             // kOutput
  kCopy,     // kOutput[offset] = `buffer`[source_offset]
};
std::string to_string(Op op);  // "send", "receive", "reduce", "copy"

enum class Buffer : std::uint8_t { kInput, kOutput, kScratch };
std::string to_string(Buffer buffer);  // "input", "output", "scratch"

/// 48 bytes: a schedule holds one per message and rank.
struct Step {
  Op op = Op::kSend;
  Buffer buffer = Buffer::kOutput;
  std::uint8_t connection = 0;  // index among the connections of (source, destination, channel)
  RankId peer;                  // send and receive only
  std::int32_t chunk = 0;       // which piece of the channel's data, from 0, for traces
  std::int32_t wait_lane = -1;  // index in Schedule::lanes of a lane of the same rank, -1 none
  std::int32_t wait_step = -1;  // this step waits until that step of it has completed
  Bytes offset;                 // in the sent or destination buffer; reduce: of both operands' sum
  Bytes source_offset;          // reduce: in kScratch; copy: in `buffer`
  Bytes bytes;                  // > 0; a generator leaves empty steps out
};
static_assert(sizeof(Step) == 48);

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
  Bytes element = Bytes(1);  // steps move and reduce whole elements
  Bytes bytes;               // S of nccl-tests: what algbw counts
  Bytes input_bytes;         // per rank
  Bytes output_bytes;        // per rank
  Bytes scratch_bytes;       // per rank; staging for received operands
  std::vector<Lane> lanes;   // in order of (rank, channel, lane)
};

/// Payload bytes that `rank` sends in all.
Bytes sent_bytes(const Schedule& schedule, RankId rank);

/// Throws CheckFailure naming rank, lane and step unless: ranks, channels, buffers, offsets and
/// waits are in range, sizes are positive whole elements, each connection has one sending and one
/// receiving lane, and its k-th send and k-th receive exist and have the same size. Deadlock: see
/// execute().
void validate(const Schedule& schedule);

/// Table for traces and golden files: a header line, then a line per lane and a line per step.
std::string to_text(const Schedule& schedule);

/// busbw = algbw * factor, for n ranks: 2(n-1)/n for all_reduce; (n-1)/n for all_gather,
/// reduce_scatter, alltoall, gather, scatter; 1 for broadcast, reduce, sendrecv. Source: nccl-tests
/// doc/PERFORMANCE.md.
Ratio busbw_factor(Collective collective, std::int32_t ranks);

}  // namespace busbw::collectives
