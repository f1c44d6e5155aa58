// What the kernel says besides interfaces and devices, in the form of the tools that show it.
// Each text is "" when its file is absent.
#pragma once
#include <string>

#include "real/collect/root.h"

namespace busbw::real::collect {

/// /proc/modules as `lsmod`.
std::string read_modules(const Root& root);
/// /proc/self/limits as bash's `ulimit -a`: the limits that jobs run into.
std::string read_limits(const Root& root);
/// Lines of /proc/mounts about shared memory, sysfs, device files and huge pages.
std::string read_mounts(const Root& root);
/// /dev/shm as `df -h`: by its file system, under another root by the size in /proc/mounts.
std::string read_shared_memory(const Root& root);
/// Names in /dev/infiniband, as `ls`.
std::string read_device_files(const Root& root);
/// Options of the kernel's command line about IOMMU and PCI.
std::string read_command_line(const Root& root);
/// Releases of the drivers that matter, as `modinfo` prints its fields.
std::string read_drivers(const Root& root);
/// The settings NCCL_... of an nccl.conf.
std::string read_nccl_conf(const Root& root, const std::string& path);

/// Of kernel messages, those about GPUs, NICs, PCIe, IOMMU and memory that ran out.
std::string kernel_messages(const std::string& text);
/// The kernel's own buffer, without the level of each line; "" where that is not allowed.
std::string read_kernel_log();

}  // namespace busbw::real::collect
