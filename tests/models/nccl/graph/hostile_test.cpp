// Files that are damaged, odd or huge: each gives its problems with their places, whole messages,
// or what NCCL makes of it.
#include <gtest/gtest.h>

#include "models/nccl/graph/decide.h"
#include "models/nccl/graph/views.h"
#include "tests/models/nccl/graph/topologies.h"

namespace busbw::nccl::graph {
namespace {

using Messages = std::vector<std::string>;

Messages problems_of(const std::string& text) {
  Problems problems;
  parse_topology(text, "t.xml", problems);
  Messages messages;
  for (const InputProblem& problem : problems.all())
    messages.push_back(to_string(problem));
  return messages;
}

std::string refusal(const DecideInput& input) {
  try {
    decide(input);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

std::string with_cpu(const std::string& inside) {
  return "<system version=\"1\"><cpu>" + inside + "</cpu></system>";
}

std::string replaced(std::string text, const std::string& old, const std::string& fresh) {
  return text.replace(text.find(old), old.size(), fresh);
}

TEST(Hostile, TruncatedFile) {
  EXPECT_EQ(problems_of("<system version=\"1\">\n<cpu numaid=\"0\">\n<pci busid=\"0000:01:00.0\""),
            Messages{"t.xml:3:25: error: not readable as XML: error parsing start element tag"});
  EXPECT_EQ(problems_of("<system version=\"1\">\n<cpu numaid=\"0\">\n"),
            Messages{"t.xml:2:17: error: not readable as XML: start-end tags mismatch"});
}

TEST(Hostile, Encodings) {
  // A byte order mark of UTF-8 is passed over, in UTF-16 every second byte is 0.
  Problems none;
  EXPECT_EQ(count_gpus(parse_topology("\xef\xbb\xbf" + two_gpus_one_nic(), "t.xml", none)), 2);
  EXPECT_TRUE(none.empty());
  std::string wide = "\xff\xfe";
  for (const char c : two_gpus_one_nic())
    wide += {c, '\0'};
  const Messages expected{
      "t.xml:1:1: error: the file is UTF-16, UTF-32 or no text, expected UTF-8"};
  EXPECT_EQ(problems_of(wide), expected);
  EXPECT_EQ(problems_of(std::string("<system\0/>", 10)), expected);
}

TEST(Hostile, EntitiesCommentsAndCdata) {
  const Element system = parsed(
      "<?xml version=\"1.0\"?>\n<!DOCTYPE system [<!ENTITY a \"aaaa\">]>\n"
      "<!-- <cpu/> --><system version=\"&#49;\"><![CDATA[<cpu/>]]><cpu name=\"&lt;&a;\"/> text "
      "</system>");
  ASSERT_EQ(system.children.size(), 1U);
  // Entities of one's own are not expanded, so they cannot grow.
  EXPECT_EQ(system.children.front().text("name"), "<&a;");
}

TEST(Hostile, TooManyElements) {
  std::string cpus = "<system version=\"1\">\n";
  for (int i = 0; i < 300; i++)
    cpus += fmt::format("<cpu numaid=\"{}\"/>\n", i);
  // The system itself is the first element, so the 257th is the CPU on line 257.
  EXPECT_EQ(problems_of(cpus + "</system>"),
            Messages{"t.xml:257:2: error: more than 256 elements: NCCL's parser stops here"});
}

TEST(Hostile, DeepNesting) {
  // 1,000 known elements are too many; 100,000 unknown ones are skipped, as NCCL does.
  std::string known = "<system version=\"1\"><cpu>\n";
  for (int i = 0; i < 1'000; i++)
    known += fmt::format("<pci busid=\"{:x}\">\n", i + 1);
  for (int i = 0; i < 1'000; i++)
    known += "</pci>";
  EXPECT_EQ(problems_of(known + "</cpu></system>"),
            Messages{"t.xml:256:2: error: more than 256 elements: NCCL's parser stops here"});
  std::string unknown;
  for (int i = 0; i < 100'000; i++)
    unknown += "<zoo>";
  for (int i = 0; i < 100'000; i++)
    unknown += "</zoo>";
  EXPECT_EQ(problems_of(with_cpu(unknown)), Messages{});
}

TEST(Hostile, BusIdsThatAreTheSameNumber) {
  EXPECT_EQ(problems_of(with_cpu("<pci busid=\"0000:0A:00.0\"/>\n<pci busid=\"000a000\"/>")),
            Messages{"t.xml:2:2: error: bus id '000a000' is there twice"});
}

TEST(Hostile, NumbersOutOfRange) {
  EXPECT_EQ(
      problems_of(with_cpu("<pci busid=\"1\"><gpu dev=\"-7\"/></pci>\n<pci busid=\"2\"><gpu "
                           "dev=\"99999999999999999999\"/></pci>\n<nic><net latency=\"nan\"/><net "
                           "latency=\"-inf\"/><net latency=\"1e30\"/><net latency=\"x\"/></nic>")),
      (Messages{"t.xml:1:42: error: device number '-7' of 'gpu', expected 0 to 65535",
                "t.xml:2:17: error: device number '99999999999999999999' of 'gpu', expected 0 to "
                "65535",
                "t.xml:3:7: error: latency 'nan' of 'net', expected at most 1000000 us",
                "t.xml:3:27: error: latency '-inf' of 'net', expected at most 1000000 us",
                "t.xml:3:48: error: latency '1e30' of 'net', expected at most 1000000 us"}));
}

TEST(Hostile, HugeNumbersSaturate) {
  // 2^63 - 1 Mb/s and lanes: the other limits of the path count.
  const std::string most = "9223372036854775807";
  std::string text = replaced(two_gpus_one_nic(), "speed=\"200000\"", "speed=\"" + most + "\"");
  text = replaced(text, "count=\"12\"", "count=\"" + most + "\"");
  const Decision decision = decide(equal_hosts(parsed(text), 2));
  EXPECT_FLOAT_EQ(
      decision.groups.front().system.path(NodeType::kGpu, 0, NodeType::kNet, 0).bandwidth, 24.0F);
  EXPECT_EQ(decision.comm.ranks, 4);
}

TEST(Hostile, NotANumberCountsAsZero) {
  // NCCL reads "nan" and "many" as 0: a NIC of unknown speed has 10 Gb/s.
  const std::string text = replaced(two_gpus_one_nic(), "speed=\"200000\"", "speed=\"nan\"");
  EXPECT_FLOAT_EQ(decide(equal_hosts(parsed(text), 2)).groups.front().system.max_bandwidth, 1.25F);
}

TEST(Hostile, GpusWithoutLinkAndLinksToNowhere) {
  // A pci without link_speed and link_width has 16 lanes of Gen3 (12 GB/s); NVLink to a bus id that
  // is not there is no link.
  const std::string gpus =
      "<pci busid=\"0000:01:00.0\" class=\"0x030200\"><gpu dev=\"0\" sm=\"80\"><nvlink "
      "target=\"0000:77:00.0\" count=\"12\" tclass=\"0x030200\"/></gpu></pci>"
      "<pci busid=\"0000:02:00.0\" class=\"0x030200\"><gpu dev=\"1\" sm=\"80\"/></pci>";
  const Decision decision = decide(equal_hosts(parsed(system_xml(gpus)), 1));
  const Path& path = decision.groups.front().system.path(NodeType::kGpu, 0, NodeType::kGpu, 1);
  EXPECT_EQ(path.type, PathType::kPhb);
  EXPECT_FLOAT_EQ(path.bandwidth, 12.0F);
}

TEST(Hostile, NoGpu) {
  EXPECT_EQ(refusal(equal_hosts(parsed("\n<system version=\"1\"><cpu/></system>"), 1)),
            "test.xml:2:2: error: the topology has no GPU");
}

TEST(Hostile, NvlinkInOneDirection) {
  // NCCL looks for the way back and fails.
  const std::string gpus =
      gpu_xml(0, 80, "<nvlink target=\"0000:20:00.0\" count=\"4\" tclass=\"0x030200\"/>") +
      gpu_xml(1, 80, "");
  EXPECT_EQ(refusal(equal_hosts(parsed(system_xml(gpus)), 1)),
            "test.xml:1:2: error: the link from DEV 10000 to DEV 20000 has none back");
}

TEST(Hostile, NicCardAtTwoPlaces) {
  const auto nic = [](int function) {
    return fmt::format(
        "<pci busid=\"0000:a0:00.{0}\" class=\"0x020000\"><nic><net name=\"n{0}\" dev=\"{0}\" "
        "speed=\"100000\"/></nic></pci>",
        function);
  };
  const std::string two_places = system_xml("<pci busid=\"0000:01:00.0\" class=\"0x060400\">" +
                                            nic(0) + gpu_xml(1, 80, "") + "</pci>\n" + nic(1));
  EXPECT_EQ(refusal(equal_hosts(parsed(two_places), 1)),
            "test.xml:2:2: error: the NIC card of bus id '0000:a0:00.1' stands at two places, "
            "expected one for all its functions");
  EXPECT_EQ(refusal(equal_hosts(parsed(system_xml(gpu_xml(1, 80, "") + nic(0) + nic(1))), 1)), "");
}

TEST(Hostile, NvlinkDomainOfTooManyGpus) {
  DecideInput input = equal_hosts(parsed(two_gpus_one_nic()), 1'000);
  input.hosts_per_nvlink_domain = 1'000;
  EXPECT_EQ(refusal(input),
            "error: an NVLink domain of 1000 nodes has 2000 GPUs, at most 576 are allowed");
}

TEST(Hostile, HugeVariablesDoNotHang) {
  DecideInput input = equal_hosts(parsed(two_gpus_one_nic()), 2);
  for (const char* name : {"NCCL_MIN_P2P_NCHANNELS", "NCCL_MIN_CTAS", "NCCL_MIN_NCHANNELS",
                           "NCCL_P2P_PER_CHANNEL_NET_BW"})
    input.environment[name] = "9223372036854775807";
  EXPECT_EQ(decide(input).comm.channels, 64);  // NCCL's most
}

TEST(Hostile, OneGpuLostAndAnotherTwice) {
  // Three elements hold GPUs and NCCL finds three: one of them twice, and not that below the NIC.
  const std::string first = "<gpu dev=\"0\" sm=\"80\" rank=\"0\" gdr=\"1\"/>";
  const std::string second = "<gpu dev=\"1\" sm=\"80\" rank=\"1\" gdr=\"1\"/>";
  const std::string gpu = "\" class=\"0x030200\">";
  const std::string text =
      "<system version=\"1\">\n<cpu numaid=\"0\" arch=\"x86_64\" vendor=\"GenuineIntel\" "
      "familyid=\"6\" modelid=\"106\">\n"
      "<pci busid=\"0000:01:00.0\" class=\"0x060400\" link_speed=\"16.0 GT/s PCIe\" "
      "link_width=\"16\">\n<pci busid=\"0000:02:00.0" + gpu + first + first +
      "</pci>\n<pci busid=\"0000:03:00.0" + gpu + second +
      "</pci>\n<pci busid=\"0000:04:00.0\" class=\"0x020000\"><nic><net name=\"a\" dev=\"0\" "
      "speed=\"200000\" port=\"1\" guid=\"0x1\" gdr=\"1\"/></nic>\n<pci busid=\"0000:26:00.4" +
      gpu + second + "</pci></pci></pci></cpu></system>\n";
  DecideInput input = equal_hosts(parsed(text), 2);
  input.version = Version{2, 21, 5};  // one document; later the views of the ranks are merged
  EXPECT_EQ(refusal(input),
            "test.xml:1:2: error: a GPU stands twice and another not at all: expected one 'gpu' in "
            "each 'pci', below neither an NVSwitch nor a NIC");
}

}  // namespace
}  // namespace busbw::nccl::graph
