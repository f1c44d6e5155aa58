// Ranking, alternatives, confidence, and the sentences that are filled in.
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/models/diagnosis/diagnose_texts.h"

namespace busbw::diagnosis {
namespace {

TEST(Finding, NothingInAHealthyLog) {
  const Diagnosed result = diagnose(
      {{"log.txt",
        log_of("a", {"Bootstrap: Using em1:10.9.0.1<0>",
                     "NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB em1:10.9.0.1<0>", "Using network IB",
                     "comm 0x1 rank 0 nRanks 16 nNodes 2 localRanks 8 localRank 0 MNNVL 0",
                     "Channel 00/0 : 8[0] -> 0[0] [receive] via NET/IB/0/GDRDMA",
                     "Connected all rings"})}});
  EXPECT_EQ(result.all(), "");
  const std::vector<std::string> topics = checked(result.store);
  EXPECT_NE(
      std::find(topics.begin(), topics.end(), "which network NCCL took, and on which devices"),
      topics.end());
}

TEST(Finding, QuotesPlacesAndFillsIn) {
  const Diagnosed result = diagnose(
      {{"log.txt", log_of("a", {"Bootstrap : Using em1:10.9.0.1<0>",
                                "NET/Socket : Using [0]em1:10.9.0.1<0> [1]cni0:10.244.0.1<0>",
                                "Using network Socket",
                                "Channel 01/0 : 1[0] -> 0[0] [receive] via NET/Socket/1"})}});
  ASSERT_EQ(result.first(), "virtual_interface") << result.all();
  const Finding& finding = result.findings.front();
  EXPECT_NE(finding.root_cause.find("cni0"), std::string::npos);
  EXPECT_EQ(finding.fix.front(), "export NCCL_SOCKET_IFNAME=^lo,docker,cni0");
  ASSERT_FALSE(finding.evidence.empty());
  EXPECT_EQ(finding.evidence.front().where.line, 4);
  EXPECT_EQ(finding.evidence.front().text,
            "a:77:78 [0] NCCL INFO Channel 01/0 : 1[0] -> 0[0] [receive] via NET/Socket/1");
  EXPECT_EQ(finding.layer, Layer::kCollective);
}

TEST(Finding, CausesThatOneLineCannotTellApartAreListedTogether) {
  const Diagnosed result = diagnose(
      {{"log.txt", log_of("a", {"!NET/IB : Got completion from peer 10.9.0.2<4711> with error 12, "
                                "opcode 0, len 0, vendor err 129"})}});
  ASSERT_FALSE(result.findings.empty());
  const Finding& finding = result.findings.front();
  EXPECT_NE(finding.confidence, Confidence::kHigh) << result.all();
  std::vector<std::string> kinds{finding.kind};
  for (const Alternative& other : finding.alternatives) {
    kinds.push_back(other.kind);
    EXPECT_FALSE(other.decides.empty());
  }
  for (const char* kind : {"gid_index", "link_flap", "cross_rail", "mtu_mismatch"})
    EXPECT_NE(std::find(kinds.begin(), kinds.end(), kind), kinds.end()) << kind;
  EXPECT_EQ(result.findings.size(), 1U) << "the others say nothing more: " << result.all();
}

TEST(Finding, ASymptomComesLast) {
  const Diagnosed result = diagnose(
      {{"log.txt",
        "[rank1]:[E ProcessGroupNCCL.cpp:1] [Rank 1] Watchdog caught collective operation timeout: "
        "WorkNCCL(SeqNum=9, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for "
        "600012 milliseconds before timing out.\n"
        "mpirun noticed that process rank 3 with PID 7 on node b exited on signal 11\n"}});
  ASSERT_EQ(result.findings.size(), 2U) << result.all();
  EXPECT_EQ(result.first(), "rank_crashed");
  EXPECT_EQ(result.findings.back().kind, "collective_timeout");
}

TEST(Finding, RunsAreEqual) {
  const Files files{{"log.txt", log_of("a", {"Using network Socket", "NET/IB : No device found."})},
                    {"env.txt", "NCCL_IB_HCA=mlx5_0\nNCCL_P2P_LEVEL=sys\n"}};
  EXPECT_EQ(diagnose(files).all(), diagnose(files).all());
}

}  // namespace
}  // namespace busbw::diagnosis
