// Fuzzer of the events and network keys of scenario files.
#include <string>
#include <vector>

#include "scenarios/spec/load.h"
#include "tests/fuzz/registry.h"

namespace busbw::fuzz {
namespace {

const std::vector<std::string>& documents() {
  static const std::vector<std::string> texts = {
      R"(schema: busbw.scenario/1
name: s
nccl: 2.28.9
cluster:
  hosts: 2
  machine: dgx-h100
  networks:
    - {name: m, nics: [eth0], ecmp: {hash: 5-tuple, seed: 7}, pfc: false, ecn: true, mtu: 1500}
    - name: r
      nics: [mlx5_0]
      leaf_switches: 2
      spine_switches: 2
      trunk: 1 Tb/s
      adaptive_routing: true
      reroute: 1 s
      partitions: [{key: 1, full: [1], limited: [2]}]
workload: {collective: all_reduce, sizes: [1 MiB]}
watchdog: 30 min
events:
  - {fault: link down, at: 1 ms, host: 2, nic: mlx5_0, duration: 3 s}
  - {fault: link degraded, at: 0, between: [r/leaf0, r/spine0], width: 2x}
  - {fault: packet loss, at: 0, host: 1, nic: "mlx5_0:1", share: 0.01}
  - {fault: switch down, at: 2 s, switch: r/leaf0}
  - {fault: slow gpu, at: 0, host: 1, gpu: 3, share: 1/4}
  - {fault: subnet manager down, at: 0, network: r, ports: init}
)"};
  return texts;
}

const scenarios::Library& library() {
  static const scenarios::Library loaded = [] {
    Problems problems;
    scenarios::Library read =
        scenarios::load_library(std::string(BUSBW_SOURCE_DIR) + "/topologies/catalog", problems);
    problems.throw_if_any();
    return read;
  }();
  return loaded;
}

void events_text(Random& random) {
  const std::string text = mutate(random, documents(),
                                  {"events",
                                   "- ",
                                   "{",
                                   "}",
                                   "[",
                                   "]",
                                   ": ",
                                   ", ",
                                   "\n",
                                   "\"",
                                   "fault",
                                   "hca gone",
                                   "pause storm",
                                   "host",
                                   "nic",
                                   "between",
                                   "share",
                                   "0",
                                   "1/0",
                                   "-1",
                                   "1 h",
                                   "1 b/s",
                                   "9223372036854775807",
                                   "mlx5_0:9",
                                   "mlx5_0:",
                                   "ecmp",
                                   "partitions"});
  Problems problems;
  const scenarios::Scenario scenario =
      scenarios::parse_scenario(text, "f.yaml", library(), problems);
  require_good_problems(problems, "f.yaml", text);
  for (const scenarios::Variant& variant : scenario.variants) {
    for (const scenarios::Fault& fault : variant.events) {
      require(!problems.empty() || !fault.duration || *fault.duration > Duration(),
              "a duration of nothing", text);
      require(!problems.empty() || !fault.host || *fault.host < variant.cluster.hosts.size(),
              "a host that is not there", text);
    }
  }
}

}  // namespace

std::vector<Fuzzer> events_fuzzers() {
  return {{"events_text", "a scenario with events is refused with places, or makes sense", 1500,
           &events_text}};
}

}  // namespace busbw::fuzz
