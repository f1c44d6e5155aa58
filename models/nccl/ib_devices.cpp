// See ib_devices.h.
#include "models/nccl/ib_devices.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "models/nccl/name_filter.h"
#include "sim/core/text.h"

namespace busbw::nccl {
namespace {

constexpr Version kFusingInPlugin{2, 20, 0};
constexpr Version kFusingInTopology{2, 24, 0};
constexpr Version kPciOrder{2, 29, 7};
constexpr std::size_t kMostFusedByPlugin = 2;
constexpr std::size_t kMostFusedByTopology = 4;

/// Releases up to 2.18 hold 16 devices and as many filter items, later ones 32.
std::size_t device_limit(Version version) {
  return version < Version{2, 19, 0} ? 16 : 32;
}

const char* source_of(Version version) {
  return version < Version{2, 29, 0} ? "NCCL 2.18 to 2.28, src/transport/net_ib.cc"
                                     : "NCCL 2.29 and 2.30, src/transport/net_ib/init.cc";
}

/// One port that NCCL keeps.
struct KeptPort {
  const Hca* hca = nullptr;
  const HcaPort* port = nullptr;
  std::string card;  // PCI path with function (and VF) digits set to 0; empty: unknown
};

class Enumeration {
 public:
  Enumeration(const SelectionInput& input, const Inventory& host) : input_(input), host_(host) {}

  IbDevices run() {
    if (disabled() || !library())
      return std::move(result_);
    InterfaceSearch oob = find_interfaces(input_, host_, {"ib_oob", 1});
    append(result_.log, oob.log);
    append(result_.reasons, oob.reasons);
    if (oob.found.empty()) {
      warn("NET/IB : No IP interface found.");
      reason("no_ip_interface",
             "the IB plugin needs one IP interface for its exchange of addresses and finds none");
      return std::move(result_);
    }
    result_.oob = oob.found.front();
    collect_ports();
    sort_by_pci();
    if (ports_.empty()) {
      info("NET/IB : No device found.");
      return std::move(result_);
    }
    result_.usable = true;
    build_devices();
    return std::move(result_);
  }

 private:
  template <class T>
  static void append(std::vector<T>& to, const std::vector<T>& from) {
    to.insert(to.end(), from.begin(), from.end());
  }
  void reason(const std::string& rule, std::string text) {
    result_.reasons.push_back({"ib." + rule, std::move(text), source_of(input_.version)});
  }
  void info(std::string text) { result_.log.push_back({"INIT", false, std::move(text)}); }
  void warn(std::string text) { result_.log.push_back({"NET", true, std::move(text)}); }

  /// A numeric variable with NCCL's line about it.
  std::int64_t read(const std::string& name, std::int64_t fallback) {
    const std::int64_t value = numeric(input_.environment, name, fallback);
    const std::optional<std::string> raw = text(input_.environment, name);
    if (raw && !raw->empty()) {
      result_.log.push_back(
          {"ENV", false, fmt::format("{} set by environment to {}.", name, value)});
    }
    return value;
  }

  bool disabled() {
    const std::optional<std::string> raw = text(input_.environment, "NCCL_IB_DISABLE");
    const std::int64_t value = read("NCCL_IB_DISABLE", 0);
    if (value != 0) {
      reason("disabled",
             fmt::format("NCCL_IB_DISABLE={} is not 0: the IB plugin reports nothing", *raw));
      return true;
    }
    if (raw && !raw->empty() && raw->front() != '0') {
      reason(
          "disable_reads_as_0",
          fmt::format("NCCL_IB_DISABLE='{}' is no number and reads as 0: IB stays in play", *raw));
    }
    return false;
  }

  bool library() {
    if (host_.exposure.libibverbs)
      return true;
    info(input_.version < Version{2, 30, 0} ? "Failed to open libibverbs.so[.1]"
                                            : "Count not open libibverbs.so");
    reason("no_libibverbs", "libibverbs cannot be opened here: the IB plugin is out");
    return false;
  }

  /// Why the whole list of HCAs is empty, if it is.
  [[nodiscard]] std::optional<std::string> nothing_listed() const {
    if (host_.hcas.empty())
      return "the host shows no HCA";
    if (!host_.exposure.provider)
      return "libibverbs has no driver for the HCA (libmlx5 or the like is missing)";
    if (!host_.exposure.uverbs_devices)
      return "no /dev/infiniband/uverbs device is there or permitted";
    return std::nullopt;
  }

  void collect_ports() {
    const std::optional<std::string> wanted = text(input_.environment, "NCCL_IB_HCA");
    if (wanted)
      result_.log.push_back({"ENV", false, "NCCL_IB_HCA set to " + *wanted});
    const NameFilter filter(wanted.value_or(""), device_limit(input_.version));
    if (const auto why = nothing_listed()) {
      reason("no_device", *why + ": NET/IB finds no device");
      return;
    }
    for (const Hca& hca : host_.hcas) {
      for (const HcaPort& port : hca.ports) {
        if (ports_.size() == device_limit(input_.version))
          return;
        if (keep(hca, port, filter, wanted))
          ports_.push_back({&hca, &port, card_of(hca)});
      }
    }
  }

