// Variants of cases on the host, GPUs and the job.
#include "tests/models/diagnosis/variants.h"

namespace busbw::diagnosis {
namespace {

std::string watchdog(int rank, const std::string& work) {
  const std::string number = std::to_string(rank);
  return "[rank" + number + "]:[E ProcessGroupNCCL.cpp:629] [Rank " + number +
         "] Watchdog caught collective operation timeout: WorkNCCL(" + work +
         ", Timeout(ms)=600000) ran for 600031 milliseconds before timing out.\n";
}

TEST(Variants, SharedMemory) {
  expect_found({
      {"2.22 says why",
       "shm_size",
       {{"a.log",
         log_of("c0", {"!Error: failed to extend /dev/shm/nccl-Ab12Cd to 33030532 bytes, error: "
                       "No space left on device (28)"})}}},
      {"mounts and a bus error",
       "shm_size",
       {{"mounts.txt", "shm /dev/shm tmpfs rw,nosuid,nodev,noexec,relatime,size=65536k 0 0\n"},
        {"out.txt",
         "ERROR: Unexpected bus error encountered in worker. This might be caused by "
         "insufficient shared memory (shm).\n"}}},
  });
}

TEST(Variants, PcieAndIommu) {
  const std::string redirect =
      "17:00.0 PCI bridge: PLX\n\tACSCtl: SrcValid+ TransBlk- ReqRedir+ CmpltRedir+\n";
  expect_found({
      {"status 4 and ACS",
       "acs_iommu",
       {{"lspci.txt", redirect},
        {"a.log",
         log_of("w0", {"!NET/IB : Got completion from peer 10.9.0.2<1> with status=4 opcode=1 "
                       "len=0 vendor err 81 (Send)"})}}},
      {"status 4 by name, 2.30",
       "acs_iommu",
       {{"a.log",
         log_of("w0", {"!NET/IB : Got completion from peer 10.9.0.2<1> with "
                       "status=IBV_WC_LOC_PROT_ERR(4) opcode=IBV_WC_RDMA_WRITE(1) len=0 vendor "
                       "err 81"})}}},
      {"GPUs without NVLink that may hang",
       "acs_iommu",
       {{"a.log", log_of("w0", {"Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM"})},
        {"topo.txt", "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tPHB\t0-15\nGPU1\tPHB\t X \t0-15\n"}},
       false},
      {"IOMMU translates",
       "acs_iommu",
       {{"cmdline.txt", "BOOT_IMAGE=/v root=/dev/sda1 ro intel_iommu=on\n"},
        {"a.log", log_of("w0", {"Channel 00/0 : 0[0] -> 1[1] via P2P/IPC"})}},
       false},
      {"half the lanes of an HCA",
       "pcie_downgraded",
       {{"lspci.txt",
         "3b:00.0 Infiniband controller: Mellanox\n\tLnkCap: Port #0, Speed 16GT/s, Width x16\n"
         "\tLnkSta: Speed 16GT/s, Width x8 (downgraded)\n"}}},
      {"a GPU that sleeps runs at a lower speed",
       "(none)",
       {{"lspci.txt",
         "17:00.0 3D controller: NVIDIA\n\tLnkCap: Port #0, Speed 16GT/s, Width x16\n"
         "\tLnkSta: Speed 2.5GT/s (downgraded), Width x16\n"}}},
      {"the kernel says so",
       "pcie_downgraded",
       {{"dmesg.txt",
         "[ 3.1] mlx5_core 0000:3b:00.0: 63.008 Gb/s available PCIe bandwidth, limited by "
         "8.0 GT/s PCIe x8 link at 0000:3a:00.0\n"}}},
      {"one NUMA node a socket",
       "numa_affinity",
       {{"lscpu.txt", "Socket(s): 2\nNUMA node(s): 2\n"},
        {"a.log", log_of("w0", {"Channel 00 : 0[0] -> 1[1] via SHM/direct/direct"})}},
       false},
  });
}

TEST(Variants, Gpus) {
  expect_found({
      {"multicast, 2.26",
       "fabric_manager",
       {{"a.log",
         log_of("w0", {"!Failed to bind NVLink SHARP (NVLS) Multicast memory of size 2097152 : "
                       "CUDA error 401"})}}},
      {"multicast in an exception",
       "fabric_manager",
       {{"out.txt",
         "Last error:\nFailed to bind NVLink SHARP (NVLS) Multicast memory of size 2097152\n"}}},
      {"multicast, by the source file",
       "fabric_manager",
       {{"a.log",
         "w0:1:2 [3] transport/nvls.cc:254 NCCL WARN Cuda failure 401 'the operation cannot be "
         "performed in the present state'\n"}}},
      {"state of the fabric",
       "fabric_manager",
       {{"smi.txt",
         "==============NVSMI LOG==============\nGPU 00000000:1B:00.0\n    Fabric\n"
         "        State                             : In Progress\n"}}},
      {"the GPU is gone",
       "gpu_xid",
       {{"dmesg.txt",
         "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', GPU has fallen off the bus.\n"},
        {"out.txt", watchdog(3, "SeqNum=7, OpType=ALLREDUCE, NumelIn=4, NumelOut=4")}}},
      {"two ranks on one GPU",
       "duplicate_gpu",
       {{"a.log",
         log_of("w0", {"!Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1000"})}}},
      {"out of memory",
       "gpu_memory",
       {{"a.log", log_of("w0", {"!Cuda failure 2 'out of memory'"})}}},
      {"simple order",
       "algo_choice",
       {{"a.log",
         log_of("w0", {"!Could not find a path for pattern 4, falling back to simple order"})}}},
      {"reduction in the switch is off",
       "algo_choice",
       {{"a.log", log_of("w0", {"NCCL_NVLS_ENABLE set by environment to 0."})}},
       false},
  });
}

TEST(Variants, TheJob) {
  expect_found({
      {"a process was killed behind the time-out",
       "rank_crashed",
       {{"out.txt", watchdog(0, "SeqNum=7, OpType=ALLREDUCE, NumelIn=4, NumelOut=4")},
        {"dmesg.txt", "Out of memory: Killed process 77 (python) total-vm:1kB\n"}}},
      {"ranks in different collectives",
       "collective_desync",
       {{"out.txt", watchdog(0, "SeqNum=7, OpType=ALLREDUCE, NumelIn=4, NumelOut=4") +
                        watchdog(1, "SeqNum=6, OpType=BROADCAST, NumelIn=9, NumelOut=9")}}},
      {"a time-out alone",
       "collective_timeout",
       {{"out.txt", watchdog(0, "SeqNum=7, OpType=ALLREDUCE, NumelIn=4, NumelOut=4")}},
       false},
      {"a time-out over a broken network",
       "gid_index",
       {{"out.txt",
         watchdog(0, "SeqNum=7, OpType=ALLREDUCE, NumelIn=4, NumelOut=4") +
             log_of("w0", {"!NET/IB : Got completion from peer 10.9.0.2<1> with status=12 "
                           "opcode=0 len=0 vendor err 129 (Recv)"})}},
       false},
      {"ranks disagree on sizes",
       "collective_desync",
       {{"a.log",
         log_of("w0", {"!NET/Socket : peer 10.9.0.2<1> message truncated : receiving 1048576 "
                       "bytes instead of 65536"})}}},
      {"one of many pairs is slow",
       "slow_node",
       {{"pairs.txt",
         "gpu-01 <-> gpu-02 : 181.20 GB/s\ngpu-01 <-> gpu-03 : 60.10 GB/s\n"
         "gpu-02 <-> gpu-03 : 61.00 GB/s\ngpu-04 <-> gpu-05 : 180.00 GB/s\n"}}},
      {"one of many hosts is slow",
       "slow_node",
       {{"hosts.txt", "gpu-01 181.20 GB/s\ngpu-02 180.10 GB/s\ngpu-03 91.00 GB/s\n"}}},
      {"equal pairs",
       "(none)",
       {{"pairs.txt", "gpu-01,gpu-02 181.20\ngpu-01,gpu-03 179.10\ngpu-02,gpu-03 180.00\n"}}},
      {"the store of PyTorch",
       "rendezvous_failed",
       {{"out.txt",
         "[W socket.cpp:663] [c10d] The client socket has failed to connect to [h0]:29500 "
         "(errno: 110 - Connection timed out).\n"}}},
      {"the network is slow, not NCCL",
       "network_below_link",
       {{"ibstat.txt",
         "CA 'mlx5_0'\n Port 1:\n  State: Active\n  Rate: 200\n  Link layer: InfiniBand\n"},
        {"bw.txt",
         " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
         " 65536      5000             97.30             97.01             0.185\n"}}},
  });
}

}  // namespace
}  // namespace busbw::diagnosis
