// The fabric as a graph: GPUs, NVSwitches, PCIe switches, CPUs, NICs and their ports, network switches,
// and the one-way links between them. Boost.Graph does the work behind this header.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/ids.h"
#include "sim/core/units.h"

namespace busbw::topologies {

using NodeId = Id<struct FabricNodeTag>;
using LinkId = Id<struct FabricLinkTag>;

enum class NodeKind { kGpu, kNvSwitch, kPciSwitch, kCpu, kNic, kSwitch };
std::string to_string(NodeKind kind);

enum class LinkKind {
  kNvLink,
  kPcie,
  kCpuInterconnect,  // UPI, xGMI: between sockets
  kMemory,           // CPU to its DRAM and back: host staging
  kNetwork,          // NIC port to switch, switch to switch, or NIC to NIC
};
std::string to_string(LinkKind kind);

struct Node {
  NodeKind kind = NodeKind::kGpu;
  std::string name;           // unique in the fabric: "node0/gpu3", "leaf1"
  std::optional<HostId> host; // nothing for network switches
  std::int32_t index = 0;     // GPU index in the host, NUMA number, NIC index
};

/// A one-way link. A full-duplex cable is two of them.
struct Link {
  LinkKind kind = LinkKind::kPcie;
  std::string name;           // "node0/gpu0->node0/pcie0"
  NodeId from;
  NodeId to;
  Bandwidth capacity;         // raw data rate of the medium (after line coding), 0 = down
  Duration latency;
};

/// A value: copies are deep.
class Fabric {
 public:
  Fabric();
  Fabric(const Fabric&);
  Fabric& operator=(const Fabric&);
  Fabric(Fabric&&) noexcept;
  Fabric& operator=(Fabric&&) noexcept;
  ~Fabric();

  /// CHECKs that the name is new.
  NodeId add_node(Node node);
  /// Adds one direction. The name is made from the nodes' names; parallel links get "#2", "#3" ...
  LinkId add_link(LinkKind kind, NodeId from, NodeId to, Bandwidth capacity, Duration latency);
  /// Adds both directions; returns {a->b, b->a}.
  std::pair<LinkId, LinkId> add_duplex(LinkKind kind, NodeId a, NodeId b, Bandwidth capacity, Duration latency);
  void set_capacity(LinkId link, Bandwidth capacity);

  [[nodiscard]] std::size_t node_count() const;
  [[nodiscard]] std::size_t link_count() const;
  [[nodiscard]] const Node& node(NodeId id) const;
  [[nodiscard]] const Link& link(LinkId id) const;
  [[nodiscard]] std::optional<NodeId> find_node(const std::string& name) const;
  /// Outgoing links in order of creation.
  [[nodiscard]] std::vector<LinkId> links_from(NodeId id) const;
  /// Link from a to b, the first if there are several.
  [[nodiscard]] std::optional<LinkId> find_link(NodeId from, NodeId to) const;

  /// Which nodes and links a route may use. Empty functions admit everything.
  struct RouteFilter {
    std::function<bool(const Node&)> through;  // intermediate nodes
    std::function<bool(const Link&)> link;
  };
  /// Path with the fewest links from `from` to `to`; among these the widest (largest smallest capacity), then the
  /// lowest link ids. Links of capacity 0 are not used. Nothing if there is none; empty if from == to.
  [[nodiscard]] std::optional<std::vector<LinkId>> route(NodeId from, NodeId to, const RouteFilter& filter = {}) const;

 private:
  struct Graph;
  std::unique_ptr<Graph> graph_;
};

}  // namespace busbw::topologies
