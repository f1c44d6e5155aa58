// Which transport joins the rank with each of its neighbours.
//
// A sender tells of peer memory and shared memory, both ends of a connection over the network.
// Connections of NVLS trees and PAT are left out.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "models/nccl/graph/paths.h"
#include "models/nccl/log/lines.h"

namespace busbw::nccl::log {
namespace {

using graph::Graph;
using graph::NodeType;
using graph::Path;
using graph::PathRules;
using graph::PathType;
using graph::System;

constexpr Version kConnectLate{2, 22, 3};
constexpr Version kCuMem{2, 19, 1};

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

bool cu_mem(const View& view) {
  return view.decision.version >= kCuMem &&
         numeric(view.decision.environment, "NCCL_CUMEM_ENABLE", 1) != 0;
}

class Connector {
 public:
  explicit Connector(const View& view)
      : view_(view),
        system_(view.group(view.rank).system),
        rules_(graph::path_rules(view.decision.environment, view.decision.switches)) {}

  void want_receive(int channel, int peer) { want(receive_, channel, peer, true); }
  void want_send(int channel, int peer) { want(send_, channel, peer, false); }

  /// Makes what is wanted and not there yet, peers by distance in rank order, as the ranks meet.
  void connect(const Graph& graph) {
    const int ranks = view_.decision.comm.ranks;
    std::map<int, std::set<int>> distances;  // distance -> 0: receive, 1: send
    for (const auto& [peer, channels] : receive_)
      distances[(view_.rank - peer + ranks) % ranks].insert(0);
    for (const auto& [peer, channels] : send_)
      distances[(peer - view_.rank + ranks) % ranks].insert(1);
    for (const auto& [distance, ways] : distances) {
      for (const int channel : receive_[(view_.rank - distance + ranks) % ranks])
        receive(graph, channel, (view_.rank - distance + ranks) % ranks);
      for (const int channel : send_[(view_.rank + distance) % ranks])
        send(graph, channel, (view_.rank + distance) % ranks);
    }
    receive_.clear();
    send_.clear();
  }

  void say(std::string text) { lines_.push_back(info("INIT", std::move(text))); }
  [[nodiscard]] bool pxn() const { return pxn_; }
  [[nodiscard]] bool gdr() const { return gdr_; }
  Lines take() { return std::move(lines_); }

 private:
  using Wanted = std::map<int, std::set<int>>;  // peer -> channels

  void want(Wanted& wanted, int channel, int peer, bool receive) {
    if (peer >= 0 && peer != view_.rank && made_.insert({receive, peer, channel}).second)
      wanted[peer].insert(channel);
  }

  enum class Way { kPeer, kShared, kNetwork };
  [[nodiscard]] Way way(int from, int to) const {
    if (view_.place(from).node != view_.place(to).node)
      return Way::kNetwork;
    const int a = view_.place(from).gpu;
    const int b = view_.place(to).gpu;
    if (graph::net_faster(system_, a, b, rules_))
      return Way::kNetwork;
    if (graph::p2p_allowed(system_, a, b, rules_))
      return Way::kPeer;
    const bool one_host =
        system_.node(NodeType::kGpu, a).host == system_.node(NodeType::kGpu, b).host;
    return rules_.shm && one_host ? Way::kShared : Way::kNetwork;
  }

  [[nodiscard]] std::string pair(int from, int to) const {
    return fmt::format("{}[{}] -> {}[{}]", from, view_.gpu(from).gpu.dev, to,
                       view_.gpu(to).gpu.dev);
  }

  void receive(const Graph& graph, int channel, int peer) {
    if (way(peer, view_.rank) != Way::kNetwork)
      return;
    const int net = device(graph, channel);
    if (net < 0)
      return;
    lines_.push_back(info(
        "INIT|NET", fmt::format("Channel {:02d}/0 : {} [receive] via NET/{}/{}{}", channel,
                                pair(peer, view_.rank), view_.network,
                                system_.node(NodeType::kNet, net).net.dev, direct(net, false))));
  }

  void send(const Graph& graph, int channel, int peer) {
    switch (way(view_.rank, peer)) {
      case Way::kPeer:
        lines_.push_back(info("INIT|P2P", fmt::format("Channel {:02d}/0 : {} via P2P/{}", channel,
                                                      pair(view_.rank, peer), peer_way(peer))));
        return;
      case Way::kShared:
        lines_.push_back(info("INIT|SHM", fmt::format("Channel {:02d} : {} via SHM/direct/direct",
                                                      channel, pair(view_.rank, peer))));
        return;
      default:
        break;
    }
    const int net = device(graph, channel);
    if (net < 0)
      return;
    const int relay = graph::relay_of(system_, view_.place(view_.rank).gpu, net);
    std::string proxy;
    if (relay >= 0) {
      pxn_ = true;
      proxy = fmt::format(
          "({})", view_.first_rank(view_.rank) + system_.node(NodeType::kGpu, relay).gpu.rank);
    }
    lines_.push_back(info("INIT|NET", fmt::format("Channel {:02d}/0 : {} [send] via NET/{}/{}{}{}",
                                                  channel, pair(view_.rank, peer), view_.network,
                                                  system_.node(NodeType::kNet, net).net.dev, proxy,
                                                  direct(net, true))));
  }

