// One try of the search: the recursion over channels, start NICs and GPUs for given speeds, types
// and a budget of steps. Source: NCCL 2.18 to 2.30.7, src/graph/search.cc.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "models/nccl/graph/search.h"

namespace busbw::nccl::graph {

class ChannelSearch {
 public:
  /// Improves `best` in place.
  ChannelSearch(System& system, const PathRules& rules, Graph& best);

  /// Runs one try with the settings of `wanted`. Returns what is left of the budget: 0 when it ran
  /// out, -1 when the best possible number of channels was found.
  int run(const Graph& wanted, int budget);

 private:
  enum class Order : std::uint8_t { kFree, kPci, kReplay };
  /// Where the walk through the GPUs goes back to a NIC or to its first GPU, which order it keeps.
  struct Walk {
    int back_to_net = -1;
    int back_to_first = -1;
    Order order = Order::kFree;
  };
  /// Entering a GPU (index) from a node (-1: from nowhere) as the position-th of the channel.
  struct Step {
    int from = -1;
    int gpu = 0;
    int position = 0;
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
  [[nodiscard]] float pci_bandwidth(int gpu) const;
  [[nodiscard]] bool better() const;
  [[nodiscard]] int gpu_node(int gpu) const { return system_.node_of(NodeType::kGpu, gpu); }
  [[nodiscard]] int net_node(int net) const { return system_.node_of(NodeType::kNet, net); }

  /// Takes `multiple` times the speed along the path; false, and nothing taken, when a link has too
  /// little or the path is of a farther type than allowed (asked only when `multiple` is 1).
  bool reserve(int from, int to, float multiple);
  void release(int from, int to, float multiple);
  /// The hops of all paths taken, cut to whole ones at every step, as NCCL counts them.
  void count_hops(float more);
  /// Links that had room; all of them when there is room everywhere.
  struct Ends {
    int from = 0;
    int to = 0;
  };
  std::size_t take(const Ends& ends, std::size_t hops, float bandwidth);

  /// What never changes during a search, looked up once.
  struct LinkFacts {
    int reverse = -1;
    bool pci = false;
    bool enters_old_gpu = false;    // sm below 80: reading from a NIC costs the way back too
    bool enters_power_cpu = false;  // NVLink into a POWER CPU
  };
  struct PairFacts {
    int hops = 0;
    int bandwidth = 0;  // whole GB/s
  };
  struct PciLinks {
    int up = -1;
    int down = -1;
  };
  /// Sort keys of a candidate for the next GPU; bandwidths count as whole GB/s.
  struct Score {
    int gpu = 0;
    int distance = 0;  // in index order from the present GPU
    PairFacts intra;
    PairFacts net;
    int pci_bandwidth = 0;
    bool operator<(const Score& other) const;
  };
  void look_up_facts();
  [[nodiscard]] bool crosses_intel(int from, int to) const;

  System& system_;
  const PathRules& rules_;
  Graph& best_;
  Graph now_;
  int gpus_;
  std::vector<std::uint64_t> used_;                         // per GPU, a bit per channel
  std::vector<std::optional<std::vector<int>>> net_lists_;  // [type][gpu + 1]
  std::vector<std::optional<std::vector<int>>> near_gpus_;  // [net]
  std::vector<int> gpu_of_rank_;                            // rank within the node -> GPU index
  std::vector<int> gpu_of_node_;                            // node -> GPU index, -1
  std::vector<LinkFacts> link_facts_;
  std::vector<PairFacts> gpu_pairs_;  // [from][to]
  std::vector<PciLinks> pci_links_;   // per GPU
  std::vector<bool> intel_;           // [target slot][GPU]
  std::vector<int> stack_;            // candidates of all levels of the recursion
  std::vector<Score> scores_;
};

}  // namespace busbw::nccl::graph
