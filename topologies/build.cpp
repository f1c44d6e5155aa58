// Builds the hosts of a cluster; build_network.cpp cables them. build.h says what becomes of what.
//
// Assumes machines as read_machine leaves them when it found no problem. Rates and latencies are
// the catalogue's: NVLink per link x links, PCIe MT/s x lanes x line coding, memory and sockets of
// the CPU model. Latencies inside a CPU (root port to memory, NUMA node to socket) are left out:
// the catalogue has none, and the transports' own latencies were measured with them inside.
#include "topologies/build.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/core/check.h"
#include "topologies/build_network.h"

namespace busbw::topologies {
namespace {

/// Ends the name of the second node of a PCIe switch with ACS redirection; no element's own name
/// may have a colon.
constexpr const char* kDown = ":down";

class HostBuilder {
 public:
  /// `hub_host`: the host whose NVSwitch node the GPUs use, the first of the NVLink domain.
  HostBuilder(const Machine& machine, HostId host, HostId hub_host, const Catalog& catalog,
              BuiltCluster& built)
      : machine_(machine), host_(host), hub_host_(hub_host), catalog_(catalog), built_(built) {}

  void build() {
    add_cpus();
    join_sockets();
    add_pcie_switches();
    add_gpus();
    add_nvlink();
    add_nics();
  }

 private:
  void add_cpus();
  void join_sockets();
  void add_pcie_switches();
  void add_gpus();
  void add_nvlink();
  void add_nics();

  NodeId add_node(NodeKind kind, const std::string& element, std::size_t index) {
    return fabric().add_node(
        {kind, element_name(element), host_, static_cast<std::int32_t>(index)});
  }
  /// Joins a device to its parent element at the lower of the two generations.
  void join_pcie(NodeId device, const std::string& parent, std::int32_t generation,
                 std::int32_t lanes);
  [[nodiscard]] NodeId element(const std::string& name) const {
    const std::optional<NodeId> found = built_.fabric.find_node(element_name(name));
    CHECK(found, "no element '{}' in machine '{}'", name, machine_.name);
    return *found;
  }
  /// The node of an element on the way down to devices.
  [[nodiscard]] NodeId element_down(const std::string& name) const {
    return built_.fabric.find_node(element_name(name + kDown)).value_or(element(name));
  }
  void join_pcie_ways(NodeId up, NodeId down, const std::string& parent, std::int32_t generation,
                      std::int32_t lanes);
  [[nodiscard]] std::string element_name(const std::string& element) const {
    return fmt::format("node{}/{}", host_.value(), element);
  }
  [[nodiscard]] const CpuModel& cpu_model() const {
    const CpuModel* model = catalog_.cpu(machine_.cpu_model);
    CHECK(model != nullptr, "CPU model '{}'", machine_.cpu_model);
    return *model;
  }
  [[nodiscard]] const GpuModel& gpu_model() const {
    const GpuModel* model = catalog_.gpu(machine_.gpu_model);
    CHECK(model != nullptr, "GPU model '{}'", machine_.gpu_model);
    return *model;
  }
  [[nodiscard]] std::vector<NodeId>& cpus() { return built_.cpus[host_.index()]; }
  [[nodiscard]] std::vector<NodeId>& gpus() { return built_.gpus[host_.index()]; }
  [[nodiscard]] Fabric& fabric() { return built_.fabric; }

