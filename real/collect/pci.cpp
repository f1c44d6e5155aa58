// See pci.h. Registers: PCI Express Base Specification 5.0, 7.7.8 (access control services).
#include "real/collect/pci.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "real/collect/numbers.h"
#include "sim/core/text.h"

namespace busbw::real::collect {
namespace {

constexpr const char* kDevices = "/sys/bus/pci/devices/";
constexpr std::uint32_t kNvidia = 0x10de;

/// Base class of a device, as 0x03 of 0x030200.
std::uint32_t base_class(const PciDevice& device) {
  return device.device_class >> 16U;
}

bool matters(const PciDevice& device) {
  constexpr std::uint32_t kNetwork = 0x02;
  constexpr std::uint32_t kDisplay = 0x03;
  constexpr std::uint32_t kPciBridge = 0x0604;
  constexpr std::uint32_t kProcessing = 0x12;  // accelerators of other makers
  const std::uint32_t base = base_class(device);
  return base == kNetwork || base == kDisplay || base == kProcessing ||
         device.device_class >> 8U == kPciBridge || device.vendor == kNvidia;
}

const char* class_name(const PciDevice& device) {
  switch (device.device_class >> 8U) {
    case 0x0200:
      return "Ethernet controller";
    case 0x0207:
      return "Infiniband controller";
    case 0x0300:
      return "VGA compatible controller";
    case 0x0302:
      return "3D controller";
    case 0x0604:
      return "PCI bridge";
    case 0x0680:
      return "Bridge";
    case 0x1200:
      return "Processing accelerators";
    default:
      return "Device";
  }
}

std::uint32_t word_at(const std::string& bytes, std::size_t at, std::size_t count) {
  std::uint32_t value = 0;
  for (std::size_t i = count; i-- > 0;) {
    value = value << 8U | (at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0U);
  }
  return value;
}

/// The access control register; the kernel shows extended capabilities to root alone.
std::optional<std::uint32_t> read_acs(const std::string& config) {
  constexpr std::size_t kFirst = 0x100;
  constexpr std::uint32_t kAcs = 0x000d;
  std::size_t at = kFirst;
  for (int hops = 0; hops < 64 && at >= kFirst && at + 8 <= config.size(); ++hops) {
    const std::uint32_t header = word_at(config, at, 4);
    if ((header & 0xffffU) == kAcs)
      return word_at(config, at + 6, 2);
    at = header >> 20U;
  }
  return std::nullopt;
}

/// "/sys/devices/pci0000:17/0000:17:01.0/0000:18:00.0" -> the parts from the host bridge on.
std::vector<std::string> path_of(const std::string& target) {
  std::vector<std::string> path;
  for (const std::string_view part : split(target, '/')) {
    if (!path.empty() || part.starts_with("pci"))
      path.emplace_back(part);
  }
  return path;
}

PciDevice read_device(const Root& root, const std::string& address) {
  const std::string folder = kDevices + address;
  const auto number = [&](const char* file) {
    return static_cast<std::uint32_t>(hexadecimal(root.line(folder + file)).value_or(0));
  };
  PciDevice device;
  device.address = address;
  device.device_class = number("/class");
  device.vendor = number("/vendor");
  device.device = number("/device");
  if (!matters(device))
    return device;
  device.speed = root.line(folder + "/current_link_speed");
  device.width = root.line(folder + "/current_link_width");
  device.most_speed = root.line(folder + "/max_link_speed");
  device.most_width = root.line(folder + "/max_link_width");
  device.numa = root.line(folder + "/numa_node");
  device.cpus = root.line(folder + "/local_cpulist");
  device.path = path_of(root.target(folder));
  constexpr std::size_t kConfiguration = 4096;
  device.acs = read_acs(root.text(folder + "/config", kConfiguration).value_or(""));
  return device;
}

/// "16.0 GT/s PCIe" -> "16GT/s", as lspci prints it.
std::string speed_text(const std::string& sysfs) {
  const std::vector<std::string_view> words = split_blanks(sysfs);
  std::string number = words.empty() ? "unknown" : std::string(words.front());
  if (number.ends_with(".0"))
    number.resize(number.size() - 2);
  return number + "GT/s";
}

std::string acs_text(std::uint32_t control) {
  static constexpr std::array<const char*, 7> kBits = {
      "SrcValid", "TransBlk", "ReqRedir", "CmpltRedir", "UpstreamFwd", "EgressCtrl", "DirectTrans"};
  std::string text = "\t\tACSCtl:";
  for (std::size_t bit = 0; bit < kBits.size(); ++bit)
    text += fmt::format(" {}{}", kBits.at(bit), (control >> bit & 1U) != 0 ? "+" : "-");
  return text + "\n";
}

}  // namespace

std::vector<PciDevice> read_pci(const Root& root) {
  std::vector<PciDevice> devices;
  for (const std::string& address : root.names("/sys/bus/pci/devices")) {
    PciDevice device = read_device(root, address);
    if (matters(device))
      devices.push_back(std::move(device));
  }
  return devices;
}

std::string print_lspci(const std::vector<PciDevice>& devices) {
  std::string text;
  for (const PciDevice& device : devices) {
    const bool first_domain = device.address.starts_with("0000:");
    text += fmt::format("{} {}: Device {:04x}:{:04x}\n",
                        first_domain ? device.address.substr(5) : device.address,
                        class_name(device), device.vendor, device.device);
    if (!device.numa.empty() && device.numa != "-1")
      text += fmt::format("\tNUMA node: {}\n", device.numa);
    const bool link = !device.speed.empty() && device.width != "0" && !device.width.empty();
    if (link) {
      text += fmt::format("\t\tLnkCap:\tSpeed {}, Width x{}\n", speed_text(device.most_speed),
                          device.most_width);
      text += fmt::format("\t\tLnkSta:\tSpeed {}{}, Width x{}{}\n", speed_text(device.speed),
                          device.speed == device.most_speed ? "" : " (downgraded)", device.width,
                          device.width == device.most_width ? "" : " (downgraded)");
    }
    if (device.acs)
      text += acs_text(*device.acs);
    text += "\n";
  }
  return text;
}

facts::TopoLink pci_distance(const PciDevice& a, const PciDevice& b) {
  std::size_t common = 0;
  while (common < a.path.size() && common < b.path.size() && a.path[common] == b.path[common])
    ++common;
  if (common == 0) {
    // Of two host bridges; in a virtual machine the NUMA node may not be known.
    return a.numa == b.numa ? facts::TopoLink::kNode : facts::TopoLink::kSys;
  }
  if (common == 1)
    return facts::TopoLink::kPhb;
  // A switch is two bridges deep: its upstream port is common, a downstream port each is not.
  constexpr std::size_t kOneSwitch = 2;
  const std::size_t below = std::max(a.path.size(), b.path.size()) - common;
  return below <= kOneSwitch ? facts::TopoLink::kPix : facts::TopoLink::kPxb;
}

}  // namespace busbw::real::collect
