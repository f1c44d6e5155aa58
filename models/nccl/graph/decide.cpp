// Groups hosts into nodes, searches each distinct node once, and puts the parts together.
#include "models/nccl/graph/decide.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "models/nccl/graph/graph_xml.h"
#include "models/nccl/graph/views.h"
#include "sim/core/errors.h"

namespace busbw::nccl::graph {
namespace {

constexpr int kMostRanks = 1 << 20;
constexpr int kMostDomainGpus = 576;  // ours: no NVLink domain is larger; time grows by the cube

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

class Decider {
 public:
  explicit Decider(const DecideInput& input)
      : input_(input), rules_(path_rules(input.environment, switches_of(input.version))) {}

  Decision run() {
    decision_.version = input_.version;
    decision_.switches = switches_of(input_.version);
    decision_.hosts = static_cast<int>(input_.hosts.size());
    decision_.environment = input_.environment;
    count_ranks();
    set_domains();
    int rank = 0;
    for (std::size_t host = 0; host < input_.hosts.size();) {
      const std::size_t end =
          std::min(input_.hosts.size(), host + at(std::max(1, decision_.hosts_per_nvlink_domain)));
      const std::vector<int> members(input_.hosts.begin() + static_cast<std::ptrdiff_t>(host),
                                     input_.hosts.begin() + static_cast<std::ptrdiff_t>(end));
      for (const int group : groups_of(members))
        decision_.nodes.push_back({group, rank});
      for (const int topology : members)
        rank += gpus_[at(topology)];
      host = end;
    }
    decision_.comm = communicator(decision_.groups, decision_.nodes, ranks_, input_.environment);
    decision_.rings = rings(decision_.groups, decision_.nodes, decision_.comm);
    decision_.trees = trees(decision_.groups, decision_.nodes, decision_.comm);
    decision_.tuning = tune(decision_.comm, input_.environment, decision_.switches);
    return std::move(decision_);
  }

 private:
  void count_ranks() {
    for (const Element& topology : input_.topologies) {
      gpus_.push_back(count_gpus(topology));
      if (gpus_.back() == 0)
        throw InputError({{topology.where, "the topology has no GPU"}});
    }
    if (input_.hosts.empty())
      throw InputError("a job needs at least one node");
    for (const int topology : input_.hosts) {
      ranks_ += gpus_[at(topology)];
      if (ranks_ > kMostRanks)
        throw InputError(fmt::format("the job has more than {} ranks", kMostRanks));
    }
    decision_.gpus_per_host = gpus_[at(input_.hosts.front())];
  }

  void set_domains() {
    const bool spans = input_.hosts_per_nvlink_domain > 1 && decision_.hosts > 1 &&
                       rules_.p2p_level.value_or(PathType::kSys) != PathType::kLoc &&
                       input_.version >= Version{2, 21, 5} &&
                       numeric(input_.environment, "NCCL_MNNVL_ENABLE", 2) != 0;
    decision_.mnnvl = spans;
    decision_.hosts_per_nvlink_domain = spans ? input_.hosts_per_nvlink_domain : 0;
  }

  /// The nodes that these hosts (one, or an NVLink domain) make; each group is searched once.
  const std::vector<int>& groups_of(const std::vector<int>& members) {
    const auto known = cache_.find(members);
    if (known != cache_.end())
      return known->second;
    std::vector<const Element*> hosts;
    int gpus = 0;
    for (const int topology : members) {
      hosts.push_back(&input_.topologies[at(topology)]);
      gpus += gpus_[at(topology)];
    }
    if (members.size() > 1 && gpus > kMostDomainGpus) {
      throw InputError(
          fmt::format("an NVLink domain of {} nodes has {} GPUs, at most {} are allowed",
                      members.size(), gpus, kMostDomainGpus));
    }
    System system = build_system(merged_document(hosts, decision_.switches), decision_.switches);
    if (system.count(NodeType::kGpu) != gpus) {
      throw InputError({{hosts.front()->where,
                         fmt::format("{} of the {} GPUs stand where NCCL does not look for them: "
                                     "below an NVSwitch or a NIC, or several in one 'pci'",
                                     std::abs(gpus - system.count(NodeType::kGpu)), gpus)}});
    }
    if (!every_rank_once(system)) {
      throw InputError({{hosts.front()->where,
                         "a GPU stands twice and another not at all: expected one 'gpu' in each "
                         "'pci', below neither an NVSwitch nor a NIC"}});
    }
    system.inter = gpus != ranks_;
    for (const int net : system.all(NodeType::kNet)) {
      Net& nic = system.nodes[at(net)].net;
      nic.coll = nic.coll || input_.collnet;
      decision_.collnet_there = decision_.collnet_there || nic.coll;
    }
    compute_paths(system, rules_);
    std::vector<int> numbers;
    std::vector<std::vector<int>> parts = domains(system);
    std::sort(parts.begin(), parts.end(), [&](const auto& a, const auto& b) {
      return first_rank(system, a) < first_rank(system, b);
    });
    for (const std::vector<int>& part : parts) {
      numbers.push_back(static_cast<int>(decision_.groups.size()));
      decision_.groups.push_back(searched(system, part));
    }
    return cache_.emplace(members, std::move(numbers)).first->second;
  }

