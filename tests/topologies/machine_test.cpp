// Machine files: what is read, each problem with its whole message, the wirings, the documented
// examples, and the machines of the catalogue.
#include "topologies/machine.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/core/check.h"
#include "sim/core/text.h"
#include "tests/topologies/small_catalog.h"

namespace busbw::topologies {
namespace {

Machine read(const std::string& text, Problems& problems) {
  const YamlNode node = parse_yaml(text, "m.yaml", problems);
  return read_machine(node, small_catalog(), problems);
}

/// All messages of a text, sorted by place as main prints them.
std::string problems_of(const std::string& text) {
  Problems problems;
  read(text, problems);
  try {
    problems.throw_if_any();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

constexpr const char* kGood = R"(name: box
gpus: {model: Mesh, count: 4, attach: [pcie0, pcie0, pcie1, cpu1]}
nvlink: {wiring: mesh, links_per_pair: 4}
cpus: {model: xeon, sockets: 2}
pcie:
  generation: 4
  switches:
    - {name: pcie0, attach: cpu0}
    - {name: pcie1, attach: pcie0, generation: 3, uplink_lanes: 8}
nics:
  - {name: eth0, model: Ether, attach: cpu1}
  - {name: mlx5_0, netdev: rdma0, model: MT4123, link_layer: infiniband, rate: 100 Gb/s,
     attach: pcie1}
  - {name: veth0, attach: virtual, rate: 100 Gb/s, send_rate: 1 Gb/s, reported_speed: 10 Gb/s}
)";

TEST(Machine, IsReadWhole) {
  Problems problems;
  const Machine machine = read(kGood, problems);
  ASSERT_TRUE(problems.empty()) << problems.all().front().message;
  EXPECT_EQ(machine.name, "box");
  EXPECT_EQ(machine.title, "box");
  EXPECT_EQ(machine.topology_file, "");
  EXPECT_EQ(machine.gpu_model, "Mesh");
  EXPECT_EQ(machine.cpu_model, "Xeon");
  ASSERT_EQ(machine.gpus.size(), 4U);
  EXPECT_EQ(machine.gpus[2].attach, "pcie1");
  EXPECT_EQ(machine.gpus[3].index, 3);
  EXPECT_EQ(machine.gpu_pcie_lanes, 16);
  EXPECT_TRUE(machine.peer_to_peer);
  EXPECT_EQ(machine.wiring, NvLinkWiring::kMesh);
  EXPECT_EQ(machine.nvlink_generation, 3);
  EXPECT_EQ(machine.nvlink_links_per_gpu, 12);
  EXPECT_EQ(machine.numa_nodes, 2);
  EXPECT_EQ(machine.pcie_switches[0].uplink_lanes, 16);
  EXPECT_EQ(machine.pcie_generation_at("cpu0"), 4);
  EXPECT_EQ(machine.pcie_generation_at("pcie1"), 3);
  EXPECT_EQ(machine.cpu_above("pcie1"), 0);  // over pcie0
  EXPECT_EQ(machine.cpu_above("cpu1"), 1);
  EXPECT_THROW((void)machine.cpu_above("cpu2"), CheckFailure);
}

TEST(Machine, NicsTakeTheirModelsNumbersUnlessSaid) {
  Problems problems;
  const Machine machine = read(kGood, problems);
  ASSERT_EQ(machine.nics.size(), 3U);
  const MachineNic& eth = machine.nics[0];
  EXPECT_EQ(eth.rate, Bandwidth::gigabits_per_second(10));
  EXPECT_EQ(eth.pcie_generation, 3);  // the NIC's, below the root port's
  EXPECT_EQ(eth.pcie_lanes, 8);
  EXPECT_EQ(eth.link_layer, NicLinkLayer::kEthernet);
  EXPECT_FALSE(eth.rdma);
  const MachineNic& hca = machine.nics[1];
  EXPECT_EQ(hca.model, "HCA");
  EXPECT_EQ(hca.rate, Bandwidth::gigabits_per_second(100));
  EXPECT_EQ(hca.pcie_generation, 3);  // the switch's, below the NIC's
  EXPECT_EQ(hca.link_layer, NicLinkLayer::kInfiniBand);
  EXPECT_TRUE(hca.rdma);
  EXPECT_EQ(machine.find_nic("rdma0"), 1U);
  EXPECT_EQ(machine.find_nic("mlx5_0"), 1U);
  EXPECT_EQ(machine.find_nic("mlx5_1"), std::nullopt);
  const MachineNic& veth = machine.nics[2];
  EXPECT_EQ(veth.attach, std::nullopt);
  EXPECT_EQ(veth.pcie_lanes, 0);
  EXPECT_EQ(veth.send_rate, Bandwidth::gigabits_per_second(1));
  EXPECT_EQ(veth.reported_speed, Bandwidth::gigabits_per_second(10));
  EXPECT_FALSE(veth.rdma);
}

/// FDR is 14.0625 Gb/s a lane with 64b/66b: four lanes carry 600/11 = 54.545454545 Gb/s of data.
TEST(Machine, InfiniBandRatesAreDataRates) {
  Problems problems;
  const Machine machine = read(
      "name: a\ngpus: {model: Plain, count: 1}\ncpus: {model: Xeon}\npcie: {generation: 4}\nnics:\n"
      "  - {name: a, attach: cpu0, model: HCA, infiniband: FDR, reported_speed: 56 Gb/s}\n"
      "  - {name: b, attach: cpu0, model: HCA, infiniband: HDR, lanes: 2}\n",
      problems);
  ASSERT_TRUE(problems.empty()) << problems.all().front().message;
  EXPECT_EQ(machine.nics[0].rate, Bandwidth::bits_per_second(54'545'454'544));
  EXPECT_EQ(machine.nics[0].link_layer, NicLinkLayer::kInfiniBand);
  EXPECT_EQ(machine.nics[1].rate, Bandwidth::gigabits_per_second(100));
}

TEST(Machine, GpusSpreadInBlocksByDefault) {
  Problems problems;
  Machine machine = read(
      "name: a\ngpus: {model: Plain, count: 4}\ncpus: {model: Xeon, sockets: 2}\n"
      "pcie: {generation: 4}\n",
      problems);
  EXPECT_EQ(machine.gpus[1].attach, "cpu0");
  EXPECT_EQ(machine.gpus[2].attach, "cpu1");
  machine = read(
      "name: a\ngpus: {model: Plain, count: 4}\ncpus: {model: Xeon, sockets: 2}\n"
      "pcie: {generation: 4, switches: [{name: s0, attach: cpu0}, {name: s1, attach: cpu0}]}\n",
      problems);
  EXPECT_EQ(machine.gpus[1].attach, "s0");
  EXPECT_EQ(machine.gpus[2].attach, "s1");
  EXPECT_TRUE(problems.empty());
}

TEST(MachineProblems, AllAtOnceWithPlaces) {
  EXPECT_EQ(
      problems_of(R"(name: box
titel: Box
gpus: {model: Mash, count: 2, attach: [pcie0, pcie9], pcie_lanes: 12}
cpus: {model: Xeno, sockets: 2}
pcie:
  generation: 4
  switches:
    - {name: pcie0, attach: cpu0, uplink_lanes: 3}
nics:
  - {name: eth0, model: Ethr, attach: cpu1}
  - {name: eth0, model: Ether, attach: cpu3, rate: 25 Gb/s}
)"),
      "m.yaml:2:1: error: unknown key 'titel' in machine; did you mean 'title'?\n"
      "m.yaml:3:15: error: unknown GPU model 'Mash'; did you mean 'Mesh'?\n"
      "m.yaml:3:47: error: GPU 1 hangs on unknown element 'pcie9'; did you mean 'pcie0'?\n"
      "m.yaml:3:67: error: pcie_lanes is 12; allowed: 1, 2, 4, 8, 16\n"
      "m.yaml:4:15: error: unknown CPU model 'Xeno'; did you mean 'Xeon'?\n"
      "m.yaml:8:49: error: uplink_lanes is 3; allowed: 1, 2, 4, 8, 16\n"
      "m.yaml:10:25: error: unknown NIC model 'Ethr'; did you mean 'Ether'?\n"
      "m.yaml:11:12: error: second element of the name 'eth0'\n"
      "m.yaml:11:40: error: NIC 'eth0' hangs on unknown element 'cpu3'; did you mean 'cpu0'?\n"
      "m.yaml:11:52: error: rate 25 Gb/s of NIC 'eth0' is above the port rate 10 Gb/s of 'Ether'");
}

std::string with_nvlink(const std::string& gpus, const std::string& nvlink) {
  return "name: a\ngpus: {" + gpus + "}\nnvlink: {" + nvlink +
         "}\ncpus: {model: Xeon}\npcie: {generation: 5}\n";
}

TEST(MachineProblems, NvLink) {
  EXPECT_EQ(problems_of(with_nvlink("model: Mesh, count: 4", "wiring: mesh, links_per_pair: 5")),
            "m.yaml:3:40: error: wiring takes 15 NVLinks of a GPU, but 'Mesh' has 12");
  EXPECT_EQ(problems_of(with_nvlink("model: Plain, count: 4", "wiring: nvswitch")),
            "m.yaml:3:18: error: 'Plain' has no NVLink");
  EXPECT_EQ(problems_of(with_nvlink("model: Cube, count: 4", "wiring: hybrid cube mesh")),
            "m.yaml:3:18: error: wiring 'hybrid cube mesh' needs 8 GPUs, not 4");
  EXPECT_EQ(problems_of(with_nvlink("model: Mesh, count: 3", "wiring: pairs, links_per_pair: 4")),
            "m.yaml:3:18: error: wiring 'pairs' needs an even number of GPUs, not 3");
  EXPECT_EQ(problems_of(with_nvlink("model: Hub, count: 8", "wiring: nvswitch, links: 20")),
            "m.yaml:3:35: error: wiring takes 20 NVLinks of a GPU, but 'Hub' has 18");
  EXPECT_EQ(problems_of(with_nvlink("model: Hub, count: 8", "wiring: nvswitch, generation: 5")),
            "m.yaml:3:40: error: generation is 5, but 'Hub' has NVLink 4");
  EXPECT_EQ(problems_of(with_nvlink("model: Hub, count: 8", "wiring: nvswitch, links_per_pair: 2")),
            "m.yaml:3:28: error: unknown key 'links_per_pair' in nvlink");
  EXPECT_EQ(problems_of(with_nvlink("model: Mesh, count: 4", "wiring: mash, links_per_pair: 2")),
            "m.yaml:3:18: error: 'wiring' in nvlink must be 'none', 'pairs', 'mesh', 'hybrid cube "
            "mesh', 'nvswitch' or 'matrix', found 'mash'; did you mean 'mesh'?");
  EXPECT_EQ(problems_of(with_nvlink("model: Mesh, count: 4", "links_per_pair: 2")),
            "m.yaml:3:9: error: missing key 'wiring' in nvlink");
  EXPECT_EQ(problems_of(with_nvlink("model: Mesh, count: 4", "wiring: mesh")),
            "m.yaml:3:9: error: missing key 'links_per_pair' in nvlink");
}

TEST(MachineProblems, NvLinkMatrix) {
  const auto matrix = [](const std::string& rows) {
    return problems_of(with_nvlink("model: Mesh, count: 2", "wiring: matrix, matrix: " + rows));
  };
  EXPECT_EQ(matrix("[[0, 4], [4, 0]]"), "");
  EXPECT_EQ(matrix("[[0, 4]]"), "m.yaml:3:34: error: matrix has 1 rows for 2 GPUs");
  EXPECT_EQ(matrix("[[0, 4], [4]]"), "m.yaml:3:43: error: expected a list of 2 numbers of links");
  EXPECT_EQ(matrix("[[1, 4], [3, 0]]"),
            "m.yaml:3:36: error: GPU 0 has 1 links to itself\n"
            "m.yaml:3:44: error: 3 links from GPU 1 to GPU 0, but 4 back");
  EXPECT_EQ(matrix("[[0, four], [4, 0]]"),
            "m.yaml:3:39: error: expected a number of links from 0 to 64, found the text 'four'");
  EXPECT_EQ(matrix("[[0, 13], [13, 0]]"),
            "m.yaml:3:34: error: wiring takes 13 NVLinks of a GPU, but 'Mesh' has 12");
}

TEST(MachineProblems, Nics) {
  const auto nic = [](const std::string& keys) {
    return problems_of(
        "name: a\ngpus: {model: Plain, count: 1}\ncpus: {model: Xeon}\n"
        "pcie: {generation: 4}\nnics:\n  - {" +
        keys + "}\n");
  };
  EXPECT_EQ(nic("name: a, attach: virtual, rate: 1 Gb/s"), "");
  EXPECT_EQ(nic("name: a, attach: virtual"),
            "m.yaml:6:5: error: NIC 'a' has neither a model nor a rate");
  EXPECT_EQ(nic("name: a, attach: virtual, model: Ether"),
            "m.yaml:6:39: error: NIC 'a' is virtual and has no model");
  EXPECT_EQ(nic("name: a, attach: cpu0, rate: 1 Gb/s"),
            "m.yaml:6:5: error: NIC 'a' hangs on 'cpu0' but has no model");
  EXPECT_EQ(
      nic("name: a, attach: cpu0, model: HCA"),
      "m.yaml:6:5: error: NIC 'a' needs a link_layer: 'HCA' can be 'infiniband' or 'ethernet'");
  EXPECT_EQ(nic("name: a, attach: cpu0, model: Ether, link_layer: infiniband, rdma: true"),
            "m.yaml:6:55: error: 'Ether' has no link layer 'infiniband'\n"
            "m.yaml:6:73: error: 'Ether' has no RDMA");
  EXPECT_EQ(nic("name: a, attach: cpu0, model: Ether, pcie_generation: 4, pcie_lanes: 16"),
            "m.yaml:6:60: error: pcie_generation is 4, but NIC 'a' and 'cpu0' can do 3 at most\n"
            "m.yaml:6:75: error: pcie_lanes is 16, but 'Ether' has 8");
  EXPECT_EQ(nic("name: a, attach: virtual, rate: 1 Gb/s, send_rate: 2 Gb/s"),
            "m.yaml:6:57: error: send_rate 2 Gb/s of NIC 'a' is above its rate 1 Gb/s");
  EXPECT_EQ(nic("name: a, attach: cpu0, model: Ether, ports: 2"),
            "m.yaml:6:50: error: NIC 'a' uses 2 ports, but 'Ether' has 1");
  const std::string hca = "name: a, attach: cpu0, model: HCA, ";
  EXPECT_EQ(nic(hca + "infiniband: FRD"),
            "m.yaml:6:53: error: unknown InfiniBand rate 'FRD'; did you mean 'FDR'?");
  EXPECT_EQ(nic(hca + "infiniband: FDR, lanes: 3"),
            "m.yaml:6:65: error: 3 lanes of FDR; allowed: 1, 4, 8, 12");
  EXPECT_EQ(nic(hca + "infiniband: FDR, lanes: 8, rate: 50 Gb/s"),
            "m.yaml:6:74: error: NIC 'a' has a rate and an InfiniBand rate");
  EXPECT_EQ(nic(hca + "infiniband: HDR, link_layer: ethernet"),
            "m.yaml:6:70: error: NIC 'a' has an InfiniBand rate, but the link layer 'ethernet'");
  EXPECT_EQ(nic(hca + "link_layer: ethernet, lanes: 4"),
            "m.yaml:6:70: error: 'lanes' needs 'infiniband'");
  EXPECT_EQ(nic("name: gpu0, attach: cpu0, model: Ether"),
            "m.yaml:6:12: error: second element of the name 'gpu0'");
  EXPECT_EQ(nic("name: a/b, attach: cpu0, model: Ether"),
            "m.yaml:6:12: error: NIC has the name 'a/b'; allowed: letters, digits, '_', '-', '.'");
  EXPECT_EQ(nic("name: a, attach: cpu0, model: Ether, rate: 0"),
            "m.yaml:6:49: error: rate of NIC 'a' is 0");
}

TEST(MachineProblems, CpusAndTree) {
  const auto machine = [](const std::string& cpus, const std::string& pcie) {
    return problems_of("name: a\ngpus: {model: Plain, count: 1}\ncpus: {" + cpus + "}\npcie: {" +
                       pcie + "}\n");
  };
  EXPECT_EQ(machine("model: Xeon, sockets: 2, numa_nodes: 3", "generation: 4"),
            "m.yaml:3:45: error: 3 NUMA nodes do not divide evenly over 2 sockets");
  EXPECT_EQ(machine("model: Xeon", "generation: 9"),
            "m.yaml:4:20: error: unknown PCIe generation 9; allowed: 3, 4, 5");
  EXPECT_EQ(machine("model: Xeon", "switches: []"),
            "m.yaml:4:7: error: missing key 'generation' in pcie");
  // A switch can hang only on one that stands before it: no loops.
  EXPECT_EQ(machine("model: Xeon",
                    "generation: 4, switches: [{name: s0, attach: s1}, {name: s1, attach: s0}]"),
            "m.yaml:4:53: error: PCIe switch 's0' hangs on unknown element 's1'; known: 'cpu0'");
  EXPECT_EQ(problems_of(""), "m.yaml:1:1: error: machine must be a mapping, found nothing");
  EXPECT_EQ(problems_of("[a]"), "m.yaml:1:1: error: machine must be a mapping, found a list");
  // One mistake is one message: what depends on the count stays silent.
  EXPECT_EQ(problems_of("name: a\ngpus: {model: Mesh, count: 0, attach: [cpu0, cpu1]}\n"
                        "nvlink: {wiring: matrix, matrix: [[0]]}\n"
                        "cpus: {model: Xeon, sockets: 0}\npcie: {generation: 4}\n"),
            "m.yaml:2:28: error: 'count' in gpus must be a whole number from 1 to 72, found '0'\n"
            "m.yaml:4:30: error: 'sockets' in cpus must be a whole number from 1 to 8, found '0'");
  EXPECT_EQ(problems_of("name: a\n"),
            "m.yaml:1:1: error: missing key 'cpus' in machine\n"
            "m.yaml:1:1: error: missing key 'pcie' in machine\n"
            "m.yaml:1:1: error: missing key 'gpus' in machine");
}

/// Source: NVIDIA DGX-1 (Tesla V100): six NVLinks a GPU, nvidia-smi topo -m of that machine prints
/// NV1 and NV2 in these places and no NVLink elsewhere.
TEST(Wiring, HybridCubeMeshIsThatOfDgx1) {
  const LinkMatrix expected = {{0, 1, 1, 2, 2, 0, 0, 0}, {1, 0, 2, 1, 0, 2, 0, 0},
                               {1, 2, 0, 2, 0, 0, 1, 0}, {2, 1, 2, 0, 0, 0, 0, 1},
                               {2, 0, 0, 0, 0, 1, 1, 2}, {0, 2, 0, 0, 1, 0, 2, 1},
                               {0, 0, 1, 0, 1, 2, 0, 2}, {0, 0, 0, 1, 2, 1, 2, 0}};
  const LinkMatrix matrix = hybrid_cube_mesh_matrix();
  EXPECT_EQ(matrix, expected);
  for (const std::vector<std::int32_t>& row : matrix) {
    EXPECT_EQ(std::accumulate(row.begin(), row.end(), 0), 6);
  }
}

TEST(Wiring, PairsAndMesh) {
  EXPECT_EQ(pairs_matrix(4, 3),
            (LinkMatrix{{0, 3, 0, 0}, {3, 0, 0, 0}, {0, 0, 0, 3}, {0, 0, 3, 0}}));
  EXPECT_EQ(mesh_matrix(3, 4), (LinkMatrix{{0, 4, 4}, {4, 0, 4}, {4, 4, 0}}));
  EXPECT_THROW(pairs_matrix(3, 1), CheckFailure);
}

Catalog product_catalog() {
  Problems problems;
  Catalog catalog = load_catalog(BUSBW_SOURCE_DIR "/topologies/catalog", problems);
  problems.throw_if_any();
  return catalog;
}

TEST(MachineFormat, DocumentedExamplesLoad) {
  const std::string page = read_file(BUSBW_SOURCE_DIR "/docs/formats/machine.md");
  const Catalog catalog = product_catalog();
  int examples = 0;
  for (std::size_t at = page.find("```yaml\n"); at != std::string::npos;
       at = page.find("```yaml\n", at + 1)) {
    const std::size_t start = at + 8;
    Problems problems;
    const YamlNode node =
        parse_yaml(page.substr(start, page.find("```", start) - start), "machine.md", problems);
    const Machine machine = read_machine(node, catalog, problems);
    EXPECT_NO_THROW(problems.throw_if_any());
    EXPECT_FALSE(machine.gpus.empty());
    examples++;
  }
  EXPECT_EQ(examples, 3);
}

TEST(MachineFormat, EveryKeyIsDocumented) {
  const std::string page = read_file(BUSBW_SOURCE_DIR "/docs/formats/machine.md");
  for (const char* key :
       {"name",       "title",           "source",       "model",  "sockets",    "numa_nodes",
        "generation", "switches",        "count",        "attach", "pcie_lanes", "peer_to_peer",
        "wiring",     "links_per_pair",  "links",        "matrix", "netdev",     "rate",
        "send_rate",  "reported_speed",  "infiniband",   "lanes",  "link_layer", "rdma",
        "ports",      "pcie_generation", "topology_file"}) {
    EXPECT_NE(page.find("| `" + std::string(key) + "` |"), std::string::npos) << key;
  }
}

TEST(MachineCatalogue, EveryFileLoads) {
  Problems problems;
  const std::vector<Machine> machines =
      load_machines(BUSBW_SOURCE_DIR "/topologies/catalog/machines", product_catalog(), problems);
  EXPECT_NO_THROW(problems.throw_if_any());
  std::set<std::string> names;
  for (const Machine& machine : machines) {
    EXPECT_TRUE(names.insert(machine.name).second) << machine.name;
    EXPECT_FALSE(machine.source.empty()) << machine.name;
  }
  EXPECT_EQ(names.count("a100-40gb-x4"), 1U);
  EXPECT_EQ(names.count("dgx-h100"), 1U);
}

TEST(MachineCatalogue, MissingDirectoryIsASystemError) {
  Problems problems;
  EXPECT_THROW(load_machines("/nonexistent/machines", small_catalog(), problems), SystemError);
}

}  // namespace
}  // namespace busbw::topologies