  bool keep(const Hca& hca, const HcaPort& port, const NameFilter& filter,
            const std::optional<std::string>& wanted) {
    const std::string name = fmt::format("{}:{}", hca.name, port.number);
    if (port.state != PortState::kActive) {
      reason("port_not_active",
             fmt::format("{} is {} (physical state {}); only ports in state Active are kept", name,
                         to_string(port.state), port.physical_state));
      return false;
    }
    if (port.link_layer == LinkLayer::kOther) {
      reason("link_layer", fmt::format("{} is neither InfiniBand nor Ethernet", name));
      return false;
    }
    if (!filter.admits(hca.name, port.number)) {
      reason("hca_filter", fmt::format("{} is refused: NCCL_IB_HCA={} admits {}", name, *wanted,
                                       filter.describe()));
      return false;
    }
    std::string text = fmt::format("{} is Active, link layer {}, {} Mb/s: kept", name,
                                   to_string(port.link_layer), port.speed_mbit);
    if (wanted)
      text += fmt::format("; NCCL_IB_HCA={} admits {}", *wanted, filter.describe());
    if (port.physical_state != "LinkUp") {
      text += fmt::format("; its physical state {} is not looked at", port.physical_state);
    }
    reason("port_kept", text);
    return true;
  }

  std::string card_of(const Hca& hca) {
    if (!host_.exposure.sysfs) {
      warn(fmt::format("Could not find real path of {} (/sys/class/infiniband/{}/device)", hca.name,
                       hca.name));
      reason(
          "no_pci_path",
          hca.name + ": /sys cannot be read, the device is kept without a place in the PCI tree");
      return "";
    }
    std::string path = hca.pci_path;
    if (path.size() < 4)
      return path;
    path.back() = '0';
    if (numeric(input_.environment, "NCCL_IB_MERGE_VFS", 1) != 0) {
      path[path.size() - 3] = '0';
      if (input_.version >= Version{2, 19, 0})
        path[path.size() - 4] = '0';
    }
    return path;
  }

  void sort_by_pci() {
    if (input_.version < kPciOrder ||
        numeric(input_.environment, "NCCL_IB_DEVICE_PCI_ORDER", 1) == 0)
      return;
    const auto key = [](const KeptPort& port) {
      const std::string& path = port.hca->pci_path;
      return std::make_tuple(path.empty(), path.substr(path.rfind('/') + 1));
    };
    const bool sorted =
        std::is_sorted(ports_.begin(), ports_.end(),
                       [&](const KeptPort& a, const KeptPort& b) { return key(a) < key(b); });
    std::stable_sort(ports_.begin(), ports_.end(),
                     [&](const KeptPort& a, const KeptPort& b) { return key(a) < key(b); });
    if (!sorted) {
      reason("pci_order",
             "from 2.29.7 on devices are numbered by PCI address, not in libibverbs order");
    }
  }

  void build_devices() {
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      NetDevice device;
      device.index = static_cast<int>(i);
      device.name = ports_[i].hca->name;
      device.port = ports_[i].port->number;
      device.speed_mbit = ports_[i].port->speed_mbit;
      device.gdr = host_.exposure.peer_memory;
      single_.push_back(device);
    }
    const std::vector<std::vector<std::size_t>> groups = fused_groups();
    std::vector<std::string> shown;
    if (input_.version >= kFusingInPlugin && input_.version < kFusingInTopology) {
      fuse_in_plugin(groups, shown);
    } else {
      for (std::size_t i = 0; i < ports_.size(); ++i)
        shown.push_back(shown_port(i));
      fuse_in_topology(groups);
    }
    show(shown);
  }

  [[nodiscard]] std::string shown_port(std::size_t i) const {
    return fmt::format("[{}]{}:{}/{}", i, single_[i].name, single_[i].port,
                       to_string(ports_[i].port->link_layer));
  }

  [[nodiscard]] bool same_card(std::size_t a, std::size_t b) const {
    return !ports_[a].card.empty() && ports_[a].card == ports_[b].card &&
           ports_[a].port->link_layer == ports_[b].port->link_layer &&
           (input_.version >= kFusingInTopology || ports_[a].hca->guid == ports_[b].hca->guid);
  }

