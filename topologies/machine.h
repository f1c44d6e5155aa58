// A machine: GPUs, how they are joined, the PCIe tree, sockets, NICs and their place; read from YAML.
// And the builder that turns machines and a small fabric into a Fabric.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/yaml.h"
#include "topologies/catalog.h"
#include "topologies/fabric.h"

namespace busbw::topologies {

enum class NvLinkWiring { kNone, kPairs, kMesh, kHybridCubeMesh, kNvSwitch };

struct MachineNic {
  std::string name;                 // interface or HCA name as the host shows it: "eth0", "mlx5_0"
  std::string model;                // catalogue name; empty for a NIC described only by its rate
  Bandwidth rate;                   // port rate in this machine
  NicLinkLayer link_layer = NicLinkLayer::kEthernet;
  bool rdma = false;
  std::optional<std::string> netdev;// interface name beside an HCA name: "rdma0"
  std::string attach;               // "pcie switch 0", "cpu 1", or "virtual": name of the parent element
  std::int32_t pcie_generation = 0; // link of the NIC; 0: virtual
  std::int32_t pcie_lanes = 0;
  std::optional<std::int64_t> reported_speed_mbit;  // what /sys says when it differs from the rate
  std::int32_t ports = 1;
};

struct MachineGpu {
  std::int32_t index = 0;
  std::string attach;               // parent element
};

struct PcieSwitch {
  std::string name;                 // "pcie switch 0"
  std::string attach;               // CPU or another switch
  std::int32_t generation = 0;
  std::int32_t uplink_lanes = 16;
};

struct Machine {
  std::string name;                 // "dgx-a100"
  std::string title;                // "NVIDIA DGX A100"
  std::string gpu_model;            // catalogue name
  std::vector<MachineGpu> gpus;
  NvLinkWiring wiring = NvLinkWiring::kNone;
  std::int32_t nvlink_generation = 0;
  std::int32_t nvlink_links_per_gpu = 0;
  /// Links between GPU pairs for pairs, mesh and hybrid cube mesh: [a][b] = number of links. Empty with NVSwitch.
  std::vector<std::vector<std::int32_t>> nvlink_matrix;
  std::string cpu_model;
  std::int32_t sockets = 1;
  std::int32_t numa_nodes = 1;      // CPU elements "cpu 0" ...
  std::vector<PcieSwitch> pcie_switches;
  std::vector<MachineNic> nics;
  bool peer_to_peer = true;         // PCIe peer-to-peer between GPUs possible (no ACS, not GeForce)
  std::string source;
  Location where;
};

/// Reads one machine. Problems are added with their places.
Machine read_machine(const YamlNode& node, const Catalog& catalog, Problems& problems);
/// Reads topologies/catalog/machines/*.yaml of `directory`, in order of file name.
std::vector<Machine> load_machines(const std::string& directory, const Catalog& catalog, Problems& problems);

/// One network of the cluster: which NIC of every machine hangs on which leaf.
struct Network {
  std::string name;                     // "management", "rdma"
  std::vector<std::string> nics;        // NIC names of the machines that hang on it
  std::string switch_model;             // catalogue name; empty: an ideal switch or a cable
  std::int32_t leaf_switches = 1;       // NIC i of host h hangs on leaf (i mod leaf_switches)
  Bandwidth trunk;                      // between leaves (through one spine), 0 with one leaf
  Duration latency;                     // of each cable
};

struct Cluster {
  std::vector<Machine> hosts;           // one per host, in rank order
  std::vector<Network> networks;
};

/// Where things of the cluster are in the fabric.
struct BuiltCluster {
  Fabric fabric;
  std::vector<std::vector<NodeId>> gpus;              // [host][gpu]
  std::vector<std::vector<NodeId>> cpus;              // [host][numa]
  std::vector<std::vector<NodeId>> nics;              // [host][NIC in order of Machine::nics]
  std::vector<std::vector<std::optional<std::pair<LinkId, LinkId>>>> wire;  // [host][nic] = {out of, into the NIC}; nothing: not cabled
};

/// Builds the fabric of `cluster`. CHECKs what read_machine has verified; throws InputError when a network names a NIC
/// that no host has.
BuiltCluster build(const Cluster& cluster, const Catalog& catalog);

}  // namespace busbw::topologies
