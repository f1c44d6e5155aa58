// Building a cluster and finding routes in it, with the size of the cluster.
//
// Sizes: hosts of eight GPUs and eight HCAs on rails, 8 ranks (one host) to 16,384 (2,048 hosts),
// the sizes at which the product is used. Label: links of the fabric and links on the route, so
// that the work cannot quietly become another.
#include <stdexcept>
#include <string>

#include <benchmark/benchmark.h>

#include "topologies/build.h"

namespace busbw::topologies {
namespace {

const Catalog& catalog() {
  static const Catalog result = [] {
    Problems problems;
    Catalog read = load_catalog(BUSBW_SOURCE_DIR "/topologies/catalog", problems);
    problems.throw_if_any();
    return read;
  }();
  return result;
}

Cluster cluster_of(std::int64_t hosts) {
  static const Machine machine = [] {
    Problems problems;
    for (Machine& candidate :
         load_machines(BUSBW_SOURCE_DIR "/topologies/catalog/machines", catalog(), problems)) {
      if (candidate.name == "dgx-h100") {
        return std::move(candidate);
      }
    }
    throw std::runtime_error("no machine 'dgx-h100' in the catalogue");
  }();
  Cluster cluster;
  cluster.hosts.assign(static_cast<std::size_t>(hosts), machine);
  Network rails;
  rails.name = "rails";
  for (const MachineNic& nic : machine.nics) {
    if (nic.rdma) {
      rails.nics.push_back(nic.name);
    }
  }
  rails.leaf_switches = static_cast<std::int32_t>(rails.nics.size());
  rails.trunk = Bandwidth::gigabits_per_second(3200);
  cluster.networks = {rails};
  return cluster;
}

void build_cluster(benchmark::State& state) {
  const Cluster cluster = cluster_of(state.range(0));
  std::size_t links = 0;
  for (auto _ : state) {
    links = build(cluster, catalog()).fabric.link_count();
  }
  state.SetLabel(std::to_string(links) + " links");
}
BENCHMARK(build_cluster)->Arg(1)->Arg(8)->Arg(128)->Arg(2048)->Unit(benchmark::kMillisecond);

void route_between_hosts(benchmark::State& state) {
  const BuiltCluster built = build(cluster_of(state.range(0)), catalog());
  const NodeId from = built.nics.front()[1];
  const NodeId to = built.nics.back()[2];
  std::size_t hops = 0;
  for (auto _ : state) {
    hops = built.fabric.route(from, to, network_only()).value().size();
  }
  state.SetLabel(std::to_string(hops) + " links");
}
BENCHMARK(route_between_hosts)->Arg(8)->Arg(128)->Arg(2048)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace busbw::topologies

BENCHMARK_MAIN();
