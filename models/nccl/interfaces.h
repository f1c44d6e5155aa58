// The search for IP interfaces that NCCL's bootstrap, IB plugin (out of band) and Socket plugin
// share.
//
// Kernel order: all IPv4 addresses in interface order, then all IPv6 ones, as Linux answers
// getifaddrs(). A name is taken once, with its first address. Source: NCCL 2.18 to 2.29
// src/misc/socket.cc, 2.30 src/os/linux.cc.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "models/nccl/selection.h"

namespace busbw::nccl {

/// An interface that NCCL took, with the address it will listen on. IPv6 link-local addresses carry
/// their zone.
struct ChosenInterface {
  std::size_t position = 0;  // in Inventory::interfaces
  std::string name;
  Address address;
};

/// "eth0:10.0.0.1<0>", as NCCL prints a chosen interface.
std::string to_string(const ChosenInterface& chosen);

struct InterfaceSearch {
  std::vector<ChosenInterface> found;
  std::vector<Reason> reasons;
  std::vector<LogLine> log;
};

/// Who asks: prefix of the rules ("bootstrap", "ib_oob", "socket") and how many interfaces it may
/// take.
struct SearchUser {
  std::string name;
  std::size_t most = 1;
};

/// The whole search: NCCL_SOCKET_IFNAME if set (two characters or more), else the stages. Nothing
/// found: `found` empty.
InterfaceSearch find_interfaces(const SelectionInput& input, const Inventory& host,
                                const SearchUser& user);

/// First interface in whose subnet `remote` lies (no test for carrier, family setting or name). The
/// zone of a link-local `remote` must name the interface; an address without a zone matches global
/// addresses only.
std::optional<ChosenInterface> match_subnet(const Inventory& host, const Address& remote);

/// NCCL_COMM_ID as NCCL parses it: an address, or the WARN lines it fails with.
struct CommId {
  std::optional<Address> address;
  std::vector<std::string> warnings;
  std::string note;  // why, when NCCL would have asked a name server
};
CommId parse_comm_id(const std::string& text);

/// The address belongs to the host (zone ignored).
bool owns_address(const Inventory& host, const Address& address);

}  // namespace busbw::nccl
