// Reads plain lists of cables, and node-link graphs in JSON.
//
//   switch leaf0 64                 # a switch and its ports; ports may be left out
//   node0/mlx5_0 leaf0:1 400 Gb/s   # a cable; ports and rate may be left out
//
// What no `switch` line names is a port of a host. Ports that are left out are the lowest free
// ones, in order of lines.
#include <map>
#include <set>

#include <fmt/format.h>

#include "sim/core/quantity.h"
#include "sim/core/text.h"
#include "topologies/networks/edge_list.h"
#include "topologies/networks/faults.h"
#include "topologies/networks/subnet_draft.h"

namespace busbw::networks {
namespace {

/// "leaf0:33" is port 33 of leaf0; a name may have colons of its own.
EdgeEnd parse_end(std::string_view word) {
  const std::size_t colon = word.rfind(':');
  const std::optional<std::int64_t> port =
      colon == std::string_view::npos ? std::nullopt : parse_integer(word.substr(colon + 1));
  if (!port || *port < 1 || *port > 254) {
    return {std::string(word), 0};
  }
  return {std::string(word.substr(0, colon)), static_cast<std::int32_t>(*port)};
}

class PortGiver {
 public:
  explicit PortGiver(const std::vector<Edge>& edges) {
    for (const Edge& edge : edges) {
      for (const EdgeEnd& end : {edge.a, edge.b}) {
        if (end.port > 0) {
          used_[end.name].insert(end.port);
        }
      }
    }
  }
  std::int32_t port(const EdgeEnd& end) {
    if (end.port > 0) {
      return end.port;
    }
    std::int32_t& next = next_[end.name];
    do {
      next++;
    } while (used_[end.name].count(next) > 0);
    return next;
  }

