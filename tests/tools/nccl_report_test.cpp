// The report of `busbw nccl decide` for a machine whose numbers are worked out on paper.
#include "tools/nccl_report.h"

#include <sstream>

#include <gtest/gtest.h>

#include "sim/core/text.h"
#include "tests/models/nccl/graph/topologies.h"

namespace busbw::tools {
namespace {

std::string report(int hosts, const nccl::Environment& environment = {}) {
  nccl::graph::DecideInput input =
      nccl::graph::equal_hosts(nccl::graph::parsed(nccl::graph::two_gpus_one_nic()), hosts);
  input.environment = environment;
  return nccl_report(nccl::graph::decide(input), false);
}

/// The words of the first line that starts with `start`, joined by one blank.
std::string line(const std::string& text, const std::string& start) {
  std::istringstream lines(text);
  std::string each;
  while (std::getline(lines, each)) {
    std::string words;
    for (const std::string_view word : split_blanks(each))
      words += (words.empty() ? "" : " ") + std::string(word);
    if (words.rfind(start, 0) == 0)
      return words;
  }
  return "no line starts with " + start;
}

/// The same among the lines that follow `title`.
std::string line_of(const std::string& text, const std::string& title, const std::string& start) {
  const std::size_t found = text.find(title);
  return found == std::string::npos ? title + " is missing" : line(text.substr(found), start);
}

TEST(NcclReport, MatrixLegendAndNics) {
  const std::string text = report(2);
  EXPECT_NE(text.find("\nPaths (row to column)\n"
                      "      GPU0  GPU1  NIC0\n"
                      "GPU0  X     NVL   PIX\n"
                      "GPU1  NVL   X     PIX\n"
                      "NIC0  PIX   PIX   X\n"),
            std::string::npos)
      << text;
  // 12 links of 20; a NIC of 25 behind a PCIe link of 24.
  EXPECT_EQ(line(text, "NVL"), "NVL 240 NVLink, directly or through an NVSwitch");
  EXPECT_EQ(line(text, "PIX"), "PIX 24 at most one PCIe switch");
  EXPECT_EQ(line(text, "NIC0 mlx5"), "NIC0 mlx5_0 25 yes");
}

TEST(NcclReport, ChoicesOfBroadcastWorkedOutByHand) {
  // One ring of 24 GB/s over 4 ranks on 2 nodes: LL 12 GB/s and 6.6 + 2.7 us, LL128 20 GB/s and
  // 14 + 4 us, Simple 24 GB/s and 8.4 + 14 us. LL meets LL128 at 8.7 x 30000 = 261000 bytes, LL128
  // meets Simple at 4.4 x 120000 = 528000. A channel is worth 512 x 8 x 4 = 16 KiB of LL,
  // 640 x 8 = 5 KiB of LL128 and 512 x 64 = 32 KiB of Simple.
  const std::string text = report(2);
  EXPECT_EQ(line(text, "Broadcast Ring"), "Broadcast Ring 9.3 12.0 18.0 20.0 22.4 24.0");
  EXPECT_EQ(line_of(text, "Broadcast from", "8 B"),
            "8 B 261000 B Ring LL 1-2 1 KiB 9.4 Ring LL128 18.1");
  EXPECT_EQ(line_of(text, "Broadcast from", "261004 B"),
            "261004 B 528000 B Ring LL128 2 512 KiB 44.2 Ring Simple 44.2");
  // 64 MiB: 22.4 + 67108864 / 24000 = 2818.6; LL128 18 + 67108864 / 20000 = 3373.4.
  EXPECT_EQ(line_of(text, "Broadcast from", "528004 B"),
            "528004 B 8 GiB Ring Simple 2 128 MiB 5615 Ring LL128 6729");
  for (const char* collective : {"AllReduce", "AllGather", "ReduceScatter", "Reduce"})
    EXPECT_EQ(line_of(text, collective + std::string(" from"), "8 B").find("8 B"), 0U);
}

TEST(NcclReport, RingsTreesAndEmptyChoices) {
  const std::string text = report(2, {{"NCCL_ALGO", "Tree"}});
  EXPECT_EQ(line(text, "0-1 0 1"), "0-1 0 1 2 3");
  EXPECT_EQ(line(text, "Trees"), "Trees (parent of rank 0, 1, 2 ...; depth 2)");
  // Tree 0: node 0 above node 1, a second child (1 > 0), on the first GPU; tree 1 is its mirror.
  EXPECT_EQ(line(text, "0 -1"), "0 -1 0 0 2");
  EXPECT_EQ(line(text, "1 2"), "1 2 0 -1 2");
  EXPECT_EQ(line_of(text, "AllGather from", "8 B"), "8 B 8 GiB none - - - - -");
  EXPECT_EQ(line(text, "none:"),
            "none: the variables leave no algorithm and protocol; such a call fails");
}

TEST(NcclReport, SaysWhichVariablesDoNothingHere) {
  const std::string text =
      report(2, {{"NCCL_IB_SL", "1"}, {"NCCL_SOCKET_IFNAME", "eth0"}, {"NCCL_CROSS_NIC", "0"}});
  EXPECT_NE(text.find("\nset, and nothing below depends on it:\n  NCCL_IB_SL\n"
                      "  NCCL_SOCKET_IFNAME\n\nPaths"),
            std::string::npos);
  EXPECT_EQ(report(2).find("nothing below"), std::string::npos);
}

TEST(NcclReport, FitsAHundredColumns) {
  for (const int hosts : {1, 2, 100}) {
    std::istringstream lines(report(hosts));
    std::string each;
    while (std::getline(lines, each))
      EXPECT_LE(each.size(), 100U) << each;
  }
}

}  // namespace
}  // namespace busbw::tools
