// Reading and writing of graphs. Source of the format: NCCL 2.18 to 2.30.7, src/graph/search.cc.
#include "models/nccl/graph/graph_xml.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "sim/core/text.h"

namespace busbw::nccl::graph {
namespace {

constexpr int kHostShift = 56;
constexpr int kMostChannels = 64;

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

bool hexadecimal(const System& system) {
  return system.switches.version >= Version{2, 21, 5};
}

std::uint64_t device_number(const Node& node) {
  const int dev = node.type == NodeType::kGpu ? node.gpu.dev : node.net.dev;
  return (static_cast<std::uint64_t>(node.host) << kHostShift) | static_cast<std::uint64_t>(dev);
}

std::string device_text(const System& system, int node) {
  const std::uint64_t number = node < 0 ? 0 : device_number(system.nodes[at(node)]);
  return hexadecimal(system) && number != 0 ? fmt::format("{:#x}", number) : std::to_string(number);
}

/// One graph of the file.
class Reader {
 public:
  Reader(const Element& element, const System& system) : element_(element), system_(system) {}

  Graph run() {
    graph_.pattern = pattern();
    graph_.channels = static_cast<int>(whole("nchannels", 0, kMostChannels));
    graph_.cross_nic = static_cast<int>(whole("crossnic", 0, 2));
    graph_.same_channels = whole("samechannels", 0, 1) != 0;
    graph_.bw_intra = speed("speedintra");
    graph_.bw_inter = speed("speedinter");
    if (element_.find("latencyinter") != nullptr)
      graph_.latency_inter = speed("latencyinter");
    graph_.type_intra = type("typeintra");
    graph_.type_inter = type("typeinter");
    graph_.gpus = system_.count(NodeType::kGpu);
    graph_.most_channels = graph_.channels;
    if (graph_.channels != static_cast<int>(element_.children.size())) {
      problems_.add(element_.where, fmt::format("nchannels is {}, the graph has {} channels",
                                                graph_.channels, element_.children.size()));
    }
    for (const Element& channel : element_.children)
      read_channel(channel);
    problems_.throw_if_any();
    return std::move(graph_);
  }

 private:
  const std::string* attribute(const char* name) {
    const std::string* value = element_.find(name);
    if (value == nullptr)
      problems_.add(element_.where, fmt::format("'graph' has no attribute '{}'", name));
    return value;
  }

  long long whole(const char* name, long long least, long long most) {
    if (attribute(name) == nullptr)
      return least;
    const long long value = element_.number(name, 0);
    if (value < least || value > most) {
      problems_.add(element_.where,
                    fmt::format("{} is {}, allowed are {} to {}", name, value, least, most));
      return least;
    }
    return value;
  }

  float speed(const char* name) {
    const std::string* value = attribute(name);
    if (value == nullptr)
      return 0;
    const std::optional<double> number = parse_number(*value);
    if (!number || *number < 0) {
      problems_.add(element_.where,
                    fmt::format("{} is '{}', expected a number of at least 0", name, *value));
      return 0;
    }
    return static_cast<float>(*number);
  }

  Pattern pattern() {
    return static_cast<Pattern>(whole("pattern", static_cast<int>(Pattern::kBalancedTree),
                                      static_cast<int>(Pattern::kCollNetDirect)));
  }

  PathType type(const char* name) {
    const std::string* value = attribute(name);
    std::vector<std::string> names;
    for (PathType each = PathType::kLoc; each <= PathType::kSys;
         each = next(each, system_.switches)) {
      if (value == nullptr || *value == to_string(each))
        return each;
      names.emplace_back(to_string(each));
    }
    problems_.add(element_.where, fmt::format("{} is '{}', expected {}{}", name, *value,
                                              quoted_list(names), did_you_mean(*value, names)));
    return PathType::kLoc;
  }

  /// The node that a 'gpu' or 'net' names, -1 when there is none.
  int find(const Element& device) {
    const std::string* text = device.find("dev");
    if (text == nullptr) {
      problems_.add(device.where, fmt::format("'{}' has no attribute 'dev'", device.tag));
      return -1;
    }
    const std::uint64_t wanted =
        std::strtoull(text->c_str(), nullptr, hexadecimal(system_) ? 16 : 0);
    for (const int node : system_.all(device.tag == "gpu" ? NodeType::kGpu : NodeType::kNet)) {
      if (device_number(system_.nodes[at(node)]) == wanted)
        return node;
    }
    problems_.add(device.where,
                  fmt::format("the node has no {} of number '{}'", device.tag, *text));
    return -1;
  }

