// NCCL_ALGO and NCCL_PROTO: which algorithms and protocols a job may use.
//
// Source: NCCL 2.18 to 2.30.7, src/graph/tuning.cc and NVIDIA's list of environment variables. From
// 2.24 on "list;func:list;func:^list" with errors for unknown words; before, one list in which
// unknown words are passed over.
#pragma once
#include <array>

#include "models/nccl/environment.h"
#include "models/nccl/graph/release_tables.h"

namespace busbw::nccl::graph {

constexpr std::size_t kFunctions = 5;  // Broadcast, Reduce, AllGather, ReduceScatter, AllReduce

struct Filter {
  std::array<std::array<bool, kAlgorithms>, kFunctions> algorithm{};
  std::array<std::array<bool, kProtocols>, kFunctions> protocol{};
  std::array<bool, kFunctions> algorithm_given{};
  std::array<bool, kFunctions> protocol_given{};  // LL128 is then plainly on or off
};

/// Throws InputError for words that the release refuses.
Filter algorithm_filter(const Environment& environment, Version version);

}  // namespace busbw::nccl::graph
