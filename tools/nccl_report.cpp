// Sections of the report, each a table with a bold title.
#include "tools/nccl_report.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "models/nccl/variables.h"
#include "tools/console.h"
#include "tools/nccl_choices.h"
#include "tools/nccl_matrix.h"
#include "tools/table.h"

namespace busbw::tools {
namespace {

using nccl::graph::Communicator;
using nccl::graph::Decision;
using nccl::graph::Graph;
using nccl::graph::Group;
using nccl::graph::NodeType;
using nccl::graph::System;

constexpr std::size_t kRanksWidth = 74;  // letters of a list of ranks
constexpr std::size_t kChannelsWidth = 20;

using Rows = std::vector<std::vector<std::string>>;

std::string section(const std::string& title, bool colour) {
  return "\n" + bold(title, colour) + "\n";
}

/// Whether a decision of this report follows from such a variable; those of the start-up are
/// `busbw select`'s.
bool changes_graphs(nccl::VariableChange change) {
  switch (change) {
    case nccl::VariableChange::kNothing:
    case nccl::VariableChange::kLog:
    case nccl::VariableChange::kBootstrap:
    case nccl::VariableChange::kNetwork:
    case nccl::VariableChange::kDevices:
      return false;
    default:
      return true;
  }
}

std::string job(const Decision& decision, bool colour) {
  const Communicator& comm = decision.comm;
  const System& system =
      decision.groups[static_cast<std::size_t>(decision.nodes.front().group)].system;
  std::string text =
      bold(fmt::format("NCCL {}: {} ranks on {} hosts", nccl::to_string(decision.version),
                       comm.ranks, decision.hosts),
           colour) +
      "\n";
  text += fmt::format("nodes as NCCL counts them: {}{}\n", comm.nodes,
                      decision.mnnvl ? fmt::format(" (NVLink domains of {} hosts)",
                                                   decision.hosts_per_nvlink_domain)
                                     : "");
  text += fmt::format("first node: {} GPUs (sm {}), {} NICs, maxBw {:g} GB/s, totalBw {:g} GB/s\n",
                      system.count(NodeType::kGpu), comm.smallest_sm, system.count(NodeType::kNet),
                      system.max_bandwidth, system.total_bandwidth);
  std::string idle;
  for (const auto& [name, value] : decision.environment) {
    const nccl::Variable* variable = nccl::find_variable(name);
    if (variable != nullptr && !changes_graphs(variable->changes))
      idle += "  " + name + "\n";
  }
  if (!idle.empty())
    text += "set, and nothing below depends on it:\n" + idle;
  if (comm.collnet) {
    text += fmt::format("CollNet: the network reduces; heads on a node: {}\n", comm.collnet_heads);
  } else if (decision.collnet_there) {
    text +=
        "CollNet: there, not used (NCCL_COLLNET_ENABLE=1 from NCCL_COLLNET_NODE_THRESHOLD nodes "
        "on)\n";
  }
  return text;
}

std::string graphs(const Decision& decision, bool colour) {
  const Group& group = decision.groups[static_cast<std::size_t>(decision.nodes.front().group)];
  Rows rows;
  const std::pair<const char*, const Graph*> all[] = {{"ring", &group.ring},
                                                      {"tree", &group.tree},
                                                      {"CollNet chain", &group.collnet_chain},
                                                      {"CollNet direct", &group.collnet_direct},
                                                      {"NVLS", &group.nvls}};
  for (const auto& [name, graph] : all) {
    if (graph->channels == 0)
      continue;
    rows.push_back({name, to_string(graph->pattern), std::to_string(graph->channels),
                    fmt::format("{:g}", graph->bw_intra), fmt::format("{:g}", graph->bw_inter),
                    to_string(graph->type_intra), to_string(graph->type_inter),
                    std::to_string(graph->cross_nic), graph->same_channels ? "yes" : "no"});
  }
  return section("Graphs of the first node (GB/s per channel)", colour) +
         format_table({{"graph"},
                       {"pattern"},
                       {"channels", Align::kRight},
                       {"intra", Align::kRight},
                       {"inter", Align::kRight},
                       {"type intra"},
                       {"type inter"},
                       {"crossNic", Align::kRight},
                       {"same order"}},
                      rows, colour);
}

std::string channels(const Decision& decision) {
  const Communicator& comm = decision.comm;
  return fmt::format(
      "\n{} channels ({} of the search), {} for NVLS; send/recv: {} channels, {} per peer, chunk "
      "{} B\n",
      comm.channels, comm.search_channels, comm.nvls_channels, comm.p2p_channels,
      comm.p2p_channels_per_peer, comm.p2p_chunk_bytes);
}

std::string ranks_text(const std::vector<int>& ranks) {
  std::string text;
  for (const int rank : ranks) {
    const std::string next = fmt::format("{}{}", text.empty() ? "" : " ", rank);
    if (text.size() + next.size() > kRanksWidth)
      return text + " ...";
    text += next;
  }
  return text;
}

/// "0-3, 8": which channels have this number.
std::string channels_with(const std::vector<int>& numbers, int wanted) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size(); i++) {
    if (numbers[i] != wanted)
      continue;
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == wanted)
      last++;
    if (text.size() > kChannelsWidth - 8)
      return text + ", ...";
    text += text.empty() ? "" : ", ";
    text += last == i ? std::to_string(i) : fmt::format("{}-{}", i, last);
    i = last;
  }
  return text;
}

std::string rings_and_trees(const Decision& decision, bool colour) {
  Rows rows;
  for (std::size_t i = 0; i < decision.rings.orders.size(); i++) {
    rows.push_back({channels_with(decision.rings.channel_to_order, static_cast<int>(i)),
                    ranks_text(decision.rings.orders[i])});
  }
  std::string text = section("Rings (order of ranks)", colour) +
                     format_table({{"channels"}, {"ring"}}, rows, colour);
  if (decision.comm.ranks < 2)
    return text;
  rows.clear();
  for (std::size_t i = 0; i < decision.trees.parents.size(); i++) {
    rows.push_back({channels_with(decision.trees.channel_to_tree, static_cast<int>(i)),
                    ranks_text(decision.trees.parents[i])});
  }
  return text +
         section(fmt::format("Trees (parent of rank 0, 1, 2 ...; depth {})", decision.trees.depth),
                 colour) +
         format_table({{"channels"}, {"parents"}}, rows, colour);
}

}  // namespace

std::string nccl_report(const nccl::graph::Decision& decision, bool colour) {
  const auto group = static_cast<std::size_t>(decision.nodes.front().group);
  std::string text = job(decision, colour) + nccl_matrix(decision.groups[group].system, colour) +
                     graphs(decision, colour) + channels(decision) +
                     rings_and_trees(decision, colour);
  if (decision.comm.ranks > 1)
    text += nccl_costs(decision, colour) + nccl_choices(decision, colour);
  return text;
}

}  // namespace busbw::tools
