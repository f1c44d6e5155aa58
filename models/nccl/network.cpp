// See network.h.
#include "models/nccl/network.h"

#include <fmt/format.h>

#include "models/nccl/reach.h"
#include "sim/core/text.h"

namespace busbw::nccl {
namespace {

constexpr std::size_t kMostSocketDevices = 16;
constexpr std::int64_t kUnknownSpeed = 10000;
constexpr Version kPluginList{2, 27, 0};
constexpr Version kOnlyWanted{2, 28, 9};  // plugins of another name are not initialised

const char* source_of(Version version) {
  return version < kPluginList ? "NCCL 2.18 to 2.26, src/net.cc"
                               : "NCCL 2.27 to 2.30, src/plugin/net.cc";
}
constexpr const char* kSocketSource = "NCCL 2.18 to 2.30, src/transport/net_socket.cc";

class Chooser {
 public:
  Chooser(const SelectionInput& input, const Inventory& host)
      : input_(input), host_(host), wanted_(text(input.environment, "NCCL_NET")) {}

  NetworkChoice run() {
    plugin_lines();
    if (wanted_)
      log("ENV", "NCCL_NET set by environment to " + *wanted_);
    for (const std::string& name : externals_) {
      if (refused(name))
        continue;
      log("INIT", "NET/Plugin: Loaded net plugin " + name);
      reason("external", fmt::format("the external plugin '{}' comes before IB and Socket and "
                                     "claims the job; its devices are its own",
                                     name));
      take(name);
      return std::move(result_);
    }
    if (try_ib() || try_socket())
      return std::move(result_);
    fail();
    return std::move(result_);
  }

 private:
  void log(const std::string& subsystem, std::string text) {
    result_.log.push_back({subsystem, false, std::move(text)});
  }
  void warn(std::string text) { result_.log.push_back({"INIT", true, std::move(text)}); }
  void reason(const std::string& rule, std::string text) {
    result_.reasons.push_back({"net." + rule, std::move(text), source_of(input_.version)});
  }
  template <class T>
  static void append(std::vector<T>& to, const std::vector<T>& from) {
    to.insert(to.end(), from.begin(), from.end());
  }

  void plugin_lines() {
    const std::optional<std::string> value = text(input_.environment, "NCCL_NET_PLUGIN");
    if (value && lower(*value) == "none") {
      if (!host_.external_plugins.empty())
        reason("plugin_none", "NCCL_NET_PLUGIN=none: external plugins are not loaded");
    } else {
      externals_ = host_.external_plugins;
    }
    if (!externals_.empty() || (value && input_.version >= kPluginList))
      return;
    const std::string library =
        value && !value->empty() ? "libnccl-net-" + *value + ".so" : "libnccl-net.so";
    const Version version = input_.version;
    if (version < Version{2, 19, 0}) {
      log("INIT", fmt::format("NET/Plugin : Plugin load ({0}) returned 2 : {0}: cannot open shared "
                              "object file: No such file or directory",
                              library));
      log("INIT", "NET/Plugin : No plugin found, using internal implementation");
    } else if (version < Version{2, 21, 0}) {
      log("INIT",
          fmt::format("NET/Plugin : dlerror={0}: cannot open shared object file: No such file or "
                      "directory No plugin found ({0}), using internal implementation",
                      library));
    } else if (version < Version{2, 22, 0}) {
      log("INIT", fmt::format("NET/Plugin: No plugin found ({})", library));
      log("INIT", "Using internal network plugin.");
    } else if (version < kPluginList) {
      log("INIT",
          fmt::format("NET/Plugin: Could not find: {}. Using internal network plugin.", library));
    } else {
      log("INIT", fmt::format("NET/Plugin: Could not find: {}", library));
    }
  }

  /// NCCL_NET names another network. Compared without regard to case; an empty value names none.
  [[nodiscard]] bool refused(const std::string& name) const {
    return wanted_ && lower(*wanted_) != lower(name);
  }

  /// The plugin is initialised at all: before 2.28.9 whatever its name.
  [[nodiscard]] bool initialised(const std::string& name) const {
    return !refused(name) || input_.version < kOnlyWanted;
  }

  void take(const std::string& name) {
    if (wanted_) {
      reason("wanted",
             fmt::format("NCCL_NET={} names this network (case does not count)", *wanted_));
    }
    if (input_.version >= kPluginList) {
      log("INIT", "Initialized NET plugin " + name);
      log("INIT", fmt::format("Assigned NET plugin {} to comm", name));
    }
    log("INIT", "Using network " + name);
    result_.network = name;
  }

