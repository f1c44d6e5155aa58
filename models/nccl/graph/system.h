// The system graph of a node: GPUs, PCIe switches, NVSwitch, CPUs, NICs, and the links between
// them.
//
// Built from a merged document (views.h). A node is one host, or all hosts of an NVLink domain.
// Source: NCCL 2.18 to 2.30.7, src/graph/topo.cc. Units: GB/s (1e9 bytes/s) in single precision,
// as NCCL computes, because equality of decisions needs its rounding.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "models/nccl/environment.h"
#include "models/nccl/graph/path_type.h"
#include "models/nccl/graph/release.h"
#include "models/nccl/graph/xml.h"

namespace busbw::nccl::graph {

enum class NodeType : std::uint8_t { kGpu, kPci, kNvs, kCpu, kNic, kNet, kDev };
constexpr std::size_t kNodeTypes = 7;
const char* to_string(NodeType type);

enum class CpuArch : std::uint8_t { kX86, kArm, kPower, kOther };
enum class CpuVendor : std::uint8_t { kIntel, kAmd, kZhaoxin, kOther };
enum class CpuModel : std::uint8_t { kBroadwell, kSkylake, kSapphire, kEmerald, kYongfeng, kOther };

struct Cpu {
  CpuArch arch = CpuArch::kOther;
  CpuVendor vendor = CpuVendor::kOther;
  CpuModel model = CpuModel::kOther;
};

struct Gpu {
  int dev = 0;   // NVML number
  int rank = 0;  // within the node
  int sm = 0;    // compute capability, 90
  bool gdr = false;
  int device = -1;  // node index of its DEV; itself before 2.30.3
};

struct Net {
  int dev = 0;
  std::string name;
  std::uint64_t asic = 0;  // equal for the ports of a card
  int port = 0;
  float bandwidth = 0;  // what is left of it during a search
  float latency = 0;    // us
  bool gdr = false;
  bool coll = false;  // reduces in the network (CollNet)
  int rail = -1;      // -1: not given
  int plane = -1;     // -1: not given
  bool copy = false;  // a NIC listed twice by the merge: it has no path
};

struct Link {
  LinkKind kind = LinkKind::kLoc;
  int from = 0;
  int to = 0;
  float bandwidth = 0;  // what is left of it during a search
};

struct Node {
  NodeType type = NodeType::kPci;
  int host = 0;          // number of the host within the node
  std::uint64_t id = 0;  // bus id, NUMA number, device number
  Cpu cpu;
  Gpu gpu;
  Net net;
  std::uint64_t pci_device = 0;  // vendor, device, subsystem vendor, subsystem device
  std::vector<int> links;        // into System::links, in NCCL's order
};

/// How a path runs; hops are link numbers.
struct Path {
  PathType type = PathType::kDis;
  float bandwidth = 0;
  std::vector<int> hops;
};

struct System {
  Switches switches;
  Location where;  // of the topology, of the first one of a domain
  std::vector<Node> nodes;
  std::vector<Link> links;
  std::array<std::vector<int>, kNodeTypes> by_type;  // node numbers in NCCL's order
  std::vector<int> target_slot;                      // node -> row of `paths`, -1: no target
  std::vector<std::vector<Path>> paths;              // [row of the target][from]
  bool inter = false;                                // ranks exist outside of this system
  float max_bandwidth = 0;
  float total_bandwidth = 0;
  std::vector<int> owner;  // NET index -> GPU index, -1: none

  [[nodiscard]] const std::vector<int>& all(NodeType type) const {
    return by_type[static_cast<std::size_t>(type)];
  }
  [[nodiscard]] int count(NodeType type) const { return static_cast<int>(all(type).size()); }
  [[nodiscard]] int node_of(NodeType type, int index) const {
    return all(type)[static_cast<std::size_t>(index)];
  }
  [[nodiscard]] Node& node(NodeType type, int index) {
    return nodes[static_cast<std::size_t>(node_of(type, index))];
  }
  [[nodiscard]] const Node& node(NodeType type, int index) const {
    return nodes[static_cast<std::size_t>(node_of(type, index))];
  }
  [[nodiscard]] Path& path(int from, int to) {
    return paths[static_cast<std::size_t>(target_slot[static_cast<std::size_t>(to)])]
                [static_cast<std::size_t>(from)];
  }
  [[nodiscard]] const Path& path(int from, int to) const {
    return paths[static_cast<std::size_t>(target_slot[static_cast<std::size_t>(to)])]
                [static_cast<std::size_t>(from)];
  }
  /// Path between the i-th node of one type and the j-th of another.
  [[nodiscard]] const Path& path(NodeType a, int i, NodeType b, int j) const {
    return path(node_of(a, i), node_of(b, j));
  }
  /// The nodes that carry PCIe and NVLink: DEV, or GPU before 2.30.3.
  [[nodiscard]] NodeType device_type() const {
    return switches.device_nodes ? NodeType::kDev : NodeType::kGpu;
  }
  [[nodiscard]] int smallest_sm() const;
  /// The link back from `to` to `from` of the same kind, -1 when there is none.
  [[nodiscard]] int reverse(int link) const;
};

/// Without paths. Throws InputError for a NIC card at two places.
System build_system(const Element& document, const Switches& switches);

/// Whole GB/s or links of a float that a file may have made huge.
int whole(float value);

/// Bandwidth of one NVLink of that generation.
float nvlink_bandwidth(int sm, const Switches& switches);

}  // namespace busbw::nccl::graph
