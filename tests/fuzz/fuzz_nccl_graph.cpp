// Fuzzers of models/nccl/graph: the topology importer, and whole decisions on mutated topologies.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "models/nccl/graph/decide.h"
#include "models/nccl/graph/graph_xml.h"
#include "models/nccl/graph/to_value.h"
#include "sim/core/errors.h"
#include "tests/fuzz/registry.h"
#include "tests/models/nccl/graph/topologies.h"

namespace busbw::fuzz {
namespace {

constexpr const char* kFile = "fuzz.xml";

std::string nvswitch_node() {
  const std::string links = "<nvlink target=\"0000:f1:00.0\" count=\"18\" tclass=\"0x068000\"/>";
  std::string inside;
  for (int gpu = 0; gpu < 3; gpu++)
    inside += nccl::graph::gpu_xml(gpu, 90, links);
  inside += nccl::graph::nic_xml(0, 400'000) + nccl::graph::nic_xml(1, 400'000);
  return nccl::graph::system_xml(inside);
}

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
      "dev=\"1\" speed=\"100000\"/></nic></cpu></system>",
      nccl::graph::two_gpus_one_nic(), nvswitch_node()};
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

nccl::graph::Element parsed(const std::string& text, Problems& problems) {
  return nccl::graph::parse_topology(text, kFile, problems);
}

const std::string& pick(Random& random, const std::vector<std::string>& list) {
  return list.at(static_cast<std::size_t>(random.below(list.size())));
}

/// Edits of a tree of elements: what happens to a file that a person changes by hand.
class TreeEditor {
 public:
  explicit TreeEditor(Random& random) : random_(random) {}

  void edit(nccl::graph::Element& root) {
    for (std::uint64_t edits = 1 + random_.below(4); edits > 0; edits--) {
      all_.clear();
      collect(root);
      once();
    }
  }

 private:
  using Element = nccl::graph::Element;

  void collect(Element& element) {
    all_.push_back(&element);
    for (Element& child : element.children)
      collect(child);
  }
  Element& any() { return *all_.at(static_cast<std::size_t>(random_.below(all_.size()))); }

  void once() {
    Element& target = any();
    switch (random_.below(6)) {
      case 0:
      case 1:
        if (!target.attributes.empty())
          attribute(target).second = value();
        break;
      case 2: {
        const Element& other = any();
        if (!target.attributes.empty() && !other.attributes.empty())
          attribute(target).second = random_.chance(1, 2) ? other.attributes.front().second
                                                          : other.text(attribute(target).first);
        break;
      }
      case 3:
        if (!target.attributes.empty())
          target.attributes.erase(
              target.attributes.begin() +
              static_cast<std::ptrdiff_t>(random_.below(target.attributes.size())));
        break;
      case 4:
        if (!target.children.empty())
          target.children.erase(target.children.begin() +
                                static_cast<std::ptrdiff_t>(random_.below(target.children.size())));
        break;
      default: {
        Element copy = any();  // moved, when the original goes in a later edit
        renumber(copy);
        target.children.push_back(std::move(copy));
        break;
      }
    }
  }

  std::pair<std::string, std::string>& attribute(Element& element) {
    return element.attributes.at(
        static_cast<std::size_t>(random_.below(element.attributes.size())));
  }
  std::string value() {
    static const std::vector<std::string> kValues{"0",
                                                  "1",
                                                  "2",
                                                  "7",
                                                  "16",
                                                  "90",
                                                  "100",
                                                  "-1",
                                                  "-8",
                                                  "0x1",
                                                  "25000",
                                                  "400000",
                                                  "8000000",
                                                  "1e9",
                                                  "nan",
                                                  "inf",
                                                  "x86_64",
                                                  "arm64",
                                                  "ppc64",
                                                  "AuthenticAMD",
                                                  "GenuineIntel",
                                                  "0x068000",
                                                  "0x068001",
                                                  "0x03",
                                                  "0x0604",
                                                  "0x1000",
                                                  "0xc010",
                                                  "0xc030",
                                                  "0xa096",
                                                  "2.5 GT/s",
                                                  "32.0 GT/s PCIe",
                                                  "0000:02:00.0",
                                                  "9223372036854775807",
                                                  "-9223372036854775808",
                                                  ""};
    return pick(random_, kValues);
  }
  /// Copies get new bus ids, mostly: with the old ones the importer refuses them.
  void renumber(Element& element) {
    if (element.tag == "pci" && !random_.chance(1, 16))
      element.set("busid", "0000:" + std::to_string(10 + random_.below(90)) + ":00." +
                               std::to_string(random_.below(8)));
    for (Element& child : element.children)
      renumber(child);
  }

