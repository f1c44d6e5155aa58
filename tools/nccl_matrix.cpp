// Matrix, legend, names. Types are NCCL's (NVL, not NV18): they are what its decisions rest on.
#include "tools/nccl_matrix.h"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "tools/console.h"
#include "tools/table.h"

namespace busbw::tools {
namespace {

using nccl::graph::NodeType;
using nccl::graph::Path;
using nccl::graph::PathType;
using nccl::graph::System;

constexpr std::size_t kWidth = 100;  // letters of a line
constexpr std::size_t kMostOfAKind = 32;

struct Place {
  int node = 0;
  std::string name;  // GPU0, NIC0
};

/// The GPUs by rank and the NICs by number, of the first host of the node.
std::vector<Place> places(const System& system) {
  std::vector<Place> all;
  for (const NodeType type : {NodeType::kGpu, NodeType::kNet}) {
    std::vector<std::pair<int, int>> found;  // number, node
    for (const int node : system.all(type)) {
      const auto& info = system.nodes[static_cast<std::size_t>(node)];
      if (info.host == 0 && !info.net.copy)
        found.emplace_back(type == NodeType::kGpu ? info.gpu.rank : info.net.dev, node);
    }
    std::sort(found.begin(), found.end());
    found.resize(std::min(found.size(), kMostOfAKind));
    for (const auto& [number, node] : found)
      all.push_back({node, fmt::format("{}{}", type == NodeType::kGpu ? "GPU" : "NIC", number)});
  }
  return all;
}

const char* meaning(PathType type) {
  switch (type) {
    case PathType::kLoc:
      return "the same device";
    case PathType::kNvl:
      return "NVLink, directly or through an NVSwitch";
    case PathType::kNvb:
      return "NVLink through another GPU";
    case PathType::kC2c:
      return "chip-to-chip link of the CPU";
    case PathType::kPix:
      return "at most one PCIe switch";
    case PathType::kPxb:
      return "several PCIe switches, no CPU";
    case PathType::kP2c:
      return "chip-to-chip link to the CPU, then PCIe";
    case PathType::kPxn:
      return "NVLink to another GPU and over its NIC";
    case PathType::kPhb:
      return "through a CPU";
    case PathType::kSys:
      return "from CPU to CPU";
    case PathType::kNet:
      return "only the network joins them";
    default:
      return "no path";
  }
}

struct Speeds {
  float least = 0;
  float most = 0;
};

std::string speeds_text(const Speeds& speeds) {
  return speeds.least == speeds.most ? fmt::format("{:g}", speeds.least)
                                     : fmt::format("{:g} - {:g}", speeds.least, speeds.most);
}

std::string blocks(const System& system, const std::vector<Place>& all, bool colour) {
  std::string text;
  std::size_t widest = 1;
  for (const Place& place : all)
    widest = std::max(widest, place.name.size());
  const std::size_t in_a_block = (kWidth - widest) / (widest + 2);
  for (std::size_t first = 0; first < all.size(); first += in_a_block) {
    const std::size_t last = std::min(all.size(), first + in_a_block);
    std::vector<Column> columns{{""}};
    for (std::size_t column = first; column < last; column++)
      columns.push_back({all[column].name});
    std::vector<std::vector<std::string>> rows;
    for (const Place& from : all) {
      std::vector<std::string> row{from.name};
      for (std::size_t column = first; column < last; column++) {
        row.emplace_back(from.node == all[column].node
                             ? "X"
                             : to_string(system.path(from.node, all[column].node).type));
      }
      rows.push_back(std::move(row));
    }
    text += (first == 0 ? "" : "\n") + format_table(columns, rows, colour);
  }
  return text;
}

std::string legend(const System& system, const std::vector<Place>& all, bool colour) {
  std::map<PathType, Speeds> types;
  for (const Place& from : all) {
    for (const Place& to : all) {
      if (from.node == to.node)
        continue;
      const Path& path = system.path(from.node, to.node);
      const auto [entry, added] = types.emplace(path.type, Speeds{path.bandwidth, path.bandwidth});
      entry->second.least = std::min(entry->second.least, path.bandwidth);
      entry->second.most = std::max(entry->second.most, path.bandwidth);
    }
  }
  std::vector<std::vector<std::string>> rows{{"X", "-", "the device itself"}};
  for (const auto& [type, speeds] : types)
    rows.push_back({to_string(type), speeds_text(speeds), meaning(type)});
  return format_table({{"type"}, {"GB/s", Align::kRight}, {"way"}}, rows, colour);
}

std::string nic_names(const System& system, const std::vector<Place>& all, bool colour) {
  std::vector<std::vector<std::string>> rows;
  for (const Place& place : all) {
    const auto& node = system.nodes[static_cast<std::size_t>(place.node)];
    if (node.type != NodeType::kNet)
      continue;
    rows.push_back({place.name, node.net.name.empty() ? "-" : node.net.name,
                    fmt::format("{:g}", node.net.bandwidth), node.net.gdr ? "yes" : "no"});
  }
  if (rows.empty())
    return "";
  return "\n" +
         format_table({{"NIC"}, {"name"}, {"GB/s", Align::kRight}, {"GPU Direct"}}, rows, colour);
}

}  // namespace

std::string nccl_matrix(const System& system, bool colour) {
  const std::vector<Place> all = places(system);
  std::string text = "\n" + bold("Paths (row to column)", colour) + "\n";
  text += blocks(system, all, colour) + "\n" + legend(system, all, colour);
  text += nic_names(system, all, colour);
  const int left_out =
      system.count(NodeType::kGpu) -
      static_cast<int>(std::count_if(all.begin(), all.end(), [&](const Place& p) {
        return system.nodes[static_cast<std::size_t>(p.node)].type == NodeType::kGpu;
      }));
  if (left_out > 0) {
    text +=
        fmt::format("not shown: {} more GPUs of the NVLink domain; the JSON has all\n", left_out);
  }
  if (system.count(NodeType::kNet) == 0) {
    text +=
        "no NIC: the topology has none, or all ranks share a host and the release (up to 2.26) "
        "drops them\n";
  }
  return text;
}

}  // namespace busbw::tools
