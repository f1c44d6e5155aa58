// Lines of NCCL 2.3 to 2.30, with what stands around them in real logs.
#include <gtest/gtest.h>

#include "tests/models/facts/read_text.h"

namespace busbw::facts {
namespace {

using Strings = std::vector<std::string>;

TEST(NcclLog, FramePrefixesColoursAndTimes) {
  for (const char* line :
       {"gpu1:77:78 [3] NCCL INFO Using network IB",
        "[1,0]<stdout>:gpu1:77:78 [3] NCCL INFO Using network IB",
        "0: gpu1:77:78 [3] NCCL INFO Using network IB",
        "(RayWorker pid=77, ip=10.1.2.3) gpu1:77:78 [3] NCCL INFO Using network IB",
        "2026-01-02T03:04:05.678Z stdout F gpu1:77:78 [3] NCCL INFO Using network IB",
        "[2026-01-02 03:04:05] gpu1:77:78 [3] NCCL INFO Using network IB",
        "\x1b[36mworker-1 |\x1b[0m gpu1:77:78 [3] NCCL INFO Using network IB\r",
        "10%|#  | 1/10\rgpu1:77:78 [3] NCCL INFO Using network IB",
        "{\"log\":\"gpu1:77:78 [3] NCCL INFO Using network IB\\n\",\"stream\":\"stdout\"}"}) {
    const ReadText read = read_text(line);
    EXPECT_EQ(read.field("nccl.network", "name"), "IB") << line;
    ASSERT_EQ(read.count("nccl.network"), 1U) << line;
    EXPECT_EQ(read.store.named("nccl.network")[0]->host, "gpu1") << line;
    EXPECT_EQ(read.report.kinds, Strings{"NCCL log"}) << line;
  }
  const ReadText bare = read_text("# NCCL INFO Using network Socket        <- by TCP\n");
  EXPECT_EQ(bare.field("nccl.network", "name"), "Socket");
}

TEST(NcclLog, InterfacesOfEachRelease) {
  const ReadText old = read_text(
      "a:1:1 [0] NCCL INFO NET : Using interface eth7:10.9.0.1<0>\n"
      "a:1:1 [0] NCCL INFO NET/Socket : 1 interfaces found\n");
  EXPECT_EQ(old.field("nccl.socket_device", "interface"), "eth7");
  EXPECT_EQ(old.field("nccl.socket_device", "address"), "10.9.0.1");
  EXPECT_EQ(old.field("nccl.socket_count", "count"), "1");
  const ReadText list = read_text(
      "a:1:1 [0] NCCL INFO Bootstrap : Using [0]em1:10.9.0.1<0> [1]em2:10.9.1.1<0>\n"
      "a:1:1 [0] NCCL INFO NET/Socket : Using [0]em1:10.9.0.1<0> "
      "[1]cni0:fe80::7:8%cni0<0>\n");
  EXPECT_EQ(list.count("nccl.bootstrap"), 2U);
  EXPECT_EQ(list.field("nccl.socket_device", "interface", 1), "cni0");
  EXPECT_EQ(list.field("nccl.socket_device", "index", 1), "1");
  EXPECT_EQ(list.field("nccl.socket_device", "address", 1), "fe80::7:8%cni0");
  const ReadText young = read_text("a:1:1 [0] NCCL INFO Bootstrap: Using em1:10.9.0.1<0>\n");
  EXPECT_EQ(young.field("nccl.bootstrap", "interface"), "em1");
}

TEST(NcclLog, HcasOfEachRelease) {
  const ReadText plain = read_text(
      "a:1:1 [0] NCCL INFO NET/IB : Using [0]mlx5_2:1/IB [1]mlx5_3:2/RoCE [RO]; OOB "
      "em1:10.9.0.1<0>\n");
  EXPECT_EQ(plain.field("nccl.hca", "hca"), "mlx5_2");
  EXPECT_EQ(plain.field("nccl.hca", "link"), "IB");
  EXPECT_EQ(plain.field("nccl.hca", "port", 1), "2");
  EXPECT_EQ(plain.field("nccl.hca", "link", 1), "RoCE");
  EXPECT_EQ(plain.count("nccl.hca"), 2U);
  EXPECT_EQ(plain.field("nccl.oob", "interface"), "em1");
  const ReadText sharp =
      read_text("a:1:1 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB/SHARP ; OOB x:1.2.3.4<0>");
  EXPECT_EQ(sharp.field("nccl.hca", "link"), "IB");
  const ReadText fused = read_text(
      "a:1:1 [0] NCCL INFO NET/IB : Using [0]={[0] mlx5_0:1/RoCE, [1] mlx5_1:1/RoCE} [RO]; OOB "
      "em1:10.9.0.1<0>\n");
  EXPECT_EQ(fused.count("nccl.hca"), 2U);
  EXPECT_EQ(fused.field("nccl.hca", "hca", 1), "mlx5_1");
  const ReadText none = read_text("a:1:1 [0] NCCL INFO NET/IB : Using [RO]; OOB em1:10.9.0.1<0>\n");
  EXPECT_EQ(none.count("nccl.hca"), 0U);
  EXPECT_EQ(none.field("nccl.oob", "address"), "10.9.0.1");
}

TEST(NcclLog, Channels) {
  const ReadText read = read_text(
      "a:1:1 [0] NCCL INFO Channel 03/0 : 8[1b000] -> 0[1c000] [receive] via NET/IB/2/GDRDMA\n"
      "a:1:1 [0] NCCL INFO Channel 00 : 0[1b000] -> 8[1c000] [send] via NET/IB/1\n"
      "a:1:1 [0] NCCL INFO Ring 07 : 31 -> 0 [receive] via NET/Socket/1\n"
      "a:1:1 [0] NCCL INFO Channel 01/0 : 0[0] -> 9[1] [send] via NET/IBext_v8/0(5)/GDRDMA\n"
      "a:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read\n"
      "a:1:1 [0] NCCL INFO Ring 00 : 1[3000] -> 2[82000] via direct shared memory\n"
      "a:1:1 [0] NCCL INFO Channel 00/16 :    0   1   2   3\n");
  ASSERT_EQ(read.count("nccl.channel"), 6U);
  EXPECT_EQ(read.field("nccl.channel", "from"), "8");
  EXPECT_EQ(read.field("nccl.channel", "from_device"), "1b000");
  EXPECT_EQ(read.field("nccl.channel", "to"), "0");
  EXPECT_EQ(read.field("nccl.channel", "net"), "2");
  EXPECT_EQ(read.field("nccl.channel", "gdr"), "yes");
  EXPECT_EQ(read.field("nccl.channel", "direction"), "receive");
  EXPECT_EQ(read.field("nccl.channel", "form"), "new");
  EXPECT_EQ(read.field("nccl.channel", "gdr", 1), "no");
  EXPECT_EQ(read.field("nccl.channel", "form", 1), "old");
  EXPECT_EQ(read.field("nccl.channel", "gdr", 2), "never");
  EXPECT_EQ(read.field("nccl.channel", "channel", 2), "07");
  EXPECT_EQ(read.field("nccl.channel", "net", 3), "0");
  EXPECT_EQ(read.field("nccl.channel", "detail", 3), "IBext_v8");
  EXPECT_EQ(read.field("nccl.channel", "way", 4), "P2P");
  EXPECT_EQ(read.field("nccl.channel", "detail", 4), "CUMEM");
  EXPECT_EQ(read.field("nccl.channel", "way", 5), "direct shared memory");
  EXPECT_EQ(read.field("nccl.rings", "order"), "0   1   2   3");
}

TEST(NcclLog, CompletionsOfEachRelease) {
  for (const char* text :
       {"Got completion with error 12, opcode 1, len 32, vendor err 129",
        "Got completion from peer 10.9.0.2<4711> with error 12, opcode 1, len 0, vendor err 129",
        "Got completion from peer 10.9.0.2<4711> with status=12 opcode=1 len=0 vendor err 129 "
        "(Send) hca mlx5_1",
        "Got completion from peer 10.9.0.2<4711> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=1 "
        "len=0 vendor err 129 (Send)"}) {
    const ReadText read =
        read_text(std::string("a:1:1 [0] transport/net_ib.cc:99 NCCL WARN NET/IB : ") + text);
    EXPECT_EQ(read.field("nccl.completion", "status"), "12") << text;
    EXPECT_EQ(read.field("nccl.completion", "opcode"), "1") << text;
    EXPECT_EQ(read.field("nccl.completion", "vendor"), "129") << text;
  }
  const ReadText cut = read_text(
      "a:1:1 [0] x.cc:1 NCCL WARN NET/IB : Got completion from peer 10.9.0.2<1> with error 4, "
      "opcode 0, len\n0, vendor err 81 (Recv)\n");
  EXPECT_EQ(cut.field("nccl.completion", "status"), "4");
  EXPECT_EQ(cut.field("nccl.completion", "peer"), "10.9.0.2");
}

TEST(NcclLog, ModifyQpOfEachRelease) {
  const ReadText old = read_text(
      "a:1:1 [0] ibvwrap.c:160 NCCL WARN Call to ibv_modify_qp failed with error No such device\n");
  EXPECT_EQ(old.field("nccl.modify_qp", "error"), "No such device");
  const ReadText young = read_text(
      "a:1:1 [0] misc/ibvwrap.cc:3 NCCL WARN Call to ibv_modify_qp failed with 110 Connection "
      "timed out, on dev mlx5_4:1, curr state INIT, next state RTR, local GID index 3, local GID "
      "::ffff:10.9.4.1, remote GID ::ffff:10.9.5.2\n");
  EXPECT_EQ(young.field("nccl.modify_qp", "errno"), "110");
  EXPECT_EQ(young.field("nccl.modify_qp", "error"), "Connection timed out");
  EXPECT_EQ(young.field("nccl.modify_qp", "hca"), "mlx5_4");
  EXPECT_EQ(young.field("nccl.modify_qp", "local_gid"), "::ffff:10.9.4.1");
  EXPECT_EQ(young.field("nccl.modify_qp", "remote_gid"), "::ffff:10.9.5.2");
}

TEST(NcclLog, ConnectionsByTcp) {
  for (const auto& [text, error] :
       {std::pair<const char*, const char*>{"Connect to 10.9.0.2<4711> failed : No route to host",
                                            "No route to host"},
        {"socketStartConnect: Connect to 10.9.0.2<4711> failed : Connection timed out",
         "Connection timed out"},
        {"socketPollConnect: connect to 10.9.0.2<4711> returned Connection refused, exceeded error "
         "retry count after 35 attempts",
         "Connection refused"},
        {"Call to connect timeout : Connection refused", "Connection refused"}}) {
    const ReadText read = read_text(std::string("a:1:1 [0] NCCL INFO ") + text);
    EXPECT_EQ(read.field("nccl.connect_failed", "error"), error) << text;
    const ReadText warned = read_text(std::string("a:1:1 [0] s.cc:1 NCCL WARN ") + text);
    EXPECT_EQ(warned.field("nccl.connect_failed", "error"), error) << text;
  }
  for (const char* text :
       {"socketPollConnect: connect to 10.9.0.2<4711> returned Connection refused, retrying (3/34) "
        "after sleep for 300 msec",
        "Call to connect returned Connection refused, retrying"}) {
    const ReadText read = read_text(std::string("a:1:1 [0] NCCL INFO ") + text);
    EXPECT_EQ(read.field("nccl.connect_retry", "error"), "Connection refused") << text;
    EXPECT_FALSE(read.store.has("nccl.connect_failed")) << text;
  }
}

TEST(NcclLog, VariablesRanksAndTheRest) {
  const ReadText read = read_text(
      "a:1:1 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 0.\n"
      "a:1:1 [0] NCCL INFO NCCL_TOPO_FILE set by environment to /etc/topo.xml\n"
      "a:1:1 [0] NCCL INFO NCCL_IB_HCA set to mlx5_0:1,mlx5_1:1\n"
      "a:1:1 [0] NCCL INFO ncclCommInitRank comm 0x1 rank 5 nranks 8 cudaDev 1 nvmlDev 1 busId "
      "c1000 commId 0x2 - Init COMPLETE\n"
      "a:1:1 [0] NCCL INFO comm 0x1 rank 0 nRanks 8 nNodes 2 localRanks 4 localRank 0 MNNVL 0\n"
      "a:1:1 [0] NCCL INFO === System : maxBw 24.0 totalBw 48.0 ===\n"
      "a:1:1 [0] NCCL INFO Pattern 4, crossNic 0, nChannels 2, bw 12.000000/12.000000, type "
      "PHB/PIX, sameChannels 1\n"
      "a:1:1 [0] NCCL INFO GPU Direct RDMA Disabled for GPU 7000 / HCA 3 (distance 8 > 5)\n"
      "a:1:1 [0] NCCL INFO NET/IB : GPU Direct RDMA Enabled for HCA 1 'mlx5_1'\n"
      "NCCL version 2.19.3+cuda12.3\n");
  EXPECT_EQ(read.field("nccl.env", "value"), "0");
  EXPECT_EQ(read.field("nccl.env", "value", 1), "/etc/topo.xml");
  EXPECT_EQ(read.field("nccl.env", "name", 2), "NCCL_IB_HCA");
  EXPECT_EQ(read.field("nccl.rank", "rank"), "5");
  EXPECT_EQ(read.field("nccl.rank", "phase"), "complete");
  EXPECT_EQ(read.field("nccl.rank", "bus"), "c1000");
  EXPECT_EQ(read.field("nccl.nodes", "nodes"), "2");
  EXPECT_EQ(read.field("nccl.system", "max"), "24.0");
  EXPECT_EQ(read.field("nccl.pattern", "intra"), "12.000000");
  EXPECT_EQ(read.field("nccl.pattern", "type"), "PHB/PIX");
  EXPECT_EQ(read.field("nccl.gdr", "gpu"), "7000");
  EXPECT_EQ(read.field("nccl.gdr", "distance"), "8 > 5");
  EXPECT_EQ(read.field("nccl.gdr_module", "hca"), "1 'mlx5_1'");
  EXPECT_EQ(read.field("nccl.version", "version"), "2.19.3+cuda12.3");
}

TEST(NcclLog, RepeatedLinesAreCountedWithFirstAndLastPlace) {
  std::string text;
  for (int i = 0; i < 1000; i++)
    text += "a:1:1 [0] NCCL INFO Using network IB\n";
  const ReadText read = read_text(text);
  ASSERT_EQ(read.count("nccl.network"), 1U);
  const Fact& fact = *read.store.named("nccl.network")[0];
  EXPECT_EQ(fact.count, 1000);
  EXPECT_EQ(fact.where.line, 1);
  EXPECT_EQ(fact.last_line, 1000);
}

TEST(NcclLog, CutLinesGiveANoteAndTheRestIsRead) {
  const ReadText read = read_text(
      "a:1:1 [0] NCCL INFO\na:1:1 [0] NCCL INFO Using network IB\na:1:1 [0] NCCL INFO Bootst");
  EXPECT_EQ(read.notes(), Strings{"x.txt:1:1: error: line of the log ends behind its level"});
  EXPECT_EQ(read.field("nccl.network", "name"), "IB");
  EXPECT_EQ(read.store.named("nccl.log")[0]->count, 3);
}

}  // namespace
}  // namespace busbw::facts
