// A whole decision of NCCL with the size of the job.
//
// Sizes: machines of eight GPUs on 1, 16 and 2,048 nodes (the sizes at which the product is used),
// once with PCIe only, where the search has most to do, once with NVSwitch; NVLink domains of 18
// trays (72 GPUs). Label: a hash of channels, rings, trees and tuning table, which must not change
// when the code only gets faster. Peak memory is that of the process: for a true figure run one
// case alone (--benchmark_filter).
#include <cstring>
#include <sys/resource.h>

#include <benchmark/benchmark.h>

#include "models/nccl/graph/decide.h"
#include "sim/core/fingerprint.h"
#include "tests/models/nccl/graph/topologies.h"

namespace busbw::nccl::graph {
namespace {

std::string hash(const Decision& decision) {
  Fingerprint fingerprint;
  fingerprint.add(decision.comm.channels);
  fingerprint.add(decision.comm.p2p_channels_per_peer);
  for (const auto* lists : {&decision.rings.orders, &decision.trees.parents}) {
    for (const std::vector<int>& list : *lists) {
      for (const int rank : list)
        fingerprint.add(rank);
    }
  }
  for (std::size_t a = 0; a < kAlgorithms; a++) {
    for (std::size_t p = 0; p < kProtocols; p++) {
      const Cost& cost = decision.tuning.cost(Collective::kAllReduce, static_cast<Algorithm>(a),
                                              static_cast<Protocol>(p));
      fingerprint.add(static_cast<std::int64_t>(cost.latency_us * 1e6));
      fingerprint.add(static_cast<std::int64_t>(cost.bandwidth * 1e6));
    }
  }
  return fingerprint.hex();
}

void decide_job(benchmark::State& state, const std::string& text, int nodes, int domain) {
  DecideInput input = equal_hosts(parsed(text), nodes);
  input.hosts_per_nvlink_domain = domain;
  for (auto _ : state)
    state.SetLabel("hash " + hash(decide(input)));
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["peak_MiB"] = static_cast<double>(usage.ru_maxrss) / 1024;
}

void decide_pcie(benchmark::State& state) {
  decide_job(state, eight_pcie_gpus(), static_cast<int>(state.range(0)), 0);
}
void decide_nvswitch(benchmark::State& state) {
  decide_job(state, eight_nvswitch_gpus(), static_cast<int>(state.range(0)), 0);
}
void decide_domains(benchmark::State& state) {
  decide_job(state, nvlink_tray(), static_cast<int>(state.range(0)), 18);
}
BENCHMARK(decide_pcie)->Arg(1)->Arg(16)->Arg(2048)->Unit(benchmark::kMillisecond);
BENCHMARK(decide_nvswitch)->Arg(1)->Arg(16)->Arg(2048)->Unit(benchmark::kMillisecond);
BENCHMARK(decide_domains)->Arg(18)->Arg(36)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace busbw::nccl::graph

BENCHMARK_MAIN();
