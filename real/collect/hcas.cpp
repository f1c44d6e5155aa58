// See hcas.h. Files: Linux Documentation/ABI/stable/sysfs-class-infiniband.
#include "real/collect/hcas.h"

#include <algorithm>

#include <fmt/format.h>

#include "real/collect/numbers.h"
#include "sim/core/text.h"

namespace busbw::real::collect {
namespace {

using facts::PrintedGid;
using facts::PrintedHca;
using facts::PrintedPort;

constexpr const char* kClass = "/sys/class/infiniband";
constexpr const char* kNoGid = "0000:0000:0000:0000:0000:0000:0000:0000";
constexpr std::size_t kMostGids = 1024;

/// "4: ACTIVE" -> 4 and "ACTIVE".
std::pair<int, std::string> numbered(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::optional<std::int64_t> number = decimal(trim(text.substr(0, colon)));
  if (colon == std::string::npos || !number)
    return {0, text};
  return {static_cast<int>(*number), std::string(trim(text.substr(colon + 1)))};
}

std::uint32_t small(const std::string& text) {
  return static_cast<std::uint32_t>(hexadecimal(text).value_or(0));
}

std::vector<PrintedGid> read_gids(const Root& root, const std::string& port) {
  std::vector<PrintedGid> gids;
  for (const std::string& name : root.names(port + "/gids")) {
    const std::optional<std::int64_t> index = decimal(name);
    const std::string gid = index ? root.line(fmt::format("{}/gids/{}", port, name)) : "";
    // A link-local GID without its interface's part is an empty entry, too.
    const bool empty =
        gid.empty() || gid == kNoGid || gid == "fe80:0000:0000:0000:0000:0000:0000:0000";
    if (empty || gids.size() >= kMostGids)
      continue;
    gids.push_back({static_cast<int>(*index), gid,
                    root.line(fmt::format("{}/gid_attrs/types/{}", port, name)),
                    root.line(fmt::format("{}/gid_attrs/ndevs/{}", port, name))});
  }
  std::sort(gids.begin(), gids.end(),
            [](const PrintedGid& a, const PrintedGid& b) { return a.index < b.index; });
  return gids;
}

/// The interface of a port: that of its GIDs, else (InfiniBand) that of the device with the port's
/// number.
std::string netdev_of(const Root& root, const std::string& hca, const PrintedPort& port) {
  for (const PrintedGid& gid : port.gids) {
    if (!gid.netdev.empty())
      return gid.netdev;
  }
  const std::string folder = fmt::format("{}/{}/device/net", kClass, hca);
  for (const std::string& name : root.names(folder)) {
    const std::string number = root.line(fmt::format("{}/{}/dev_port", folder, name));
    if (decimal(number).value_or(0) == port.number - 1)
      return name;
  }
  return "";
}

PrintedPort read_port(const Root& root, const std::string& hca, const std::string& number) {
  const std::string folder = fmt::format("{}/{}/ports/{}", kClass, hca, number);
  PrintedPort port;
  port.number = static_cast<int>(decimal(number).value_or(0));
  port.state = numbered(root.line(folder + "/state")).first;
  port.physical_state = numbered(root.line(folder + "/phys_state")).second;
  port.rate = root.line(folder + "/rate");
  port.base_lid = small(root.line(folder + "/lid"));
  port.lmc = small(root.line(folder + "/lid_mask_count"));
  port.sm_lid = small(root.line(folder + "/sm_lid"));
  port.capability_mask = small(root.line(folder + "/cap_mask"));
  port.link_layer = root.line(folder + "/link_layer");
  port.default_gid = root.line(folder + "/gids/0");
  constexpr std::size_t kGid = 39;  // letters
  if (port.default_gid.size() == kGid)
    port.guid = grouped(port.default_gid.substr(kGid / 2 + 1)).value_or(0);
  port.gids = read_gids(root, folder);
  port.netdev = netdev_of(root, hca, port);
  port.netdev_up = root.line("/sys/class/net/" + port.netdev + "/operstate") == "up";
  return port;
}

}  // namespace

std::vector<PrintedHca> read_hcas(const Root& root) {
  std::vector<PrintedHca> hcas;
  for (const std::string& name : root.names(kClass)) {
    const std::string folder = fmt::format("{}/{}", kClass, name);
    PrintedHca& hca = hcas.emplace_back();
    hca.name = name;
    hca.type = root.line(folder + "/hca_type");
    hca.firmware = root.line(folder + "/fw_ver");
    hca.hardware = root.line(folder + "/hw_rev");
    hca.board = root.line(folder + "/board_id");
    hca.node_guid = grouped(root.line(folder + "/node_guid")).value_or(0);
    hca.system_image_guid = grouped(root.line(folder + "/sys_image_guid")).value_or(0);
    hca.vendor = facts::verbs_vendor(small(root.line(folder + "/device/vendor")));
    hca.vendor_part = small(root.line(folder + "/device/device"));
    for (const std::string& port : root.names(folder + "/ports")) {
      if (decimal(port))
        hca.ports.push_back(read_port(root, name, port));
    }
    std::sort(hca.ports.begin(), hca.ports.end(),
              [](const PrintedPort& a, const PrintedPort& b) { return a.number < b.number; });
  }
  return hcas;
}

void add_verbs(std::vector<PrintedHca>& hcas, verbs::Api& api) {
  std::vector<std::string> listed;
  if (api.list_devices(listed) != 0)
    listed.clear();
  for (PrintedHca& hca : hcas) {
    verbs::ContextHandle context;
    hca.opens = std::find(listed.begin(), listed.end(), hca.name) != listed.end() &&
                api.open_device(hca.name, context) == 0;
    if (!hca.opens)
      continue;
    for (PrintedPort& port : hca.ports) {
      verbs::PortFacts facts;
      if (api.query_port(context, port.number, facts) == 0)
        port.active_mtu = facts.active_mtu;
    }
    static_cast<void>(api.close_device(context));
  }
}

std::string read_pkeys(const Root& root) {
  std::string text;
  for (const std::string& hca : root.names(kClass)) {
    for (const std::string& port : root.names(fmt::format("{}/{}/ports", kClass, hca))) {
      const std::string folder = fmt::format("{}/{}/ports/{}/pkeys", kClass, hca, port);
      for (const std::string& index : root.names(folder)) {
        const std::string key = root.line(fmt::format("{}/{}", folder, index));
        if (!key.empty() && key != "0x0000")
          text += fmt::format("{}/{}: {}\n", folder, index, key);
      }
    }
  }
  return text;
}

std::string device_of(const Root& root, const std::string& hca) {
  return root.target(fmt::format("{}/{}/device", kClass, hca));
}

}  // namespace busbw::real::collect
