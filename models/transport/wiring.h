// Turns (rank, rank, channel) into a connection of engine links: which transport, over which links
// of the fabric, at which cost.
//
// Inside a host, in NCCL's order: P2P over NVLink (direct or NVSwitch) or PCIe where NCCL takes it,
// else shared memory in the receiver's NUMA node, else the network: the kernel hands TCP's packets
// back, an HCA those between two of its own queue pairs. Between hosts: RDMA (from GPU memory with
// GPUDirect, by way of the GPU next to the NIC with PXN, else through host memory) or TCP sockets
// (always through host memory, driven by the proxy thread of each rank or by helper threads). The
// capacity of an engine link is the raw rate of the fabric link times the payload share of the
// protocol that runs over it (models/params). Sockets cross the memory twice at each end, NCCL's
// buffer and the kernel's; the CPU time of that copy is in the rate of the thread that does it.
//
// Nodes beyond the ranks are switches (Schedule::switches): the NVSwitch of a host, which reduces
// and multiplies (NVLS), and the network's (SHARP), which every port reaches by its own cable.
//
// Left out: acknowledgements. Source of the order and of the proxy
// threads: NCCL 2.18 to 2.30, src/transport.cc, src/transport/*.cc, src/proxy.cc.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/params/params.h"
#include "models/transport/connection.h"
#include "models/transport/host_limits.h"
#include "models/transport/incast.h"
#include "models/transport/network_choice.h"
#include "sim/core/ids.h"
#include "sim/engine/engine.h"
#include "topologies/build.h"

namespace busbw::transport {

enum class Network { kNone, kSocket, kInfiniBand, kRoce };

/// The NIC port by which a rank sends and receives on a channel.
struct NetPort {
  std::string device;           // NCCL's name of it: "eth0", "mlx5_0"
  std::size_t nic = 0;          // index in Machine::nics
  std::size_t port = 0;         // of the NIC, from 0
  bool gdr_send = false;        // the NIC reads the GPU's memory itself
  bool gdr_receive = false;     // and writes it
  std::optional<RankId> relay;  // PXN: the GPU next to the NIC, reached by NVLink
};

/// Both ends of a connection between hosts.
struct PortPair {
  NetPort out;
  NetPort in;
};

/// A switch that is a node of the schedule: the NVSwitch of a host or, without one, the network's.
struct SwitchPlace {
  std::optional<std::size_t> host;
};

struct WiringOptions {
  params::Protocol protocol = params::Protocol::kSimple;
  bool tree = false;  // steps of a tree: their latencies differ
  Network network = Network::kNone;
  std::vector<std::vector<NetPort>> ports;  // [rank][channel]; empty on one host
  /// Of what goes point to point: whom it goes to decides. Nothing: `ports`.
  std::function<PortPair(RankId from, RankId to, ChannelId channel)> pair_ports;
  std::int64_t mtu = 1500;          // of the interfaces used, for sockets and RoCE
  std::int64_t path_mtu = 4096;     // InfiniBand
  std::int32_t socket_threads = 0;  // helper threads a connection; 0: the proxy thread itself
  std::int32_t sockets_per_thread = 1;
  std::function<bool(RankId, RankId)> p2p;  // NCCL takes P2P inside a host; nothing: all pairs
  bool shm = true;                          // NCCL_SHM_DISABLE
  std::vector<SwitchPlace> switches;        // node RankId(ranks + i) of the schedule
  Ratio nvls_share{1, 1};  // of what NVLink carries otherwise, for reductions in the NVSwitch
  std::optional<Ratio> nvlink_share;  // of its raw rate; nothing: as for all generations
  Ratio slower{1, 1};  // steps inside a host take so much longer (params::BlockSpeed)
  std::vector<params::Traffic> traffic;  // by number of Cluster::networks; empty: nothing is said
  std::int32_t queue_pairs = 1;          // of a connection
  bool split_data = true;                // each message over all of them
  int pkey_index = 0;                    // NCCL_IB_PKEY
};

/// Adds engine links when a connection first needs them. Keeps references: all arguments must
/// outlive it.
class Wiring {
 public:
  Wiring(engine::Engine& engine, const topologies::Cluster& cluster,
         const topologies::BuiltCluster& built, const params::Transports& transports,
         WiringOptions options);

  /// Throws InputError when the two ranks cannot reach each other: NICs of different networks, P2P
  /// and shared memory both off without a network.
  Connection connect(RankId from, RankId to, ChannelId channel);
  /// Both ends of a connection by the network; nothing for another one or one with a switch.
  [[nodiscard]] std::optional<PortPair> ports(RankId from, RankId to, ChannelId channel) const;
  [[nodiscard]] std::size_t host_of(RankId rank) const { return gpu_of(rank).host; }

  /// After all connections are made: links where senders meet in networks that are not both
  /// lossless and fair get what is left of them (incast.h). `block`: the largest message.
  void settle(Bytes block);
  /// A share of its rate is left of a link from now on; 0: it is down.
  void degrade(topologies::LinkId link, Ratio share);
  /// Connections made from now on go around a link, where they can, or use it again.
  void avoid(topologies::LinkId link, bool avoided) {
    networks_.avoid(link, avoided);
    routes_.avoid(link, avoided);
  }
  /// The engine's link, if a connection has needed it.
  [[nodiscard]] std::optional<engine::LinkId> find(topologies::LinkId link) const {
    return links_[link.index()];
  }

