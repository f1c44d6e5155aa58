// What one host offers to NCCL: interfaces in kernel order, HCAs, what the container exposes.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/units.h"

namespace busbw::nccl {

/// An IPv4 or IPv6 address with its prefix length, as `ip addr` prints it ("10.0.0.1/24",
/// "fe80::1/64").
struct Address {
  std::string text;  // without the prefix length, canonical
  int prefix_length = 0;
  bool ipv6 = false;
  bool link_local = false;
  bool loopback = false;
  std::vector<std::uint8_t> bytes;   // 4 or 16, network order
  std::optional<std::string> scope;  // IPv6 zone (interface) of link-local addresses
};
/// Nothing if `text` is no address. A missing prefix length means 32 or 128.
std::optional<Address> parse_address(const std::string& text);
/// Both addresses are of one family and equal under the prefix length of `local`.
bool same_subnet(const Address& local, const Address& remote);
/// "10.0.0.1", "fe80::1%eth0", "[..]" never.
std::string to_string(const Address& address);

struct Interface {
  std::string name;
  std::vector<Address> addresses;  // in kernel order
  bool up = true;                  // IFF_UP
  bool running = true;             // IFF_RUNNING: carrier
  bool loopback = false;
  std::optional<std::int64_t>
      speed_mbit;  // /sys/class/net/IF/speed; nothing or <= 0: unknown (10000 for NCCL)
  std::optional<Bandwidth>
      wire_rate;  // what the wire really carries, when it differs (a shaped link)
  std::int64_t mtu = 1500;
  std::optional<std::string> pci_path;     // nothing: virtual (veth, bridge, bond)
  std::optional<std::int64_t> pci_vendor;  // 0x1d0f AWS, 0x1ae0 Google, 0x15b3 Mellanox
};

enum class PortState { kDown, kInit, kArmed, kActive };
enum class LinkLayer { kInfiniBand, kEthernet, kOther };
std::string to_string(
    PortState state);  // "Down", "Initializing", "Armed", "Active", as ibstat prints it
std::string to_string(LinkLayer layer);  // "IB", "RoCE", "other", as NCCL prints it

struct HcaPort {
  int number = 1;
  PortState state = PortState::kActive;
  std::string physical_state = "LinkUp";  // as ibstat prints it
  LinkLayer link_layer = LinkLayer::kInfiniBand;
  std::int64_t speed_mbit = 0;        // lane rate x lanes, as NCCL computes it
  std::optional<std::string> netdev;  // interface of the port, when known
};

struct Hca {
  std::string name;      // mlx5_0
  std::string model;     // "MT4123", empty if unknown
  std::string pci_path;  // empty if unknown
  std::uint64_t guid = 0;
  std::vector<HcaPort> ports;
};

/// What a container (or a bare host) lets NCCL see.
struct Exposure {
  bool libibverbs = true;      // the library can be opened
  bool provider = true;        // its driver for the HCA (libmlx5 ...)
  bool uverbs_devices = true;  // /dev/infiniband/uverbsN present and permitted
  bool sysfs = true;           // /sys readable
  bool peer_memory = true;     // nvidia-peermem or DMA-BUF: GPUDirect RDMA possible
};

struct Inventory {
  std::string host;                   // name, for messages
  std::vector<Interface> interfaces;  // kernel order; the position stands for the interface index
  std::vector<Hca> hcas;              // libibverbs order
  Exposure exposure;
  /// Addresses of foreign subnets leave by a gateway and get lost there; false: connect fails at
  /// once.
  bool default_route = true;
  std::vector<std::string>
      external_plugins;  // names of external net plugins that would claim the job; usually empty
};

}  // namespace busbw::nccl
