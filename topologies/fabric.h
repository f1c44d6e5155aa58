// The fabric as a graph: GPUs, NVSwitches, PCIe switches, CPUs and their memory, NICs, network
// switches, and the one-way links between them. Boost.Graph does the work behind this header.
//
// A link is a resource with a rate, not a cable: the links of one NVLink pair, which the hardware
// uses together, are one link here, and what shares a medium shares a link. Queues, buffers and
// protocols are left out; they belong to the transports and the engine.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/ids.h"
#include "sim/core/units.h"

namespace busbw::topologies {

using NodeId = Id<struct FabricNodeTag>;
using LinkId = Id<struct FabricLinkTag>;

enum class NodeKind {
  kGpu,
  kNvSwitch,  // all NVSwitches of a host together, non-blocking
  kPciSwitch,
  kCpu,     // one NUMA node: cores and the PCIe root ports beside them
  kMemory,  // DRAM of one NUMA node
  kSocket,  // on-die fabric of a socket with several NUMA nodes
  kNic,
  kSwitch,  // network switch: leaf, spine
};
/// "GPU", "NVSwitch", "PCIe switch", "CPU", "memory", "socket", "NIC", "switch".
std::string to_string(NodeKind kind);

enum class LinkKind {
  kNvLink,
  kChipToChip,  // coherent CPU-GPU link in place of PCIe (NVLink-C2C)
  kPcie,
  kCpuInterconnect,  // UPI, xGMI between sockets; on-die between NUMA nodes of a socket
  kMemory,           // CPU to its DRAM and back: host staging
  kVirtual,          // CPU to a NIC without hardware (veth, bridge): a copy in memory
  kNetwork,          // NIC to switch, switch to switch
};
/// "NVLink", "C2C", "PCIe", "CPU interconnect", "memory", "virtual", "network".
std::string to_string(LinkKind kind);

struct Node {
  NodeKind kind = NodeKind::kGpu;
  std::string name;            // unique in the fabric: "node0/gpu3", "rdma/leaf1"
  std::optional<HostId> host;  // nothing for network switches
  std::int32_t index = 0;      // GPU index in the host, NUMA number, NIC index, leaf number
};

/// A one-way link. A full-duplex cable is two of them.
struct Link {
  LinkKind kind = LinkKind::kPcie;
  std::string name;  // "node0/gpu0->node0/pcie0"
  NodeId from;
  NodeId to;
  Bandwidth capacity;  // data rate of the medium after line coding; 0: down
  Duration latency;    // >= 0
};

/// Which nodes and links a route may use. Empty functions admit everything.
struct RouteFilter {
  std::function<bool(const Node&)> through;  // nodes between the ends; the ends are always admitted
  std::function<bool(const Link&)> link;
};

/// A value: copies are deep. Nodes and links are never removed; their ids count from 0.
/// A moved-from Fabric may only be assigned to or destroyed.
class Fabric {
 public:
  Fabric();
  Fabric(const Fabric& other);
  Fabric& operator=(const Fabric& other);
  Fabric(Fabric&& other) noexcept;
  Fabric& operator=(Fabric&& other) noexcept;
  ~Fabric();

  /// CHECKs that the name is not empty and new.
  NodeId add_node(Node node);
  /// Adds one direction. The name is made from the nodes' names; parallel links get "#2", "#3" ...
  /// CHECKs that the nodes exist and that capacity and latency are not negative.
  LinkId add_link(LinkKind kind, NodeId from, NodeId to, Bandwidth capacity, Duration latency);
  /// Adds both directions; returns {a->b, b->a}.
  std::pair<LinkId, LinkId> add_duplex(LinkKind kind, NodeId a, NodeId b, Bandwidth capacity,
                                       Duration latency);
  /// 0 takes the link down.
  void set_capacity(LinkId link, Bandwidth capacity);

  [[nodiscard]] std::size_t node_count() const;
  [[nodiscard]] std::size_t link_count() const;
  [[nodiscard]] const Node& node(NodeId id) const;
  [[nodiscard]] const Link& link(LinkId id) const;
  [[nodiscard]] std::optional<NodeId> find_node(const std::string& name) const;
  /// Outgoing links in order of creation.
  [[nodiscard]] std::vector<LinkId> links_from(NodeId id) const;
  /// All links from one node to another (parallel links) in order of creation.
  [[nodiscard]] std::vector<LinkId> links_between(NodeId from, NodeId to) const;
  /// The first link from one node to another; nothing if there is none.
  [[nodiscard]] std::optional<LinkId> find_link(NodeId from, NodeId to) const;

  /// The path with the fewest links; among these the widest (largest smallest capacity); among
  /// these the one whose list of link ids is lexicographically smallest. Links of capacity 0 are
  /// not used. Nothing if there is no path; empty if from == to. Time O(nodes + links).
  [[nodiscard]] std::optional<std::vector<LinkId>> route(NodeId from, NodeId to,
                                                         const RouteFilter& filter = {}) const;

 private:
  struct Graph;
  std::unique_ptr<Graph> graph_;
};

/// Smallest capacity and sum of latencies of a path. An empty path has no capacity.
struct RouteSummary {
  std::optional<Bandwidth> capacity;
  Duration latency;
};
RouteSummary summarize(const Fabric& fabric, const std::vector<LinkId>& route);

/// The way of a byte as text, one hop a line with medium, rate and latency, then the whole:
///   node0/gpu0 -> node0/nvswitch  NVLink   450 GB/s  250 ns
/// CHECKs that each link starts where the one before it ends.
std::string describe_route(const Fabric& fabric, const std::vector<LinkId>& route);

}  // namespace busbw::topologies
