// Interfaces, modules, limits, PCIe, GPUs, processors, variables.
#include <gtest/gtest.h>

#include "tests/models/facts/read_text.h"

namespace busbw::facts {
namespace {

using Strings = std::vector<std::string>;

TEST(HostReaders, Interfaces) {
  const ReadText read = read_text(
      "2: ens1: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP group default qlen "
      "1000\n"
      "    link/ether 02:00:00:00:00:04 brd ff:ff:ff:ff:ff:ff\n    inet 10.9.0.1/24 scope global "
      "ens1\n"
      "       valid_lft forever preferred_lft forever\n"
      "3: ens2: <BROADCAST,MULTICAST> mtu 1500 qdisc noop state DOWN mode DEFAULT\n"
      "default via 10.9.0.254 dev ens1 proto dhcp\n10.9.0.0/24 dev ens1 scope link\n"
      "Settings for ens1:\n\tSpeed: 100000Mb/s\n");
  ASSERT_EQ(read.count("ip.interface"), 2U);
  EXPECT_EQ(read.field("ip.interface", "mtu"), "9000");
  EXPECT_EQ(read.field("ip.interface", "up", 1), "no");
  EXPECT_EQ(read.field("ip.interface", "state", 1), "down");
  EXPECT_EQ(read.store.named("ip.interface")[1]->where.line, 5);
  EXPECT_EQ(read.field("ip.address", "address"), "10.9.0.1/24");
  EXPECT_EQ(read.field("ip.route", "device"), "ens1");
  EXPECT_EQ(read.field("ip.route", "to", 1), "10.9.0.0/24");
  EXPECT_EQ(read.field("eth.speed", "mbps"), "100000");
}

TEST(HostReaders, AListOfInterfacesThatSomebodyTyped) {
  const ReadText read = read_text(
      "# 1: lo           -> loopback\n# 2: eth7         -> 25 GbE for storage (10.0.0.1)\n");
  ASSERT_EQ(read.count("ip.interface"), 2U);
  EXPECT_EQ(read.field("ip.interface", "name", 1), "eth7");
  EXPECT_EQ(read.field("eth.speed", "mbps"), "25000");
}

TEST(HostReaders, ModulesLimitsSharedMemory) {
  const ReadText read = read_text(
      "Module                  Size  Used by\nnvidia_peermem         16384  0\n"
      "ib_core               495616  9 rdma_cm,ib_umad\n"
      "filename:       /lib/modules/5.4/updates/dkms/nv_peer_mem.ko\nversion:        1.0-8\n"
      "max locked memory           (kbytes, -l) 64\nopen files                          (-n) 1024\n"
      "Filesystem      Size  Used Avail Use% Mounted on\nshm              64M   60M  4.0M  94% "
      "/dev/shm\n"
      "shm /dev/shm tmpfs rw,nosuid,size=65536k 0 0\n"
      "BOOT_IMAGE=/vmlinuz-5.4 root=/dev/sda2 ro intel_iommu=on quiet\n"
      "Socket(s):           2\nNUMA node(s):        8\n");
  EXPECT_EQ(read.field("lsmod.module", "name"), "nvidia_peermem");
  EXPECT_EQ(read.count("lsmod.module"), 2U);
  EXPECT_EQ(read.field("modinfo.module", "name"), "nv_peer_mem");
  EXPECT_EQ(read.field("ulimit.memlock", "kib"), "64");
  EXPECT_EQ(read.field("shm.size", "mib"), "64");
  EXPECT_EQ(read.field("shm.size", "free_mib"), "4");
  EXPECT_EQ(read.field("shm.size", "free_mib", 1), "64");
  EXPECT_EQ(read.field("kernel.cmdline", "iommu"), "on");
  EXPECT_EQ(read.field("lscpu.sockets", "value"), "2");
  EXPECT_EQ(read.field("lscpu.numa", "value"), "8");
  const ReadText proc =
      read_text("Max locked memory         65536                65536                bytes\n");
  EXPECT_EQ(proc.field("ulimit.memlock", "kib"), "64");
  const ReadText free = read_text("max locked memory       (kbytes, -l) unlimited\n");
  EXPECT_EQ(free.field("ulimit.memlock", "kib"), "unlimited");
}

TEST(HostReaders, AnEmptyAnswerOfLsmodIsAFact) {
  const ReadText read = read_text("# lsmod | grep nv_peer\n#\n");
  EXPECT_EQ(read.field("lsmod.asked", "pattern"), "nv_peer");
  EXPECT_EQ(read.count("lsmod.module"), 0U);
  EXPECT_EQ(read.report.kinds, Strings{"lsmod"});
}

TEST(HostReaders, KernelCommandLines) {
  for (const auto& [line, iommu] :
       {std::pair<const char*, const char*>{"BOOT_IMAGE=/v root=/dev/sda2 ro quiet", "default"},
        {"BOOT_IMAGE=/v root=/dev/sda2 iommu=pt intel_iommu=on", "passthrough"},
        {"BOOT_IMAGE=/v root=/dev/sda2 amd_iommu=off", "off"},
        {"iommu=pt pci=realloc nvidia-drm.modeset=1", "passthrough"},
        {"intel_iommu=on pcie_acs_override=downstream,multifunction", "on"}}) {
    EXPECT_EQ(read_text(line).field("kernel.cmdline", "iommu"), iommu) << line;
  }
  for (const char* line : {"set iommu=pt (or off) in the BIOS", "quiet splash", "nvidia=1"}) {
    EXPECT_EQ(read_text(line).count("kernel.cmdline"), 0U) << line;
  }
}

TEST(HostReaders, Lspci) {
  const ReadText read = read_text(
      "3b:00.0 Infiniband controller: Mellanox Technologies MT28908\n"
      "\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM not supported\n"
      "\t\tLnkSta:\tSpeed 16GT/s (ok), Width x8 (downgraded)\n"
      "17:00.0 3D controller: NVIDIA Corporation GA100\n"
      "\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16\n\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), "
      "Width x16\n"
      "15:00.0 PCI bridge: PLX\n\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+\n"
      "16:00.0 PCI bridge: PLX\n\t\tACSCtl:\tSrcValid- TransBlk- ReqRedir- CmpltRedir-\n");
  ASSERT_EQ(read.count("pci.link"), 2U);
  EXPECT_EQ(read.field("pci.link", "device"), "3b:00.0");
  EXPECT_EQ(read.field("pci.link", "class"), "nic");
  EXPECT_EQ(read.field("pci.link", "width"), "x8");
  EXPECT_EQ(read.field("pci.link", "max_width"), "x16");
  EXPECT_EQ(read.field("pci.link", "narrow"), "yes");
  EXPECT_EQ(read.field("pci.link", "narrow", 1), "no");
  EXPECT_EQ(read.field("pci.link", "trained_down", 1), "yes");
  EXPECT_EQ(read.field("pci.acs", "redirect"), "yes");
  EXPECT_EQ(read.field("pci.acs", "device"), "15:00.0");
  EXPECT_EQ(read.field("pci.acs", "redirect", 1), "no");
  const ReadText tree = read_text("-+-[0000:00]-+-00.0  Device\n |           +-01.0  Device\n");
  EXPECT_EQ(tree.report.kinds, Strings{"lspci"});
}

TEST(HostReaders, TopologyMatrix) {
  const ReadText read = read_text(
      "\tGPU0\tGPU1\tmlx5_0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tNV4\tPIX\t0-15\t0\n"
      "GPU1\tNV4\t X \tSYS\t16-31\t1\nmlx5_0\tPIX\tSYS\t X \t\t\n");
  ASSERT_EQ(read.count("topo.pair"), 4U);
  EXPECT_EQ(read.field("topo.gpus", "count"), "2");
  EXPECT_EQ(read.field("topo.pair", "link"), "NV4");
  EXPECT_EQ(read.field("topo.pair", "kind"), "gpu");
  EXPECT_EQ(read.field("topo.pair", "link", 3), "SYS");
  EXPECT_EQ(read.field("topo.pair", "kind", 3), "nic");
  const ReadText cut = read_text("        GPU0    GPU1    CPU Affinity\nGPU0     X      NV\n");
  EXPECT_EQ(cut.notes(),
            (Strings{"x.txt:2:1: error: unknown link 'NV' in the row of GPU0",
                     "x.txt:1:1: error: topology matrix shows 1 of 2 GPUs: the output is cut"}));
  EXPECT_TRUE(read_text("GPU0 memory 30 GB used\n").report.kinds.empty());
}

TEST(HostReaders, NvidiaSmi) {
  const ReadText read = read_text(
      "==============NVSMI LOG==============\nDriver Version                            : 535.1\n"
      "GPU 00000000:1B:00.0\n    Fabric\n        State                             : In Progress\n"
      "        Link Width\n            Max                       : 16x\n"
      "            Current                   : 8x\n"
      "GPU 0: NVIDIA H100 (UUID: GPU-1)\n\t Link 0: 26.562 GB/s\n\t Link 1: <inactive>\n");
  EXPECT_EQ(read.field("smi.driver", "version"), "535.1");
  EXPECT_EQ(read.field("smi.fabric", "state"), "in progress");
  EXPECT_EQ(read.field("smi.width", "current"), "8x");
  EXPECT_EQ(read.field("smi.width", "max"), "16x");
  const ReadText links = read_text(
      "GPU 0: NVIDIA H100 (UUID: GPU-1)\n\t Link 0: 26.562 GB/s\n\t Link 1: <inactive>\n");
  EXPECT_EQ(links.field("nvlink.link", "state"), "active");
  EXPECT_EQ(links.field("nvlink.link", "state", 1), "inactive");
}

TEST(HostReaders, Variables) {
  const ReadText read = read_text(
      "NCCL_DEBUG=INFO\nexport NCCL_IB_HCA=\"=mlx5_0,mlx5_1\"\n# NCCL_NET=IB\nPATH=/usr/bin\n"
      "mpirun -x NCCL_SOCKET_IFNAME=^lo,docker -x UCX_TLS=rc ./all_reduce_perf -b 8\n"
      "NCCL_P2P_LEVEL=NVL \\\n");
  ASSERT_EQ(read.count("env"), 5U);
  EXPECT_EQ(read.field("env", "value", 1), "=mlx5_0,mlx5_1");
  EXPECT_EQ(read.field("env", "value", 2), "^lo,docker");
  EXPECT_EQ(read.field("env", "name", 3), "UCX_TLS");
  EXPECT_EQ(read.field("env", "value", 4), "NVL");
}

TEST(HostReaders, TopologyXmlWholeAndExcerpt) {
  const ReadText part = read_text(
      "<pci busid=\"0000:3a:00.0\" class=\"0x060400\" link_speed=\"2.5 GT/s\" link_width=\"1\">\n");
  EXPECT_EQ(part.field("topology.link", "speed"), "2.5");
  EXPECT_EQ(part.field("topology.link", "width"), "1");
  EXPECT_TRUE(part.store.notes().empty());
  const ReadText whole = read_text("<system version=\"1\">\n  <cpu numaid=\"0\">\n</system>\n");
  EXPECT_EQ(whole.report.kinds, Strings{"NCCL topology XML"});
  ASSERT_FALSE(whole.store.notes().empty());
  EXPECT_EQ(whole.store.notes()[0].where.file, "x.txt");
}

}  // namespace
}  // namespace busbw::facts
