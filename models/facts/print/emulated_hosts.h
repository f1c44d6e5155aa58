// Internal to this folder: what interfaces and HCAs of an emulated host have in common.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>

#include "models/facts/print/emulated.h"

namespace busbw::facts {

/// A port of an HCA by its place in the inventory.
struct PortPlace {
  std::size_t hca = 0;
  std::size_t port = 0;
};

/// The HCA port behind an interface: by the port's netdev, else by the machine's NIC of that name.
std::optional<PortPlace> port_behind(const EmulatedHost& host, const nccl::Interface& interface);
/// The interface of an HCA port (its position); nothing: it has none.
std::optional<std::size_t> interface_of(const EmulatedHost& host, PortPlace place);

/// 48 bits, locally administered: host number and position of the interface.
std::uint64_t hardware_address(const EmulatedHost& host, std::size_t interface);

/// Of InfiniBand the HCA's GUID, counted on from port to port; else EUI-64 of the interface.
std::uint64_t port_guid(const EmulatedHost& host, PortPlace place);

}  // namespace busbw::facts
