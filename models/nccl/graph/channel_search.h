// One try of the search: the recursion over channels, start NICs and GPUs for given speeds, types
// and a budget of steps. Source: NCCL 2.18 to 2.30.7, src/graph/search.cc.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "models/nccl/graph/reservations.h"
#include "models/nccl/graph/search.h"

namespace busbw::nccl::graph {

class ChannelSearch {
 public:
  /// Improves `best` in place.
  ChannelSearch(System& system, const PathRules& rules, Graph& best);

  /// Runs one try with the settings of `wanted`. Returns what is left of the budget: 0 when it ran
  /// out, -1 when the best possible number of channels was found.
  int run(const Graph& wanted, int budget);
  /// Whether the last try left every link as it was before; only the first ones round some.
  [[nodiscard]] bool links_kept() const { return links_kept_; }
  /// How often `best` was improved.
  [[nodiscard]] int improvements() const { return improvements_; }

 private:
  enum class Order : std::uint8_t { kFree, kPci, kReplay };
  /// Where the walk through the GPUs goes back to a NIC or to its first GPU, which order it keeps.
  struct Walk {
    int back_to_net = -1;
    int back_to_first = -1;
    Order order = Order::kFree;
  };
  /// Entering a GPU (index) from a place of Reservations (-1: from nowhere) as the position-th of
  /// the channel.
  struct Step {
    int from = -1;
    int gpu = 0;
    int position = 0;
    bool looked = false;  // at the links of the way, right before
  };

  void next_channel(int& time);
  void start_at_gpus(int& time);
  void start_at_nets(int& time);
  [[nodiscard]] bool may_start_at(int net, float speed) const;
  void change_budget(int net, float change);
  /// NVLS and CollNetDirect; true when a head was tried.
  bool start_head(int net, const std::vector<int>& nets, int& time);
  void start_gpus_of(int net, int& time);
  void start_near_gpus(int net, int& time);
  void enter(const Step& step, const Walk& walk, int& time);
  void visit(const Step& step, const Walk& walk, int& time);
  void complete(int& time);
  void return_to_net(const Step& step, const Walk& walk, int& time);
  [[nodiscard]] bool may_return_to(int net, int position) const;
  void next_gpus(const Step& step, const Walk& walk, int& time);
  void return_to_first(const Step& step, const Walk& walk, int& time);
  void try_nvls(int head, int& time);
  void try_collnet_direct(int head, int& time);

  /// Pushes the GPUs to try next onto `stack_`, first one first.
  void push_candidates(const Step& step, int sort_net);
  void push_neighbours(const Step& step);
  [[nodiscard]] int replayed_gpu(int position) const;
  [[nodiscard]] Walk start_walk(Order order) const;
  /// net_list() and the GPUs next to a NIC, kept: paths do not change during a search.
  const std::vector<int>& nets_for(int gpu);
  const std::vector<int>& gpus_near(int net);
  /// Before 2.27.6: whether a GPU is as near to the NIC as any, and the bandwidth of these.
  struct Nearest {
    float bandwidth = 0;
    std::vector<bool> gpus;
  };
  const Nearest& nearest_gpus(int net);
  [[nodiscard]] int whole_pci_bandwidth(int gpu) const;
  [[nodiscard]] bool used(int gpu) const {
    const std::uint64_t word = used_[static_cast<std::size_t>(now_.channels) * words_ +
                                     static_cast<std::size_t>(gpu) / 64];
    return (word >> (gpu % 64) & 1) != 0;
  }
  [[nodiscard]] bool pci_used_up(int gpu) const;
  [[nodiscard]] bool better() const;
  [[nodiscard]] int gpu_node(int gpu) const { return system_.node_of(NodeType::kGpu, gpu); }
  [[nodiscard]] int net_node(int net) const { return system_.node_of(NodeType::kNet, net); }

  struct PciLinks {
    int up = -1;
    int down = -1;
  };
  /// A candidate for the next GPU; the smaller one is tried first. Bandwidths count as whole GB/s.
  /// From the highest bits: `net` holds the NIC's bandwidth, that of PCIe, the NIC's hops; `gpu`
  /// the bandwidth and hops between the GPUs, the distance in index order, the GPU's index.
  struct Candidate {
    std::uint64_t net = 0;
    std::uint64_t gpu = 0;
    bool operator<(const Candidate& other) const {
      return net != other.net ? net < other.net : gpu < other.gpu;
    }
  };
  void look_up_facts();
  void look_up_keys();

  System& system_;
  const PathRules& rules_;
  Graph& best_;
  Graph now_;
  int gpus_;
  std::size_t words_;                                       // of 64 bits a set of GPUs has
  std::vector<std::uint64_t> used_;                         // [channel][word], GPUs in it
  std::vector<std::optional<std::vector<int>>> net_lists_;  // [type][gpu + 1]
  std::vector<std::optional<std::vector<int>>> near_gpus_;  // [net]
  std::vector<int> gpu_of_rank_;                            // rank within the node -> GPU index
  std::vector<int> net_of_node_;                            // node -> NET index, -1
  std::vector<std::optional<Nearest>> nearest_gpus_;        // [net]
  std::vector<std::vector<int>> card_nets_;  // [net], nodes with the same card and port
  std::vector<bool> same_card_;              // [net][net]: rings may come back there
  std::vector<bool> same_plane_;             // [net][net]
  std::vector<std::uint64_t> gpu_keys_;      // [from][to], part of Candidate; 0: no path
  std::vector<std::uint64_t> net_keys_;      // [net][gpu], without PCIe
  std::vector<PciLinks> pci_links_;          // per GPU
  std::vector<int> stack_;                   // candidates of all levels of the recursion
  std::vector<Candidate> candidates_;
  Reservations reservations_;
  bool links_kept_ = true;
  int improvements_ = 0;
};

}  // namespace busbw::nccl::graph
