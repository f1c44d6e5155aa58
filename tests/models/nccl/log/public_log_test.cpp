// Lines that users published, from systems that their reports describe. Each is our copy of single
// facts; the source stands with it. Releases older than ours are held against the oldest we know
// where the rule has not changed since.
#include <gtest/gtest.h>

#include "tests/models/nccl/log/known_systems.h"

namespace busbw::nccl::log {
namespace {

using Texts = std::vector<std::string>;

/// https://github.com/NVIDIA/nccl-tests/issues/350: two hosts with one A100 40 GB PCIe each, a
/// ConnectX-6 at 200 Gb/s on the GPU's socket and a 25 Gb/s RoCE card on the other, AMD processors,
/// NCCL 2.16.5, NCCL_NET_GDR_LEVEL=SYS. System, paths, graphs and channels have not changed up to
/// 2.18.1; numbers in brackets became NVML device numbers.
TEST(PublicLog, TwoA100HostsWithTwoCards) {
  Job job;
  job.topology = graph::parsed(
      "<system version=\"1\">" +
      cpu(1, "AuthenticAMD",
          pci("81", "16.0", 16, "<gpu dev=\"0\" sm=\"80\" rank=\"0\" gdr=\"1\"/>") +
              pci("d1", "16.0", 16, net("mlx5_2", 1, 200'000, "0x7a852d0003f6ceb8"))) +
      cpu(0, "AuthenticAMD", pci("21", "8.0", 8, net("mlx5_0", 0, 25'000, "0xb8e2ce0003f6ceb8"))) +
      "</system>");
  job.hosts = 2;
  job.version = {2, 18, 1};
  job.environment = {{"NCCL_NET_GDR_LEVEL", "SYS"}};
  EXPECT_EQ(log_texts(job, "GRAPH"),
            (Texts{"NCCL version 2.18.1+cuda12.4",
                   "NCCL_NET_GDR_LEVEL set by environment to SYS",
                   "=== System : maxBw 24.0 totalBw 24.0 ===",
                   "CPU/1 (1/2/-1)",
                   "+ SYS[5000.0] - CPU/0",
                   "+ PCI[24.0] - GPU/81000 (0)",
                   "+ PCI[24.0] - NIC/D1000",
                   "              + NET[25.0] - NET/1 (7a852d0003f6ceb8/1/25.000000)",
                   "CPU/0 (1/2/-1)",
                   "+ SYS[5000.0] - CPU/1",
                   "+ PCI[6.0] - NIC/21000",
                   "             + NET[3.1] - NET/0 (b8e2ce0003f6ceb8/1/3.125000)",
                   "==========================================",
                   "GPU/81000 :GPU/81000 (0/5000.000000/LOC) CPU/1 (1/24.000000/PHB) CPU/0 "
                   "(2/24.000000/SYS) NET/1 (3/24.000000/PHB) NET/0 (4/3.125000/SYS) ",
                   "NET/1 :GPU/81000 (3/24.000000/PHB) CPU/1 (2/24.000000/PHB) CPU/0 "
                   "(3/24.000000/SYS) NET/1 (0/5000.000000/LOC) NET/0 (5/3.125000/SYS) ",
                   "NET/0 :GPU/81000 (4/3.125000/SYS) CPU/1 (3/3.125000/SYS) CPU/0 "
                   "(2/3.125000/PHB) NET/1 (5/3.125000/SYS) NET/0 (0/5000.000000/LOC) ",
                   "Pattern 4, crossNic 0, nChannels 1, bw 24.000000/24.000000, type LOC/PHB, "
                   "sameChannels 1",
                   " 0 : NET/1 GPU/0 NET/1",
                   "Pattern 3, crossNic 0, nChannels 1, bw 48.000000/24.000000, type LOC/PHB, "
                   "sameChannels 1",
                   " 0 : NET/1 GPU/0 NET/1",
                   "Tree 0 : -1 -> 0 -> 1/-1/-1",
                   "Tree 1 : 1 -> 0 -> -1/-1/-1",
                   "Ring 00 : 1 -> 0 -> 1",
                   "Ring 01 : 1 -> 0 -> 1"}));
  const Texts init =
      starting(log_texts(job, "INIT"), {"Channel", "Trees", "P2P", "thread", "NET/IB"});
  EXPECT_EQ(init,
            (Texts{"NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_2:1/IB [RO]; OOB eth0:10.0.0.1<0>",
                   "Channel 00/02 :    0   1", "Channel 01/02 :    0   1",
                   "Trees [0] 1/-1/-1->0->-1 [1] -1/-1/-1->0->1", "P2P Chunksize set to 131072",
                   "Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IB/1/GDRDMA",
                   "Channel 01/0 : 1[0] -> 0[0] [receive] via NET/IB/1/GDRDMA",
                   "Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/1/GDRDMA",
                   "Channel 01/0 : 0[0] -> 1[0] [send] via NET/IB/1/GDRDMA",
                   "threadThresholds 8/8/64 | 16/8/64 | 512 | 512"}));
}

/// The card hangs on another root port than the GPU, so GPU Direct needs NCCL_NET_GDR_LEVEL=SYS.
TEST(PublicLog, GpuDirectByLevel) {
  Job job = a100_pcie_hdr();
  const std::vector<std::string> words = {"Using network", "Channel", "Trees", "2 coll", "comm"};
  const auto with = [](const std::string& suffix) {
    return Texts{
        "Using network IBext_v8",
        "comm 0x55d0c0000000 rank 0 nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0",
        "Channel 00/02 :    0   1",
        "Channel 01/02 :    0   1",
        "Trees [0] 1/-1/-1->0->-1 [1] -1/-1/-1->0->1",
        "Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IBext_v8/0" + suffix,
        "Channel 01/0 : 1[0] -> 0[0] [receive] via NET/IBext_v8/0" + suffix,
        "Channel 00/0 : 0[0] -> 1[0] [send] via NET/IBext_v8/0" + suffix,
        "Channel 01/0 : 0[0] -> 1[0] [send] via NET/IBext_v8/0" + suffix,
        "2 coll channels, 2 collnet channels, 0 nvls channels, 2 p2p channels, 2 p2p channels per "
        "peer"};
  };
  EXPECT_EQ(starting(log_texts(job, "INIT"), words), with(""));
  job.environment = {{"NCCL_NET_GDR_LEVEL", "SYS"}, {"NCCL_SHM_DISABLE", "1"}};
  EXPECT_EQ(starting(log_texts(job, "INIT"), words), with("/GDRDMA"));
  EXPECT_EQ(starting(log_texts(job, "ENV"), {"NCCL_"}).back(),
            "NCCL_SHM_DISABLE set by environment to 1.");
}

/// Six rings over the full mesh, each twice.
TEST(PublicLog, RingsOfFourFullyMeshedV100) {
  const Job job = v100_mesh();
  const std::vector<std::string> orders = {"0   1   2   3", "0   1   3   2", "0   2   3   1",
                                           "0   2   1   3", "0   3   1   2", "0   3   2   1"};
  Texts want;
  for (std::size_t channel = 0; channel < 12; channel++)
    want.push_back(fmt::format("Channel {:02d}/12 :    {}", channel, orders[channel % 6]));
  const Texts lines = log_texts(job, "INIT");
  EXPECT_EQ(
      Texts(starting(lines, {"Channel 00/12", "Channel 01/12", "Channel 02/12", "Channel 03/12",
                             "Channel 04/12", "Channel 05/12", "Channel 06/12", "Channel 07/12",
                             "Channel 08/12", "Channel 09/12", "Channel 10/12", "Channel 11/12"})),
      want);
  EXPECT_EQ(starting(lines, {"12 coll channels"}).size(), 1U);
}

/// Without peer access shared memory takes over, with two channels.
TEST(PublicLog, SocketsAndSharedMemory) {
  Job job = two_gpus_two_sockets();
  const std::vector<std::string> words = {"Using network", "NET/Socket", "Channel 0", "Trees"};
  EXPECT_EQ(starting(log_texts(job, "INIT"), words),
            (Texts{"NET/Socket : Using [0]em1:10.0.0.1<0> [1]tunl0:10.1.0.1<0>",
                   "Using network Socket", "Channel 00/02 :    0   1", "Channel 01/02 :    0   1",
                   "Trees [0] 1/-1/-1->0->-1 [1] 1/-1/-1->0->-1",
                   "Channel 00 : 0[0] -> 1[1] via SHM/direct/direct",
                   "Channel 01 : 0[0] -> 1[1] via SHM/direct/direct"}));
  job.rank = 1;
  EXPECT_EQ(starting(log_texts(job, "INIT"), {"Trees"}),
            Texts{"Trees [0] -1/-1/-1->1->0 [1] -1/-1/-1->1->0"});
}

}  // namespace
}  // namespace busbw::nccl::log
