// The importer: what it reads, what it skips, and that every malformed file gives located problems.
#include <gtest/gtest.h>

#include "models/nccl/graph/decide.h"
#include "models/nccl/graph/views.h"
#include "tests/models/nccl/graph/topologies.h"

namespace busbw::nccl::graph {
namespace {

std::vector<std::string> problems_of(const std::string& text) {
  Problems problems;
  parse_topology(text, "t.xml", problems);
  std::vector<std::string> messages;
  for (const InputProblem& problem : problems.all())
    messages.push_back(to_string(problem));
  return messages;
}
using Messages = std::vector<std::string>;

TEST(Xml, ReadsAttributesAndSkipsUnknownElements) {
  const Element system = parsed(
      "<system version=\"1\">\n<cpu numaid=\"0\"><zoo busid=\"x\"><pci busid=\"y\"/></zoo>"
      "<pci busid=\"0000:01:00.0\" link_width=\"0x10\"/></cpu></system>");
  ASSERT_EQ(system.children.size(), 1U);
  const Element& cpu = system.children.front();
  EXPECT_EQ(cpu.where, (Location{"test.xml", 2, 2}));
  ASSERT_EQ(cpu.children.size(), 1U);  // the zoo is gone with all in it
  EXPECT_EQ(cpu.children.front().number("link_width", 0), 16);
  EXPECT_EQ(cpu.children.front().number("absent", 7), 7);
}

TEST(Xml, PrintedTreeReadsBackEqual) {
  const std::string text = print_topology(parsed(two_gpus_one_nic()));
  EXPECT_EQ(print_topology(parsed(text)), text);
  const Element odd = parsed("<system version=\"1\"><cpu name='a&lt;\"&amp;'/></system>");
  EXPECT_EQ(parsed(print_topology(odd)).children.front().text("name"), "a<\"&");
}

TEST(Xml, MalformedFilesGiveLocatedProblems) {
  EXPECT_EQ(problems_of(""), Messages{"t.xml:1:1: error: not readable as XML: no document element "
                                      "found"});
  EXPECT_EQ(problems_of("<graphs version=\"1\"/>"),
            Messages{"t.xml:1:2: error: the root is 'graphs', expected 'system'"});
  EXPECT_EQ(problems_of("<system version=\"2\"><cpu/></system>"),
            Messages{"t.xml:1:2: error: version is '2', NCCL reads '1'"});
  EXPECT_EQ(problems_of("<system version=\"1\"/>"),
            Messages{"t.xml:1:2: error: the system has no 'cpu'"});
  const Messages twice = problems_of(
      "<system version=\"1\"><cpu>\n<pci busid=\"0000:01:00.0\"/>\n"
      "<pci busid=\"0000:01:00.0\"/></cpu></system>");
  EXPECT_EQ(twice, Messages{"t.xml:3:2: error: bus id '0000:01:00.0' is there twice"});
  EXPECT_EQ(problems_of("<system version=\"1\"><cpu><pci busid=\"zz\"/></cpu></system>"),
            Messages{"t.xml:1:27: error: bus id 'zz' is not of the form 'dddd:bb:dd.f'"});
}

TEST(Xml, TruncationAtEveryByteNeverCrashes) {
  const std::string text = two_gpus_one_nic();
  for (std::size_t length = 0; length < text.size(); length++)
    EXPECT_FALSE(problems_of(text.substr(0, length)).empty()) << length;
}

TEST(Xml, LimitsOfTheParser) {
  std::string deep = "<system version=\"1\"><cpu>";
  for (int i = 0; i < 1'000; i++)
    deep += fmt::format("<pci busid=\"0000:{:x}:00.0\">", i);
  for (int i = 0; i < 1'000; i++)
    deep += "</pci>";
  const Messages messages = problems_of(deep + "</cpu></system>");
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_NE(messages[0].find("more than 256 elements: NCCL's parser stops here"),
            std::string::npos);
  const std::string huge(100'000'000, ' ');
  EXPECT_EQ(
      problems_of(huge),
      Messages{"t.xml:1:1: error: the file has more than 2097152 bytes, so it is no topology"});
  const Messages wide =
      problems_of("<system version=\"1\"><cpu name=\"" + std::string(300, 'x') + "\"/></system>");
  EXPECT_EQ(wide, Messages{"t.xml:1:22: error: attribute 'name' of 'cpu' has 300 letters, NCCL "
                           "reads at most 255"});
}

TEST(Xml, NegativeAndUnknownSpeedsCountAsNcclCountsThem) {
  // Mb/s <= 0 is 10 Gb/s = 1.25 GB/s; an unknown PCIe speed is 60 a lane: 16 x 60 / 80 = 12.
  const Decision decision = decide(equal_hosts(
      parsed(system_xml("<pci busid=\"0000:01:00.0\" class=\"0x030200\" link_speed=\"fast\" "
                        "link_width=\"16\"><gpu dev=\"0\" sm=\"80\" rank=\"0\" gdr=\"1\"/></pci>" +
                        nic_xml(0, -5))),
      2));
  const System& system = decision.groups.front().system;
  EXPECT_FLOAT_EQ(system.node(NodeType::kNet, 0).net.bandwidth, 1.25F);
  EXPECT_FLOAT_EQ(system.total_bandwidth, 12.0F);
  EXPECT_FLOAT_EQ(system.max_bandwidth, 1.25F);
}

TEST(Xml, TopologyWithoutGpuIsRefused) {
  EXPECT_THROW(decide(equal_hosts(parsed("<system version=\"1\"><cpu/></system>"), 1)), InputError);
  EXPECT_THROW(decide(equal_hosts(parsed(two_gpus_one_nic()), 0)), InputError);
}

TEST(Views, MergeOrdersCpusByTheirFirstRank) {
  // GPU 0 sits on the second CPU: the view of rank 0 holds only that one, so it comes first.
  const std::string cpu = "<cpu numaid=\"{}\" arch=\"x86_64\" vendor=\"GenuineIntel\">{}</cpu>";
  const Element system =
      parsed("<system version=\"1\">" + fmt::format(fmt::runtime(cpu), 0, gpu_xml(1, 80, "")) +
             fmt::format(fmt::runtime(cpu), 1, gpu_xml(0, 80, "")) + "</system>");
  const Element merged = merged_document({&system}, switches_of(kNewest));
  ASSERT_EQ(merged.children.size(), 2U);
  EXPECT_EQ(merged.children[0].text("numaid"), "1");
  const Element older = merged_document({&system}, switches_of({2, 21, 5}));
  EXPECT_EQ(older.children[0].text("numaid"), "0");  // one document before 2.22.3
  EXPECT_EQ(count_gpus(system), 2);
}

}  // namespace
}  // namespace busbw::nccl::graph
