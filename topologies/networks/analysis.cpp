// Pairs and shifts: see analysis.h.
#include "topologies/networks/analysis.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/core/check.h"
#include "topologies/networks/ways.h"

namespace busbw::networks {
namespace {

constexpr std::size_t kMostExamples = 20;
/// Ways that check_shifts follows at most: about a second of work.
constexpr std::int64_t kMostFlows = std::int64_t{1} << 21;

bool one_partition(const Subnet& subnet) {
  return std::all_of(subnet.endpoints.begin(), subnet.endpoints.end(), [&](const Endpoint& each) {
    return each.pkeys == subnet.endpoints.front().pkeys && share_partition(each, each);
  });
}

class PairChecker {
 public:
  PairChecker(const Subnet& subnet, const PortMap& map, const Lfts& lfts)
      : subnet_(subnet),
        map_(map),
        ways_(subnet, map, lfts),
        leaves_(leaves_of(subnet, map)),
        open_(one_partition(subnet)),
        weight_(subnet.switches.size()) {
    report_.loads.resize(2 * subnet.cables.size());
    for (std::size_t i = 0; i < subnet.endpoints.size(); i++) {
      no_loose_ends_ = no_loose_ends_ && map.of(EndpointId(static_cast<std::int32_t>(i)));
    }
  }

  PairReport run() {
    for (std::size_t i = 0; i < subnet_.endpoints.size(); i++) {
      check_target(EndpointId(static_cast<std::int32_t>(i)));
    }
    return std::move(report_);
  }

 private:
  [[nodiscard]] bool means_to_connect(EndpointId from, EndpointId to) const {
    return from != to && (open_ || share_partition(subnet_.at(from), subnet_.at(to)));
  }

  void check_target(EndpointId target) {
    const std::optional<Neighbour>& cable = map_.of(target);
    for (std::size_t i = 0; i < subnet_.endpoints.size(); i++) {  // those that have no cable
      const EndpointId from(static_cast<std::int32_t>(i));
      if ((!cable || !map_.of(from)) && means_to_connect(from, target)) {
        report_.pairs++;
        lost(from, target);
      }
      if (cable && open_ && no_loose_ends_) {
        break;
      }
    }
    if (!cable) {
      return;
    }
    const std::int32_t base = subnet_.at(target).lid.value();
    std::vector<bool> broken(leaves_.size(), false);
    for (std::int32_t k = (1 << subnet_.lmc) - 1; k >= 0; k--) {
      ways_.start(target, Lid(base + k));
      for (std::size_t i = 0; i < leaves_.size(); i++) {
        broken[i] = ways_.hops(leaves_[i]) == Ways::kBroken || broken[i];
      }
    }
    for (std::size_t i = 0; i < leaves_.size(); i++) {
      count_leaf(leaves_[i], target, broken[i]);
    }
    count_loads(target);
  }

  void count_leaf(SwitchId leaf, EndpointId target, bool broken) {
    const std::int32_t hops = ways_.hops(leaf);
    auto sources = static_cast<std::int64_t>(map_.endpoints_on(leaf).size());
    if (open_) {
      sources -= map_.of(target)->there.node == leaf.value() ? 1 : 0;
    } else {
      sources = std::count_if(map_.endpoints_on(leaf).begin(), map_.endpoints_on(leaf).end(),
                              [&](EndpointId from) { return means_to_connect(from, target); });
    }
    if (broken) {
      for (const EndpointId from : map_.endpoints_on(leaf)) {
        if (means_to_connect(from, target)) {
          lost(from, target);
        }
      }
    }
    report_.pairs += sources;
    if (hops != Ways::kBroken && sources > 0) {
      report_.hops[hops] += sources;
      weight_[leaf.index()] = sources;
    }
  }

  /// Sums the sources of each switch up towards the target.
  void count_loads(EndpointId target) {
    const std::vector<SwitchId>& order = ways_.order();
    for (std::size_t i = order.size(); i > 0; i--) {
      const SwitchId at = order[i - 1];
      const std::int64_t weight = weight_[at.index()];
      weight_[at.index()] = 0;
      const Neighbour* next = ways_.next(at);
      if (weight == 0) {
        continue;
      }
      CHECK(next != nullptr, "endpoint {}", target.value());
      report_.loads[channel_from(subnet_, at, *next)] += weight;
      if (next->there.at_switch) {
        weight_[static_cast<std::size_t>(next->there.node)] += weight;
      }
    }
  }

