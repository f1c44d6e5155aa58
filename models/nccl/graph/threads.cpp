// Limits from the table and the environment; the reduction of channels for small data.
#include "models/nccl/graph/threads.h"

#include <algorithm>
#include <cstdlib>

namespace busbw::nccl::graph {
namespace {

constexpr float kNarrowRing = 12.0F;  // GB/s: Ring Simple then uses 256 threads
constexpr long long kUnset = -2;
constexpr int kCollNetStart = 16;  // channels from which CollNetDirect is cut more gently

std::size_t number(Algorithm algorithm) {
  return static_cast<std::size_t>(algorithm);
}

struct ThreadRange {
  int least = 0;
  int most = 0;
  int initial = 0;
};
int threads(const Environment& environment, const char* name, ThreadRange range) {
  const long long wanted = numeric(environment, name, kUnset);
  if (wanted <= 0)
    return range.initial;
  if (wanted % 32 != 0 || wanted > range.most)
    return range.most;
  return std::max(range.least, static_cast<int>(wanted));
}

/// Six numbers: Tree LL, LL128, Simple, Ring LL, LL128, Simple. Reading ends at the first word that
/// is no number; negative ones leave the default.
void read_thresholds(Tuning& tuning, const std::string& value) {
  const char* rest = value.c_str();
  for (const Algorithm algorithm : {Algorithm::kTree, Algorithm::kRing}) {
    for (std::size_t p = 0; p < kProtocols; p++) {
      char* end = nullptr;
      const long long wanted = std::strtoll(rest, &end, 10);
      if (end == rest)
        return;
      rest = end;
      if (wanted >= 0)
        tuning.bytes_per_thread[number(algorithm)][p] = wanted;
    }
  }
}

/// CollNetDirect: the heads of all GPUs share the data, and below 16 channels the bytes a thread is
/// worth shrink, for each halving of the channels once.
int collnet_channels(int channels, int heads, std::int64_t bytes, long long threads,
                     long long bytes_per_thread) {
  bool small = true;
  for (int floor = kCollNetStart; floor >= 1 && small; floor /= 2) {
    const auto is_small = [&] { return bytes < channels * threads * heads * bytes_per_thread; };
    small = is_small();
    while (small && channels > floor) {
      if (channels == floor + floor / 2)
        bytes_per_thread /= 2;
      channels--;
      small = is_small();
    }
  }
  return channels;
}

}  // namespace

bool is_collnet(Algorithm algorithm) {
  return algorithm == Algorithm::kCollNetDirect || algorithm == Algorithm::kCollNetChain;
}

void set_threads(Tuning& tuning, const Communicator& comm, const Environment& environment) {
  const bool narrow = comm.ring.bw_intra * static_cast<float>(comm.ring.channels) <= kNarrowRing;
  const int simple = threads(environment, "NCCL_NTHREADS", {64, 512, 512});
  const int ring_simple = threads(environment, "NCCL_NTHREADS", {64, 512, narrow ? 256 : 512});
  const int ll128 = threads(environment, "NCCL_LL128_NTHREADS", {160, 640, 640});
  for (std::size_t a = 0; a < kAlgorithms; a++) {
    const auto algorithm = static_cast<Algorithm>(a);
    const bool plain = algorithm == Algorithm::kTree || algorithm == Algorithm::kRing;
    const bool pat = algorithm == Algorithm::kPat;
    tuning.most_threads[a] = {plain ? simple : 0, plain ? ll128 : 0,
                              algorithm == Algorithm::kTree   ? simple
                              : algorithm == Algorithm::kRing ? ring_simple
                              : pat                           ? 0
                                                              : 640};
    tuning.bytes_per_thread[a] = {8, 8, is_collnet(algorithm) ? 512 : 64};
  }
  tuning.bytes_per_thread[number(Algorithm::kRing)][0] = 8LL * comm.ranks;
  if (const auto value = text(environment, "NCCL_THREAD_THRESHOLDS"))
    read_thresholds(tuning, *value);
}

int channels_for(const Tuning& tuning, const Communicator& comm, const Switches& switches,
                 const Choice& call) {
  const std::size_t a = number(call.algorithm);
  const auto p = static_cast<std::size_t>(call.protocol);
  if (call.algorithm == Algorithm::kNvlsTree ||
      (call.algorithm == Algorithm::kNvls && comm.nodes == 1))
    return comm.nvls_channels;
  if (call.algorithm == Algorithm::kNvls)
    return std::min(comm.nvls_channels, comm.channels);
  int channels = switches.rank_views ? comm.channels : comm.coll_channels;
  if (call.algorithm == Algorithm::kCollNetDirect) {
    return collnet_channels(channels, comm.collnet_heads, call.bytes, tuning.most_threads[a][p],
                            tuning.bytes_per_thread[a][p]);
  }
  const long long each =
      static_cast<long long>(tuning.most_threads[a][p]) * tuning.bytes_per_thread[a][p];
  while (channels >= 2 && call.bytes < channels * each)
    channels--;
  return channels;
}

}  // namespace busbw::nccl::graph
