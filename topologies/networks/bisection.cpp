// What a subnet carries from half to half (max-flow by Boost.Graph), and the rates of its tiers.
#include <algorithm>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>

#include "topologies/networks/analysis.h"

namespace busbw::networks {
namespace {

using FlowTraits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
struct FlowEdge {
  std::int64_t capacity = 0;
  std::int64_t residual = 0;
  FlowTraits::edge_descriptor reverse;
};
using FlowGraph =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, FlowEdge>;

/// An edge from one vertex to another, with the reverse of no capacity that the algorithm wants:
/// Boost takes an edge as carrying flow back only where its capacity is 0, so a cable, which
/// carries both ways, is two such pairs.
void add_flow(FlowGraph& graph, std::size_t from, std::size_t to, std::int64_t capacity) {
  const auto forward = boost::add_edge(from, to, graph).first;
  const auto backward = boost::add_edge(to, from, graph).first;
  graph[forward].capacity = capacity;
  graph[forward].reverse = backward;
  graph[backward].reverse = forward;
}

/// Vertices from which the sink can still be reached over edges with something left.
std::vector<bool> sink_side(const FlowGraph& graph, std::size_t sink) {
  std::vector<bool> reaches(boost::num_vertices(graph), false);
  std::vector<std::size_t> stack{sink};
  reaches[sink] = true;
  while (!stack.empty()) {
    const std::size_t at = stack.back();
    stack.pop_back();
    const auto [first, last] = boost::out_edges(at, graph);
    for (auto edge = first; edge != last; ++edge) {
      const std::size_t from = boost::target(*edge, graph);
      if (graph[graph[*edge].reverse].residual > 0 && !reaches[from]) {
        reaches[from] = true;
        stack.push_back(from);
      }
    }
  }
  return reaches;
}

}  // namespace

Bisection bisect(const Subnet& subnet, std::int32_t hosts) {
  const std::size_t switches = subnet.switches.size();
  const std::size_t source = switches;
  const std::size_t sink = switches + 1;
  const auto side = [&](const Endpoint& endpoint) {
    return endpoint.host_index < hosts / 2 ? source : sink;
  };
  std::map<std::pair<std::size_t, std::size_t>, std::int64_t> rates;
  const auto vertex = [&](const End& end) {
    return end.at_switch ? static_cast<std::size_t>(end.node)
                         : side(subnet.at(EndpointId(end.node)));
  };
  for (const Cable& cable : subnet.cables) {
    const std::size_t a = vertex(cable.a);
    const std::size_t b = vertex(cable.b);
    if (cable.up && a != b) {
      rates[std::minmax(a, b)] += cable.rate.bps();
    }
  }
  FlowGraph graph(switches + 2);
  for (const auto& [ends, rate] : rates) {
    add_flow(graph, ends.first, ends.second, rate);
    add_flow(graph, ends.second, ends.first, rate);
  }
  Bisection result;
  result.rate = Bandwidth::bits_per_second(boost::push_relabel_max_flow(
      graph, source, sink, boost::get(&FlowEdge::capacity, graph),
      boost::get(&FlowEdge::residual, graph), boost::get(&FlowEdge::reverse, graph),
      boost::get(boost::vertex_index, graph)));
  const std::vector<bool> far = sink_side(graph, sink);
  Bandwidth first;
  Bandwidth second;
  for (std::size_t i = 0; i < subnet.cables.size(); i++) {
    const Cable& cable = subnet.cables[i];
    if (cable.up && far[vertex(cable.a)] != far[vertex(cable.b)]) {
      result.cut.emplace_back(static_cast<std::int32_t>(i));
    }
    if (cable.up && !cable.a.at_switch) {
      Bandwidth& half = vertex(cable.a) == source ? first : second;
      half = half + cable.rate;
    }
  }
  result.edge = std::min(first, second);
  return result;
}

std::vector<TierRates> tier_rates(const Subnet& subnet, const PortMap& map) {
  std::map<std::int32_t, TierRates> tiers;
  for (std::size_t i = 0; i < subnet.switches.size(); i++) {
    const SwitchId at(static_cast<std::int32_t>(i));
    const std::int32_t tier = subnet.at(at).tier;
    Bandwidth down;
    Bandwidth up;
    for (const Neighbour& neighbour : map.of(at)) {
      const Bandwidth rate = subnet.at(neighbour.cable).rate;
      const bool below =
          !neighbour.there.at_switch || subnet.at(SwitchId(neighbour.there.node)).tier < tier;
      (below ? down : up) = (below ? down : up) + rate;
    }
    TierRates& rates = tiers[tier];
    rates.tier = tier;
    rates.switches++;
    rates.down = rates.down + down;
    rates.up = rates.up + up;
    if (up > Bandwidth()) {
      rates.worst =
          std::max(rates.worst, static_cast<double>(down.bps()) / static_cast<double>(up.bps()));
    }
  }
  std::vector<TierRates> result;
  result.reserve(tiers.size());
  for (const auto& [tier, rates] : tiers) {
    result.push_back(rates);
  }
  return result;
}

}  // namespace busbw::networks
