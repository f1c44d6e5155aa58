// NCCL's topology XML (the format of NCCL_TOPO_FILE and NCCL_TOPO_DUMP_FILE) as a plain tree.
//
// Kept: the elements that NCCL 2.18 to 2.30 knows, all their attributes, their order and places.
// Unknown elements are skipped with everything in them, as NCCL's parser does. Limits of that
// parser (source: NCCL, src/graph/xml.h): 256 elements a file, 16 attributes an element, 255
// letters a value; what goes beyond them is a problem with its place. So is what no system has:
// devices numbered below zero, latencies that are no finite number.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/errors.h"

namespace busbw::nccl::graph {

struct Element {
  std::string tag;
  std::vector<std::pair<std::string, std::string>> attributes;  // in the order of the file
  std::vector<Element> children;
  Location where;

  /// The value, or nullptr when the attribute is absent.
  [[nodiscard]] const std::string* find(std::string_view name) const;
  /// The value as NCCL reads numbers (C base detection, other text is 0); `fallback` when absent.
  [[nodiscard]] long long number(std::string_view name, long long fallback) const;
  [[nodiscard]] std::string text(std::string_view name) const;  // "" when absent
  void set(std::string_view name, std::string value);
  /// First child of that tag, or nullptr.
  [[nodiscard]] const Element* child(std::string_view wanted) const;
};

constexpr std::size_t kMostElements = 256;
constexpr std::size_t kMostGraphElements = 4096;  // of a file of graphs
constexpr std::size_t kMostAttributes = 16;
constexpr std::size_t kMostLetters = 255;
constexpr std::size_t kMostBytes = std::size_t{2} << 20;  // ours: such a file is no topology

/// Reads a topology; its root is the `system` element. Problems carry file, line and column; with
/// problems the returned tree must not be used.
Element parse_topology(std::string_view text, const std::string& file, Problems& problems);

/// Reads a file of graphs (the format of NCCL_GRAPH_FILE and NCCL_GRAPH_DUMP_FILE); its root is the
/// `graphs` element. What the graphs say is checked by graph_xml.h.
Element parse_graphs(std::string_view text, const std::string& file, Problems& problems);

/// Text of the tree; parse_topology and parse_graphs read back an equal tree (places aside).
std::string print_topology(const Element& root);

}  // namespace busbw::nccl::graph
