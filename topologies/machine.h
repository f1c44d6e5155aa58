// A machine: GPUs, how they are joined, the PCIe tree, sockets, NICs and their place; read from
// YAML (docs/formats/machine.md). The builder (build.h) turns machines into a Fabric.
//
// Elements have names: the CPUs (NUMA nodes) are "cpu0", "cpu1" ..., PCIe switches have the name
// the file gives them, GPUs are "gpu0" .... A PCIe device hangs on a CPU or a PCIe switch.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/yaml.h"
#include "topologies/catalog.h"

namespace busbw::topologies {

enum class NvLinkWiring { kNone, kPairs, kMesh, kHybridCubeMesh, kNvSwitch, kMatrix };
/// As in the file: "none", "pairs", "mesh", "hybrid cube mesh", "nvswitch", "matrix".
std::string to_string(NvLinkWiring wiring);

/// Links between GPU pairs: [a][b] = number of links, symmetric, zero diagonal.
using LinkMatrix = std::vector<std::vector<std::int32_t>>;

/// `gpus` paired (0,1), (2,3) ... with `links` each; `gpus` must be even.
LinkMatrix pairs_matrix(std::int32_t gpus, std::int32_t links);
/// Every GPU to every other with `links`.
LinkMatrix mesh_matrix(std::int32_t gpus, std::int32_t links);
/// The eight GPUs of DGX-1 (Volta), six links each: two fully joined quads, GPU i of one joined to
/// GPU i of the other. Two links: 0-3, 1-2, 2-3 in each quad, 0-4 and 1-5 across; one link: the
/// others. Source: NVIDIA DGX-1 with Tesla V100 system architecture white paper WP-08437-002.
LinkMatrix hybrid_cube_mesh_matrix();

struct MachineGpu {
  std::int32_t index = 0;
  std::string attach;  // parent element: "cpu0", "pcie0"
};

struct PcieSwitch {
  std::string name;    // "pcie0"
  std::string attach;  // CPU or a switch that stands before this one in the list
  std::int32_t generation = 0;
  std::int32_t uplink_lanes = 16;
};

struct MachineNic {
  std::string name;   // as the host shows it: HCA name "mlx5_0" if rdma, else interface "eth0"
  std::string model;  // catalogue name; empty for a virtual NIC
  Bandwidth rate;     // of one port; capacity into the NIC, and out of it unless send_rate is set
  std::optional<Bandwidth> send_rate;  // out of the NIC when it differs: shaped on the sending side
  NicLinkLayer link_layer = NicLinkLayer::kEthernet;
  bool rdma = false;
  std::optional<std::string> netdev;  // interface name beside an HCA name: "rdma0"
  std::optional<std::string> attach;  // CPU or PCIe switch; nothing: virtual, no PCI parent
  std::int32_t pcie_generation =
      0;  // as negotiated: the smaller of the NIC's and its parent's; 0: virtual
  std::int32_t pcie_lanes = 0;  // 0: virtual
  std::optional<Bandwidth>
      reported_speed;  // what /sys/class/net says when it differs from the rate
  std::int32_t ports = 1;
  Location where;
};

struct Machine {
  std::string name;              // "dgx-a100"
  std::string title;             // "NVIDIA DGX A100"
  std::string gpu_model;         // catalogue name
  std::vector<MachineGpu> gpus;  // in order of index
  std::int32_t gpu_pcie_lanes = 16;
  NvLinkWiring wiring = NvLinkWiring::kNone;
  std::int32_t nvlink_generation = 0;     // 0: none
  std::int32_t nvlink_links_per_gpu = 0;  // into the NVSwitch, or the largest row sum of the matrix
  LinkMatrix nvlink_matrix;               // empty with none and nvswitch
  std::string cpu_model;                  // catalogue name
  std::int32_t sockets = 1;
  std::int32_t numa_nodes =
      1;  // a multiple of sockets; CPU i is on socket i / (numa_nodes / sockets)
  std::int32_t pcie_generation = 0;  // of the CPUs' root ports
  std::vector<PcieSwitch> pcie_switches;
  std::vector<MachineNic> nics;
  bool peer_to_peer = true;      // PCIe peer-to-peer between GPUs possible (no GeForce)
  bool acs_redirect = false;     // PCIe switches send traffic between their devices up to the CPU
  bool dma_translation = false;  // the IOMMU translates the addresses of what devices send
  std::string topology_file;  // the file that NCCL reads its topology from there; empty: detected
  std::string source;
  Location where;

  /// Number of the CPU (NUMA node) above an element: a CPU itself, a PCIe switch. CHECKs that it
  /// exists.
  [[nodiscard]] std::int32_t cpu_above(const std::string& element) const;
  /// Generation of the PCIe port that an element offers to devices on it.
  [[nodiscard]] std::int32_t pcie_generation_at(const std::string& element) const;
  /// Index in `nics` of the NIC of this name or netdev; nothing if there is none.
  [[nodiscard]] std::optional<std::size_t> find_nic(const std::string& nic) const;
};

/// Reads one machine. Every problem is added with its place; the result is whole only if none was.
Machine read_machine(const YamlNode& node, const Catalog& catalog, Problems& problems);
/// Reads directory/*.yaml in order of file name. Two machines of one name are a problem.
std::vector<Machine> load_machines(const std::string& directory, const Catalog& catalog,
                                   Problems& problems);

}  // namespace busbw::topologies