  /// The NIC (index) that the graph gives the rank, -1 without.
  [[nodiscard]] int device(const Graph& graph, int channel) const {
    const int searched = channel % view_.decision.comm.search_channels;
    const int local = view_.rank - view_.first_rank(view_.rank);
    const int node = graph.net(searched, local == graph.rank(searched, 0) ? 0 : 1);
    const std::vector<int>& nets = system_.all(NodeType::kNet);
    const auto found = std::find(nets.begin(), nets.end(), node);
    return found == nets.end() ? -1 : static_cast<int>(found - nets.begin());
  }

  std::string direct(int net, bool read) {
    const int gpu = view_.place(view_.rank).gpu;
    if (!graph::gdr_allowed(system_, {gpu, net, read}, rules_)) {
      gdr_ = false;
      return "";
    }
    const int by = graph::relay_of(system_, gpu, net);
    const int near = by < 0 ? gpu : by;
    const int cpu = graph::local_cpu(system_, near);
    const PathType type = system_.path(NodeType::kGpu, near, NodeType::kNet, net).type;
    const bool pci = view_.from(2, 26, 2) && cpu >= 0 && type != PathType::kC2c &&
                     type != PathType::kP2c &&
                     system_.path(NodeType::kGpu, near, NodeType::kCpu, cpu).type == PathType::kC2c;
    return pci ? "/GDRDMA(PCI)" : "/GDRDMA";
  }

  [[nodiscard]] std::string peer_way(int peer) const {
    const int own = view_.place(view_.rank).gpu;
    const int other = view_.place(peer).gpu;
    const Path& path = system_.path(NodeType::kGpu, own, NodeType::kGpu, other);
    const int sm = system_.node(NodeType::kGpu, own).gpu.sm;
    const bool ampere =
        path.type == PathType::kNvl && sm == 80 && system_.node(NodeType::kGpu, other).gpu.sm == 80;
    const bool reads =
        numeric(view_.decision.environment, "NCCL_P2P_READ_ENABLE", ampere ? 1 : 0) != 0;
    const bool copies = numeric(view_.decision.environment, "NCCL_P2P_USE_CUDA_MEMCPY", 0) != 0;
    const std::string read = reads && !copies ? "/read" : "";
    const int between = intermediate(path, own, other);
    if (between >= 0) {
      const graph::Gpu& gpu = system_.node(NodeType::kGpu, between).gpu;
      return fmt::format("indirect/{}[{}]{}", view_.first_rank(view_.rank) + gpu.rank, gpu.dev,
                         read);
    }
    const char* handle = !cu_mem(view_) ? "IPC" : view_.decision.mnnvl ? "MNNVL" : "CUMEM";
    return handle + read + (copies ? "/CE" : "");
  }

  /// The GPU that relays between two others, -1 without.
  [[nodiscard]] int intermediate(const Path& path, int own, int other) const {
    if (path.type != PathType::kNvb)
      return -1;
    for (const int hop : path.hops) {
      for (int gpu = 0; gpu < system_.count(NodeType::kGpu); gpu++) {
        const bool here =
            system_.node(NodeType::kGpu, gpu).gpu.device == system_.links[at(hop)].to ||
            system_.node_of(NodeType::kGpu, gpu) == system_.links[at(hop)].to;
        if (here && gpu != own && gpu != other)
          return gpu;
      }
    }
    return -1;
  }

  const View& view_;
  const System& system_;
  const PathRules rules_;
  std::set<std::tuple<bool, int, int>> made_;
  Wanted receive_;
  Wanted send_;
  Lines lines_;
  bool pxn_ = false;
  bool gdr_ = true;
};

}  // namespace

bool connects_at_start(const View& view) {
  return view.decision.version < kConnectLate || !cu_mem(view) ||
         numeric(view.decision.environment, "NCCL_RUNTIME_CONNECT", 1) == 0;
}

Lines connection_lines(const View& view) {
  const graph::Communicator& comm = view.decision.comm;
  if (comm.ranks == 1 && !(view.decision.version < kConnectLate))
    return {};
  Connector connector(view);
  for (int channel = 0; comm.ranks > 1 && channel < comm.channels; channel++) {
    const RingNeighbours ring = ring_neighbours(view, channel);
    connector.want_receive(channel, ring.previous);
    connector.want_send(channel, ring.next);
  }
  connector.connect(view.group(view.rank).ring);
  connector.say("Connected all rings" +
                (view.from(2, 24, 3) ? fmt::format(", use ring PXN {} GDR {}",
                                                   connector.pxn() ? 1 : 0, connector.gdr() ? 1 : 0)
                                     : std::string()));
  const std::vector<TreeNeighbours> trees = tree_neighbours(view);
  for (int channel = 0; comm.ranks > 1 && channel < comm.channels; channel++) {
    const TreeNeighbours& tree = trees[at(graph::original_channel(comm, channel))];
    for (const int down : tree.down) {
      connector.want_receive(channel, down);
      connector.want_send(channel, down);
    }
    connector.want_receive(channel, tree.up);
    connector.want_send(channel, tree.up);
  }
  connector.connect(view.group(view.rank).tree);
  connector.say("Connected all trees");
  return connector.take();
}

}  // namespace busbw::nccl::log
