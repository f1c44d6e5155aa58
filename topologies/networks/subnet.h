// One subnet: switches, HCA ports and the cables between them, as a subnet manager would find it.
//
// It is a plain value that builders make (build_fabric.h), imports read and exports write. What
// hangs where is in the cables; PortMap turns them round. Ids count from 0 in order of the vectors.
// An Ethernet network is a subnet too: its switches have LIDs here although nobody sends by them.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/ids.h"
#include "sim/core/units.h"

namespace busbw::networks {

using SwitchId = Id<struct SwitchTag>;
using EndpointId = Id<struct EndpointTag>;
using CableId = Id<struct CableTag>;
using Lid = Id<struct LidTag>;  // 0: none

/// InfiniBand Architecture Specification volume 1, 4.1.3: unicast LIDs are 1 to 0xBFFF.
constexpr std::int32_t kTopLid = 0xBFFF;

/// Logical state of a port. Down without a cable that works; Init before a subnet manager came;
/// Armed while it sets the port up; Active when data may pass.
enum class PortState { kDown, kInit, kArmed, kActive };
/// "DOWN", "INIT", "ARMED", "ACTIVE".
std::string to_string(PortState state);

enum class LinkLayer { kInfiniBand, kEthernet };

struct Switch {
  std::string name;   // unique among switches and hosts: "leaf0", "rail3/spine1"
  std::string model;  // catalogue name; may be empty
  std::uint64_t guid = 0;
  std::int32_t tier = 0;   // 0: leaf, 1: spine, 2: core
  std::int32_t ports = 0;  // numbered from 1
  Duration latency;        // port to port
  Lid lid;
};

/// A partition key as a port holds it: the low 15 bits name the partition, the top bit is set for
/// full members.
using Pkey = std::uint16_t;
constexpr Pkey kFullMember = 0x8000;
constexpr Pkey kDefaultPkey = 0xffff;

/// One port of an HCA or NIC.
struct Endpoint {
  std::string host;             // "node12"
  std::string hca;              // "mlx5_0", "HCA-1": of that host
  std::int32_t host_index = 0;  // in order of the fabric
  std::int32_t nic_index = 0;   // of that host, over all its ports in the fabric
  std::int32_t port = 1;        // of the HCA
  std::int32_t hca_ports = 1;
  std::uint64_t node_guid = 0;
  std::uint64_t port_guid = 0;
  Lid lid;  // the first of 2^lmc
  std::vector<Pkey> pkeys{kDefaultPkey};
  /// "node12/mlx5_0", with ":2" for later ports.
  [[nodiscard]] std::string name() const;
};

/// One end of a cable: a port of a switch, or an endpoint.
struct End {
  bool at_switch = false;
  std::int32_t node = 0;  // SwitchId or EndpointId
  std::int32_t port = 1;  // of the switch or HCA
  bool operator==(const End&) const = default;
};

struct Cable {
  End a;  // the end nearer to the hosts
  End b;
  Bandwidth rate;          // data rate of each direction
  std::int32_t lanes = 4;  // active width
  std::string speed;       // generation: "NDR"; empty: unknown
  std::string model;       // catalogue name; empty: unknown
  std::int64_t length_mm = 0;
  Duration latency;       // of the cable alone
  bool up = true;         // false: missing, pulled or broken
  std::int32_t tier = 0;  // 0: host to leaf, 1: leaf to spine, 2: spine to core or to other groups
};

struct Subnet {
  std::string name;  // "rail3", "plane0"; empty when the fabric has one subnet
  LinkLayer layer = LinkLayer::kInfiniBand;
  std::vector<Switch> switches;
  std::vector<Endpoint> endpoints;
  std::vector<Cable> cables;
  std::int32_t lmc = 0;  // each endpoint has 2^lmc LIDs
  bool managed = true;   // a subnet manager has set ports and tables, or Ethernet needs none
  /// It went down before the ports of the hosts came up: they stay in INIT.
  bool hosts_init = false;
  std::int32_t sl = 0;              // service level of every path
  std::vector<std::int32_t> sl2vl;  // [SL] -> VL, 16 entries as given; empty: VL 0 for all

  [[nodiscard]] const Switch& at(SwitchId id) const { return switches.at(id.index()); }
  [[nodiscard]] const Endpoint& at(EndpointId id) const { return endpoints.at(id.index()); }
  [[nodiscard]] const Cable& at(CableId id) const { return cables.at(id.index()); }
  /// Name of the node at a cable's end: a switch's, or an endpoint's name().
  [[nodiscard]] std::string name_of(const End& end) const;
  /// State of the port at an end of `cable`.
  [[nodiscard]] PortState state_of(const Cable& cable) const;
  /// The highest LID in use; 0 when none is.
  [[nodiscard]] Lid top_lid() const;
};

/// Gives switches and endpoints LIDs from 1 on: endpoints first, each 2^lmc aligned to it, then
/// switches. Nothing when they fit; else how many are missing.
std::optional<std::int64_t> assign_lids(Subnet& subnet);

/// Two P_Keys let packets pass: they name one partition, and one of them at least is a full
/// member's. Source: InfiniBand Architecture Specification volume 1, 10.9.3.
bool keys_match(Pkey a, Pkey b);
/// Two ports may talk when some key of one matches some key of the other.
bool share_partition(const Endpoint& a, const Endpoint& b);

/// States of the ports of all endpoints; DOWN without a cable.
std::vector<PortState> endpoint_states(const Subnet& subnet);

/// The other end of a port's cable.
struct Neighbour {
  std::int32_t port = 0;  // here
  End there;
  CableId cable;
};

/// Turns the cables of a subnet round: what is at each port. Only cables that are up. A cable
/// between two ports of one switch (loopback) is left out.
class PortMap {
 public:
  explicit PortMap(const Subnet& subnet);
  /// By port number.
  [[nodiscard]] const std::vector<Neighbour>& of(SwitchId id) const {
    return switches_[id.index()];
  }
  /// Nothing when the endpoint has no cable that is up, or is not on a switch.
  [[nodiscard]] const std::optional<Neighbour>& of(EndpointId id) const {
    return endpoints_[id.index()];
  }
  /// What is at port `port` of a switch; null when nothing is.
  [[nodiscard]] const Neighbour* at(SwitchId id, std::int32_t port) const;
  /// Endpoints on a switch by port number.
  [[nodiscard]] const std::vector<EndpointId>& endpoints_on(SwitchId id) const {
    return on_switch_[id.index()];
  }

 private:
  std::vector<std::vector<Neighbour>> switches_;
  std::vector<std::vector<std::int32_t>> by_port_;  // [switch][port] -> index in switches_, or -1
  std::vector<std::optional<Neighbour>> endpoints_;
  std::vector<std::vector<EndpointId>> on_switch_;
};

}  // namespace busbw::networks
