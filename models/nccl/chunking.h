// How NCCL cuts one collective: channels in use, threads, bytes per channel, chunk and slice
// (message) sizes.
//
// Covers Ring and Tree with LL, LL128 and Simple, one collective per launch. Left out: NVLS,
// CollNet, PAT, several collectives in one group, registered (zero-copy) buffers.
// Valid for NCCL 2.18.1 to 2.30.7. Source: NCCL src/enqueue.cc (topoGetAlgoInfo,
// scheduleCollTasksToPlan, calcCollChunking; getAlgoInfo and initCollWorkElem before 2.22),
// src/graph/tuning.cc (threads), src/include/device.h (steps, grains), src/init.cc (buffer sizes).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/nccl/version.h"
#include "sim/core/units.h"

namespace busbw::nccl {

enum class Function { kBroadcast, kReduce, kAllGather, kReduceScatter, kAllReduce };
enum class Algorithm { kTree, kRing };
enum class Protocol { kLL, kLL128, kSimple };
/// NCCL's spelling: "Tree", "Ring"; "LL", "LL128", "Simple".
std::string to_string(Algorithm algorithm);
std::string to_string(Protocol protocol);

/// Slots of a connection's buffer: how many messages may be in flight (NCCL_STEPS).
constexpr std::int32_t kSteps = 8;

/// One collective as NCCL sees it after the choice of algorithm and protocol.
struct Call {
  Version version = kNewest;
  Function function = Function::kAllReduce;
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  Bytes bytes;  // NCCL's nBytes: all-reduce S; all-gather, reduce-scatter the gathered size
  Bytes element = Bytes(4);   // of the data type
  std::int32_t channels = 1;  // of the communicator (collChannels before 2.22.3)
  std::int32_t ranks = 1;
  std::int32_t nodes = 1;
  Bandwidth
      ring_bandwidth;  // searched ring channels x bandwidth inside a node; decides Ring's threads
  /// Threads at most, as the tuning says (NCCL_NTHREADS); nothing: the defaults of threads_of().
  std::optional<std::int32_t> most_threads;
  std::optional<Bytes> buffer;  // NCCL_BUFFSIZE; nothing = 4 MiB. Simple only
};

/// Channels and threads (per channel) of a call.
struct Threads {
  std::int32_t channels = 1;
  std::int32_t threads = 0;
};

/// Fewer channels, then fewer threads, while nBytes < channels x threads x threshold. Threshold per
/// thread: LL 8 bytes (Ring: x ranks), LL128 8, Simple 64; threads at most LL 512, LL128 640,
/// Simple 512, Ring Simple 256 when its ring bandwidth is at most 12 GB/s. Simple then gets a warp
/// (Ring) or four (Tree) for synchronisation; at least 96; Tree 640.
Threads threads_of(const Call& call);

/// The share of one channel.
struct ChannelWork {
  Bytes bytes;  // of the data (of one rank's count): all channels together the whole
  Bytes chunk;  // largest payload of one step
  Bytes slice;  // largest payload of one message
};

/// What each channel in use does, from channel 0. Until 2.21 all channels of threads_of() share
/// evenly. Since 2.22.3 the data is dealt in cells of at least 16 KiB of traffic (32 KiB
/// since 2.29.2), so small data may use fewer channels and the last one may have less. Empty data:
/// one channel with 0 bytes.
std::vector<ChannelWork> channel_works(const Call& call);

/// Chunk size of a call that gives `bytes` to `channels` channels. Slot (buffer / 8) payload:
/// Simple 512 KiB, LL 32 KiB, LL128 562.5 KiB (576,000 bytes); Ring Simple takes 4 slots
/// (all-reduce, all-gather, reduce-scatter), else one. Tree Simple until 2.21 is halved while bytes
/// / (channels x chunk) is below 8, 4, 1 x depth, not below 128, 64, 32 KiB, with depth = ranks per
/// node - 1 + floor(log2 nodes); Tree LL128 in all releases while it is below 64, 16 x (1 +
/// floor(log2 nodes) + 0.1 ppn) / ppn, not below 128, 32 KiB.
Bytes chunk_size(const Call& call, Bytes bytes, std::int32_t channels);

}  // namespace busbw::nccl
