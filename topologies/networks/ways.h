// Internal to networks: the ways that tables give to one LID, found once for each switch.
#pragma once
#include <algorithm>
#include <vector>

#include "topologies/networks/analysis.h"

namespace busbw::networks {

/// The channel of `cable` that starts at its end `from`.
inline Channel channel_from(const Subnet& subnet, CableId cable, const End& from) {
  return 2 * cable.index() + (subnet.at(cable).a == from ? 0 : 1);
}

/// The channel by which `at` sends to `next`.
inline Channel channel_from(const Subnet& subnet, SwitchId at, const Neighbour& next) {
  return channel_from(subnet, next.cable, {true, at.value(), next.port});
}

/// What is at each port of each switch, as numbers close together: most of the time of a check is
/// spent on looking this up.
class NextTable {
 public:
  static constexpr std::int32_t kNothing = -1;

  NextTable(const Subnet& subnet, const PortMap& map)
      : next_(subnet.switches.size() * kStride, kNothing) {
    for (std::size_t i = 0; i < subnet.switches.size(); i++) {
      for (const Neighbour& each : map.of(SwitchId(static_cast<std::int32_t>(i)))) {
        next_[i * kStride + static_cast<std::size_t>(each.port)] =
            each.there.at_switch ? each.there.node : of_endpoint(each.there.node);
      }
    }
  }
  /// A switch from 0 on, of_endpoint() of one, or kNothing; also for a port that no table has.
  [[nodiscard]] std::int32_t at(SwitchId from, std::uint8_t port) const {
    return next_[from.index() * kStride + port];
  }
  static std::int32_t of_endpoint(std::int32_t endpoint) { return -2 - endpoint; }

 private:
  static constexpr std::size_t kStride = 256;
  std::vector<std::int32_t> next_;  // [switch][port]
};

/// The ways of all switches to one LID, found once each.
class Ways {
 public:
  static constexpr std::int32_t kBroken = -1;

  Ways(const Subnet& subnet, const PortMap& map, const Lfts& lfts)
      : map_(map), lfts_(lfts), table_(subnet, map), hops_(subnet.switches.size()) {}

  void start(EndpointId target, Lid to) {
    std::fill(hops_.begin(), hops_.end(), kUnknown);
    order_.clear();
    target_ = target;
    to_ = to;
  }
  /// Where `at` sends on; null when nowhere.
  [[nodiscard]] const Neighbour* next(SwitchId at) const {
    const std::uint8_t port = lfts_.port(at, to_);
    return port == Lfts::kNone ? nullptr : map_.at(at, port);
  }
  /// Cables between switches from `at` on; kBroken when the way does not arrive.
  std::int32_t hops(SwitchId at) {
    stack_.clear();
    while (hops_[at.index()] == kUnknown) {
      const std::int32_t there = table_.at(at, lfts_.port(at, to_));
      if (there < 0) {
        settle(at, there == NextTable::of_endpoint(target_.value()) ? 0 : kBroken);
        break;
      }
      hops_[at.index()] = kOnTheWay;
      stack_.push_back(at);
      at = SwitchId(there);
    }
    std::int32_t known = hops_[at.index()] == kOnTheWay ? kBroken : hops_[at.index()];
    for (; !stack_.empty(); stack_.pop_back()) {
      known = known == kBroken ? kBroken : known + 1;
      settle(stack_.back(), known);
    }
    return known;
  }
  /// Switches whose way is known and arrives, nearer ones before those that go by them.
  [[nodiscard]] const std::vector<SwitchId>& order() const { return order_; }

 private:
  static constexpr std::int32_t kUnknown = -2;
  static constexpr std::int32_t kOnTheWay = -3;

  void settle(SwitchId at, std::int32_t hops) {
    hops_[at.index()] = hops;
    if (hops != kBroken) {
      order_.push_back(at);
    }
  }

  const PortMap& map_;
  const Lfts& lfts_;
  NextTable table_;
  std::vector<std::int32_t> hops_;
  std::vector<SwitchId> order_;
  std::vector<SwitchId> stack_;
  EndpointId target_;
  Lid to_;
};

/// Switches with endpoints on them.
inline std::vector<SwitchId> leaves_of(const Subnet& subnet, const PortMap& map) {
  std::vector<SwitchId> leaves;
  for (std::size_t i = 0; i < subnet.switches.size(); i++) {
    const SwitchId at(static_cast<std::int32_t>(i));
    if (!map.endpoints_on(at).empty()) {
      leaves.push_back(at);
    }
  }
  return leaves;
}

}  // namespace busbw::networks
