// Property of the machine reader: whatever the file says, reading ends with problems or with a
// machine that builds. Files are made from good ones by swapping, dropping and replacing words,
// seeded.
#include <gtest/gtest.h>

#include "sim/core/random.h"
#include "tests/topologies/small_catalog.h"
#include "topologies/build.h"

namespace busbw::topologies {
namespace {

/// Words with the blanks and marks between them, so that joining them gives the text back.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  bool in_word = false;
  for (const char c : text) {
    const bool part = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '/';
    if (words.empty() || !part || !in_word) {
      words.emplace_back();
    }
    words.back() += c;
    in_word = part;
  }
  return words;
}

const std::vector<std::string>& good_files() {
  static const std::vector<std::string> files = {
      R"(name: cube
gpus: {model: Cube, count: 8, peer_to_peer: true}
nvlink: {wiring: hybrid cube mesh}
cpus: {model: Xeon, sockets: 2, numa_nodes: 4}
pcie: {generation: 3, switches: [{name: s0, attach: cpu0}, {name: s1, attach: s0, uplink_lanes: 8}]}
nics:
  - {name: eth0, model: Ether, attach: cpu1}
  - {name: mlx5_0, netdev: ib0, model: HCA, infiniband: FDR, lanes: 4, attach: s1, ports: 2}
)",
      R"(name: mesh
gpus: {model: Mesh, count: 4, attach: [cpu0, cpu0, cpu1, s0], pcie_lanes: 8}
nvlink: {wiring: mesh, links_per_pair: 4, generation: 3}
cpus: {model: Xeon, sockets: 2}
pcie: {generation: 4, switches: [{name: s0, attach: cpu1, generation: 5}]}
nics:
  - {name: mlx5_0, model: HCA, link_layer: infiniband, rate: 100 Gb/s, attach: s0, pcie_lanes: 8}
  - {name: veth0, attach: virtual, rate: 10 Gb/s, send_rate: 1 Gb/s, reported_speed: 10 Gb/s}
)",
      R"(name: chain
gpus: {model: Tray, count: 3, attach: cpu0}
nvlink: {wiring: matrix, matrix: [[0, 4, 0], [4, 0, 9], [0, 9, 0]]}
cpus: {model: Xeon}
pcie: {generation: 5}
)"};
  return files;
}

TEST(MachineProperty, ProblemsOrAMachineThatBuilds) {
  const Catalog catalog = small_catalog();
  Random random(7);
  std::vector<std::string> pool;
  for (const std::string& file : good_files()) {
    for (const std::string& word : words_of(file)) {
      pool.push_back(word);
    }
  }
  for (const char* extra : {"-1", "0", "1", "16", "999999999999999999999", "~", "''", "[]", "{}",
                            "nvswitch", "pairs", "none", "virtual", "cpu7", "gpu0", "true", "*x"}) {
    pool.emplace_back(extra);
  }
  const auto any = [&](std::size_t size) { return static_cast<std::size_t>(random.below(size)); };
  std::int64_t built = 0;
  std::int64_t refused = 0;
  for (int round = 0; round < 2000; round++) {
    std::vector<std::string> words = words_of(good_files()[any(good_files().size())]);
    const std::uint64_t changes = random.below(4);
    for (std::uint64_t i = 0; i < changes; i++) {
      std::string& word = words[any(words.size())];
      if (random.chance(1, 3)) {
        word.swap(words[any(words.size())]);
      } else {
        word = random.chance(1, 8) ? "" : pool[any(pool.size())];
      }
    }
    std::string text;
    for (const std::string& word : words) {
      text += word;
    }
    Problems problems;
    const YamlNode node = parse_yaml(text, "m.yaml", problems);
    Cluster cluster;
    cluster.hosts = {read_machine(node, catalog, problems)};
    if (!problems.empty()) {
      refused++;
      continue;
    }
    ASSERT_NO_THROW(build(cluster, catalog)) << "round " << round << "\n" << text;
    built++;
  }
  // Both outcomes were met often, so the property means something.
  EXPECT_GT(built, 300);
  EXPECT_GT(refused, 300);
}

}  // namespace
}  // namespace busbw::topologies
