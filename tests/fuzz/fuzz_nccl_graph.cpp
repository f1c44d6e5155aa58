// Fuzzers of models/nccl/graph: the topology importer, and whole decisions on mutated topologies.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "models/nccl/graph/decide.h"
#include "models/nccl/graph/graph_xml.h"
#include "sim/core/errors.h"
#include "tests/fuzz/registry.h"

namespace busbw::fuzz {
namespace {

constexpr const char* kFile = "fuzz.xml";

const std::vector<std::string>& topologies() {
  static const std::vector<std::string> kTexts{
      "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" vendor=\"GenuineIntel\" "
      "familyid=\"6\" modelid=\"106\"><pci busid=\"0000:01:00.0\" class=\"0x060400\" "
      "vendor=\"0x1000\" device=\"0xc010\" subsystem_vendor=\"0x1000\" subsystem_device=\"0xa096\" "
      "link_speed=\"16.0 GT/s PCIe\" link_width=\"16\"><pci busid=\"0000:02:00.0\" "
      "class=\"0x030200\"><gpu dev=\"0\" sm=\"80\" rank=\"0\" gdr=\"1\"><nvlink "
      "target=\"0000:03:00.0\" count=\"4\" tclass=\"0x030200\"/></gpu></pci><pci "
      "busid=\"0000:03:00.0\" class=\"0x030200\"><gpu dev=\"1\" sm=\"80\" rank=\"1\" "
      "gdr=\"1\"><nvlink target=\"0000:02:00.0\" count=\"4\" tclass=\"0x030200\"/></gpu></pci><pci "
      "busid=\"0000:04:00.0\" class=\"0x020000\"><nic><net name=\"a\" dev=\"0\" speed=\"200000\" "
      "port=\"1\" guid=\"0x1\" gdr=\"1\"/></nic></pci></pci></cpu></system>",
      "<system version=\"1\"><cpu numaid=\"1\" arch=\"arm64\" host_hash=\"0x1\"><pci "
      "busid=\"0000:02:00.0\" class=\"0x030200\" link_width=\"16\"><gpu dev=\"3\" sm=\"100\" "
      "rank=\"0\"><nvlink target=\"fffffff:ff:ff.0\" count=\"18\" tclass=\"0x068000\"/><c2c "
      "bw=\"44712\" count=\"5\"/></gpu></pci><nic><net name=\"e\" dev=\"0\" speed=\"-1\"/></nic>"
      "</cpu><cpu numaid=\"0\" arch=\"x86_64\" vendor=\"AuthenticAMD\"><pci busid=\"0000:05:00.0\" "
      "class=\"0x030200\"><gpu dev=\"1\" sm=\"100\" rank=\"1\"/></pci><nic><net name=\"f\" "
      "dev=\"1\" speed=\"100000\"/></nic></cpu></system>"};
  return kTexts;
}

const std::vector<std::string>& words() {
  static const std::vector<std::string> kWords{"<pci busid=\"0000:09:00.0\">",
                                               "</pci>",
                                               "<nic>",
                                               "</nic>",
                                               "<cpu>",
                                               "</cpu>",
                                               "/>",
                                               "\"",
                                               " sm=\"90\"",
                                               " dev=\"99999999999\"",
                                               " rank=\"-7\"",
                                               " speed=\"0\"",
                                               " count=\"-3\"",
                                               " link_width=\"0\"",
                                               "0x068000",
                                               "0x03",
                                               "0x068001",
                                               "<net name=\"g\" dev=\"2\"/>",
                                               "<pcilink target=\"0000:01:00.0\"/>",
                                               "&amp;",
                                               "<!--",
                                               "-->",
                                               "<![CDATA["};
  return kWords;
}

/// A file of graphs for the first topology, without and with a NIC.
const std::vector<std::string>& graph_files() {
  static const std::vector<std::string> kTexts{
      "<graphs version=\"1\"><graph id=\"0\" pattern=\"4\" crossnic=\"0\" nchannels=\"1\" "
      "speedintra=\"12\" speedinter=\"12\" typeintra=\"NVL\" typeinter=\"PIX\" "
      "samechannels=\"1\"><channel><net dev=\"0\"/><gpu dev=\"0\"/><gpu dev=\"0x1\"/>"
      "<net dev=\"0\"/></channel></graph></graphs>",
      "<graphs version=\"1\"><graph id=\"1\" pattern=\"1\" crossnic=\"0\" nchannels=\"2\" "
      "speedintra=\"40\" speedinter=\"40\" typeintra=\"NVL\" typeinter=\"PIX\" "
      "samechannels=\"0\"><channel><gpu dev=\"0\"/><gpu dev=\"1\"/></channel><channel><gpu "
      "dev=\"1\"/><gpu dev=\"0\"/></channel></graph></graphs>"};
  return kTexts;
}

const std::vector<std::string>& graph_words() {
  static const std::vector<std::string> kWords{"<channel>",
                                               "</channel>",
                                               "<gpu dev=\"0\"/>",
                                               "<net dev=\"0\"/>",
                                               "</graph>",
                                               "<graph id=\"3\">",
                                               "id=\"2\"",
                                               "id=\"4\"",
                                               "nchannels=\"0\"",
                                               "nchannels=\"64\"",
                                               "-1",
                                               "1e30",
                                               "nan",
                                               "PHB",
                                               "pattern=\"6\"",
                                               "\""};
  return kWords;
}

/// What a user may do to a file, and all that may come of it: problems, InputError, or a decision
/// in which every ring holds every rank.
void decide_mutated(Random& random) {
  const std::string text = mutate(random, topologies(), words());
  Problems problems;
  const nccl::graph::Element topology = nccl::graph::parse_topology(text, kFile, problems);
  require_good_problems(problems, kFile, text);
  if (!problems.empty())
    return;
  nccl::graph::DecideInput input =
      nccl::graph::equal_hosts(topology, static_cast<int>(1 + random.below(3)));
  input.hosts_per_nvlink_domain = static_cast<int>(random.below(3));
  input.collnet = random.chance(1, 2);
  if (random.chance(1, 2))
    input.environment["NCCL_COLLNET_ENABLE"] = "1";
  const std::vector<nccl::Version> versions{{2, 18, 6}, {2, 19, 3}, {2, 21, 5}, {2, 23, 4},
                                            {2, 26, 2}, {2, 28, 9}, {2, 30, 7}};
  input.version = versions.at(static_cast<std::size_t>(random.below(versions.size())));
  try {
    const nccl::graph::Decision decision = nccl::graph::decide(input);
    for (const std::vector<int>& order : decision.rings.orders) {
      require(order.size() == static_cast<std::size_t>(decision.comm.ranks),
              "a ring without all ranks", text);
    }
    require(decision.comm.channels >= 1, "no channel", text);
  } catch (const InputError& error) {
    require(!error.problems().empty(), "an error without a problem", text);
  }
}

/// Any file of graphs gives problems, InputError, or a decision with all ranks; what a node was
/// given is written back equal.
void decide_with_graphs(Random& random) {
  const std::string text = mutate(random, graph_files(), graph_words());
  Problems problems;
  nccl::graph::Element graphs = nccl::graph::parse_graphs(text, kFile, problems);
  require_good_problems(problems, kFile, text);
  if (!problems.empty())
    return;
  nccl::graph::DecideInput input =
      nccl::graph::equal_hosts(nccl::graph::parse_topology(topologies().front(), kFile, problems),
                               static_cast<int>(1 + random.below(3)));
  input.environment["NCCL_COLLNET_ENABLE"] = "1";
  input.collnet = true;
  input.graphs = std::move(graphs);
  try {
    const nccl::graph::Decision decision = nccl::graph::decide(input);
    for (const std::vector<int>& order : decision.rings.orders) {
      require(order.size() == static_cast<std::size_t>(decision.comm.ranks),
              "a ring without all ranks", text);
    }
    input.graphs = nccl::graph::graphs_element(decision.groups.front());
    require(print_topology(nccl::graph::graphs_element(
                nccl::graph::decide(input).groups.front())) == print_topology(*input.graphs),
            "written graphs read back otherwise", text);
  } catch (const InputError& error) {
    require(!error.problems().empty(), "an error without a problem", text);
  }
}

void import_round_trip(Random& random) {
  const std::string text = mutate(random, topologies(), words());
  Problems problems;
  const nccl::graph::Element topology = nccl::graph::parse_topology(text, kFile, problems);
  require_good_problems(problems, kFile, text);
  if (!problems.empty())
    return;
  const std::string printed = print_topology(topology);
  Problems again;
  require(print_topology(nccl::graph::parse_topology(printed, kFile, again)) == printed &&
              again.empty(),
          "a printed topology does not read back equal", text);
}

}  // namespace

std::vector<Fuzzer> nccl_graph_fuzzers() {
  return {
      {"nccl_decide", "any topology gives problems, an input error or rings of all ranks", 2'000,
       &decide_mutated},
      {"nccl_graphs",
       "any graphs give problems, an input error or a decision that writes them back", 5'000,
       &decide_with_graphs},
      {"nccl_topology", "any topology gives problems with places or reads back equal", 5'000,
       &import_round_trip},
  };
}

}  // namespace busbw::fuzz
