// Linear forwarding tables: which port each switch takes to each LID, and the way that follows.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "topologies/networks/subnet.h"

namespace busbw::networks {

/// The tables of all switches of a subnet. A port is 1 to 254; 0 is the switch itself.
class Lfts {
 public:
  static constexpr std::uint8_t kNone = 0xff;

  Lfts() = default;
  Lfts(std::size_t switches, Lid top)
      : switches_(switches), ports_((top.index() + 1) * switches, kNone) {}
  /// kNone also for a LID above all.
  [[nodiscard]] std::uint8_t port(SwitchId at, Lid to) const {
    const std::size_t place = to.index() * switches_ + at.index();
    return place < ports_.size() ? ports_[place] : kNone;
  }
  void set(SwitchId at, Lid to, std::uint8_t port) {
    ports_[to.index() * switches_ + at.index()] = port;
  }
  [[nodiscard]] bool empty() const { return ports_.empty(); }
  [[nodiscard]] std::size_t switches() const { return switches_; }
  [[nodiscard]] Lid top() const {
    return Lid(switches_ == 0 ? 0 : static_cast<std::int32_t>(ports_.size() / switches_) - 1);
  }
  bool operator==(const Lfts&) const = default;

 private:
  std::size_t switches_ = 0;
  std::vector<std::uint8_t> ports_;  // [LID][switch]: a walk to one LID stays in one row
};

/// One cable of a way, and in which direction: forward is from end a to end b.
struct Hop {
  CableId cable;
  bool forward = true;
  bool operator==(const Hop&) const = default;
};

/// A way from endpoint to endpoint, or why there is none.
struct Way {
  std::vector<Hop> hops;  // both host cables included
  std::string broken;     // empty when the way arrives: "no entry for LID 7 at 'leaf0'"
};

/// One of the LIDs of an endpoint.
struct Address {
  EndpointId endpoint;
  Lid lid;
};

/// Follows the tables from an endpoint to a LID of another. From an endpoint to itself the way is
/// empty.
Way follow(const Subnet& subnet, const PortMap& map, const Lfts& lfts, EndpointId from,
           const Address& to);

}  // namespace busbw::networks
