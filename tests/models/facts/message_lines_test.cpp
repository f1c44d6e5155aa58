// Single lines of other programs, and figures that users measured.
#include <gtest/gtest.h>

#include "tests/models/facts/read_text.h"

namespace busbw::facts {
namespace {

using Strings = std::vector<std::string>;

TEST(MessageLines, Watchdog) {
  const ReadText read = read_text(
      "[rank3]:[E ProcessGroupNCCL.cpp:616] [Rank 3] Watchdog caught collective operation timeout: "
      "WorkNCCL(SeqNum=42, OpType=ALLREDUCE, NumelIn=1024, NumelOut=1024, Timeout(ms)=600000) ran "
      "for 600013 milliseconds before timing out.\n"
      "[E ProcessGroupNCCL.cpp:737] [Rank 1] Watchdog caught collective operation timeout: "
      "WorkNCCL(OpType=BROADCAST, Timeout(ms)=1800000) ran for 1804406 milliseconds\n");
  EXPECT_EQ(read.field("pytorch.watchdog", "sequence"), "42");
  EXPECT_EQ(read.field("pytorch.watchdog", "operation"), "ALLREDUCE");
  EXPECT_EQ(read.field("pytorch.watchdog", "elements"), "1024");
  EXPECT_EQ(read.field("pytorch.watchdog", "timeout_ms"), "600000");
  EXPECT_EQ(read.field("pytorch.watchdog", "operation", 1), "BROADCAST");
  EXPECT_EQ(read.report.kinds, Strings{"PyTorch"});
}

TEST(MessageLines, EachNamesItsFact) {
  for (const auto& [line, fact] :
       {std::pair<const char*, const char*>{"Last error:\nX: connecting to address  with family "
                                            "777 is neither AF_INET(2) nor AF_INET6(10)",
                                            "nccl.family"},
        {"[ 12.3] NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.", "gpu.xid"},
        {"[  1.0] DMAR: IOMMU enabled", "dmesg.iommu"},
        {"Out of memory: Killed process 77 (python)", "process.killed"},
        {"ib_iface.c:1018 UCX  ERROR ibv_create_qp(x) failed: Cannot allocate memory",
         "verbs.memory"},
        {"Failed to get IB devices list: Function not implemented", "verbs.no_devices"},
        {"Fatal error:  No devices", "verbs.no_devices"},
        {"gpu1: Test CUDA failure common.cu:941 'system not yet initialized'",
         "nccl.cuda_not_ready"},
        {"GIN: completion with TRANSPORT_RETRY_EXC_ERR", "verbs.completion12"},
        {"torch.OutOfMemoryError: CUDA out of memory. Tried", "process.cuda_memory"},
        {"Fatal Python error: Segmentation fault (core dumped)", "process.died"},
        {"[W socket.cpp:663] [c10d] The client socket has failed to connect to [h]:29500",
         "pytorch.rendezvous"}}) {
    EXPECT_EQ(read_text(line).count(fact), 1U) << line;
  }
  EXPECT_EQ(read_text("[ 12.3] NVRM: Xid (PCI:0000:3b:00): 79, pid=1").field("gpu.xid", "code"),
            "79");
}

TEST(TestOutput, NcclTests) {
  const ReadText read = read_text(
      "# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 5\n"
      "#  Rank  0 Group  0 Pid  77 on      gpu1 device  0 [0000:1a:00] NVIDIA A100\n"
      "  1073741824     268435456     float     sum      -1    11223   95.67  167.42      0    "
      "11210   "
      "95.78  167.62      0\n# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 33.3227 \n");
  EXPECT_EQ(read.report.kinds, Strings{"nccl-tests"});
  EXPECT_EQ(read.field("test.row", "bytes"), "1073741824");
  EXPECT_EQ(read.field("test.row", "time_us"), "11223");
  EXPECT_EQ(read.field("test.row", "algbw"), "95.67");
  EXPECT_EQ(read.field("test.row", "busbw"), "167.42");
  EXPECT_EQ(read.field("test.average", "busbw"), "33.3227");
  EXPECT_EQ(read.field("test.rank", "host"), "gpu1");
  const ReadText units =
      read_text("# 1073741824  268435456  float   sum     -1    500.5ms   2.5 GB/s   2.5 GB/s\n");
  EXPECT_EQ(units.field("test.row", "time_us"), "500500");
  EXPECT_EQ(units.field("test.row", "busbw"), "2.5");
  const ReadText old = read_text("  1024  256  float  sum  30.1  0.03  0.06  1e-07\n");
  EXPECT_EQ(old.field("test.row", "busbw"), "0.06");
  EXPECT_EQ(
      read_text("  1024  256  float  sum  -1  30.1  0.0\n").notes(),
      Strings{
          "x.txt:1:1: error: row of nccl-tests without time, algbw and busbw: the line is cut"});
}

TEST(TestOutput, Perftest) {
  const ReadText read = read_text(
      "                    RDMA_Write BW Test\n Mtu             : 4096[B]\n Link type       : IB\n"
      " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
      " 65536      5000             197.30             197.01             0.375\n");
  EXPECT_EQ(read.field("perftest.row", "gbps"), "197.01");
  EXPECT_EQ(read.field("perftest.setting", "value"), "4096");
  const ReadText megabytes = read_text(
      " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
      " 65536      5000             11000             10000.00             0.1\n");
  EXPECT_EQ(megabytes.field("perftest.row", "gbps"), "83.89");  // 10000 x 2^20 x 8 / 1e9
}

TEST(TestOutput, TablesOfPairsNeedThreeRows) {
  const ReadText read = read_text("n-1,n-2  40.5\nn-3 <-> n-4: 81.25 GB/s\nn-1 n-4 40.75\n");
  ASSERT_EQ(read.count("pair.row"), 3U);
  EXPECT_EQ(read.field("pair.row", "a", 1), "n-3");
  EXPECT_EQ(read.field("pair.row", "value", 1), "81.25");
  EXPECT_EQ(read_text("step-1 loss-2 0.5\nn-3 n-4 81.25\n").count("pair.row"), 0U);
  const ReadText single = read_text("n-1 40.5 GB/s\nn-2: 81.25 GB/s\nn-3 80.5 GB/s\n");
  EXPECT_EQ(single.count("node.row"), 3U);
  EXPECT_EQ(read_text("epoch-1 0.5\nepoch-2 0.25\nepoch-3 0.125\n").count("node.row"), 0U);
  EXPECT_EQ(read_text("[SUM]   0.00-10.00  sec  107 GBytes  92.0 Gbits/sec   receiver\n")
                .field("iperf.rate", "gbps"),
            "92");
}

TEST(ReadFacts, UnknownTextsHaveNoKind) {
  for (const char* text :
       {"", "\n\n", "epoch 3 loss 0.25\n", "\x7f\x45\x4c\x46\x01\x02\x00",
        "{\n  \"kind\": \"NCCL_IB_HCA=mlx5_0\"\n}\n", "[{\"NCCL_DEBUG\": \"INFO\"}]"}) {
    EXPECT_TRUE(read_text(text).report.kinds.empty()) << text;
  }
}

TEST(ReadFacts, LongLinesAreCutWithANote) {
  const ReadText read = read_text(
      std::string(200'000, 'x') + "\na:1:1 [0] NCCL INFO Using network IB\n", "x.txt", 4096);
  EXPECT_EQ(read.notes(),
            Strings{"x.txt:1:1: error: line longer than 65536 bytes: its end is not read"});
  EXPECT_EQ(read.field("nccl.network", "name"), "IB");
  EXPECT_EQ(read.store.named("nccl.network")[0]->where.line, 2);
}

TEST(ReadFacts, IbstatWithoutDevicesInBothItsWords) {
  for (const char* words : {"can't list infiniband devices",
                            "can't list IB device names: (No such file or directory)"}) {
    const ReadText read = read_text(std::string("ibpanic: [1] main: ") + words + "\n");
    EXPECT_EQ(read.count("verbs.no_devices"), 1U) << words;
    EXPECT_EQ(read.report.kinds, Strings{"ibstat"});
  }
}

TEST(ReadFacts, ADocumentOfJsonQuotesLogs) {
  const ReadText read = read_text(
      "{\n  \"log\": [\n    \"a:1:1 [0] NCCL INFO Using network IB\",\n    "
      "null, 7\n  ]\n}\n");
  EXPECT_EQ(read.count("nccl.network"), 0U);
  EXPECT_EQ(read.report.lines, 6);
}

TEST(ReadFacts, ALogThatBeginsLikeJsonIsRead) {
  const ReadText read = read_text("[\na:1:1 [0] NCCL INFO Using network IB\n");
  EXPECT_EQ(read.field("nccl.network", "name"), "IB");
  EXPECT_EQ(read.store.named("nccl.network")[0]->where.line, 2);
}

TEST(ReadFacts, PiecesDoNotMatter) {
  const std::string text =
      "a:1:1 [0] NCCL INFO Using network IB\r\nCA 'mlx5_0'\n Port 1:\n  State: Active";
  for (const std::size_t piece : {1U, 2U, 3U, 1000U}) {
    const ReadText read = read_text(text, "x.txt", piece);
    EXPECT_EQ(read.field("nccl.network", "name"), "IB");
    EXPECT_EQ(read.field("rdma.port", "state"), "active");
    EXPECT_EQ(read.report.lines, 4);
  }
}

TEST(ReadFacts, HostsFromNames) {
  EXPECT_EQ(host_of_file("/a/b.c/ibstat.node-7.txt"), "node-7");
  EXPECT_EQ(host_of_file("log.txt"), "");
  EXPECT_EQ(host_of_file("/x.y/log"), "");
}

}  // namespace
}  // namespace busbw::facts
