// See system_facts.h. Forms: kmod's lsmod, bash 5 (builtins/ulimit.def), GNU df.
#include "real/collect/system_facts.h"

#include <algorithm>
#include <array>
#include <sys/klog.h>
#include <sys/statvfs.h>

#include <fmt/format.h>

#include "real/collect/numbers.h"
#include "sim/core/text.h"

namespace busbw::real::collect {
namespace {

constexpr std::int64_t kMebi = std::int64_t{1} << 20U;

bool contains_any(const std::string& text, const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(),
                     [&](const std::string& word) { return text.find(word) != std::string::npos; });
}

/// A limit: its name in /proc/self/limits and in bash, and what bash counts it in.
struct Limit {
  const char* kernel;
  const char* bash;
  const char* unit;  // with the option's letter
  std::int64_t divisor;
};
constexpr std::array<Limit, 8> kLimits = {{
    {"Max core file size", "core file size", "(blocks, -c)", 1024},
    {"Max pending signals", "pending signals", "(-i)", 1},
    {"Max locked memory", "max locked memory", "(kbytes, -l)", 1024},
    {"Max resident set", "max memory size", "(kbytes, -m)", 1024},
    {"Max open files", "open files", "(-n)", 1},
    {"Max stack size", "stack size", "(kbytes, -s)", 1024},
    {"Max processes", "max user processes", "(-u)", 1},
    {"Max address space", "virtual memory", "(kbytes, -v)", 1024},
}};

/// "512M" or "378G", rounded up, as df -h.
std::string human(std::int64_t bytes) {
  const std::int64_t mebis = (bytes + kMebi - 1) / kMebi;
  return mebis < 1024 ? fmt::format("{}M", mebis) : fmt::format("{}G", (mebis + 1023) / 1024);
}

std::string df_line(std::int64_t size, std::int64_t used) {
  const std::int64_t percent = size == 0 ? 0 : (used * 100 + size - 1) / size;
  return fmt::format(
      "Filesystem      Size  Used Avail Use% Mounted on\n"
      "shm            {:>5} {:>5} {:>5} {:>3}% /dev/shm\n",
      human(size), human(used), human(size - used), percent);
}

/// "64M" or "65536k" of the option size=.
std::optional<std::int64_t> size_option(std::string_view options) {
  for (const std::string_view option : split(options, ',')) {
    if (!option.starts_with("size=") || option.size() < 7)
      continue;
    const char unit = option.back();
    const std::optional<std::int64_t> number = decimal(option.substr(5, option.size() - 6));
    if (number && *number >= 0 && (unit == 'k' || unit == 'm' || unit == 'M')) {
      return *number * (unit == 'k' ? 1024 : kMebi);
    }
  }
  return std::nullopt;
}

}  // namespace

std::string read_modules(const Root& root) {
  const std::optional<std::string> modules = root.text("/proc/modules");
  if (!modules)
    return "";
  std::string text = "Module                  Size  Used by\n";
  for (const std::string_view line : split_lines(*modules)) {
    const std::vector<std::string_view> words = split_blanks(line);
    if (words.size() < 4)
      continue;
    std::string users(words[3] == "-" ? std::string_view() : words[3]);
    if (users.ends_with(","))
      users.pop_back();
    text += fmt::format("{:<19} {:>8}  {}{}{}\n", words[0], words[1], words[2],
                        users.empty() ? "" : " ", users);
  }
  return text;
}

std::string read_limits(const Root& root) {
  const std::string limits = root.text("/proc/self/limits").value_or("");
  std::string text;
  for (const Limit& limit : kLimits) {
    for (const std::string_view line : split_lines(limits)) {
      const std::string_view name = limit.kernel;
      if (!line.starts_with(name))
        continue;
      const std::vector<std::string_view> words = split_blanks(line.substr(name.size()));
      const std::optional<std::int64_t> soft =
          words.empty() ? std::nullopt : decimal(words.front());
      text += fmt::format("{:<28}{:>13} {}\n", limit.bash, limit.unit,
                          soft ? std::to_string(*soft / limit.divisor) : "unlimited");
    }
  }
  return text;
}

