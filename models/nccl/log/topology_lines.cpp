// The system, its paths and the graphs of the search.
//
// Names of nodes: type and number ("GPU/1A000") before 2.21.5; then number of the host, "-" and
// number within it ("GPU/0-1a000"), at first (2.21, 2.22) not everywhere. NIC numbers of 2.26.2 and
// newer count the NUMA node into the first part.
#include <cmath>

#include <fmt/format.h>

#include "models/nccl/log/lines.h"

namespace busbw::nccl::log {
namespace {

using graph::CpuArch;
using graph::CpuModel;
using graph::CpuVendor;
using graph::Graph;
using graph::Group;
using graph::Link;
using graph::LinkKind;
using graph::Node;
using graph::NodeType;
using graph::Path;
using graph::System;

constexpr int kHostShift = 56;
constexpr std::uint64_t kLocalMask = (std::uint64_t{1} << kHostShift) - 1;
constexpr std::size_t kLineBuffer = 1023;

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

std::uint64_t full_id(const Node& node) {
  return (static_cast<std::uint64_t>(node.host) << kHostShift) + node.id;
}

/// "0-1a000"; the host's part is a signed shift, so that NUMA node -1 fills it.
std::string split_id(std::uint64_t id) {
  return fmt::format("{:x}-{:x}",
                     static_cast<std::uint64_t>(static_cast<std::int64_t>(id) >> kHostShift),
                     id & kLocalMask);
}

int number(const graph::Cpu& cpu, bool vendor) {
  if (vendor) {
    switch (cpu.vendor) {
      case CpuVendor::kIntel:
        return 1;
      case CpuVendor::kAmd:
        return 2;
      case CpuVendor::kZhaoxin:
        return 3;
      default:
        return cpu.arch == CpuArch::kX86 ? 0 : -1;
    }
  }
  switch (cpu.arch) {
    case CpuArch::kX86:
      return 1;
    case CpuArch::kPower:
      return 2;
    case CpuArch::kArm:
      return 3;
    default:
      return 0;
  }
}

int model_number(const graph::Cpu& cpu) {
  switch (cpu.model) {
    case CpuModel::kBroadwell:
    case CpuModel::kYongfeng:
      return 1;
    case CpuModel::kSkylake:
      return 2;
    case CpuModel::kSapphire:
      return 3;
    case CpuModel::kEmerald:
      return 4;
    default:
      return -1;
  }
}

class Printer {
 public:
  Printer(const System& system, int first_rank, Version version)
      : system_(system),
        first_rank_(first_rank),
        hosts_(version >= Version{2, 21, 5}),
        everywhere_(version >= Version{2, 23, 4}),
        local_links_(version >= Version{2, 22, 3}),
        nic_numa_(version >= Version{2, 26, 2}) {}

  Lines run() {
    line(fmt::format("=== System : maxBw {:.1f} totalBw {:.1f} ===", system_.max_bandwidth,
                     system_.total_bandwidth));
    for (const int cpu : system_.all(NodeType::kCpu)) {
      numa_ = system_.nodes[at(cpu)].id;
      below(cpu, -1, "");
    }
    line("==========================================");
    for (const NodeType type : {NodeType::kGpu, NodeType::kNet}) {
      for (const int node : system_.all(type))
        paths(node);
    }
    return std::move(lines_);
  }

 private:
  void line(std::string text) { lines_.push_back(info("GRAPH", std::move(text))); }

  [[nodiscard]] std::string name(const Node& node, bool with_host) const {
    std::uint64_t id = full_id(node);
    if (node.type == NodeType::kNic && nic_numa_)
      id += numa_ << kHostShift;
    return with_host ? fmt::format("{}/{}", to_string(node.type), split_id(id))
                     : fmt::format("{}/{:X}", to_string(node.type), id);
  }

  [[nodiscard]] std::string heading(const Node& node) const {
    std::string text = name(node, hosts_);
    switch (node.type) {
      case NodeType::kGpu:
        return fmt::format("{} ({})", text, first_rank_ + node.gpu.rank);
      case NodeType::kCpu:
        return fmt::format("{} ({}/{}/{})", text, number(node.cpu, false), number(node.cpu, true),
                           model_number(node.cpu));
      case NodeType::kPci:
      case NodeType::kDev:
        return fmt::format("{} ({:x})", text, node.pci_device);
      default:
        return text;
    }
  }

  [[nodiscard]] std::string remote(const Node& node) const {
    std::string text = name(node, everywhere_);
    if (node.type != NodeType::kNet)
      return text;
    // Before any search; the search leaves rounding behind. Speeds are whole Mb/s.
    const double bandwidth = std::round(static_cast<double>(node.net.bandwidth) * 8000.0) / 8000.0;
    return fmt::format("{} ({}{:x}/{}/{:f})", text,
                       everywhere_ ? fmt::format("{}/", node.net.coll ? 1 : 0) : "", node.net.asic,
                       node.net.port, bandwidth);
  }

  /// The node and what hangs below it; `lead` ends where its name starts.
  void below(int number, int parent, const std::string& lead) {
    const Node& node = system_.nodes[at(number)];
    line(lead + heading(node));
    const std::string blank(lead.size(), ' ');
    for (const int l : node.links) {
      const Link& link = system_.links[at(l)];
      const std::string step =
          fmt::format("{}+ {}[{:.1f}] - ", blank, to_string(link.kind), link.bandwidth);
      if (link.kind == LinkKind::kLoc) {
        if (local_links_)
          line(step + name(system_.nodes[at(link.to)], everywhere_));
      } else if (link.kind != LinkKind::kPci) {
        line(step + remote(system_.nodes[at(link.to)]));
      } else if (link.to != parent) {
        below(link.to, number, step);
      }
    }
  }

