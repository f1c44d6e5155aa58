// Kernel files in the form of the tools that show them.
#include "real/collect/system_facts.h"

#include "tests/real/collect/fake_root.h"

namespace busbw::real::collect {
namespace {

class SystemFactsTest : public FakeRoot {};

TEST_F(SystemFactsTest, ModulesAsLsmod) {
  write("/proc/modules",
        "nvidia_peermem 16384 0 - Live 0x0000000000000000 (POE)\n"
        "ib_core 495616 3 nvidia_peermem,mlx5_ib,ib_uverbs, Live 0x0000000000000000\n"
        "cut\n");
  EXPECT_EQ(read_modules(root()),
            "Module                  Size  Used by\n"
            "nvidia_peermem         16384  0\n"
            "ib_core               495616  3 nvidia_peermem,mlx5_ib,ib_uverbs\n");
}

TEST_F(SystemFactsTest, LimitsAsUlimit) {
  write("/proc/self/limits",
        "Limit                     Soft Limit           Hard Limit           Units     \n"
        "Max locked memory         67108864             67108864             bytes     \n"
        "Max open files            1024                 1048576              files     \n"
        "Max stack size            8388608              unlimited            bytes     \n"
        "Max processes             unlimited            unlimited            processes \n");
  EXPECT_EQ(read_limits(root()),
            "max locked memory            (kbytes, -l) 65536\n"
            "open files                           (-n) 1024\n"
            "stack size                   (kbytes, -s) 8192\n"
            "max user processes                   (-u) unlimited\n");
}

TEST_F(SystemFactsTest, SharedMemoryBySizeOfTheMount) {
  write("/proc/mounts",
        "overlay / overlay rw,lowerdir=/var/lib/x 0 0\n"
        "shm /dev/shm tmpfs rw,nosuid,nodev,noexec,relatime,size=65536k 0 0\n"
        "sysfs /sys sysfs ro,nosuid 0 0\n");
  EXPECT_EQ(read_shared_memory(root()),
            "Filesystem      Size  Used Avail Use% Mounted on\n"
            "shm              64M    0M   64M   0% /dev/shm\n");
  EXPECT_EQ(read_mounts(root()),
            "shm /dev/shm tmpfs rw,nosuid,nodev,noexec,relatime,size=65536k 0 0\n"
            "sysfs /sys sysfs ro,nosuid 0 0\n");
  write("/proc/mounts", "shm /dev/shm tmpfs rw,size= 0 0\n");
  EXPECT_EQ(read_shared_memory(root()), "");
}

TEST_F(SystemFactsTest, OptionsDriversAndDeviceFiles) {
  write("/proc/cmdline", "BOOT_IMAGE=/vmlinuz root=UUID=0-1 intel_iommu=on iommu=pt quiet\n");
  EXPECT_EQ(read_command_line(root()), "intel_iommu=on iommu=pt\n");
  write("/sys/module/nvidia/version", "535.104.05\n");
  write("/sys/module/ib_core/refcnt", "1\n");
  write("/sys/kernel/mm/memory_peers/nv_mem/version", "1\n");
  EXPECT_EQ(
      read_drivers(root()),
      "filename:       nvidia.ko\nversion:        535.104.05\n\nfilename:       ib_core.ko\n\n"
      "/sys/kernel/mm/memory_peers/nv_mem\n");
  write("/dev/infiniband/uverbs0", "");
  write("/dev/infiniband/rdma_cm", "");
  EXPECT_EQ(read_device_files(root()), "rdma_cm\nuverbs0\n");
  write("/etc/nccl.conf", "# a comment\n NCCL_DEBUG=WARN\nOTHER=1\nNCCL_IB_HCA=mlx5\n");
  EXPECT_EQ(read_nccl_conf(root(), "/etc/nccl.conf"), "NCCL_DEBUG=WARN\nNCCL_IB_HCA=mlx5\n");
}

TEST(KernelMessages, OnlyWhatConcernsUs) {
  EXPECT_EQ(kernel_messages("[1.0] usb 1-1: new device\n"
                            "[2.0] NVRM: Xid (PCI:0000:17:00): 79, GPU has fallen off the bus.\n"
                            "[3.0] systemd[1]: Started user session of alice.\n"
                            "[4.0] mlx5_core 0000:18:00.0: Link down\n"),
            "[2.0] NVRM: Xid (PCI:0000:17:00): 79, GPU has fallen off the bus.\n"
            "[4.0] mlx5_core 0000:18:00.0: Link down\n");
}

TEST(SystemFacts, ThisMachine) {
  const Root machine("");
  EXPECT_NE(read_limits(machine).find("open files"), std::string::npos);
  EXPECT_NE(read_shared_memory(machine).find("/dev/shm"), std::string::npos);
}

}  // namespace
}  // namespace busbw::real::collect