 private:
  std::map<std::string, std::set<std::int32_t>> used_;
  std::map<std::string, std::int32_t> next_;
};

Bandwidth read_rate(const std::string& text, const Location& where, Problems& problems) {
  const std::variant<Bandwidth, QuantityError> rate = parse_bandwidth(text);
  if (const auto* error = std::get_if<QuantityError>(&rate)) {
    problems.add(where, error->message);
    return {};
  }
  if (std::get<Bandwidth>(rate) <= Bandwidth()) {
    problems.add(where, fmt::format("a rate must be more than 0, found '{}'", text));
  }
  return std::get<Bandwidth>(rate);
}

void read_line(std::string_view line, const Location& where, std::vector<DeclaredSwitch>& switches,
               std::vector<Edge>& edges, Problems& problems) {
  const std::vector<std::string_view> words = split_blanks(line.substr(0, line.find('#')));
  if (words.empty()) {
    return;
  }
  if (words[0] == "switch") {
    const std::optional<std::int64_t> ports =
        words.size() > 2 ? parse_integer(words[2]) : std::optional<std::int64_t>(0);
    if (words.size() < 2 || words.size() > 3 || !ports || *ports < 0 || *ports > 254) {
      problems.add(where, "a switch must be 'switch NAME [PORTS]' with 1 to 254 ports");
      return;
    }
    switches.push_back({std::string(words[1]), static_cast<std::int32_t>(*ports), where});
    return;
  }
  if (words.size() < 2 || words.size() > 4) {
    problems.add(where,
                 "a cable must be 'NAME[:PORT] NAME[:PORT] [RATE]', as 'node0 leaf0:1 400 "
                 "Gb/s'");
    return;
  }
  Edge edge{parse_end(words[0]), parse_end(words[1]), {}, where};
  if (words.size() > 2) {
    std::string rate(words[2]);
    rate += words.size() > 3 ? " " + std::string(words[3]) : "";
    edge.rate = read_rate(rate, where, problems);
  }
  edges.push_back(std::move(edge));
}

void read_graph_nodes(const Value& list, std::vector<DeclaredSwitch>& switches,
                      std::set<std::string>& names, Problems& problems) {
  for (const Value& node : list.as_array()) {
    const Value* id = node.find("id");
    const Value* type = node.find("type");
    if (id == nullptr || !id->is_string() || type == nullptr || !type->is_string()) {
      problems.add(node.where(), "a node needs the texts 'id' and 'type'");
      continue;
    }
    names.insert(id->as_string());
    if (type->as_string() == "switch") {
      const Value* ports = node.find("ports");
      const bool known = ports != nullptr && ports->is_integer() && ports->as_integer() >= 1 &&
                         ports->as_integer() <= 254;
      switches.push_back({id->as_string(),
                          known ? static_cast<std::int32_t>(ports->as_integer()) : 0,
                          node.where()});
    } else if (type->as_string() != "host" && type->as_string() != "nic") {
      problems.add(type->where(), fmt::format("unknown type '{}'; allowed: 'switch', 'host', 'nic'",
                                              type->as_string()));
    }
  }
}

std::int32_t graph_port(const Value& edge, const char* key, Problems& problems) {
  const Value* port = edge.find(key);
  if (port == nullptr) {
    return 0;
  }
  if (!port->is_integer() || port->as_integer() < 1 || port->as_integer() > 254) {
    problems.add(port->where(), fmt::format("'{}' must be a whole number from 1 to 254", key));
    return 0;
  }
  return static_cast<std::int32_t>(port->as_integer());
}

void read_graph_edge(const Value& value, const std::set<std::string>& names,
                     std::vector<Edge>& edges, Problems& problems) {
  Edge edge;
  edge.where = value.where();
  for (const auto& [key, end] : {std::pair("source", &edge.a), std::pair("target", &edge.b)}) {
    const Value* name = value.find(key);
    if (name == nullptr || !name->is_string()) {
      problems.add(value.where(), fmt::format("an edge needs the text '{}'", key));
      return;
    }
    end->name = name->as_string();
    if (names.count(end->name) == 0) {
      problems.add(name->where(),
                   fmt::format("no node '{}'{}", end->name,
                               did_you_mean(end->name, {names.begin(), names.end()})));
    }
    end->port =
        graph_port(value, key == std::string("source") ? "source_port" : "target_port", problems);
  }
  if (const Value* rate = value.find("rate")) {
    if (rate->is_string()) {
      edge.rate = read_rate(rate->as_string(), rate->where(), problems);
    } else {
      problems.add(rate->where(), "'rate' must be a text such as '400 Gb/s'");
    }
  }
  edges.push_back(std::move(edge));
}

}  // namespace

Imported subnet_of(const std::vector<DeclaredSwitch>& switches, const std::vector<Edge>& edges,
                   const std::string& file, const topologies::Catalog& catalog,
                   Problems& problems) {
  SubnetDraft draft(file, catalog, problems);
  std::set<std::string> names;
  std::uint64_t guid = 0x200000;
  for (const DeclaredSwitch& declared : switches) {
    if (!names.insert(declared.name).second) {
      problems.add(declared.where, fmt::format("second switch '{}'", declared.name));
    }
    DraftNode& node = draft.node(declared.name, true, declared.where);
    node.ports = declared.ports;
    node.declared = declared.ports > 0;
    node.guid = guid++;
  }
  PortGiver ports(edges);
  guid = 0x100000;
  for (const Edge& edge : edges) {
    for (const EdgeEnd& end : {edge.a, edge.b}) {
      DraftNode& node = draft.node(end.name, names.count(end.name) > 0, edge.where);
      if (!node.is_switch && node.description.empty()) {
        const std::size_t slash = end.name.find('/');
        node.description = slash == std::string::npos
                               ? end.name
                               : end.name.substr(0, slash) + " " + end.name.substr(slash + 1);
        node.guid = guid;
        guid += 2;
      }
    }
    Cable speed;
    speed.rate = edge.rate;
    set_speed(speed, false, catalog);
    DraftLink link;
    link.rate = edge.rate;
    link.speed = speed.speed;
    link.lanes = speed.lanes;
    link.where = edge.where;
    link.peer = edge.b.name;
    const std::int32_t port = ports.port(edge.a);
    link.peer_port = ports.port(edge.b);
    draft.link(edge.a.name, port, std::move(link));
  }
  return draft.finish();
}

Imported read_edges(std::string_view text, const std::string& file,
                    const topologies::Catalog& catalog, Problems& problems) {
  std::vector<DeclaredSwitch> switches;
  std::vector<Edge> edges;
  int number = 0;
  for (const std::string_view line : split_lines(text)) {
    number++;
    const std::size_t start = line.find_first_not_of(" \t");
    const int column = start == std::string_view::npos ? 1 : static_cast<int>(start) + 1;
    read_line(line, {file, number, column}, switches, edges, problems);
  }
  return subnet_of(switches, edges, file, catalog, problems);
}

Imported read_graph(const Value& graph, const topologies::Catalog& catalog, Problems& problems) {
  const Value* nodes = graph.find("nodes");
  const Value* list = graph.find("edges") != nullptr ? graph.find("edges") : graph.find("links");
  if (nodes == nullptr || !nodes->is_array() || list == nullptr || !list->is_array()) {
    problems.add(graph.where(), "a graph needs the lists 'nodes' and 'edges' (or 'links')");
    return {};
  }
  std::vector<DeclaredSwitch> switches;
  std::vector<Edge> edges;
  std::set<std::string> names;
  read_graph_nodes(*nodes, switches, names, problems);
  for (const Value& edge : list->as_array()) {
    read_graph_edge(edge, names, edges, problems);
  }
  return problems.empty() ? subnet_of(switches, edges, graph.where().file, catalog, problems)
                          : Imported();
}

}  // namespace busbw::networks
