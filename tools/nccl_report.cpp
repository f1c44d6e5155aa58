// Sections of the report, each a table with a bold title.
#include "tools/nccl_report.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "models/nccl/graph/to_value.h"
#include "sim/core/text.h"
#include "tools/console.h"
#include "tools/table.h"

namespace busbw::tools {
namespace {

using nccl::graph::Algorithm;
using nccl::graph::Choice;
using nccl::graph::choice_sizes;
using nccl::graph::Collective;
using nccl::graph::Communicator;
using nccl::graph::Cost;
using nccl::graph::Decision;
using nccl::graph::Graph;
using nccl::graph::Group;
using nccl::graph::kAlgorithms;
using nccl::graph::kCollectives;
using nccl::graph::kProtocols;
using nccl::graph::NodeType;
using nccl::graph::Path;
using nccl::graph::Protocol;
using nccl::graph::System;

constexpr std::size_t kMostShownRanks = 32;
constexpr int kMostShownGpus = 16;

using Rows = std::vector<std::vector<std::string>>;

std::string section(const std::string& title, bool colour) {
  return "\n" + bold(title, colour) + "\n";
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
  return text;
}

std::string matrix(const Decision& decision, bool colour) {
  const System& system =
      decision.groups[static_cast<std::size_t>(decision.nodes.front().group)].system;
  const int gpus = std::min(kMostShownGpus, system.count(NodeType::kGpu));
  const int nets = std::min(kMostShownGpus, system.count(NodeType::kNet));
  std::vector<Column> columns{{""}};
  for (int gpu = 0; gpu < gpus; gpu++)
    columns.push_back({fmt::format("GPU{}", system.node(NodeType::kGpu, gpu).gpu.rank)});
  for (int net = 0; net < nets; net++)
    columns.push_back({fmt::format("NET{}", system.node(NodeType::kNet, net).net.dev)});
  Rows rows;
  for (int gpu = 0; gpu < gpus; gpu++) {
    std::vector<std::string> row{fmt::format("GPU{}", system.node(NodeType::kGpu, gpu).gpu.rank)};
    for (int other = 0; other < gpus; other++) {
      const Path& path = system.path(NodeType::kGpu, gpu, NodeType::kGpu, other);
      row.push_back(gpu == other ? "X"
                                 : fmt::format("{} {:g}", to_string(path.type), path.bandwidth));
    }
    for (int net = 0; net < nets; net++) {
      const Path& path = system.path(NodeType::kGpu, gpu, NodeType::kNet, net);
      row.push_back(fmt::format("{} {:g}", to_string(path.type), path.bandwidth));
    }
    rows.push_back(std::move(row));
  }
  return section("Paths (type, GB/s)", colour) + format_table(columns, rows, colour);
}

std::string graphs(const Decision& decision, bool colour) {
  const Group& group = decision.groups[static_cast<std::size_t>(decision.nodes.front().group)];
  Rows rows;
  for (const Graph* graph : {&group.ring, &group.tree, &group.nvls}) {
    if (graph->channels == 0)
      continue;
    rows.push_back({to_string(graph->pattern), std::to_string(graph->channels),
                    fmt::format("{:g}", graph->bw_intra), fmt::format("{:g}", graph->bw_inter),
                    to_string(graph->type_intra), to_string(graph->type_inter),
                    std::to_string(graph->cross_nic), graph->same_channels ? "yes" : "no"});
  }
  return section("Graphs of the first node (GB/s per channel)", colour) +
         format_table({{"pattern"},
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
      "{} "
      "B\n",
      comm.channels, comm.search_channels, comm.nvls_channels, comm.p2p_channels,
      comm.p2p_channels_per_peer, comm.p2p_chunk_bytes);
}

std::string ranks_text(const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < std::min(ranks.size(), kMostShownRanks); i++)
    text += fmt::format("{}{}", i == 0 ? "" : " ", ranks[i]);
  return ranks.size() > kMostShownRanks ? text + " ..." : text;
}

/// "0-3, 8": which channels have this number.
std::string channels_with(const std::vector<int>& numbers, int wanted) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < numbers.size(); i++) {
    if (numbers[i] != wanted)
      continue;
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == wanted)
      last++;
    parts.push_back(last == i ? std::to_string(i) : fmt::format("{}-{}", i, last));
    i = last;
  }
  return join(parts, ", ");
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

std::string table(const Decision& decision, bool colour) {
  Rows rows;
  for (std::size_t c = 0; c < kCollectives; c++) {
    for (std::size_t a = 0; a < kAlgorithms; a++) {
      const auto collective = static_cast<Collective>(c);
      const auto algorithm = static_cast<Algorithm>(a);
      std::vector<std::string> row{to_string(collective), to_string(algorithm)};
      bool any = false;
      for (std::size_t p = 0; p < kProtocols; p++) {
        const Cost& cost = decision.tuning.cost(collective, algorithm, static_cast<Protocol>(p));
        any = any || cost.bandwidth > 0;
        row.push_back(cost.bandwidth > 0
                          ? fmt::format("{:.1f}/{:.1f}", cost.latency_us, cost.bandwidth)
                          : "-");
      }
      if (any)
        rows.push_back(std::move(row));
    }
  }
  return section("Tuning (us / GB/s, algorithm bandwidth)", colour) +
         format_table({{"collective"},
                       {"algorithm"},
                       {"LL", Align::kRight},
                       {"LL128", Align::kRight},
                       {"Simple", Align::kRight}},
                      rows, colour);
}

std::string choice_table(const Decision& decision, bool colour) {
  Rows rows;
  for (const std::int64_t bytes : choice_sizes()) {
    const std::vector<Choice> found = nccl::graph::choices(
        decision.tuning, decision.comm, decision.switches, Collective::kAllReduce, bytes);
    if (found.empty()) {
      rows.push_back({std::to_string(bytes), "none: NCCL finds no algorithm", "", "", ""});
      continue;
    }
    const auto name = [](const Choice& choice) {
      return fmt::format("{} {}", to_string(choice.algorithm), to_string(choice.protocol));
    };
    rows.push_back(
        {std::to_string(bytes), name(found[0]), fmt::format("{:.1f}", found[0].time_us),
         std::to_string(found[0].channels),
         found.size() > 1 ? fmt::format("{} {:.1f}", name(found[1]), found[1].time_us) : ""});
  }
  return section("Choice for AllReduce (sum of float32)", colour) +
         format_table({{"bytes", Align::kRight},
                       {"choice"},
                       {"us", Align::kRight},
                       {"channels", Align::kRight},
                       {"runner-up (us)"}},
                      rows, colour);
}

}  // namespace

std::string nccl_report(const nccl::graph::Decision& decision, bool colour) {
  std::string text = job(decision, colour) + matrix(decision, colour) + graphs(decision, colour) +
                     channels(decision) + rings_and_trees(decision, colour);
  if (decision.comm.ranks > 1)
    text += table(decision, colour) + choice_table(decision, colour);
  return text;
}

}  // namespace busbw::tools