  void read_channel(const Element& channel) {
    std::vector<int> ranks;
    std::vector<int> nets;
    for (const Element& device : channel.children) {
      const int node = find(device);
      if (node < 0)
        return;
      const bool gpu = device.tag == "gpu";
      (gpu ? ranks : nets).push_back(gpu ? system_.nodes[at(node)].gpu.rank : node);
    }
    const bool head_only = element_.number("id", -1) == kNvlsId;
    const std::size_t gpus = head_only ? 1 : at(graph_.gpus);
    if (ranks.size() != gpus || std::set<int>(ranks.begin(), ranks.end()).size() != gpus) {
      problems_.add(channel.where,
                    fmt::format("a channel of this graph names {} once, found {}",
                                head_only ? "one GPU" : "each GPU of the node", ranks.size()));
    }
    const std::size_t ends = system_.inter ? 2 : 0;
    if (nets.size() != ends) {
      problems_.add(channel.where, fmt::format("a channel of this node has {} 'net', found {}",
                                               ends, nets.size()));
    }
    ranks.resize(at(graph_.gpus), -1);
    nets.resize(2, -1);
    graph_.order.insert(graph_.order.end(), ranks.begin(), ranks.end());
    graph_.nets.insert(graph_.nets.end(), nets.begin(), nets.end());
  }

  const Element& element_;
  const System& system_;
  Problems problems_;
  Graph graph_;
};

Element channel_element(const System& system, const Graph& graph, int id, int channel) {
  Element element;
  element.tag = "channel";
  const auto add = [&](const char* tag, int node) {
    Element device;
    device.tag = tag;
    device.set("dev", device_text(system, node));
    element.children.push_back(std::move(device));
  };
  const bool nets = system.inter;
  if (nets)
    add("net", graph.net(channel, 0));
  const int gpus = id == kNvlsId ? 1 : graph.gpus;
  for (int i = 0; i < gpus; i++) {
    const std::vector<int>& all = system.all(NodeType::kGpu);
    const auto node = std::find_if(all.begin(), all.end(), [&](int candidate) {
      return system.nodes[at(candidate)].gpu.rank == graph.rank(channel, i);
    });
    add("gpu", *node);
  }
  if (nets)
    add("net", graph.net(channel, 1));
  return element;
}

Element graph_element(const System& system, const Graph& graph, int id) {
  Element element;
  element.tag = "graph";
  element.set("id", std::to_string(id));
  element.set("pattern", std::to_string(static_cast<int>(graph.pattern)));
  element.set("crossnic", std::to_string(graph.cross_nic));
  element.set("nchannels", std::to_string(graph.channels));
  element.set("speedintra", fmt::format("{:g}", graph.bw_intra));
  element.set("speedinter", fmt::format("{:g}", graph.bw_inter));
  element.set("latencyinter", fmt::format("{:g}", graph.latency_inter));
  element.set("typeintra", to_string(graph.type_intra));
  element.set("typeinter", to_string(graph.type_inter));
  element.set("samechannels", graph.same_channels ? "1" : "0");
  for (int channel = 0; channel < graph.channels; channel++)
    element.children.push_back(channel_element(system, graph, id, channel));
  return element;
}

}  // namespace

std::optional<Graph> graph_of(const Element& graphs, int id, const System& system, bool may_cross) {
  std::optional<Graph> found;
  for (const Element& element : graphs.children) {
    if (element.number("id", -1) != id || (!may_cross && element.number("crossnic", 0) == 1) ||
        element.number("nchannels", 0) == 0)
      continue;
    found = Reader(element, system).run();  // the last one of a number holds
  }
  return found;
}

Element graphs_element(const Group& group) {
  Element graphs;
  graphs.tag = "graphs";
  graphs.set("version", "1");
  Graph chain = group.collnet_chain;
  Graph direct = group.collnet_direct;
  if (!group.collnet) {
    chain.pattern = Pattern::kTree;
    direct.pattern = Pattern::kCollNetDirect;
  }
  graphs.children.push_back(graph_element(group.system, group.ring, kRingId));
  graphs.children.push_back(graph_element(group.system, group.tree, kTreeId));
  graphs.children.push_back(graph_element(group.system, direct, kCollNetDirectId));
  graphs.children.push_back(graph_element(group.system, chain, kCollNetChainId));
  graphs.children.push_back(graph_element(group.system, group.nvls, kNvlsId));
  return graphs;
}

}  // namespace busbw::nccl::graph