  void lost(EndpointId from, EndpointId to) {
    report_.unreachable++;
    if (report_.examples.size() < kMostExamples) {
      report_.examples.emplace_back(from, to);
    }
  }

  const Subnet& subnet_;
  const PortMap& map_;
  Ways ways_;
  std::vector<SwitchId> leaves_;
  bool open_;                         // all share one partition
  bool no_loose_ends_ = true;         // every endpoint has a cable
  std::vector<std::int64_t> weight_;  // [switch]: sources whose way comes by
  PairReport report_;
};

}  // namespace

std::string channel_name(const Subnet& subnet, Channel channel) {
  const Cable& cable = subnet.cables.at(channel / 2);
  const End& from = channel % 2 == 0 ? cable.a : cable.b;
  const End& to = channel % 2 == 0 ? cable.b : cable.a;
  const auto text = [&](const End& end) {
    return end.at_switch ? fmt::format("{}:{}", subnet.name_of(end), end.port)
                         : subnet.name_of(end);
  };
  return text(from) + " -> " + text(to);
}

PairReport check_pairs(const Subnet& subnet, const PortMap& map, const Lfts& lfts) {
  const Lfts none;  // ports in INIT carry nothing, whatever the tables say
  return PairChecker(subnet, map, subnet.hosts_init ? none : lfts).run();
}

std::vector<EndpointId> leaf_order(const Subnet& subnet, const PortMap& map) {
  std::vector<EndpointId> order;
  for (std::size_t i = 0; i < subnet.switches.size(); i++) {
    const std::vector<EndpointId>& on_leaf =
        map.endpoints_on(SwitchId(static_cast<std::int32_t>(i)));
    order.insert(order.end(), on_leaf.begin(), on_leaf.end());
  }
  return order;
}

ShiftReport check_shifts(const Subnet& subnet, const PortMap& map, const Lfts& lfts) {
  const std::vector<EndpointId> order = leaf_order(subnet, map);
  ShiftReport report;
  const auto count = static_cast<std::int64_t>(order.size());
  report.all_shifts = std::max<std::int64_t>(0, count - 1);
  if (report.all_shifts == 0) {
    return report;
  }
  const NextTable table(subnet, map);
  const std::int64_t budget = std::max<std::int64_t>(1, kMostFlows / count);
  const std::int64_t step = (report.all_shifts + budget - 1) / budget;
  constexpr std::size_t kPorts = 256;
  std::vector<std::int32_t> flows(subnet.switches.size() * kPorts);  // [switch][port]
  std::int64_t sum = 0;
  for (std::int64_t shift = 1; shift < count; shift += step) {
    std::fill(flows.begin(), flows.end(), 0);
    std::int64_t worst = 0;
    for (std::int64_t i = 0; i < count; i++) {
      const EndpointId target = order[static_cast<std::size_t>((i + shift) % count)];
      const Lid to = subnet.at(target).lid;
      SwitchId at(map.of(order[static_cast<std::size_t>(i)])->there.node);
      for (std::size_t steps = 0; steps <= subnet.switches.size(); steps++) {
        const std::uint8_t port = lfts.port(at, to);
        const std::int32_t there = table.at(at, port);
        if (there < 0) {
          break;
        }
        const std::size_t channel = at.index() * kPorts + port;
        worst = std::max<std::int64_t>(worst, ++flows[channel]);
        if (worst > report.worst_flows) {
          report.worst_flows = worst;
          report.worst_channel = channel_from(subnet, at, *map.at(at, port));
          report.worst_shift = shift;
        }
        at = SwitchId(there);
      }
    }
    report.shifts++;
    sum += std::max<std::int64_t>(1, worst);
    report.free_of_contention += worst <= 1 ? 1 : 0;
  }
  report.mean_of_worst = static_cast<double>(sum) / static_cast<double>(report.shifts);
  return report;
}

}  // namespace busbw::networks
