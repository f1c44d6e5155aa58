// What the operating system of a host says: modules, limits, shared memory, kernel command line,
// processors.
//
// Facts (fields):
//   lsmod.module {name}, lsmod.asked {pattern}   a listing filtered by grep
//   modinfo.module {name, version}
//   ulimit.memlock {kib}                          "unlimited" or a number
//   shm.size {mib, free_mib}                      /dev/shm, from df or /proc/mounts
//   kernel.cmdline {iommu}                        on, passthrough, off, default
//   lscpu {sockets, numa, model}: lscpu.sockets {value}, lscpu.numa {value}, lscpu.model {value}
#include <algorithm>
#include <optional>

#include "models/facts/line_reader.h"
#include "sim/core/text.h"

namespace busbw::facts {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

/// lsmod: "nvidia_peermem 16384 0", also behind `lsmod | grep ...`.
class ModuleReader : public LineReader {
 public:
  [[nodiscard]] std::string kind() const override { return "lsmod"; }

  bool read(const SourceLine& line, FactStore& facts) override {
    if (line.bare == "Module                  Size  Used by" ||
        (line.bare.rfind("Module ", 0) == 0 && line.bare.find("Used by") != kNone)) {
      put(facts, line, "lsmod.asked", {{"pattern", ""}});
      return true;
    }
    const std::size_t grep = line.text.find("lsmod | grep ");
    if (grep != kNone) {
      put(facts, line, "lsmod.asked",
          {{"pattern", std::string(trim(line.text.substr(grep + 13)))}});
      asked_ = true;
      return true;
    }
    if (asked_ && (line.text == "#" || line.text == "$")) {
      return true;  // the prompt behind an empty answer
    }
    const std::vector<std::string_view>& words = line.words;
    if (words.size() < 3 || words.size() > 4 || !is_module(words[0])) {
      return false;
    }
    const std::optional<std::int64_t> size = parse_integer(words[1]);
    const std::optional<std::int64_t> users = parse_integer(words[2]);
    if (!size || *size < 1024 || !users) {
      return false;
    }
    std::string name(words[0]);
    std::replace(name.begin(), name.end(), '-', '_');
    put(facts, line, "lsmod.module", {{"name", name}});
    return true;
  }

 private:
  static bool is_module(std::string_view word) {
    const bool letter = word[0] >= 'a' && word[0] <= 'z';
    return letter && word.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == kNone;
  }

  bool asked_ = false;
};

/// modinfo: "filename: /lib/modules/.../nv_peer_mem.ko".
class ModinfoReader : public LineReader {
 public:
  [[nodiscard]] std::string kind() const override { return "modinfo"; }

  bool read(const SourceLine& line, FactStore& facts) override {
    static constexpr std::string_view kOthers[] = {
        "version",    "depends",   "vermagic", "license", "description", "author",
        "srcversion", "retpoline", "name",     "parm",    "alias",       "intree"};
    std::string_view key;
    std::string_view value;
    if (!key_and_value(line.bare, key, value)) {
      return false;
    }
    if (key == "filename" && value.find(".ko") != kNone) {
      const std::string_view file = value.substr(value.rfind('/') + 1);
      std::string name(file.substr(0, file.find(".ko")));
      std::replace(name.begin(), name.end(), '-', '_');
      put(facts, line, "modinfo.module", {{"name", name}});
      open_ = true;
      return true;
    }
    return open_ && std::find(std::begin(kOthers), std::end(kOthers), key) != std::end(kOthers);
  }

 private:
  bool open_ = false;
};

/// `ulimit -a` and /proc/self/limits.
class LimitReader : public LineReader {
 public:
  [[nodiscard]] std::string kind() const override { return "ulimit -a"; }

  bool read(const SourceLine& line, FactStore& facts) override {
    if (line.words.size() < 3 || (line.bare.find('(') == kNone && line.words[0] != "Max")) {
      return false;
    }
    const std::string text = lower(line.bare);
    if (text.rfind("max locked memory", 0) == 0) {
      const std::vector<std::string_view>& words = line.words;
      const bool proc = words.size() > 4 && words.back() == "bytes";
      const std::string_view value = proc ? words[words.size() - 3] : words.back();
      const std::optional<std::int64_t> number = parse_integer(value);
      if (value != "unlimited" && !number) {
        facts.note({line.file, line.number, 1},
                   "locked memory: '" + quote(value) + "' is no number");
        return true;
      }
      put(facts, line, "ulimit.memlock",
          {{"kib", number ? std::to_string(proc ? *number / 1024 : *number) : "unlimited"}});
      return true;
    }
    static constexpr std::string_view kOthers[] = {
        "core file size",       "data seg size",      "scheduling priority", "file size",
        "pending signals",      "max memory size",    "open files",          "pipe size",
        "posix message queues", "real-time priority", "stack size",          "cpu time",
        "max user processes",   "virtual memory",     "file locks"};
    for (const std::string_view other : kOthers) {
      if (text.rfind(other, 0) == 0 && text.find('(') != std::string::npos) {
        return true;
      }
    }
    return false;
  }
};

/// "64M", "65536k", "1.0G", "0", plain KiB of df -> MiB.
std::optional<double> mebibytes(std::string_view text, double plain_unit) {
  if (text.empty()) {
    return std::nullopt;
  }
  double unit = plain_unit;
  const char last = lower(text.substr(text.size() - 1))[0];
  if (last == 'k' || last == 'm' || last == 'g' || last == 't') {
    unit = last == 'k' ? 1.0 / 1024 : last == 'm' ? 1 : last == 'g' ? 1024 : 1024.0 * 1024;
    text.remove_suffix(1);
  }
  const std::optional<double> value = parse_number(text);
  return value && *value >= 0 && *value < 1e12 ? std::optional<double>(*value * unit)
                                               : std::nullopt;
}

std::string whole(double value) {
  return std::to_string(static_cast<std::int64_t>(value));
}

/// /dev/shm in `df` or /proc/mounts.
class ShmReader : public LineReader {
 public:
  [[nodiscard]] std::string kind() const override { return "df or /proc/mounts"; }

