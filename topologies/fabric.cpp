// The fabric graph on boost::adjacency_list, and its routes.
//
// Vertex and edge numbers are the ids of the header: nodes and links are never removed, so vecS
// keeps them dense, and out-edges stay in order of creation. Routes are found backwards from the
// target: a breadth-first search gives each node's number of links to the target, its visiting
// order lets one pass compute the widest way on, and a walk forward takes the lowest link that
// keeps both.
#include "topologies/fabric.h"

#include <algorithm>
#include <limits>
#include <map>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/filtered_graph.hpp>
#include <boost/graph/reverse_graph.hpp>
#include <fmt/format.h>

#include "sim/core/check.h"
#include "sim/core/quantity.h"

namespace busbw::topologies {
namespace {

struct EdgeLink {
  LinkId id;
};
using BoostGraph =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS, Node, EdgeLink>;
using Vertex = boost::graph_traits<BoostGraph>::vertex_descriptor;
using Edge = boost::graph_traits<BoostGraph>::edge_descriptor;

Vertex vertex_of(NodeId id) {
  return static_cast<Vertex>(id.value());
}

/// Network rates in bits, rates inside a host in bytes a second, as the field quotes them.
std::string rate_text(LinkKind kind, Bandwidth rate) {
  return kind == LinkKind::kNetwork ? to_string(rate)
                                    : fmt::format("{:.6g} GB/s", rate.as_gigabytes_per_second());
}

constexpr std::size_t kFar = std::numeric_limits<std::size_t>::max();

/// Graph predicates as small values: Boost copies them with every iterator, and a copied
/// std::function may allocate.
struct AdmitNode {
  const BoostGraph* graph = nullptr;
  const RouteFilter* filter = nullptr;
  Vertex from = 0;
  Vertex to = 0;
  bool operator()(Vertex vertex) const {
    return vertex == from || vertex == to || !filter->through || filter->through((*graph)[vertex]);
  }
};
struct AdmitLink {
  const BoostGraph* graph = nullptr;
  const RouteFilter* filter = nullptr;
  const std::vector<Link>* links = nullptr;
  bool operator()(Edge edge) const {
    const Link& candidate = (*links)[(*graph)[edge].id.index()];
    return candidate.capacity > Bandwidth() && (!filter->link || filter->link(candidate));
  }
};

/// Nodes reachable backwards from the target in order of discovery, with their number of links to
/// it.
class DistanceVisitor : public boost::default_bfs_visitor {
 public:
  DistanceVisitor(std::vector<std::size_t>& distance, std::vector<Vertex>& order)
      : distance_(&distance), order_(&order) {}
  template <class G>
  void discover_vertex(Vertex vertex, const G& /*graph*/) {
    order_->push_back(vertex);
  }
  template <class E, class G>
  void tree_edge(E edge, const G& graph) {
    (*distance_)[target(edge, graph)] = (*distance_)[source(edge, graph)] + 1;
  }