 private:
  struct Gpu {
    std::size_t host = 0;
    std::size_t local = 0;
  };
  using FabricPath = std::vector<topologies::LinkId>;

  [[nodiscard]] Gpu gpu_of(RankId rank) const;
  [[nodiscard]] topologies::NodeId node_of(Gpu gpu) const;
  [[nodiscard]] std::int32_t ranks() const;
  /// Whether NCCL goes by the network: between hosts, and where it may not do without.
  [[nodiscard]] bool by_network(RankId from, RankId to) const;
  Connection connect_inside(RankId from, RankId to);
  Connection connect_network(RankId from, RankId to, ChannelId channel);
  Connection connect_switch(RankId from, RankId to, ChannelId channel);
  [[nodiscard]] topologies::NodeId nv_switch_of(std::size_t host) const;
  [[nodiscard]] FabricPath host_route(topologies::NodeId from, topologies::NodeId to) const;
  [[nodiscard]] FabricPath to_memory(std::size_t host, std::size_t numa) const;
  [[nodiscard]] FabricPath from_memory(std::size_t host, std::size_t numa) const;
  /// The ways from cable to cable, at least one. Throws InputError when there is none.
  struct NetworkWays {
    NetworkChoice::Chosen chosen;
    bool dropped = false;  // queue pairs connect, and their packets are lost on the way
  };
  NetworkWays network_ways(const NetworkEnds& ends, const PortPair& pair);
  /// Cables and leaf switches of both ends. Throws InputError for a port without a cable.
  [[nodiscard]] NetworkEnds ends_of(RankId from, RankId to, ChannelId channel,
                                    const PortPair& pair) const;
  /// The largest message that the network lets through; nothing: all.
  [[nodiscard]] std::optional<Bytes> passes(const NetworkEnds& ends) const;
  /// The cable of a port; null when there is none.
  [[nodiscard]] const topologies::Wire* cable(const NetPort& port, std::size_t host) const;
  [[nodiscard]] const topologies::Wire& wire_of(const NetPort& port, std::size_t host) const;
  [[nodiscard]] Connection start(const params::Transport& transport, const std::string& name) const;
  [[nodiscard]] Connection start_network() const;
  /// Appends the links of `path` to a leg and their latencies to `latency`.
  void append(std::vector<engine::LinkId>& leg, Duration& latency, const FabricPath& path);
  /// The same for a way of thread blocks to or from host memory; `leg` is one of `connection`.
  void append_host(std::vector<engine::LinkId>& leg, Connection& connection,
                   const FabricPath& path);
  /// From GPU memory to a NIC or back, which one of the two reads or writes itself.
  void append_peers(Connection& connection, topologies::NodeId from, topologies::NodeId to,
                    topologies::NodeId nic);
  void append_verbs(Connection& connection, std::size_t host, const NetPort& port);
  /// Where the two sides of a host meet that speak by the network: nothing reaches a wire.
  enum class Meeting { kOnTheWire, kInTheKernel, kInTheHca };
  [[nodiscard]] Meeting meeting_of(RankId from, RankId to, const PortPair& pair) const;
  /// Appends what lies between the two sides of one host.
  void append_meeting(Connection& connection, RankId from, RankId to, const PortPair& pair,
                      Meeting meeting);
  /// Appends the ways between two ports and the receiver's side.
  void append_network(Connection& connection, RankId from, RankId to, ChannelId channel,
                      const PortPair& pair);
  void append_sender(Connection& connection, RankId rank, const NetPort& port, Meeting meeting);
  void append_receiver(Connection& connection, RankId rank, const NetPort& port, Meeting meeting);
  /// What an HCA hands back to its own port.
  engine::LinkId loopback_of(std::size_t host, const NetPort& port);
  /// Through the host's memory: LL's flags are the proxy thread's to check, and it can't see a
  /// GPU's.
  [[nodiscard]] bool sends_from_host(const NetPort& port) const;
  /// The proxy thread of a rank, which handles so much.
  engine::LinkId proxy_of(RankId rank, Bandwidth rate);
  void limit_sockets(Connection& connection);
  engine::LinkId engine_link(topologies::LinkId link);
  /// What the link carries now.
  [[nodiscard]] Bandwidth present_rate(topologies::LinkId link) const;
  [[nodiscard]] Bandwidth payload_rate(const topologies::Link& link) const;
  [[nodiscard]] Ratio network_share(bool shaped) const;
  [[nodiscard]] bool is_shaped(const topologies::Link& link) const;

  engine::Engine& engine_;
  const topologies::Cluster& cluster_;
  const topologies::BuiltCluster& built_;
  const params::Transports& transports_;
  WiringOptions options_;
  HostLimits limits_;
  NetworkChoice networks_;
  topologies::PresentRoutes routes_;  // of fabric files
  LinkPairs pairs_;                   // of network links, where it matters
  std::map<topologies::LinkId, Ratio> settled_;
  std::map<topologies::LinkId, Ratio> degraded_;
  std::vector<std::optional<engine::LinkId>> links_;  // by fabric link
  std::map<RankId, engine::LinkId> proxies_;
  std::map<std::array<std::size_t, 3>, engine::LinkId> loopbacks_;  // by host, NIC and port
};

}  // namespace busbw::transport
