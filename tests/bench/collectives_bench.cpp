// Making the schedule of one call, with the number of ranks.
//
// Sizes: 1 GiB over 32 channels in NCCL's chunks, for 8 ranks (one host) and 64 (eight), the
// largest that is simulated chunk by chunk. Label: steps and what they take in memory.
#include <array>
#include <string>

#include <benchmark/benchmark.h>

#include "models/collectives/make_schedule.h"
#include "models/collectives/shapes.h"

namespace busbw::collectives {
namespace {

constexpr std::int64_t kKiB = 1024;

struct Case {
  const char* name;
  Collective collective;
  Algorithm algorithm;
  std::int64_t chunk;
  std::int32_t slices;
};

constexpr std::array kCases = {
    Case{"all_reduce_ring", Collective::kAllReduce, Algorithm::kRing, 2048 * kKiB, 2},
    Case{"all_reduce_tree", Collective::kAllReduce, Algorithm::kTree, 512 * kKiB, 1},
    Case{"all_reduce_nvls_tree", Collective::kAllReduce, Algorithm::kNvlsTree, 128 * kKiB, 1},
    Case{"all_gather_ring", Collective::kAllGather, Algorithm::kRing, 2048 * kKiB, 2},
    Case{"reduce_scatter_pat", Collective::kReduceScatter, Algorithm::kPat, 512 * kKiB, 1},
    Case{"alltoall", Collective::kAllToAll, Algorithm::kDirect, 128 * kKiB, 1}};

Request request_of(const Case& benched, std::int32_t ranks) {
  constexpr std::int32_t kLocals = 4;
  constexpr std::int32_t kChannels = 32;
  const LocalOrders orders(kChannels, {0, 1, 2, 3});
  const LocalOrders half(orders.begin(), orders.begin() + kChannels / 2);
  Request request;
  request.collective = benched.collective;
  request.algorithm = benched.algorithm;
  request.shape.ranks = ranks;
  request.shape.rings = rings_over_hosts(orders, ranks / kLocals);
  request.shape.trees = trees_over_hosts(half, ranks / kLocals, TreePattern::kBalanced);
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    request.shape.host_of.push_back(rank / kLocals);
  }
  request.options.bytes = Bytes(1024 * 1024 * kKiB);
  request.options.chunk = Bytes(benched.chunk);
  request.options.slices = benched.slices;
  request.options.channels = kChannels;
  request.options.channels_per_peer = 2;
  return request;
}

void make(benchmark::State& state, const Case& benched) {
  const Request request = request_of(benched, static_cast<std::int32_t>(state.range(0)));
  std::size_t steps = 0;
  std::size_t reserved = 0;
  for (auto _ : state) {
    const Schedule schedule = make_schedule(request);
    steps = 0;
    reserved = 0;
    for (const Lane& lane : schedule.lanes) {
      steps += lane.steps.size();
      reserved += lane.steps.capacity() * sizeof(Step);
    }
  }
  state.SetLabel(std::to_string(steps) + " steps, " + std::to_string(reserved / 1'000'000) + " MB");
}

}  // namespace
}  // namespace busbw::collectives

int main(int argc, char** argv) {
  for (const auto& benched : busbw::collectives::kCases) {
    benchmark::RegisterBenchmark(benched.name, busbw::collectives::make, benched)
        ->Arg(8)
        ->Arg(64)
        ->Unit(benchmark::kMillisecond);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