  /// Equal numbers of GPUs do not say it: one may be lost and another counted twice.
  static bool every_rank_once(const System& system) {
    std::vector<bool> seen(at(system.count(NodeType::kGpu)));
    for (const int gpu : system.all(NodeType::kGpu)) {
      const int rank = system.nodes[at(gpu)].gpu.rank;
      if (rank < 0 || rank >= system.count(NodeType::kGpu) || seen[at(rank)])
        return false;
      seen[at(rank)] = true;
    }
    return true;
  }

  static int first_rank(const System& system, const std::vector<int>& gpus) {
    int first = kMostRanks;
    for (const int gpu : gpus)
      first = std::min(first, system.node(NodeType::kGpu, gpu).gpu.rank);
    return first;
  }

  Group searched(const System& whole, const std::vector<int>& part) {
    Group group;
    group.system = whole;
    System& system = group.system;
    const bool trimmed = static_cast<int>(part.size()) != whole.count(NodeType::kGpu);
    if (trimmed)
      keep_gpus(system, part);
    system.inter = static_cast<int>(part.size()) != ranks_;
    if (system.inter && system.count(NodeType::kNet) == 0) {
      throw InputError({{system.where,
                         "ranks that only the network joins, and the topology has no "
                         "NIC ('net')"}});
    }
    const bool drop_nets = !system.inter && !system.switches.keep_nets;
    if (drop_nets)
      remove_nets(system);
    if (trimmed || drop_nets || system.inter != whole.inter)
      compute_paths(system, rules_);
    SearchLimits limits;
    const int most = system.switches.version >= Version{2, 25, 1} ? 32 : 16;
    limits.most_channels = most;
    limits.cross_nic = numeric(input_.environment, "NCCL_CROSS_NIC", 2);
    group.ring = given_or_searched(system, {Pattern::kRing, kRingId}, limits);
    SearchLimits tree_limits = limits;
    tree_limits.least_channels = tree_limits.most_channels = group.ring.channels;
    group.tree = given_or_searched(system, {Pattern::kBalancedTree, kTreeId}, tree_limits);
    search_collnet(group, tree_limits, 2 * most);
    group.nvls.pattern = Pattern::kNvls;
    const int least_gpus = system.switches.nvls_with_two ? 2 : 3;
    if (numeric(input_.environment, "NCCL_NVLS_ENABLE", 2) != 0 &&
        system.count(NodeType::kGpu) >= least_gpus && system.smallest_sm() >= 90) {
      limits.most_channels = 32;
      group.nvls = given_or_searched(system, {Pattern::kNvls, kNvlsId}, limits);
    }
    return group;
  }

  /// Reduction in the network: a chain with as many channels as rings, and heads.
  void search_collnet(Group& group, SearchLimits limits, int most) {
    System& system = group.system;
    const std::vector<int>& nets = system.all(NodeType::kNet);
    group.collnet = system.inter && numeric(input_.environment, "NCCL_COLLNET_ENABLE", 0) == 1 &&
                    std::any_of(nets.begin(), nets.end(),
                                [&](int net) { return system.nodes[at(net)].net.coll; });
    if (!group.collnet)
      return;
    limits.collnet = true;
    group.collnet_chain = given_or_searched(system, {Pattern::kTree, kCollNetChainId}, limits);
    group.collnet_direct = group.collnet_chain;
    if (system.switches.pat) {
      limits.least_channels = 1;
      limits.most_channels = most;
      group.collnet_direct =
          given_or_searched(system, {Pattern::kCollNetDirect, kCollNetDirectId}, limits);
    }
  }

  struct Wanted {
    Pattern pattern = Pattern::kRing;
    int id = kRingId;
  };
  /// The graph of NCCL_GRAPH_FILE if it has one of that number, else what the search finds.
  Graph given_or_searched(System& system, const Wanted& wanted, const SearchLimits& limits) const {
    if (input_.graphs) {
      std::optional<Graph> given =
          graph_of(*input_.graphs, wanted.id, system, limits.cross_nic != 0);
      if (given)
        return std::move(*given);
    }
    return search_graph(system, wanted.pattern, limits, rules_);
  }

  static void remove_nets(System& system) {
    std::vector<int>& nets = system.by_type[static_cast<std::size_t>(NodeType::kNet)];
    for (const int net : nets)
      system.nodes[at(net)].links.clear();
    for (Node& node : system.nodes) {
      node.links.erase(
          std::remove_if(node.links.begin(), node.links.end(),
                         [&](int l) { return system.links[at(l)].kind == LinkKind::kNet; }),
          node.links.end());
    }
    nets.clear();
  }

  const DecideInput& input_;
  PathRules rules_;
  Decision decision_;
  std::vector<int> gpus_;  // per topology
  int ranks_ = 0;
  std::map<std::vector<int>, std::vector<int>> cache_;
};

}  // namespace

DecideInput equal_hosts(const Element& topology, int hosts) {
  DecideInput input;
  input.topologies = {topology};
  input.hosts.assign(at(std::max(0, hosts)), 0);
  return input;
}

Decision decide(const DecideInput& input) {
  return Decider(input).run();
}

}  // namespace busbw::nccl::graph