  const Machine& machine_;
  HostId host_;
  HostId hub_host_;
  const Catalog& catalog_;
  BuiltCluster& built_;
};

void HostBuilder::add_cpus() {
  const std::size_t nodes = static_cast<std::size_t>(machine_.numa_nodes);
  const Bandwidth memory = cpu_model().memory_bandwidth * machine_.sockets / machine_.numa_nodes;
  for (std::size_t i = 0; i < nodes; i++) {
    cpus().push_back(add_node(NodeKind::kCpu, fmt::format("cpu{}", i), i));
  }
  for (std::size_t i = 0; i < nodes; i++) {
    const NodeId dram = add_node(NodeKind::kMemory, fmt::format("memory{}", i), i);
    fabric().add_duplex(LinkKind::kMemory, cpus()[i], dram, memory / 2, Duration());
    built_.memories[host_.index()].push_back(dram);
  }
}

void HostBuilder::join_sockets() {
  const CpuModel& model = cpu_model();
  const std::size_t count = static_cast<std::size_t>(machine_.sockets);
  const std::size_t nodes = static_cast<std::size_t>(machine_.numa_nodes);
  std::vector<NodeId> sockets = cpus();
  if (nodes > count) {
    sockets.clear();
    for (std::size_t i = 0; i < count; i++) {
      sockets.push_back(add_node(NodeKind::kSocket, fmt::format("socket{}", i), i));
    }
    for (std::size_t i = 0; i < nodes; i++) {
      fabric().add_duplex(LinkKind::kCpuInterconnect, cpus()[i], sockets[i * count / nodes],
                          model.memory_bandwidth, Duration());
    }
  }
  for (std::size_t a = 0; a < count; a++) {
    for (std::size_t b = a + 1; b < count; b++) {
      fabric().add_duplex(LinkKind::kCpuInterconnect, sockets[a], sockets[b], model.interconnect,
                          model.interconnect_latency);
    }
  }
}

void HostBuilder::join_pcie(NodeId device, const std::string& parent, std::int32_t generation,
                            std::int32_t lanes) {
  join_pcie_ways(device, device, parent, generation, lanes);
}

void HostBuilder::join_pcie_ways(NodeId up, NodeId down, const std::string& parent,
                                 std::int32_t generation, std::int32_t lanes) {
  const std::int32_t agreed = std::min(generation, machine_.pcie_generation_at(parent));
  const PcieGeneration* pcie = catalog_.pcie_generation(agreed);
  CHECK(pcie != nullptr && lanes > 0, "PCIe generation {}, {} lanes", agreed, lanes);
  const Bandwidth rate = pcie_bandwidth(*pcie, lanes);
  fabric().add_link(LinkKind::kPcie, up, element(parent), rate, pcie->latency);
  fabric().add_link(LinkKind::kPcie, element_down(parent), down, rate, pcie->latency);
}

void HostBuilder::add_pcie_switches() {
  for (std::size_t i = 0; i < machine_.pcie_switches.size(); i++) {
    const PcieSwitch& added = machine_.pcie_switches[i];
    const NodeId up = add_node(NodeKind::kPciSwitch, added.name, i);
    const NodeId down =
        machine_.acs_redirect ? add_node(NodeKind::kPciSwitch, added.name + kDown, i) : up;
    join_pcie_ways(up, down, added.attach, added.generation, added.uplink_lanes);
  }
}

void HostBuilder::add_gpus() {
  const GpuModel& model = gpu_model();
  for (std::size_t i = 0; i < machine_.gpus.size(); i++) {
    const std::string& parent = machine_.gpus[i].attach;
    const NodeId node = add_node(NodeKind::kGpu, fmt::format("gpu{}", i), i);
    // First, so that routes take it where PCIe is as good.
    if (model.chip_to_chip) {
      fabric().add_duplex(LinkKind::kChipToChip, node,
                          cpus()[static_cast<std::size_t>(machine_.cpu_above(parent))],
                          *model.chip_to_chip, cpu_model().interconnect_latency);
    }
    join_pcie(node, parent, model.pcie_generation, machine_.gpu_pcie_lanes);
    gpus().push_back(node);
    built_.gpu_numa[host_.index()].push_back(machine_.cpu_above(parent));
  }
}

void HostBuilder::add_nvlink() {
  if (machine_.wiring == NvLinkWiring::kNone) {
    return;
  }
  const NvLinkGeneration* nvlink = catalog_.nvlink_generation(machine_.nvlink_generation);
  CHECK(nvlink != nullptr, "NVLink generation {}", machine_.nvlink_generation);
  if (machine_.wiring == NvLinkWiring::kNvSwitch) {
    const std::optional<NodeId> shared =
        fabric().find_node(fmt::format("node{}/nvswitch", hub_host_.value()));
    const NodeId hub = shared ? *shared : add_node(NodeKind::kNvSwitch, "nvswitch", 0);
    for (const NodeId gpu : gpus()) {
      fabric().add_duplex(LinkKind::kNvLink, gpu, hub,
                          nvlink->per_link * machine_.nvlink_links_per_gpu, nvlink->latency);
    }
    return;
  }
  CHECK(machine_.nvlink_matrix.size() == gpus().size());
  for (std::size_t a = 0; a < gpus().size(); a++) {
    for (std::size_t b = a + 1; b < gpus().size(); b++) {
      if (machine_.nvlink_matrix[a][b] > 0) {
        fabric().add_duplex(LinkKind::kNvLink, gpus()[a], gpus()[b],
                            nvlink->per_link * machine_.nvlink_matrix[a][b], nvlink->latency);
      }
    }
  }
}

void HostBuilder::add_nics() {
  for (std::size_t i = 0; i < machine_.nics.size(); i++) {
    const MachineNic& nic = machine_.nics[i];
    const NodeId node = add_node(NodeKind::kNic, nic.name, i);
    std::int32_t numa = 0;
    if (nic.attach) {
      join_pcie(node, *nic.attach, nic.pcie_generation, nic.pcie_lanes);
      numa = machine_.cpu_above(*nic.attach);
    } else {
      fabric().add_duplex(LinkKind::kVirtual, node, cpus().front(), cpu_model().memory_bandwidth,
                          Duration());
    }
    built_.nics[host_.index()].push_back(node);
    built_.nic_numa[host_.index()].push_back(numa);
    const NicModel* model = nic.model.empty() ? nullptr : catalog_.nic(nic.model);
    built_.nic_software_verbs[host_.index()].push_back(model == nullptr ? std::nullopt
                                                                        : model->software_verbs);
    built_.wires[host_.index()].emplace_back(static_cast<std::size_t>(nic.ports));
  }
}

}  // namespace

BuiltCluster build(const Cluster& cluster, const Catalog& catalog) {
  BuiltCluster built;
  const std::size_t hosts = cluster.hosts.size();
  built.gpus.resize(hosts);
  built.cpus.resize(hosts);
  built.memories.resize(hosts);
  built.nics.resize(hosts);
  built.wires.resize(hosts);
  built.gpu_numa.resize(hosts);
  built.nic_numa.resize(hosts);
  built.nic_software_verbs.resize(hosts);
  for (std::size_t host = 0; host < hosts; host++) {
    // All hosts of an NVLink domain hang on the NVSwitch node of its first one.
    const std::int32_t first =
        cluster.domain_of(host) * std::max(1, cluster.hosts_per_nvlink_domain);
    HostBuilder(cluster.hosts[host], HostId(static_cast<std::int32_t>(host)), HostId(first),
                catalog, built)
        .build();
  }
  Problems problems;
  build_networks(cluster, catalog, built, problems);
  problems.throw_if_any();
  return built;
}

RouteFilter nvlink_only(bool relay) {
  RouteFilter filter;
  filter.link = [](const Link& link) { return link.kind == LinkKind::kNvLink; };
  filter.through = [relay](const Node& node) {
    return node.kind == NodeKind::kNvSwitch || (relay && node.kind == NodeKind::kGpu);
  };
  return filter;
}

RouteFilter host_only() {
  RouteFilter filter;
  filter.link = [](const Link& link) {
    return link.kind != LinkKind::kNvLink && link.kind != LinkKind::kNetwork;
  };
  filter.through = [](const Node& node) {
    return node.kind == NodeKind::kPciSwitch || node.kind == NodeKind::kCpu ||
           node.kind == NodeKind::kSocket;
  };
  return filter;
}

RouteFilter network_only() {
  RouteFilter filter;
  filter.link = [](const Link& link) { return link.kind == LinkKind::kNetwork; };
  filter.through = [](const Node& node) { return node.kind == NodeKind::kSwitch; };
  return filter;
}

}  // namespace busbw::topologies