  void not_taken(const std::string& name, bool usable) {
    if (usable) {
      reason("other_wanted",
             fmt::format("{} has devices, but NCCL_NET={} names another network", name, *wanted_));
    } else if (input_.version >= kPluginList) {
      log("INIT", "Failed to initialize NET plugin " + name);
    }
  }

  bool try_ib() {
    if (!initialised("IB")) {
      reason(
          "ib_not_tried",
          fmt::format("NCCL_NET={} names another network: IB is not initialised (from 2.28.9 on)",
                      *wanted_));
      return false;
    }
    IbDevices ib = find_ib_devices(input_, host_);
    append(result_.log, ib.log);
    append(result_.reasons, ib.reasons);
    if (!ib.usable || refused("IB")) {
      not_taken("IB", ib.usable);
      return false;
    }
    reason("ib", fmt::format("IB has {} device{} and comes before Socket", ib.devices.size(),
                             ib.devices.size() == 1 ? "" : "s"));
    result_.devices = ib.devices;
    result_.oob = ib.oob;
    take("IB");
    return true;
  }

  bool try_socket() {
    if (!initialised("Socket")) {
      reason("socket_not_tried",
             fmt::format(
                 "NCCL_NET={} names another network: Socket is not initialised (from 2.28.9 on)",
                 *wanted_));
      return false;
    }
    InterfaceSearch search = find_interfaces(input_, host_, {"socket", kMostSocketDevices});
    append(result_.log, search.log);
    append(result_.reasons, search.reasons);
    if (search.found.empty()) {
      warn("NET/Socket : no interface found");
      not_taken("Socket", false);
      return false;
    }
    std::string line = "NET/Socket : Using";
    for (std::size_t i = 0; i < search.found.size(); ++i)
      line += fmt::format(" [{}]{}", i, to_string(search.found[i]));
    log("INIT", line);
    if (refused("Socket")) {
      not_taken("Socket", true);
      return false;
    }
    result_.sockets = search.found;
    for (const ChosenInterface& chosen : search.found)
      add_socket_device(chosen);
    reason("socket",
           fmt::format("Socket takes every admitted interface as a device, up to {}: {} here",
                       kMostSocketDevices, search.found.size()));
    take("Socket");
    return true;
  }

  void add_socket_device(const ChosenInterface& chosen) {
    const Interface& interface = host_.interfaces[chosen.position];
    NetDevice device;
    device.index = static_cast<int>(result_.devices.size());
    device.name = chosen.name;
    // The kernel reports no speed without carrier.
    const bool known = interface.up && interface.running && interface.speed_mbit.value_or(0) > 0;
    device.speed_mbit = known ? *interface.speed_mbit : kUnknownSpeed;
    if (!known) {
      log("NET",
          fmt::format("Could not get speed from /sys/class/net/{}/speed. Defaulting to 10 Gbps.",
                      chosen.name));
      result_.reasons.push_back(
          {"socket.speed_unknown",
           fmt::format("{} reports no speed: counted as {} Mb/s", chosen.name, kUnknownSpeed),
           kSocketSource});
    }
    const std::string way = sending_interface(host_, chosen.name);
    if (way != chosen.name && !chosen.address.ipv6) {
      result_.reasons.push_back(
          {"socket.kernel_route",
           fmt::format("{} and {} are in one subnet: the kernel sends by {}, whatever NCCL chose",
                       way, chosen.name, way),
           "Linux, net/ipv4/fib_trie.c: the first of equal routes"});
    }
    result_.devices.push_back(device);
  }

  void fail() {
    if (input_.version < kPluginList) {
      warn(fmt::format("Error: network {} not found.", wanted_.value_or("")));
    } else {
      warn("Failed to initialize any NET plugin");
    }
    reason("none",
           wanted_
               ? fmt::format("NCCL_NET={} allows no other network: an error instead of a fallback",
                             *wanted_)
               : std::string("no network plugin came up"));
  }

  const SelectionInput& input_;
  const Inventory& host_;
  std::optional<std::string> wanted_;
  std::vector<std::string> externals_;
  NetworkChoice result_;
};

}  // namespace

NetworkChoice choose_network(const SelectionInput& input, const Inventory& host) {
  return Chooser(input, host).run();
}

}  // namespace busbw::nccl
