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
// Offsets in kInput and kOutput count in the data of the collective, not from the start of the
// buffer: a buffer holds one extent of the data (extent_of), which a rank of all_gather has as
// input, of reduce_scatter as output. In place means that the byte at one offset is the same memory
// in both, which is where NCCL wants the buffers of an in-place call.
//
// What a generator promises, so that a schedule also runs on queue pairs without copies:
// - the bytes that a send reads do not change until the matching receive has completed;
// - kInput is only read, and a byte of it is never read again once the byte at the same offset of
//   kOutput has been written: in place is allowed unless allows_in_place() says no;
// - kScratch is rings of slots, one or more per receiving connection, reused in order; its size
//   does not grow with S. A sum that is passed on from its slot is safe while no connection runs
//   ahead by more than max_slots. A place is free once the lane reaches its receive, not before.
// execute() checks all of this. Left out: time, links, transports, which executors own.
#pragma once
#include <cstdint>
#include <limits>
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

enum class Algorithm {
  kRing,
  kTree,
  kHierarchical,
  kDirect,  // every pair by itself: point to point
  kNvls,
  kNvlsTree,
  kCollNetDirect,
  kCollNetChain,
  kPat
};
/// NCCL's spelling: "Ring", "Tree", "CollNetDirect", ...; ours: "Hierarchical", "Direct".
std::string to_string(Algorithm algorithm);

enum class Op : std::uint8_t {
  kSend,        // send `bytes` at `offset` of `buffer` to `peer`
  kReceive,     // receive from `peer` into `offset` of `buffer`, kOutput or kScratch
  kReduce,      // kOutput[offset] = `buffer`[offset] + kScratch[source_offset]; not kScratch
  kAccumulate,  // kScratch[source_offset] += `buffer`[offset]; kInput or kScratch
  kCopy,        // kOutput[offset] = `buffer`[source_offset]; nothing to do where that is one place
};
std::string to_string(Op op);  // "send", "receive", "reduce", "accumulate", "copy"

enum class Buffer : std::uint8_t { kInput, kOutput, kScratch };
std::string to_string(Buffer buffer);  // "input", "output", "scratch"

/// 48 bytes: a schedule holds one per message and rank.
struct Step {
  Op op = Op::kSend;
  Buffer buffer = Buffer::kOutput;
  std::uint8_t connection = 0;  // index among the connections of (source, destination, channel)
  bool joined = false;          // send, receive: the next one of the connection is of this message
  RankId peer;                  // send and receive only; from Schedule::ranks on a switch
  std::int32_t chunk = 0;       // which piece of the channel's data, from 0, for traces
  std::int32_t wait_lane = -1;  // index in Schedule::lanes of a lane of the same rank, -1 none
  std::int32_t wait_step = -1;  // this step waits until that step of it has completed
  bool partial = false;         // reduce: the sum is only passed on; something overwrites it later
  Bytes offset;                 // in the sent or destination buffer; reduce: of both operands' sum
  Bytes source_offset;          // reduce, accumulate: in kScratch; copy: in `buffer`
  Bytes bytes;                  // > 0; a generator leaves empty steps out
};
static_assert(sizeof(Step) == 48);

struct Lane {
  RankId rank;
  ChannelId channel;
  std::string role;  // "ring", "reduce", "broadcast", ...: for traces
  std::vector<Step> steps;
};

/// A switch that reduces and multiplies messages: a node with lanes, but with kScratch alone.
struct SwitchNode {
  enum class Kind : std::uint8_t { kNvSwitch, kNetwork };
  Kind kind = Kind::kNvSwitch;
  std::int32_t host = -1;  // of an NVSwitch; -1 for the network's
};

struct Schedule {
  Collective collective = Collective::kAllReduce;
  Algorithm algorithm = Algorithm::kRing;
  std::int32_t ranks = 1;
  std::int32_t channels = 1;
  RankId root = RankId(0);   // broadcast, reduce, gather, scatter
  Bytes element = Bytes(1);  // steps move and reduce whole elements
  Bytes bytes;               // S of nccl-tests: what algbw counts
  Bytes scratch_bytes;       // per rank; staging for received operands
  Bytes switch_scratch_bytes;
  std::int32_t max_slots = std::numeric_limits<std::int32_t>::max();  // an executor's slots at most
  std::vector<SwitchNode> switches;  // switch i is the node RankId(ranks + i)
  std::vector<Lane> lanes;           // in order of (rank, channel, lane)

  /// Ranks alone can't play it: real mode has no such switch.
  [[nodiscard]] bool needs_switch() const { return !switches.empty(); }
};

/// A part of the data of the collective.
struct Extent {
  Bytes begin;
  Bytes size;
  bool operator==(const Extent&) const = default;
};
/// The part that `buffer` of `rank` (or of a switch) holds; size 0 where the collective gives the
/// rank no such buffer, as the input of broadcast anywhere but on the root. kScratch begins at 0.
Extent extent_of(const Schedule& schedule, RankId rank, Buffer buffer);

/// Whether the collective may run with input and output in one place: all but alltoall and
/// sendrecv, which NCCL does not allow in place either.
bool allows_in_place(Collective collective);

/// Whether S is the sum of equal parts, one for each rank: all_gather, reduce_scatter, alltoall,
/// gather, scatter.
bool cuts_by_rank(Collective collective);

/// What nccl-tests makes of a size that was asked for: whole elements, and as many for each rank
/// where S is cut into ranks' parts.
Bytes rounded_bytes(Collective collective, Bytes bytes, Bytes element, std::int32_t ranks);

/// The data that a generator cuts into channels: S/n for all_gather, reduce_scatter, alltoall,
/// gather and scatter, where the same cut holds for each rank's part; else S.
Bytes cut_bytes(Collective collective, Bytes bytes, std::int32_t ranks);

/// Payload bytes that `rank` sends in all.
Bytes sent_bytes(const Schedule& schedule, RankId rank);

/// Throws CheckFailure naming rank, lane and step unless: ranks, channels, buffers, offsets and
/// waits are in range, sizes are positive whole elements, each connection has one sending and one
/// receiving lane, its k-th send and k-th receive exist, have the same size and are joined alike,
/// and its last is not joined. Deadlock: see execute().
void validate(const Schedule& schedule);

/// Table for traces and golden files: a header line, then a line per lane and a line per step.
std::string to_text(const Schedule& schedule);

/// busbw = algbw * factor, for n ranks: 2(n-1)/n for all_reduce; (n-1)/n for all_gather,
/// reduce_scatter, alltoall, gather, scatter; 1 for broadcast, reduce, sendrecv. Source: nccl-tests
/// doc/PERFORMANCE.md.
Ratio busbw_factor(Collective collective, std::int32_t ranks);

}  // namespace busbw::collectives
