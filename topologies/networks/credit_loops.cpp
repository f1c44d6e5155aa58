// Credit loops: strong components of the graph of dependent channels, by Boost.Graph.
#include <algorithm>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/strong_components.hpp>

#include "topologies/networks/ways.h"

namespace busbw::networks {
namespace {

/// Channels that follow each other on some way, each pair once.
class Dependencies {
 public:
  Dependencies(const Subnet& subnet, const PortMap& map) : subnet_(subnet), map_(map) {
    for (const Switch& node : subnet.switches) {
      ports_ = std::max(ports_, static_cast<std::size_t>(node.ports) + 1);
    }
    seen_.resize(subnet.switches.size() * ports_ * ports_);
  }

  /// A packet goes from `at` by port `first` to switch `middle`, and on by port `second`.
  void add(SwitchId at, std::uint8_t first, SwitchId middle, std::uint8_t second) {
    const std::size_t bit = (at.index() * ports_ + first) * ports_ + second;
    if (!seen_[bit]) {
      seen_[bit] = true;
      edges_.emplace_back(channel_from(subnet_, at, *map_.at(at, first)),
                          channel_from(subnet_, middle, *map_.at(middle, second)));
    }
  }
  [[nodiscard]] std::vector<std::vector<Channel>> loops() const;

 private:
  const Subnet& subnet_;
  const PortMap& map_;
  std::size_t ports_ = 1;   // of the largest switch, with port 0
  std::vector<bool> seen_;  // [switch][its port][port of the next]
  std::vector<std::pair<Channel, Channel>> edges_;
};

std::vector<std::vector<Channel>> Dependencies::loops() const {
  using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;
  const std::size_t channels = 2 * subnet_.cables.size();
  const Graph graph(edges_.begin(), edges_.end(), channels);
  std::vector<std::size_t> component(channels);
  const std::size_t count = boost::strong_components(
      graph,
      boost::make_iterator_property_map(component.begin(), boost::get(boost::vertex_index, graph)));
  std::vector<std::vector<Channel>> members(count);
  for (Channel channel = 0; channel < channels; channel++) {
    members[component[channel]].push_back(channel);
  }
  std::vector<std::vector<Channel>> loops;
  for (std::vector<Channel>& each : members) {
    if (each.size() > 1) {
      loops.push_back(std::move(each));
    }
  }
  std::sort(loops.begin(), loops.end());
  return loops;
}

}  // namespace

std::vector<std::vector<Channel>> credit_loops(const Subnet& subnet, const PortMap& map,
                                               const Lfts& lfts) {
  Dependencies dependencies(subnet, map);
  const NextTable table(subnet, map);
  Ways ways(subnet, map, lfts);
  const std::vector<SwitchId> leaves = leaves_of(subnet, map);
  for (std::size_t i = 0; i < subnet.endpoints.size(); i++) {
    const EndpointId target(static_cast<std::int32_t>(i));
    if (!map.of(target)) {
      continue;
    }
    for (std::int32_t k = 0; k < 1 << subnet.lmc; k++) {
      const Lid to(subnet.at(target).lid.value() + k);
      ways.start(target, to);
      for (const SwitchId leaf : leaves) {
        ways.hops(leaf);
      }
      for (const SwitchId at : ways.order()) {
        const std::uint8_t first = lfts.port(at, to);
        const std::int32_t middle = table.at(at, first);
        if (middle < 0) {
          continue;
        }
        const std::uint8_t second = lfts.port(SwitchId(middle), to);
        if (table.at(SwitchId(middle), second) >= 0) {
          dependencies.add(at, first, SwitchId(middle), second);
        }
      }
    }
  }
  return dependencies.loops();
}

}  // namespace busbw::networks