  Random& random_;
  std::vector<Element*> all_;
};

nccl::Environment some_environment(Random& random) {
  static const std::vector<std::string> kNames{"NCCL_MIN_NCHANNELS",
                                               "NCCL_MAX_NCHANNELS",
                                               "NCCL_MIN_CTAS",
                                               "NCCL_MAX_CTAS",
                                               "NCCL_MIN_P2P_NCHANNELS",
                                               "NCCL_MAX_P2P_NCHANNELS",
                                               "NCCL_NVLS_NCHANNELS",
                                               "NCCL_CROSS_NIC",
                                               "NCCL_P2P_DISABLE",
                                               "NCCL_SHM_DISABLE",
                                               "NCCL_P2P_LEVEL",
                                               "NCCL_NET_GDR_LEVEL",
                                               "NCCL_NETDEVS_POLICY",
                                               "NCCL_NVB_DISABLE",
                                               "NCCL_PXN_DISABLE",
                                               "NCCL_BUFFSIZE",
                                               "NCCL_NTHREADS",
                                               "NCCL_NCHANNELS_PER_NET_PEER",
                                               "NCCL_P2P_PER_CHANNEL_NET_BW",
                                               "NCCL_ALGO",
                                               "NCCL_PROTO"};
  static const std::vector<std::string> kValues{"0",
                                                "1",
                                                "2",
                                                "-1",
                                                "64",
                                                "4096",
                                                "Ring",
                                                "^LL128",
                                                "PXB",
                                                "SYS",
                                                "LOC",
                                                "ALL",
                                                "MAX:3",
                                                "word",
                                                "",
                                                "9223372036854775807",
                                                "-9223372036854775808"};
  nccl::Environment environment;
  for (std::uint64_t settings = random.below(4); settings > 0; settings--)
    environment[pick(random, kNames)] = pick(random, kValues);
  return environment;
}

/// A job on these topologies: any release, up to three nodes, some in one NVLink domain.
void require_decided(Random& random, std::vector<nccl::graph::Element> topologies,
                     const std::string& text) {
  nccl::graph::DecideInput input;
  for (std::uint64_t hosts = 1 + random.below(3); hosts > 0; hosts--)
    input.hosts.push_back(static_cast<int>(random.below(topologies.size())));
  input.topologies = std::move(topologies);
  input.hosts_per_nvlink_domain = static_cast<int>(random.below(3));
  input.environment = some_environment(random);
  input.collnet = random.chance(1, 4);
  if (random.chance(1, 4))
    input.environment["NCCL_COLLNET_ENABLE"] = "1";
  const std::vector<nccl::Version> versions{{2, 18, 6}, {2, 19, 3}, {2, 21, 5}, {2, 23, 4},
                                            {2, 26, 2}, {2, 28, 9}, {2, 30, 7}};
  input.version = versions.at(static_cast<std::size_t>(random.below(versions.size())));
  try {
    const nccl::graph::Decision decision = nccl::graph::decide(input);
    for (std::vector<int> order : decision.rings.orders) {
      std::sort(order.begin(), order.end());
      bool each_once = order.size() == static_cast<std::size_t>(decision.comm.ranks);
      for (std::size_t rank = 0; each_once && rank < order.size(); rank++)
        each_once = order[rank] == static_cast<int>(rank);
      require(each_once, "a ring without every rank once", text);
    }
    require(decision.comm.channels >= 1, "no channel", text);
    if (random.chance(1, 32))
      nccl::graph::to_value(decision);
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

/// What a user may do to a file, and all that may come of it: problems, InputError, or a decision
/// in which every ring holds every rank once. Every second time bytes are changed, else elements.
void decide_mutated(Random& random) {
  Problems problems;
  if (random.chance(1, 2)) {
    const std::string text = mutate(random, topologies(), words());
    const nccl::graph::Element topology = parsed(text, problems);
    require_good_problems(problems, kFile, text);
    if (problems.empty())
      require_decided(random, {topology}, text);
    return;
  }
  const nccl::graph::Element good = parsed(pick(random, topologies()), problems);
  nccl::graph::Element changed = parsed(pick(random, topologies()), problems);
  TreeEditor(random).edit(changed);
  const std::string text = print_topology(changed);
  changed = parsed(text, problems);
  require_good_problems(problems, kFile, text);
  if (problems.empty())
    require_decided(random, {changed, good}, text);
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
      {"nccl_decide", "any topologies give problems, an input error or rings of all ranks", 2'000,
       &decide_mutated},
      {"nccl_graphs",
       "any graphs give problems, an input error or a decision that writes them back", 5'000,
       &decide_with_graphs},
      {"nccl_topology", "any topology gives problems with places or reads back equal", 5'000,
       &import_round_trip},
  };
}

}  // namespace busbw::fuzz