  bool read(const SourceLine& line, FactStore& facts) override {
    const std::vector<std::string_view>& words = line.words;
    if (words.size() >= 6 && words[0] == "Filesystem") {
      return true;
    }
    if (words.size() == 6 && words[5] == "/dev/shm") {
      const std::optional<double> size = mebibytes(words[1], 1.0 / 1024);
      const std::optional<double> available = mebibytes(words[3], 1.0 / 1024);
      if (!size || !available) {
        facts.note({line.file, line.number, 1},
                   "size of /dev/shm: '" + quote(words[1]) + "' is no size");
        return true;
      }
      put(facts, line, "shm.size", {{"mib", whole(*size)}, {"free_mib", whole(*available)}});
      return true;
    }
    if (words.size() < 4 || words[1].empty() || words[1].front() != '/' || words.size() != 6) {
      return false;
    }
    if (words[1] == "/dev/shm") {
      for (const std::string_view option : split(words[3], ',')) {
        const std::optional<double> size = option.rfind("size=", 0) == 0
                                               ? mebibytes(option.substr(5), 1.0 / (1024.0 * 1024))
                                               : std::nullopt;
        if (size) {
          put(facts, line, "shm.size", {{"mib", whole(*size)}, {"free_mib", whole(*size)}});
        }
      }
    }
    return true;
  }
};

/// /proc/cmdline, whole, or its options about devices and memory alone, as `busbw collect` keeps
/// them.
class CmdlineReader : public LineReader {
 public:
  [[nodiscard]] std::string kind() const override { return "/proc/cmdline"; }

  bool read(const SourceLine& line, FactStore& facts) override {
    const std::vector<std::string_view> words = split_blanks(line.bare);
    const bool whole = line.bare.rfind("BOOT_IMAGE=", 0) == 0 ||
                       line.bare.find(" root=") != kNone || line.bare.rfind("root=", 0) == 0;
    if (!whole && !only_options(words)) {
      return false;
    }
    std::string iommu = "default";
    bool translated = false;
    for (const std::string_view word : words) {
      if (word == "iommu=pt" || word == "iommu.passthrough=1") {
        iommu = "passthrough";
      } else if (word == "intel_iommu=off" || word == "amd_iommu=off" || word == "iommu=off") {
        iommu = "off";
      } else if (word.rfind("intel_iommu=on", 0) == 0 || word == "amd_iommu=on" ||
                 word == "iommu=force" || word == "iommu.passthrough=0") {
        translated = true;
      }
    }
    put(facts, line, "kernel.cmdline",
        {{"iommu", iommu == "default" && translated ? "on" : iommu}});
    return true;
  }

 private:
  /// Words as options are written, one of them of the kernel's on PCI, IOMMU or memory
  /// (kernel-parameters.txt).
  static bool only_options(const std::vector<std::string_view>& words) {
    static constexpr std::string_view kOptions[] = {
        "iommu=", "intel_iommu=",       "amd_iommu=",  "iommu.passthrough=", "iommu.strict=",
        "pci=",   "pcie_acs_override=", "pcie_aspm=",  "hugepages=",         "hugepagesz=",
        "numa=",  "numa_balancing=",    "mitigations="};
    bool known = false;
    for (const std::string_view word : words) {
      if (word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                 "_-.,:;=@/") != kNone) {
        return false;
      }
      known = known ||
              std::any_of(std::begin(kOptions), std::end(kOptions), [&](std::string_view option) {
                return word.substr(0, option.size()) == option;
              });
    }
    return known;
  }
};

class LscpuReader : public LineReader {
 public:
  [[nodiscard]] std::string kind() const override { return "lscpu"; }

  bool read(const SourceLine& line, FactStore& facts) override {
    std::string_view key;
    std::string_view value;
    if (!key_and_value(line.bare, key, value)) {
      return false;
    }
    if (key == "Socket(s)" || key == "NUMA node(s)") {
      if (!parse_integer(value)) {
        facts.note({line.file, line.number, 1},
                   std::string(key) + ": '" + quote(value) + "' is no number");
        return true;
      }
      put(facts, line, key == "Socket(s)" ? "lscpu.sockets" : "lscpu.numa",
          {{"value", std::string(value)}});
      return true;
    }
    if (key == "Model name") {
      put(facts, line, "lscpu.model", {{"value", std::string(value)}});
      return true;
    }
    return key == "Architecture" || key == "Thread(s) per core" || key == "Core(s) per socket" ||
           key == "On-line CPU(s) list" || (key.rfind("NUMA node", 0) == 0);
  }
};

}  // namespace

void add_host_readers(LineReaders& readers) {
  readers.push_back(std::make_unique<ModuleReader>());
  readers.push_back(std::make_unique<ModinfoReader>());
  readers.push_back(std::make_unique<LimitReader>());
  readers.push_back(std::make_unique<ShmReader>());
  readers.push_back(std::make_unique<CmdlineReader>());
  readers.push_back(std::make_unique<LscpuReader>());
}

}  // namespace busbw::facts
