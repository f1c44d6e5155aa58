// Selection first, then one topology document for each kind of host, then NCCL's graph search.
#include "scenarios/job.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "models/nccl/machine/document.h"
#include "models/nccl/machine/inventory.h"

namespace busbw::scenarios {
namespace {

using nccl::graph::Element;

/// Puts the number of their first appearance in place of GUIDs: NCCL only asks which NICs of a host
/// share one.
void number_guids(Element& element, std::vector<std::string>& known) {
  if (const std::string* guid = element.find("guid")) {
    const auto at = std::find(known.begin(), known.end(), *guid);
    const auto number = static_cast<std::size_t>(at - known.begin());
    if (at == known.end()) {
      known.push_back(*guid);
    }
    element.set("guid", fmt::format("0x{:x}", number + 1));
  }
  for (Element& child : element.children) {
    number_guids(child, known);
  }
}

/// The document as text that equal hosts share.
std::string kind_of(Element document) {
  std::vector<std::string> guids;
  number_guids(document, guids);
  return print_topology(document);
}

/// Equal hosts share a document, so that NCCL's search runs once for each kind of host.
nccl::graph::DecideInput input_of(const Variant& variant, const nccl::Decision& selection,
                                  const topologies::Catalog& catalog) {
  nccl::graph::DecideInput input;
  input.environment = variant.environment;
  input.version = variant.version;
  input.hosts_per_nvlink_domain = variant.cluster.hosts_per_nvlink_domain;
  input.collnet = variant.collnet;
  std::vector<std::string> texts;
  for (std::size_t host = 0; host < variant.cluster.hosts.size(); ++host) {
    Element document =
        nccl::machine_document(variant.cluster.hosts[host], catalog, variant.inventories[host],
                               selection.hosts[host], variant.version);
    std::string text = kind_of(document);
    const auto known = std::find(texts.begin(), texts.end(), text);
    input.hosts.push_back(static_cast<int>(known - texts.begin()));
    if (known == texts.end()) {
      texts.push_back(std::move(text));
      input.topologies.push_back(std::move(document));
    }
  }
  return input;
}

/// Devices by which the channels leave the first host.
std::vector<nccl::ChannelDevice> channel_devices(const nccl::graph::Decision& graph) {
  std::vector<nccl::ChannelDevice> channels;
  const nccl::graph::Group& group =
      graph.groups[static_cast<std::size_t>(graph.nodes.front().group)];
  if (!group.system.inter) {
    return channels;
  }
  for (int channel = 0; channel < graph.comm.channels; ++channel) {
    const int net = group.ring.net(channel % graph.comm.search_channels, 1);
    channels.push_back({channel, group.system.nodes[static_cast<std::size_t>(net)].net.dev});
  }
  return channels;
}

std::string graph_text(const nccl::graph::MergedGraph& graph, bool inter) {
  const std::string kind = graph.pattern == nccl::graph::Pattern::kRing ? "ring" : "tree";
  std::string text =
      fmt::format("{}: {} channel{} of {:g} GB/s inside a node ({})", kind, graph.channels,
                  graph.channels == 1 ? "" : "s", graph.bw_intra, to_string(graph.type_intra));
  if (inter) {
    text += fmt::format(" and {:g} GB/s between nodes ({})", graph.bw_inter,
                        to_string(graph.type_inter));
  }
  return text;
}

nccl::Reason channels_reason(const nccl::graph::Decision& graph) {
  const nccl::graph::Communicator& comm = graph.comm;
  return {"channels.search",
          fmt::format("{}; {}: {} channels", graph_text(comm.ring, comm.nodes > 1),
                      graph_text(comm.tree, comm.nodes > 1), comm.channels),
          "NCCL 2.18 to 2.30.7, src/graph/search.cc, src/graph/connect.cc"};
}

}  // namespace

Job decide(const Variant& variant, nccl::Decision selection, const topologies::Catalog& catalog) {
  Job job;
  job.selection = std::move(selection);
  if (job.selection.outcome != nccl::Outcome::kRuns) {
    return job;
  }
  for (std::size_t host = 0; host < job.selection.hosts.size(); ++host) {
    nccl::add_plugin_devices(variant.cluster.hosts[host], variant.inventories[host], catalog,
                             job.selection.hosts[host]);
  }
  job.graph = nccl::graph::decide(input_of(variant, job.selection, catalog));
  job.selection.channels = channel_devices(*job.graph);
  // The selection's own channels stand in for the search where there is no topology.
  std::vector<nccl::Reason>& reasons = job.selection.reasons;
  reasons.erase(
      std::remove_if(reasons.begin(), reasons.end(),
                     [](const nccl::Reason& r) { return r.rule.starts_with("channels."); }),
      reasons.end());
  reasons.push_back(channels_reason(*job.graph));
  return job;
}

Job decide(const Variant& variant, const topologies::Catalog& catalog) {
  nccl::SelectionInput input;
  input.version = variant.version;
  input.environment = variant.environment;
  input.hosts = variant.inventories;
  return decide(variant, nccl::select(input), catalog);
}

}  // namespace busbw::scenarios
