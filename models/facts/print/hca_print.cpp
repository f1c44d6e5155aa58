// See hca_print.h.
#include "models/facts/print/hca_print.h"

#include <array>

#include <fmt/format.h>

#include "sim/core/text.h"

namespace busbw::facts {
namespace {

/// A state's names in the tools, by its number.
struct StateNames {
  const char* ibstat;
  const char* sysfs;  // also of rdma link and, behind "PORT_", of ibv_devinfo
};
constexpr std::array<StateNames, 5> kStates = {{{"???", "NOP"},
                                                {"Down", "DOWN"},
                                                {"Initializing", "INIT"},
                                                {"Armed", "ARMED"},
                                                {"Active", "ACTIVE"}}};

const StateNames& names_of(const PrintedPort& port) {
  const auto state = static_cast<std::size_t>(port.state);
  return kStates.at(state < kStates.size() ? state : 0);
}

struct PhysicalNames {
  const char* ibstat;
  const char* rdma;
};
constexpr std::array<PhysicalNames, 8> kPhysical = {
    {{"No state change", "NOP"},
     {"Sleep", "SLEEP"},
     {"Polling", "POLLING"},
     {"Disabled", "DISABLED"},
     {"PortConfigurationTraining", "PORT_CONFIGURATION_TRAINING"},
     {"LinkUp", "LINK_UP"},
     {"LinkErrorRecovery", "LINK_ERROR_RECOVER"},
     {"PhyTest", "PHY_TEST"}}};

std::string infiniband_only(const PrintedPort& port) {
  return port.link_layer == "InfiniBand"
             ? fmt::format(" subnet_prefix fe80:0000:0000:0000 lid {} sm_lid {} lmc {}",
                           port.base_lid, port.sm_lid, port.lmc)
             : "";
}

std::string ibstat_rate(const PrintedPort& port) {
  const std::vector<std::string_view> words = split_blanks(port.rate);
  const std::string number = words.empty() ? "0" : std::string(words.front());
  return port.rate.find("FDR10)") == std::string::npos ? number : number + " (FDR10)";
}

/// The number that verbs give an MTU: 256 is 1, 4096 is 5.
int mtu_number(int bytes) {
  int number = 0;
  for (int size = 256; size <= bytes && size <= 4096; size *= 2) {
    ++number;
  }
  return number;
}

std::string ibstat_port(const PrintedPort& port) {
  std::string text = fmt::format("\tPort {}:\n", port.number);
  text += fmt::format("\t\tState: {}\n", names_of(port).ibstat);
  text += fmt::format("\t\tPhysical state: {}\n", port.physical_state);
  text += fmt::format("\t\tRate: {}\n", ibstat_rate(port));
  text += fmt::format("\t\tBase lid: {}\n\t\tLMC: {}\n\t\tSM lid: {}\n", port.base_lid, port.lmc,
                      port.sm_lid);
  text += fmt::format("\t\tCapability mask: 0x{:08x}\n", port.capability_mask);
  text += fmt::format("\t\tPort GUID: 0x{:016x}\n", port.guid);
  return text + fmt::format("\t\tLink layer: {}\n", port.link_layer);
}

std::string devinfo_port(const PrintedPort& port) {
  const bool known = port.link_layer == "InfiniBand" || port.link_layer == "Ethernet";
  std::string text = fmt::format("\t\tport:\t{}\n", port.number);
  text += fmt::format("\t\t\tstate:\t\t\tPORT_{} ({})\n", names_of(port).sysfs, port.state);
  text += fmt::format("\t\t\tmax_mtu:\t\t{} ({})\n", port.max_mtu, mtu_number(port.max_mtu));
  text +=
      fmt::format("\t\t\tactive_mtu:\t\t{} ({})\n", port.active_mtu, mtu_number(port.active_mtu));
  text += fmt::format("\t\t\tsm_lid:\t\t\t{}\n", port.sm_lid);
  text += fmt::format("\t\t\tport_lid:\t\t{}\n", port.base_lid);
  text += fmt::format("\t\t\tport_lmc:\t\t0x{:02x}\n", port.lmc);
  return text + fmt::format("\t\t\tlink_layer:\t\t{}\n\n", known ? port.link_layer : "Unspecified");
}

std::string devinfo(const PrintedHca& hca) {
  const bool verbs_link = hca.ports.empty() || hca.ports.front().link_layer != "Unknown";
  std::string text = fmt::format("hca_id:\t{}\n", hca.name);
  text += fmt::format("\ttransport:\t\t\t{}\n", verbs_link ? "InfiniBand (0)" : "unspecified (4)");
  if (!hca.firmware.empty()) {
    text += fmt::format("\tfw_ver:\t\t\t\t{}\n", hca.firmware);
  }
  text += fmt::format("\tnode_guid:\t\t\t{}\n", guid_groups(hca.node_guid));
  text += fmt::format("\tsys_image_guid:\t\t\t{}\n", guid_groups(hca.system_image_guid));
  text += fmt::format("\tvendor_id:\t\t\t0x{:04x}\n", hca.vendor);
  text += fmt::format("\tvendor_part_id:\t\t\t{}\n", hca.vendor_part);
  const std::string_view hardware = hca.hardware;
  text += fmt::format("\thw_ver:\t\t\t\t{}{}\n", hardware.starts_with("0x") ? "" : "0x", hardware);
  if (!hca.board.empty()) {
    text += fmt::format("\tboard_id:\t\t\t{}\n", hca.board);
  }
  text += fmt::format("\tphys_port_cnt:\t\t\t{}\n", hca.ports.size());
  for (const PrintedPort& port : hca.ports) {
    text += devinfo_port(port);
  }
  return text;
}

/// "0000:0000:0000:0000:0000:ffff:0a00:0001" -> "10.0.0.1"; "" for another GID.
std::string ipv4_of(const std::string& gid) {
  constexpr std::string_view kMapped = "0000:0000:0000:0000:0000:ffff:";
  if (!gid.starts_with(kMapped)) {
    return "";
  }
  std::vector<std::string> parts;
  std::uint32_t byte = 0;
  int digits = 0;
  for (const char c : gid.substr(kMapped.size())) {
    const std::size_t digit = std::string_view("0123456789abcdef").find(c);
    if (digit == std::string_view::npos) {
      continue;
    }
    byte = byte * 16 + static_cast<std::uint32_t>(digit);
    if (++digits % 2 == 0) {
      parts.push_back(std::to_string(byte));
      byte = 0;
    }
  }
  return join(parts, ".");
}

}  // namespace

std::string guid_groups(std::uint64_t guid) {
  return fmt::format("{:04x}:{:04x}:{:04x}:{:04x}", guid >> 48U, guid >> 32U & 0xffffU,
                     guid >> 16U & 0xffffU, guid & 0xffffU);
}

std::string link_local_gid(std::uint64_t guid) {
  return "fe80:0000:0000:0000:" + guid_groups(guid);
}

std::uint32_t verbs_vendor(std::uint32_t pci_vendor) {
  constexpr std::uint32_t kMellanoxPci = 0x15b3;
  constexpr std::uint32_t kMellanoxOui = 0x02c9;
  return pci_vendor == kMellanoxPci ? kMellanoxOui : pci_vendor;
}

std::optional<int> physical_state_number(const std::string& name) {
  for (std::size_t number = 0; number < kPhysical.size(); ++number) {
    if (lower(kPhysical.at(number).ibstat) == lower(name)) {
      return static_cast<int>(number);
    }
  }
  return std::nullopt;
}

std::string print_ibstat(const std::vector<PrintedHca>& hcas) {
  if (hcas.empty()) {
    return "ibpanic: [1] main: can't list IB device names: (No such file or directory)\n";
  }
  std::string text;
  for (const PrintedHca& hca : hcas) {
    text += fmt::format("CA '{}'\n\tCA type: {}\n", hca.name, hca.type);
    text += fmt::format("\tNumber of ports: {}\n", hca.ports.size());
    text += fmt::format("\tFirmware version: {}\n", hca.firmware);
    text += fmt::format("\tHardware version: {}\n", hca.hardware);
    text += fmt::format("\tNode GUID: 0x{:016x}\n", hca.node_guid);
    text += fmt::format("\tSystem image GUID: 0x{:016x}\n", hca.system_image_guid);
    for (const PrintedPort& port : hca.ports) {
      text += ibstat_port(port);
    }
  }
  return text;
}

std::string print_ibstatus(const std::vector<PrintedHca>& hcas) {
  if (hcas.empty()) {
    return "Fatal error:  No devices\n";
  }
  std::string text;
  for (const PrintedHca& hca : hcas) {
    for (const PrintedPort& port : hca.ports) {
      const std::optional<int> number = physical_state_number(port.physical_state);
      text += fmt::format("Infiniband device '{}' port {} status:\n", hca.name, port.number);
      text += fmt::format("\tdefault gid:\t {}\n", port.default_gid);
      text += fmt::format("\tbase lid:\t 0x{:x}\n", port.base_lid);
      text += fmt::format("\tsm lid:\t\t 0x{:x}\n", port.sm_lid);
      text += fmt::format("\tstate:\t\t {}: {}\n", port.state, names_of(port).sysfs);
      text += fmt::format("\tphys state:\t {}{}\n", number ? fmt::format("{}: ", *number) : "",
                          port.physical_state);
      text += fmt::format("\trate:\t\t {}\n", port.rate);
      text += fmt::format("\tlink_layer:\t {}\n\n", port.link_layer);
    }
  }
  return text;
}

std::string print_ibv_devinfo(const std::vector<PrintedHca>& hcas) {
  if (hcas.empty()) {
    return "No IB devices found\n";
  }
  std::string text;
  for (const PrintedHca& hca : hcas) {
    text += hca.opens ? devinfo(hca) : "Failed to open device\n";
  }
  return text;
}

std::string print_rdma_link(const std::vector<PrintedHca>& hcas) {
  std::string text;
  for (const PrintedHca& hca : hcas) {
    for (const PrintedPort& port : hca.ports) {
      const std::optional<int> number = physical_state_number(port.physical_state);
      text += fmt::format(
          "link {}/{}{} state {} physical_state {}", hca.name, port.number, infiniband_only(port),
          names_of(port).sysfs,
          number ? kPhysical.at(static_cast<std::size_t>(*number)).rdma : port.physical_state);
      text += port.netdev.empty() ? "\n" : fmt::format(" netdev {}\n", port.netdev);
    }
  }
  return text;
}

std::string print_ibdev2netdev(const std::vector<PrintedHca>& hcas) {
  std::string text;
  for (const PrintedHca& hca : hcas) {
    for (const PrintedPort& port : hca.ports) {
      if (!port.netdev.empty()) {
        text += fmt::format("{} port {} ==> {} ({})\n", hca.name, port.number, port.netdev,
                            port.netdev_up ? "Up" : "Down");
      }
    }
  }
  return text;
}

std::string print_show_gids(const std::vector<PrintedHca>& hcas) {
  std::string text =
      "DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4  \t\tVER\tDEV\n"
      "---\t----\t-----\t---\t\t\t\t\t------------  \t---\t---\n";
  std::size_t count = 0;
  for (const PrintedHca& hca : hcas) {
    for (const PrintedPort& port : hca.ports) {
      for (const PrintedGid& gid : port.gids) {
        const std::string address = ipv4_of(gid.gid);
        text += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\n", hca.name, port.number, gid.index,
                            gid.gid, address.empty() ? "\t" : address + "  ",
                            gid.type == "RoCE v2" ? "v2" : "v1", gid.netdev);
        ++count;
      }
    }
  }
  return text + fmt::format("n_gids_found={}\n", count);
}

}  // namespace busbw::facts
