// The tuning model: latency and bandwidth that NCCL believes of each collective, algorithm and
// protocol. Microseconds and GB/s (algorithm bandwidth), in NCCL's single precision.
//
// Source: NCCL 2.18 to 2.30.7, src/graph/tuning.cc. Without CollNet its entries have latencies and
// no bandwidth.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "models/nccl/environment.h"
#include "models/nccl/graph/channels.h"
#include "models/nccl/graph/release_tables.h"

namespace busbw::nccl::graph {

enum class Collective : std::uint8_t {
  kBroadcast,
  kReduce,
  kAllGather,
  kReduceScatter,
  kAllReduce
};
constexpr std::size_t kCollectives = 5;
const char* to_string(Collective collective);
const char* to_string(Algorithm algorithm);
const char* to_string(Protocol protocol);

struct Cost {
  float latency_us = 0;
  float bandwidth = 0;  // 0: never chosen
};

struct Tuning {
  std::array<std::array<std::array<Cost, kProtocols>, kAlgorithms>, kCollectives> costs{};
  std::array<std::array<int, kProtocols>, kAlgorithms> most_threads{};
  std::array<std::array<long long, kProtocols>, kAlgorithms> bytes_per_thread{};

  [[nodiscard]] const Cost& cost(Collective collective, Algorithm algorithm,
                                 Protocol protocol) const {
    return costs[static_cast<std::size_t>(collective)][static_cast<std::size_t>(algorithm)]
                [static_cast<std::size_t>(protocol)];
  }
  Cost& cost(Collective collective, Algorithm algorithm, Protocol protocol) {
    return costs[static_cast<std::size_t>(collective)][static_cast<std::size_t>(algorithm)]
                [static_cast<std::size_t>(protocol)];
  }
};

/// Throws InputError for words in NCCL_ALGO or NCCL_PROTO that 2.24 and newer refuse.
Tuning tune(const Communicator& comm, const Environment& environment, const Switches& switches);

/// How one call runs.
struct Choice {
  std::int64_t bytes = 0;
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  float time_us = 0;
  int channels = 0;  // at most
  int threads = 0;   // per channel
};
/// Time of one call, negative when the combination is not to be used.
float time_us(const Tuning& tuning, const Communicator& comm, const Switches& switches,
              const Choice& call, Collective collective);
/// All usable combinations, fastest first; empty when NCCL finds none (an error from 2.24 on).
/// bytes: NCCL's nBytes (for AllGather and ReduceScatter the gathered size); float32 sum.
std::vector<Choice> choices(const Tuning& tuning, const Communicator& comm,
                            const Switches& switches, Collective collective, std::int64_t bytes);

}  // namespace busbw::nccl::graph