  /// Ports joined into one device, each group in order of its first port; ports alone are groups of
  /// one.
  std::vector<std::vector<std::size_t>> fused_groups() {
    const bool in_topology = input_.version >= kFusingInTopology;
    bool fuse = input_.version >= kFusingInPlugin && read("NCCL_IB_MERGE_NICS", 1) != 0;
    std::vector<int> forced(ports_.size(), -1);
    if (in_topology && fuse) {
      const std::optional<std::string> level = text(input_.environment, "NCCL_NET_MERGE_LEVEL");
      if (level && *level == "LOC")
        fuse = false;
      if (level && *level != "LOC" && *level != "PORT") {
        reason("merge_level", fmt::format("NCCL_NET_MERGE_LEVEL={}: fusing beyond one card needs "
                                          "the PCI tree; ports of one card are fused",
                                          *level));
      }
      forced = forced_groups();
    }
    std::vector<std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      const std::size_t most = in_topology ? kMostFusedByTopology : kMostFusedByPlugin;
      const auto joins = [&](const std::vector<std::size_t>& group) {
        if (group.size() == most)
          return false;
        const std::size_t first = group.front();
        if (forced[i] >= 0 || forced[first] >= 0)
          return forced[i] == forced[first];
        return fuse && same_card(first, i);
      };
      const auto group = std::find_if(groups.begin(), groups.end(), joins);
      if (group == groups.end()) {
        groups.push_back({i});
      } else {
        group->push_back(i);
      }
    }
    return groups;
  }

  /// NCCL_NET_FORCE_MERGE: groups separated by ';', names by ','.
  std::vector<int> forced_groups() {
    std::vector<int> forced(ports_.size(), -1);
    const std::optional<std::string> value = text(input_.environment, "NCCL_NET_FORCE_MERGE");
    if (!value)
      return forced;
    int group = 0;
    for (const std::string_view names : split(*value, ';')) {
      for (const std::string_view name : split(names, ',')) {
        for (std::size_t i = 0; i < ports_.size(); ++i) {
          if (single_[i].name == name && forced[i] < 0)
            forced[i] = group;
        }
      }
      ++group;
    }
    return forced;
  }

  NetDevice fuse(const std::vector<std::size_t>& group) {
    NetDevice device = single_[group.front()];
    for (std::size_t i = 1; i < group.size(); ++i) {
      device.name += "+" + single_[group[i]].name;
      device.speed_mbit += single_[group[i]].speed_mbit;
    }
    if (group.size() > 1) {
      reason("fused", fmt::format("{} are ports of one card and become one device of {} Mb/s",
                                  device.name, device.speed_mbit));
    }
    return device;
  }

  void fuse_in_plugin(const std::vector<std::vector<std::size_t>>& groups,
                      std::vector<std::string>& shown) {
    for (const std::vector<std::size_t>& group : groups) {
      NetDevice device = fuse(group);
      device.index = static_cast<int>(result_.devices.size());
      if (group.size() == 1) {
        shown.push_back(fmt::format("[{}]{}:{}/{}", device.index, device.name, device.port,
                                    to_string(ports_[group.front()].port->link_layer)));
      } else {
        std::vector<std::string> parts;
        for (std::size_t i = 0; i < group.size(); ++i) {
          parts.push_back(fmt::format("[{}] {}:{}/{}", i, single_[group[i]].name,
                                      single_[group[i]].port,
                                      to_string(ports_[group[i]].port->link_layer)));
        }
        shown.push_back(fmt::format("[{}]={{{}}}", device.index, join(parts, ", ")));
      }
      result_.devices.push_back(device);
    }
  }

  /// Single ports keep their numbers; fused devices are numbered after all of them.
  void fuse_in_topology(const std::vector<std::vector<std::size_t>>& groups) {
    int next = static_cast<int>(ports_.size());
    std::vector<NetDevice> fused;
    for (const std::vector<std::size_t>& group : groups) {
      NetDevice device = fuse(group);
      if (group.size() == 1) {
        result_.devices.push_back(device);
        continue;
      }
      device.index = next++;
      fused.push_back(device);
    }
    for (const NetDevice& device : fused)
      result_.devices.push_back(device);
  }

  void show(const std::vector<std::string>& shown) {
    const bool relaxed = numeric(input_.environment, "NCCL_IB_PCI_RELAXED_ORDERING", 2) != 0;
    info(fmt::format("NET/IB : Using {} {}; OOB {}", join(shown, " "), relaxed ? "[RO]" : "",
                     to_string(*result_.oob)));
    if (!host_.exposure.peer_memory) {
      reason("no_gdr", "no peer-memory module and no DMA-BUF: GPU data is staged in host memory");
      return;
    }
    for (const NetDevice& device : result_.devices) {
      result_.log.push_back({"NET", false,
                             fmt::format("NET/IB : GPU Direct RDMA Enabled for HCA {} '{}'",
                                         device.index, device.name)});
    }
  }

  const SelectionInput& input_;
  const Inventory& host_;
  IbDevices result_;
  std::vector<KeptPort> ports_;
  std::vector<NetDevice> single_;
};

}  // namespace

IbDevices find_ib_devices(const SelectionInput& input, const Inventory& host) {
  return Enumeration(input, host).run();
}

}  // namespace busbw::nccl