std::string read_mounts(const Root& root) {
  static const std::vector<std::string> kPlaces = {
      " /dev/shm ", " /dev/infiniband", " /sys ", " /dev/hugepages", " /dev ", " hugetlbfs "};
  std::string text;
  const std::string mounts = root.text("/proc/mounts").value_or("");
  for (const std::string_view line : split_lines(mounts)) {
    if (contains_any(std::string(line), kPlaces))
      text += std::string(line) + "\n";
  }
  return text;
}

std::string read_shared_memory(const Root& root) {
  if (root.is_machine()) {
    struct statvfs about {};
    if (::statvfs("/dev/shm", &about) != 0)
      return "";
    const auto block = static_cast<std::int64_t>(about.f_frsize);
    return df_line(static_cast<std::int64_t>(about.f_blocks) * block,
                   static_cast<std::int64_t>(about.f_blocks - about.f_bfree) * block);
  }
  const std::string mounts = root.text("/proc/mounts").value_or("");
  for (const std::string_view line : split_lines(mounts)) {
    const std::vector<std::string_view> words = split_blanks(line);
    if (words.size() < 4 || words[1] != "/dev/shm")
      continue;
    if (const std::optional<std::int64_t> size = size_option(words[3]))
      return df_line(*size, 0);
  }
  return "";
}

std::string read_device_files(const Root& root) {
  std::string text;
  for (const std::string& name : root.names("/dev/infiniband"))
    text += name + "\n";
  return text;
}

std::string read_command_line(const Root& root) {
  static const std::vector<std::string> kOptions = {"iommu", "pci",    "acs",        "hugepages",
                                                    "numa",  "nvidia", "mitigations"};
  std::vector<std::string> kept;
  const std::string line = root.line("/proc/cmdline");
  for (const std::string_view word : split_blanks(line)) {
    if (contains_any(std::string(word), kOptions))
      kept.emplace_back(word);
  }
  return kept.empty() ? "" : join(kept, " ") + "\n";
}

std::string read_drivers(const Root& root) {
  std::string text;
  for (const char* module : {"nvidia", "nvidia_peermem", "nv_peer_mem", "gdrdrv", "mlx5_core",
                             "ib_core", "efa", "bnxt_re", "irdma", "hfi1"}) {
    const std::string folder = std::string("/sys/module/") + module;
    if (!root.has(folder))
      continue;
    const std::string version = root.line(folder + "/version");
    text += fmt::format("filename:       {}.ko\n", module);
    text += version.empty() ? "" : fmt::format("version:        {}\n", version);
    text += "\n";
  }
  const std::vector<std::string> clients = root.names("/sys/kernel/mm/memory_peers");
  for (const std::string& client : clients)
    text += fmt::format("/sys/kernel/mm/memory_peers/{}\n", client);
  return text;
}

std::string read_nccl_conf(const Root& root, const std::string& path) {
  std::string text;
  const std::string conf = root.text(path).value_or("");
  for (const std::string_view line : split_lines(conf)) {
    if (trim(line).starts_with("NCCL_"))
      text += std::string(trim(line)) + "\n";
  }
  return text;
}

std::string kernel_messages(const std::string& text) {
  static const std::vector<std::string> kWords = {
      "nvrm",       "xid",     "nvidia",        "nvlink",   "nvswitch", "mlx5",           "mlx4",
      "infiniband", "ib_",     "rdma",          "pcieport", "aer:",     "pcie bus error", "dmar",
      "iommu",      "amd-vi",  "bnxt",          "irdma",    "efa",      "hfi1",           "link is",
      "link down",  "link up", "out of memory", "oom",      "gdrdrv",   "peermem"};
  std::string kept;
  for (const std::string_view line : split_lines(text)) {
    if (contains_any(lower(line), kWords))
      kept += std::string(line) + "\n";
  }
  return kept;
}

std::string read_kernel_log() {
  constexpr int kReadAll = 3;  // SYSLOG_ACTION_READ_ALL
  constexpr int kMost = 1 << 20;
  std::string buffer(kMost, '\0');
  const int size = ::klogctl(kReadAll, buffer.data(), kMost);
  buffer.resize(static_cast<std::size_t>(std::max(0, size)));
  std::string text;
  for (const std::string_view line : split_lines(buffer)) {
    const std::size_t end = line.starts_with("<") ? line.find('>') : std::string_view::npos;
    text += std::string(end == std::string_view::npos ? line : line.substr(end + 1)) + "\n";
  }
  return text;
}

}  // namespace busbw::real::collect
