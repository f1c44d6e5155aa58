// Builder: machines and the networks between them -> a Fabric.
//
// Inside a host:
//   NVSwitch: one node for all NVSwitches of the host (or of the hosts of an NVLink domain),
//   non-blocking; each GPU has all its links to it. Direct NVLink: one link a direction with the
//   rate of all NVLinks of the pair. PCIe: device to switch to CPU, at the lower generation of the
//   two ends; with ACS redirection a switch is two nodes, one on the way up and one on the way
//   down, so that its devices meet at the CPU. NVLink-C2C: GPU to CPU beside PCIe, if the GPU model
//   has it, with the CPU interconnect's latency. Memory: each CPU (NUMA node) has a write and a
//   read link of half its DRAM bandwidth. A staged byte is written once and read once, so the
//   halves together are exactly the shared bus. Sockets: joined all to all by the CPU interconnect.
//   NUMA nodes of one socket meet in a socket node, the on-die fabric, which gets the DRAM
//   bandwidth and is never the narrow place. Virtual NIC: on cpu0, with the socket's DRAM
//   bandwidth.
//
// Between hosts: NIC port to leaf switch, leaf to spine; or the switches and cables of a fabric
// file, with the tables of its subnet manager. A link's latency is the cable's, plus the NIC's at a
// NIC end, plus the switch's if it leaves a switch.
//
// Rates are those of the medium after line coding; protocol headers are the transports' affair.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topologies/catalog.h"
#include "topologies/fabric.h"
#include "topologies/machine.h"
#include "topologies/network_route.h"

namespace busbw::topologies {

/// Which leaf of a network a NIC hangs on.
enum class LeafPlacement {
  kByNic,   // the k-th NIC of the network in its host: leaf k mod leaves (a rail per leaf)
  kByHost,  // equal blocks of hosts in host order
};

/// A partition of an InfiniBand network (P_Key). Hosts count from 0.
struct HostPartition {
  networks::Pkey key = 0;  // 15 bits
  std::vector<std::size_t> full;
  std::vector<std::size_t> limited;  // members that talk to full ones only
};

/// One network of the cluster: which NICs of every machine hang on which leaf.
struct Network {
  std::string name;  // "management", "rdma": prefix of its switches' names
  /// NIC names or interface names; "mlx5_0:2" is that port only. A host may lack some of them.
  std::vector<std::string> nics;
  std::string switch_model;  // catalogue name; empty: an ideal switch of any size without latency
  std::int32_t leaf_switches = 1;
  LeafPlacement placement = LeafPlacement::kByNic;
  Bandwidth trunk;                  // one way, each leaf to the spines; 0: leaves are not joined
  std::int32_t spine_switches = 1;  // which share each trunk evenly
  Duration cable_latency;           // each cable
  /// In place of the six above. Host h of the cluster is host h of the fabric, the k-th port of
  /// the network in it is port k there.
  std::optional<networks::FabricSpec> fabric;
  /// [host of the cluster]: host of the fabric, from 0; empty: the same number.
  std::vector<std::int32_t> places;
  /// The n-th that a host is in is entry n of the P_Keys of its ports. Empty: those of the fabric
  /// file; without one all are full members of one.
  std::vector<HostPartition> partitions;
  Location where;  // for messages
};

struct Cluster {
  std::vector<Machine> hosts;  // one per host, in rank order
  std::vector<Network> networks;
  /// This many neighbouring hosts, all with NVSwitch, share their NVSwitches (GB200 NVL72: 18
  /// trays). 0 or 1: none do.
  std::int32_t hosts_per_nvlink_domain = 0;
  /// The NVLink domain of a host; hosts alone in theirs have their own number.
  [[nodiscard]] std::int32_t domain_of(std::size_t host) const {
    return static_cast<std::int32_t>(host) / std::max(1, hosts_per_nvlink_domain);
  }
};

/// The cable of one NIC port.
struct Wire {
  LinkId out;  // NIC -> leaf
  LinkId in;   // leaf -> NIC
  NodeId leaf;
  std::optional<FabricPlace> place;                           // in a network with a fabric file
  std::vector<networks::Pkey> pkeys{networks::kDefaultPkey};  // of the port, by index
};

/// Where things of the cluster are in the fabric. Indices: [host][element].
struct BuiltCluster {
  Fabric fabric;
  std::vector<std::vector<NodeId>> gpus;      // [host][gpu]
  std::vector<std::vector<NodeId>> cpus;      // [host][NUMA node]
  std::vector<std::vector<NodeId>> memories;  // [host][NUMA node]
  std::vector<std::vector<NodeId>> nics;      // [host][NIC in order of Machine::nics]
  std::vector<std::vector<std::vector<std::optional<Wire>>>>
      wires;                                        // [host][nic][port]; nothing: not cabled
  std::vector<std::vector<std::int32_t>> gpu_numa;  // [host][gpu]: NUMA node above it
  std::vector<std::vector<std::int32_t>> nic_numa;  // [host][nic]; 0 for a virtual NIC
  std::vector<std::vector<std::optional<Bandwidth>>>
      nic_software_verbs;             // [host][nic], as NicModel
  std::vector<RoutedNetwork> routed;  // networks with a fabric file, in order of Cluster::networks
};

/// A port of a NIC of a host, all from 0.
struct CabledPort {
  std::size_t nic = 0;
  std::size_t port = 0;
};
/// The ports of a host that hang on `network`, in its order of NICs: the k-th is port k of the
/// host's place in a fabric file.
std::vector<CabledPort> cabled_ports(const Machine& machine, const Network& network);

/// Builds the fabric of `cluster`. CHECKs what read_machine has verified. Throws InputError with
/// every problem when two networks have one name, a network names a NIC that no host has, a NIC
/// already cabled to another network, an unknown switch model, more ports than the switch has, or
/// hosts that a fabric file has no place for.
BuiltCluster build(const Cluster& cluster, const Catalog& catalog);

/// GPU to GPU of one host over NVLink alone (direct or NVSwitch, or over GPUs between when
/// `relay`).
RouteFilter nvlink_only(bool relay = false);
/// Inside a host over PCIe, C2C and CPU interconnect: no NVLink, no network, and through no GPU,
/// NIC or memory.
RouteFilter host_only();
/// From a NIC to a NIC over the network alone.
RouteFilter network_only();

}  // namespace busbw::topologies