  void paths(int from) {
    std::string text = name(system_.nodes[at(from)], everywhere_) + " :";
    for (const NodeType type :
         {NodeType::kGpu, NodeType::kNvs, NodeType::kCpu, NodeType::kNet, NodeType::kDev}) {
      for (const int to : system_.all(type)) {
        const Path& path = system_.path(from, to);
        const std::string target = name(system_.nodes[at(to)], hosts_);
        text += hosts_ ? fmt::format("{} ({}/{:.1f}/{}) ", target, path.hops.size(), path.bandwidth,
                                     to_string(path.type))
                       : fmt::format("{} ({}/{:f}/{}) ", target, path.hops.size(), path.bandwidth,
                                     to_string(path.type));
      }
    }
    line(cut(std::move(text), kLineBuffer));
  }

  const System& system_;
  const int first_rank_;
  const bool hosts_;
  const bool everywhere_;
  const bool local_links_;
  const bool nic_numa_;
  std::uint64_t numa_ = 0;  // of the CPU that is printed
  Lines lines_;
};

class GraphPrinter {
 public:
  explicit GraphPrinter(const View& view)
      : view_(view),
        system_(view.group(view.rank).system),
        first_rank_(view.first_rank(view.rank)) {
    by_inter_ = view.from(2, 29, 2);
    gpu_ids_ = view.from(2, 27, 3);
  }

  Lines print(const Graph& graph) {
    Lines lines;
    const bool fallback = graph.channels == 1 && graph.bw_intra == 0.1F;
    if (fallback) {
      const bool warning = !gpu_ids_;
      lines.push_back({"GRAPH", warning,
                       fmt::format("Could not find a path for pattern {}, falling back to simple "
                                   "order",
                                   static_cast<int>(graph.pattern))});
    }
    lines.push_back(info(
        "GRAPH", fmt::format("Pattern {}, crossNic {}, nChannels {}, bw {:f}/{:f}, type {}/{}, "
                             "sameChannels {}",
                             static_cast<int>(graph.pattern), graph.cross_nic, graph.channels,
                             graph.bw_intra, graph.bw_inter, to_string(graph.type_intra),
                             to_string(graph.type_inter), graph.same_channels ? 1 : 0)));
    for (int channel = 0; channel < graph.channels; channel++)
      lines.push_back(info("GRAPH", channel_line(graph, channel)));
    return lines;
  }

 private:
  std::string channel_line(const Graph& graph, int channel) {
    std::string text = fmt::format("{:2d} :", channel);
    const bool nets = by_inter_ ? system_.inter : system_.count(NodeType::kNet) > 0;
    if (nets)
      text += " " + net(graph, channel, 0);
    for (int i = 0; i < graph.gpus; i++) {
      text += " " + gpu(graph.rank(channel, i));
      if (gpu_ids_ && graph.pattern == graph::Pattern::kNvls)
        break;
    }
    if (nets)
      text += " " + net(graph, channel, 1);
    return text;
  }

  /// A node without others keeps number 0 in both places.
  [[nodiscard]] std::string net(const Graph& graph, int channel, int side) const {
    const int node = system_.inter ? graph.net(channel, side) : -1;
    const std::uint64_t id = node < 0 ? 0 : full_id(system_.nodes[at(node)]);
    if (view_.from(2, 23, 4))
      return "NET/" + split_id(id);
    return view_.from(2, 21, 5) ? fmt::format("NET/{:x}", id) : fmt::format("NET/{}", id);
  }

  [[nodiscard]] std::string gpu(int rank) const {
    if (!gpu_ids_)
      return fmt::format("GPU/{}", first_rank_ + rank);
    for (const int node : system_.all(NodeType::kGpu)) {
      if (system_.nodes[at(node)].gpu.rank == rank)
        return "GPU/" + split_id(full_id(system_.nodes[at(node)]));
    }
    return "GPU/0-0";
  }

  const View& view_;
  const System& system_;
  int first_rank_ = 0;
  bool by_inter_ = false;
  bool gpu_ids_ = false;
};

}  // namespace

Lines topology_lines(const View& view) {
  return Printer(view.group(view.rank).system, view.first_rank(view.rank), view.decision.version)
      .run();
}

bool nvls_asked(const View& view) {
  const int least = view.decision.switches.nvls_with_two ? 2 : 3;
  return numeric(view.decision.environment, "NCCL_NVLS_ENABLE", 2) != 0 &&
         view.group(view.rank).system.count(NodeType::kGpu) >= least;
}

bool nvls_supported(const View& view) {
  const System& system = view.group(view.rank).system;
  return nvls_asked(view) && system.count(NodeType::kNvs) > 0 && system.smallest_sm() >= 90;
}

Lines graph_lines(const View& view) {
  const Group& group = view.group(view.rank);
  GraphPrinter printer(view);
  Lines lines = printer.print(group.ring);
  append(lines, printer.print(group.tree));
  if (group.collnet) {
    append(lines, printer.print(group.collnet_chain));
    if (view.from(2, 23, 4))
      append(lines, printer.print(group.collnet_direct));
  }
  if (nvls_supported(view))
    append(lines, printer.print(group.nvls));
  return lines;
}

}  // namespace busbw::nccl::log