 private:
  std::vector<std::size_t>* distance_;
  std::vector<Vertex>* order_;
};

}  // namespace

struct Fabric::Graph {
  BoostGraph graph;
  std::vector<Link> links;
  std::map<std::string, NodeId> by_name;
};

std::string to_string(NodeKind kind) {
  switch (kind) {
    case NodeKind::kGpu:
      return "GPU";
    case NodeKind::kNvSwitch:
      return "NVSwitch";
    case NodeKind::kPciSwitch:
      return "PCIe switch";
    case NodeKind::kCpu:
      return "CPU";
    case NodeKind::kMemory:
      return "memory";
    case NodeKind::kSocket:
      return "socket";
    case NodeKind::kNic:
      return "NIC";
    case NodeKind::kSwitch:
      return "switch";
  }
  CHECK(false, "node kind {}", static_cast<int>(kind));
}

std::string to_string(LinkKind kind) {
  switch (kind) {
    case LinkKind::kNvLink:
      return "NVLink";
    case LinkKind::kChipToChip:
      return "C2C";
    case LinkKind::kPcie:
      return "PCIe";
    case LinkKind::kCpuInterconnect:
      return "CPU interconnect";
    case LinkKind::kMemory:
      return "memory";
    case LinkKind::kVirtual:
      return "virtual";
    case LinkKind::kNetwork:
      return "network";
  }
  CHECK(false, "link kind {}", static_cast<int>(kind));
}

Fabric::Fabric() : graph_(std::make_unique<Graph>()) {}
Fabric::Fabric(const Fabric& other) : graph_(std::make_unique<Graph>(*other.graph_)) {}
Fabric& Fabric::operator=(const Fabric& other) {
  if (this != &other) {
    graph_ = std::make_unique<Graph>(*other.graph_);
  }
  return *this;
}
Fabric::Fabric(Fabric&&) noexcept = default;
Fabric& Fabric::operator=(Fabric&&) noexcept = default;
Fabric::~Fabric() = default;

NodeId Fabric::add_node(Node node) {
  CHECK(!node.name.empty());
  const NodeId id(static_cast<std::int32_t>(node_count()));
  const bool fresh = graph_->by_name.emplace(node.name, id).second;
  CHECK(fresh, "two nodes of the name '{}'", node.name);
  graph_->graph[boost::add_vertex(graph_->graph)] = std::move(node);
  return id;
}

LinkId Fabric::add_link(LinkKind kind, NodeId from, NodeId to, Bandwidth capacity,
                        Duration latency) {
  CHECK(capacity >= Bandwidth() && latency >= Duration(), "capacity {} bit/s, latency {} ps",
        capacity.bps(), latency.ps());
  std::string name = node(from).name + "->" + node(to).name;
  const std::size_t parallel = links_between(from, to).size();
  if (parallel > 0) {
    name += fmt::format("#{}", parallel + 1);
  }
  const LinkId id(static_cast<std::int32_t>(link_count()));
  boost::add_edge(vertex_of(from), vertex_of(to), EdgeLink{id}, graph_->graph);
  graph_->links.push_back(Link{kind, std::move(name), from, to, capacity, latency});
  return id;
}

std::pair<LinkId, LinkId> Fabric::add_duplex(LinkKind kind, NodeId a, NodeId b, Bandwidth capacity,
                                             Duration latency) {
  const LinkId there = add_link(kind, a, b, capacity, latency);
  const LinkId back = add_link(kind, b, a, capacity, latency);
  return {there, back};
}

void Fabric::set_capacity(LinkId link, Bandwidth capacity) {
  CHECK(link.value() >= 0 && link.index() < link_count(), "link {} of {}", link.value(),
        link_count());
  CHECK(capacity >= Bandwidth(), "capacity {} bit/s", capacity.bps());
  graph_->links[link.index()].capacity = capacity;
}

std::size_t Fabric::node_count() const {
  return boost::num_vertices(graph_->graph);
}
std::size_t Fabric::link_count() const {
  return graph_->links.size();
}

const Node& Fabric::node(NodeId id) const {
  CHECK(id.value() >= 0 && id.index() < node_count(), "node {} of {}", id.value(), node_count());
  return graph_->graph[vertex_of(id)];
}

const Link& Fabric::link(LinkId id) const {
  CHECK(id.value() >= 0 && id.index() < link_count(), "link {} of {}", id.value(), link_count());
  return graph_->links[id.index()];
}

std::optional<NodeId> Fabric::find_node(const std::string& name) const {
  const auto found = graph_->by_name.find(name);
  return found == graph_->by_name.end() ? std::nullopt : std::optional<NodeId>(found->second);
}

std::vector<LinkId> Fabric::links_from(NodeId id) const {
  CHECK(id.value() >= 0 && id.index() < node_count(), "node {} of {}", id.value(), node_count());
  std::vector<LinkId> links;
  const auto [first, last] = boost::out_edges(vertex_of(id), graph_->graph);
  for (auto edge = first; edge != last; ++edge) {
    links.push_back(graph_->graph[*edge].id);
  }
  return links;
}

std::vector<LinkId> Fabric::links_between(NodeId from, NodeId to) const {
  CHECK(from.value() >= 0 && from.index() < node_count() && to.value() >= 0 &&
            to.index() < node_count(),
        "{} to {} of {} nodes", from.value(), to.value(), node_count());
  const BoostGraph& graph = graph_->graph;
  std::vector<LinkId> links;
  const auto add = [&](Edge edge) {
    const Link& candidate = link(graph[edge].id);
    if (candidate.from == from && candidate.to == to) {
      links.push_back(graph[edge].id);
    }
  };
  // From the end with fewer links: a switch may have thousands, the NIC on it has a few.
  if (boost::out_degree(vertex_of(from), graph) <= boost::in_degree(vertex_of(to), graph)) {
    const auto [first, last] = boost::out_edges(vertex_of(from), graph);
    std::for_each(first, last, add);
  } else {
    const auto [first, last] = boost::in_edges(vertex_of(to), graph);
    std::for_each(first, last, add);
  }
  return links;
}

std::optional<LinkId> Fabric::find_link(NodeId from, NodeId to) const {
  const std::vector<LinkId> links = links_between(from, to);
  return links.empty() ? std::nullopt : std::optional<LinkId>(links.front());
}

std::optional<std::vector<LinkId>> Fabric::route(NodeId from, NodeId to,
                                                 const RouteFilter& filter) const {
  CHECK(from.value() >= 0 && from.index() < node_count() && to.value() >= 0 &&
            to.index() < node_count(),
        "{} to {} of {} nodes", from.value(), to.value(), node_count());
  std::vector<LinkId> path;
  if (from == to) {
    return path;
  }
  const BoostGraph& whole = graph_->graph;
  const std::vector<Link>& links = graph_->links;
  const AdmitLink admit_link{&whole, &filter, &links};
  const AdmitNode admit_node{&whole, &filter, vertex_of(from), vertex_of(to)};
  const boost::filtered_graph<BoostGraph, AdmitLink, AdmitNode> admitted(whole, admit_link,
                                                                         admit_node);
  const auto backwards = boost::make_reverse_graph(admitted);

  std::vector<std::size_t> distance(node_count(), kFar);
  std::vector<Vertex> order;
  distance[vertex_of(to)] = 0;
  boost::breadth_first_search(backwards, vertex_of(to),
                              boost::visitor(DistanceVisitor(distance, order))
                                  .vertex_index_map(boost::get(boost::vertex_index, whole)));
  if (distance[vertex_of(from)] == kFar) {
    return std::nullopt;
  }
  // width[v]: largest smallest capacity of a shortest path from v to the target.
  std::vector<Bandwidth> width(node_count());
  width[vertex_of(to)] = Bandwidth::bits_per_second(std::numeric_limits<std::int64_t>::max());
  const auto way_width = [&](Edge edge) {
    return std::min(links[whole[edge].id.index()].capacity, width[target(edge, whole)]);
  };
  for (const Vertex vertex : order) {
    const auto [first, last] = boost::out_edges(vertex, admitted);
    for (auto edge = first; edge != last; ++edge) {
      if (distance[target(*edge, whole)] + 1 == distance[vertex]) {
        width[vertex] = std::max(width[vertex], way_width(*edge));
      }
    }
  }
  const Bandwidth wanted = width[vertex_of(from)];
  for (Vertex at = vertex_of(from); at != vertex_of(to);) {
    const auto [first, last] = boost::out_edges(at, admitted);
    const auto next = std::find_if(first, last, [&](Edge edge) {
      return distance[target(edge, whole)] + 1 == distance[at] && way_width(edge) >= wanted;
    });
    CHECK(next != last, "no way on from node '{}'", whole[at].name);
    path.push_back(whole[*next].id);
    at = target(*next, whole);
  }
  return path;
}

RouteSummary summarize(const Fabric& fabric, const std::vector<LinkId>& route) {
  RouteSummary summary;
  for (const LinkId id : route) {
    const Link& link = fabric.link(id);
    summary.capacity =
        summary.capacity ? std::min(*summary.capacity, link.capacity) : link.capacity;
    summary.latency += link.latency;
  }
  return summary;
}

std::string describe_route(const Fabric& fabric, const std::vector<LinkId>& route) {
  if (route.empty()) {
    return "0 links\n";
  }
  std::size_t hop_width = 0;
  std::size_t kind_width = 0;
  std::size_t rate_width = 0;
  for (const LinkId id : route) {
    const Link& link = fabric.link(id);
    const std::size_t hop =
        fabric.node(link.from).name.size() + fabric.node(link.to).name.size() + 4;
    hop_width = std::max(hop_width, hop);
    kind_width = std::max(kind_width, to_string(link.kind).size());
    rate_width = std::max(rate_width, rate_text(link.kind, link.capacity).size());
  }
  std::string text;
  NodeId at = fabric.link(route.front()).from;
  for (const LinkId id : route) {
    const Link& link = fabric.link(id);
    CHECK(link.from == at, "link '{}' does not start at '{}'", link.name, fabric.node(at).name);
    at = link.to;
    const std::string hop = fabric.node(link.from).name + " -> " + fabric.node(link.to).name;
    text += fmt::format("{:<{}}  {:<{}}  {:>{}}  {}\n", hop, hop_width, to_string(link.kind),
                        kind_width, rate_text(link.kind, link.capacity), rate_width,
                        to_string(link.latency));
  }
  const RouteSummary summary = summarize(fabric, route);
  const auto narrowest = std::find_if(route.begin(), route.end(), [&](LinkId id) {
    return fabric.link(id).capacity == *summary.capacity;
  });
  return text + fmt::format("{} link{}, at most {}, {}\n", route.size(),
                            route.size() == 1 ? "" : "s",
                            rate_text(fabric.link(*narrowest).kind, *summary.capacity),
                            to_string(summary.latency));
}

}  // namespace busbw::topologies
