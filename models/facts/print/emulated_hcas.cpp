// HCAs of an emulated host.
#include <algorithm>

#include <fmt/format.h>

#include "models/facts/print/emulated_hosts.h"

namespace busbw::facts {
namespace {

constexpr std::int64_t kMellanoxPci = 0x15b3;
constexpr std::uint32_t kCapabilities = 0x2651e848;  // of a ConnectX port on InfiniBand, no SM
constexpr std::uint32_t kEthernetCapabilities = 0x00010000;  // of a RoCE port
constexpr std::uint32_t kSubnetManager = 1;                  // its LID
constexpr std::uint32_t kLastUnicastLid = 0xbfff;
constexpr std::uint32_t kNoLid = 0xffff;  // of a port that no subnet manager has reached

/// What a lane of the generation counts for in the names of rates: signalling with 8b/10b, data in
/// whole Gb/s from FDR on. Source: Linux drivers/infiniband/core/sysfs.c, rate_show.
std::int64_t named_megabits(const topologies::InfiniBandRate& rate) {
  constexpr std::int64_t kMega = 1'000'000;
  constexpr std::int64_t kGiga = 1'000'000'000;
  if (rate.encoding == "8b/10b") {
    return rate.signalling.bps() / kMega;
  }
  return (rate.data.bps() + kGiga - 1) / kGiga * 1000;
}

/// " (4X EDR)"; "" where no width of a generation has that rate. SDR is not named.
std::string width_and_speed(std::int64_t megabits, const std::vector<std::int32_t>& widths,
                            const topologies::Catalog& catalog) {
  for (const std::int32_t width : widths) {
    for (const topologies::InfiniBandRate& rate : catalog.infiniband) {
      const bool has = std::find(rate.lanes.begin(), rate.lanes.end(), width) != rate.lanes.end();
      if (has && named_megabits(rate) * width == megabits) {
        return fmt::format(" ({}X{})", width, rate.name == "SDR" ? "" : " " + rate.name);
      }
    }
  }
  return "";
}

/// As sysfs has it: "100 Gb/sec (4X EDR)". Ethernet ports tell the lanes of their rate.
std::string rate_text(const nccl::HcaPort& port, const topologies::Catalog& catalog) {
  std::vector<std::int32_t> widths = {4, 1, 2, 8, 12};
  if (port.link_layer != nccl::LinkLayer::kInfiniBand) {
    for (const topologies::EthernetRate& rate : catalog.ethernet) {
      if (rate.rate == Bandwidth::megabits_per_second(port.speed_mbit)) {
        widths.insert(widths.begin(), rate.lanes);
      }
    }
  }
  return fmt::format("{} Gb/sec", static_cast<double>(port.speed_mbit) / 1000) +
         width_and_speed(port.speed_mbit, widths, catalog);
}

/// The MTU of RoCE packets: the largest that fits beside their headers. Source: Linux
/// include/rdma/ib_addr.h, iboe_get_mtu.
int roce_mtu(std::int64_t interface_mtu) {
  constexpr std::int64_t kHeaders = 40 + 8 + 12 + 4 + 28 + 4;  // GRH, UDP, BTH, XRC, atomics, CRC
  int mtu = 256;
  while (mtu < 4096 && std::int64_t{mtu} * 2 + kHeaders <= interface_mtu) {
    mtu *= 2;
  }
  return mtu;
}

std::string layer_text(nccl::LinkLayer layer) {
  switch (layer) {
    case nccl::LinkLayer::kInfiniBand:
      return "InfiniBand";
    case nccl::LinkLayer::kEthernet:
      return "Ethernet";
    case nccl::LinkLayer::kOther:
      break;
  }
  return "Unknown";
}

int state_number(nccl::PortState state) {
  switch (state) {
    case nccl::PortState::kDown:
      return 1;
    case nccl::PortState::kInit:
      return 2;
    case nccl::PortState::kArmed:
      return 3;
    case nccl::PortState::kActive:
      break;
  }
  return 4;
}

/// LIDs come from the subnet manager, which arms a port after it has given it one.
void set_lids(const nccl::HcaPort& port, std::uint32_t lid, PrintedPort& result) {
  if (port.link_layer != nccl::LinkLayer::kInfiniBand) {
    return;
  }
  const bool managed =
      port.state == nccl::PortState::kActive || port.state == nccl::PortState::kArmed;
  result.base_lid = managed ? lid : kNoLid;
  result.sm_lid = managed ? kSubnetManager : 0;
}

PrintedPort printed(const EmulatedHost& host, PortPlace place, std::uint32_t lid) {
  const nccl::HcaPort& port = host.inventory.hcas[place.hca].ports[place.port];
  const bool infiniband = port.link_layer == nccl::LinkLayer::kInfiniBand;
  PrintedPort result;
  result.number = port.number;
  result.state = state_number(port.state);
  result.physical_state = port.physical_state;
  result.rate = rate_text(port, host.catalog);
  set_lids(port, lid, result);
  result.capability_mask = infiniband ? kCapabilities : kEthernetCapabilities;
  result.guid = port_guid(host, place);
  result.link_layer = layer_text(port.link_layer);
  result.default_gid = link_local_gid(result.guid);
  result.active_mtu = result.max_mtu;
  if (const std::optional<std::size_t> position = interface_of(host, place)) {
    const nccl::Interface& interface = host.inventory.interfaces[*position];
    result.netdev = interface.name;
    result.netdev_up = interface.up;
    result.active_mtu = infiniband ? result.max_mtu : roce_mtu(interface.mtu);
  }
  return result;
}

/// The type that the driver tells: Mellanox devices have "MT" and their device id.
void set_model(const EmulatedHost& host, const nccl::Hca& hca, PrintedHca& result) {
  const topologies::NicModel* model = host.catalog.nic(hca.model);
  if (model == nullptr) {
    result.type = hca.model;
    return;
  }
  result.vendor_part = static_cast<std::uint32_t>(model->pci_device.value_or(0));
  result.vendor = verbs_vendor(static_cast<std::uint32_t>(model->pci_vendor.value_or(0)));
  if (model->pci_vendor == kMellanoxPci) {
    result.type = fmt::format("MT{}", result.vendor_part);
  }
}

}  // namespace

std::vector<PrintedHca> emulated_hcas(const EmulatedHost& host) {
  std::vector<PrintedHca> result;
  const nccl::Exposure& exposure = host.inventory.exposure;
  if (!exposure.sysfs) {
    return result;
  }
  std::uint32_t lid = host.first_lid;
  for (std::size_t index = 0; index < host.inventory.hcas.size(); ++index) {
    const nccl::Hca& hca = host.inventory.hcas[index];
    PrintedHca& printing = result.emplace_back();
    printing.name = hca.name;
    // Cards of several devices have one system image; their node GUIDs count on.
    printing.system_image_guid = hca.guid;
    printing.node_guid =
        hca.guid + static_cast<std::uint64_t>(std::count_if(
                       host.inventory.hcas.begin(),
                       host.inventory.hcas.begin() + static_cast<std::ptrdiff_t>(index),
                       [&](const nccl::Hca& earlier) { return earlier.guid == hca.guid; }));
    printing.opens = exposure.uverbs_devices && exposure.libibverbs && exposure.provider;
    set_model(host, hca, printing);
    for (std::size_t port = 0; port < hca.ports.size(); ++port) {
      // Above the last unicast LID another subnet begins.
      printing.ports.push_back(printed(host, {index, port}, (lid - 1) % kLastUnicastLid + 1));
      ++lid;
    }
  }
  return result;
}

}  // namespace busbw::facts
