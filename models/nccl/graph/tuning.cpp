// Latency and bandwidth table, choice per call. Source: NCCL 2.18 to 2.30.7,
// src/graph/tuning.cc and src/enqueue.cc. Single precision where NCCL rounds to it.
#include "models/nccl/graph/tuning.h"

#include <algorithm>
#include <cmath>

#include "models/nccl/graph/algorithm_filter.h"
#include "models/nccl/graph/threads.h"

namespace busbw::nccl::graph {
namespace {

constexpr long long kUnset = -2;
constexpr int kMostNvlsGpus = 32;    // of a node, for AllGather and ReduceScatter
constexpr int kMostCollNetGpus = 8;  // of a node

std::size_t number(Algorithm algorithm) {
  return static_cast<std::size_t>(algorithm);
}
std::size_t number(Protocol protocol) {
  return static_cast<std::size_t>(protocol);
}

float rounded(double value) {
  return static_cast<float>(value);
}

int floor_log2(std::int64_t value) {
  int log = 0;
  while (value > 1) {
    value /= 2;
    log++;
  }
  return log;
}

/// Exists for that collective at all.
bool applies(Collective collective, Algorithm algorithm, const Switches& switches) {
  switch (collective) {
    case Collective::kBroadcast:
    case Collective::kReduce:
      return algorithm == Algorithm::kRing;
    case Collective::kAllGather:
    case Collective::kReduceScatter:
      if (algorithm == Algorithm::kCollNetDirect)
        return switches.collnet_gather;
      if (algorithm == Algorithm::kNvls)
        return switches.amd_links;
      return algorithm == Algorithm::kRing || (algorithm == Algorithm::kPat && switches.pat);
    default:
      return algorithm != Algorithm::kPat;
  }
}

bool is_nvls(Algorithm a) {
  return a == Algorithm::kNvls || a == Algorithm::kNvlsTree;
}

class Model {
 public:
  Model(const Communicator& comm, const Environment& environment, const Switches& switches)
      : comm_(comm),
        environment_(environment),
        switches_(switches),
        tables_(tuning_tables(switches.version)),
        filter_(algorithm_filter(environment, switches.version)),
        per_node_(comm.ranks / comm.nodes) {
    generation_ = comm.smallest_sm >= 100 && switches.version >= Version{2, 25, 1} ? 3U
                  : comm.smallest_sm >= 90                                         ? 2U
                  : comm.smallest_sm >= 80                                         ? 1U
                                                                                   : 0U;
    scale_ = comm.nodes <= 2 ? static_cast<std::size_t>(comm.nodes) - 1 : 2U;
    if (comm.cpu.arch == CpuArch::kPower) {
      tables_.hardware_us[1][number(Algorithm::kTree)][2] =
          tables_.hardware_us[1][number(Algorithm::kRing)][2];
    }
    pat_ = switches.pat && numeric(environment, "NCCL_PAT_ENABLE", 2) != 0 &&
           comm.smallest_sm >= 60 && comm.nodes == comm.ranks;
  }

  Tuning run() {
    Tuning tuning;
    set_threads(tuning, comm_, environment_);
    if (comm_.ranks <= 1)
      return tuning;
    for (std::size_t c = 0; c < kCollectives; c++) {
      const auto collective = static_cast<Collective>(c);
      for (std::size_t a = 0; a < kAlgorithms; a++) {
        const auto algorithm = static_cast<Algorithm>(a);
        if (!applies(collective, algorithm, switches_) || !exists(algorithm))
          continue;
        for (std::size_t p = 0; p < kProtocols; p++) {
          const auto protocol = static_cast<Protocol>(p);
          if ((is_nvls(algorithm) || algorithm == Algorithm::kPat) && protocol != Protocol::kSimple)
            continue;
          Cost& cost = tuning.cost(collective, algorithm, protocol);
          cost.bandwidth = bandwidth(collective, algorithm, protocol);
          cost.latency_us = latency(collective, algorithm, protocol);
          if (!enabled(collective, algorithm, protocol))
            cost.bandwidth = 0;
        }
      }
    }
    keep_ring(tuning);
    return tuning;
  }

 private:
  [[nodiscard]] bool exists(Algorithm a) const {
    if (a == Algorithm::kPat)
      return pat_;
    return !is_nvls(a) || !switches_.nvls_model || comm_.nvls.channels >= 2;
  }

  [[nodiscard]] MergedGraph graph(Algorithm algorithm) const {
    switch (algorithm) {
      case Algorithm::kTree:
      case Algorithm::kPat:
        return comm_.tree;
      case Algorithm::kRing:
        return comm_.ring;
      case Algorithm::kNvls:
      case Algorithm::kNvlsTree:
        return comm_.nvls;
      case Algorithm::kCollNetDirect:
        return comm_.collnet_direct;
      default:
        return comm_.collnet_chain;
    }
  }

  [[nodiscard]] int steps(Collective collective) const {
    switch (collective) {
      case Collective::kAllReduce:
        return 2 * (comm_.ranks - 1);
      case Collective::kAllGather:
      case Collective::kReduceScatter:
        return comm_.ranks - 1;
      default:
        return comm_.ranks;
    }
  }

  [[nodiscard]] float ll_cap() const {
    const bool amd = comm_.cpu.arch == CpuArch::kX86 && comm_.cpu.vendor == CpuVendor::kAmd;
    const bool mixed = comm_.mixed_cpus && switches_.version >= Version{2, 23, 4};
    const std::size_t row = comm_.nodes == 1 ? generation_ : (amd || mixed ? 1U : 0U);
    return rounded(tables_.ll_cap[row][scale_]);
  }

  /// Bandwidth of the buses: all channels together.
  [[nodiscard]] float bus_bandwidth(Collective collective, Algorithm a, Protocol p) const {
    const MergedGraph g = graph(a);
    const auto channels = static_cast<float>(g.channels);
    if (is_nvls(a))
      return nvls_bandwidth(collective, a, g);
    if (is_collnet(a))
      return p == Protocol::kSimple ? collnet_bandwidth(collective, a, g) : 0;
    float bus = channels * (comm_.nodes <= 2 ? g.bw_intra : g.bw_inter);
    if (a == Algorithm::kRing && p == Protocol::kLl) {
      if (switches_.ring_ll_half) {
        bus = rounded(std::min<double>(ll_cap(), bus * .5));
      } else {
        const bool quarter = comm_.nodes > 1 || collective == Collective::kAllReduce ||
                             collective == Collective::kReduce;
        bus = rounded(std::min<double>(ll_cap(), bus * (quarter ? 1.0 / 4.0 : 1.0 / 3.0)));
      }
    }
    if (a == Algorithm::kRing && p == Protocol::kLl128) {
      const double share = !switches_.pat && per_node_ < 2 ? 0.7 : 0.92;
      bus = rounded(
          std::min<double>(bus * share, channels * tables_.ring_ll128_cap[generation_][scale_]));
    }
    if (a == Algorithm::kTree)
      bus = tree_bandwidth(bus, channels, p);
    if (a == Algorithm::kPat)
      bus = rounded(bus * (switches_.existing_types ? .75 : .85));
    return bus;
  }

  [[nodiscard]] float tree_bandwidth(float bus, float channels, Protocol p) const {
    bus = rounded(std::min<double>(bus * .92, channels * tables_.tree_cap[generation_][scale_]));
    if (p == Protocol::kLl)
      bus = rounded(std::min<double>(bus * 1.0 / 3.8, ll_cap()));
    if (p == Protocol::kLl128) {
      const double share = comm_.nodes == 1 ? 7.0 / 9.0 : 120.0 / 128.0;
      bus = rounded(
          std::min<double>(bus * share, channels * tables_.tree_ll128_cap[generation_][scale_]));
    }
    if (comm_.tree.pattern == Pattern::kTree && switches_.version >= Version{2, 18, 3})
      bus = rounded(bus * .85);
    return bus;
  }

  /// Reduction in the network: between nodes the data moves once, inside at the intra speed.
  [[nodiscard]] float collnet_bandwidth(Collective collective, Algorithm a,
                                        const MergedGraph& g) const {
    float bus = static_cast<float>(g.channels) * g.bw_intra;
    if (a == Algorithm::kCollNetChain || g.channels == 0)
      return bus;
    if (collective != Collective::kAllReduce) {
      // Every GPU must be a head with a NIC of its own.
      if (comm_.most_local_gpus > comm_.collnet_heads)
        return 0;
      return static_cast<float>(per_node_) * std::min(g.bw_intra, rounded(g.bw_inter * 0.9F));
    }
    float per_nic = rounded(per_node_ / (1.0 * g.channels));
    per_nic -= (per_nic - 1) / 2;
    bus /= per_nic;
    return comm_.smallest_sm >= 90 ? rounded(bus * .85) : bus;
  }

  [[nodiscard]] float nvls_bandwidth(Collective collective, Algorithm a,
                                     const MergedGraph& g) const {
    const auto channels = static_cast<float>(g.channels);
    if (!switches_.nvls_model) {
      if (!switches_.nvls_min_model)
        return channels * (comm_.nodes <= 2 ? g.bw_intra : g.bw_inter);
      const float net = a == Algorithm::kNvlsTree && comm_.nodes > 2 ? g.bw_inter / 2 : g.bw_inter;
      return channels * std::min(g.bw_intra, net);
    }
    const double efficiency = generation_ == 3 ? 0.74 : generation_ == 2 ? 0.85 : 0.0;
    float inside = rounded(g.bw_intra * efficiency * (channels - 1) / channels);
    const bool all_reduce = collective == Collective::kAllReduce;
    inside = rounded(all_reduce ? inside * 2.0 : inside * (per_node_ - 1.0) / per_node_);
    float between = g.bw_inter;
    if (a == Algorithm::kNvlsTree && comm_.nodes <= 2)
      between *= 2;
    float each = std::min(inside, between);
    if (a == Algorithm::kNvlsTree)
      each = std::min(each, rounded(tables_.nvls_tree_cap[generation_][scale_]));
    return channels * each;
  }

  [[nodiscard]] float bandwidth(Collective collective, Algorithm a, Protocol p) const {
    const float bus = bus_bandwidth(collective, a, p);
    const bool gather =
        collective == Collective::kAllGather || collective == Collective::kReduceScatter;
    if (a != Algorithm::kRing && gather && switches_.pat)
      return bus;
    return rounded(bus * ratio(collective, a));
  }

  [[nodiscard]] float ratio(Collective collective, Algorithm a) const {
    const float ring = rounded((1.0 * comm_.ranks) / steps(collective));
    if (a == Algorithm::kRing || (is_nvls(a) && switches_.nvls_model))
      return ring;
    if (a == Algorithm::kNvls)
      return rounded(switches_.version >= Version{2, 18, 3} ? 5.0 / 6.0 : .75);
    if (a == Algorithm::kNvlsTree) {
      return rounded(switches_.amd_links ? 5.0 / 6.0 : .70 * comm_.nodes / (2 * (comm_.nodes - 1)));
    }
    return .5F;
  }

  [[nodiscard]] double hardware(std::size_t row, Algorithm a, Protocol p) const {
    return tables_.hardware_us[row][number(a)][number(p)];
  }

  [[nodiscard]] float net_overhead() const {
    const long long wanted = numeric(environment_, "NCCL_NET_OVERHEAD", kUnset);
    if (wanted != kUnset)
      return rounded(static_cast<double>(wanted) * .001);
    const bool amd = comm_.cpu.arch == CpuArch::kX86 && comm_.cpu.vendor == CpuVendor::kAmd;
    return amd ? 2.0F : 1.0F;
  }

  [[nodiscard]] float latency(Collective collective, Algorithm a, Protocol p) const {
    const MergedGraph g = graph(a);
    const std::size_t inside = g.type_intra == PathType::kNvl ? 0 : 1;
    const float intra = rounded(hardware(inside, a, p));
    const bool exposed = per_node_ == 1 && switches_.pat;  // one rank per node: all latency shows
    float inter = rounded(hardware(2, exposed ? Algorithm::kTree : a, p));
    inter += g.latency_inter;
    if (p == Protocol::kSimple)
      inter += g.latency_inter;
    const float base = rounded(tables_.base_us[number(a)][number(p)]);
    const int log_nodes = floor_log2(comm_.nodes);
    switch (a) {
      case Algorithm::kRing:
        return ring_latency(collective, p, base, {intra, inter});
      case Algorithm::kTree:
        return rounded(base + 2 * (static_cast<float>(per_node_ - 1) * intra +
                                   static_cast<float>(log_nodes) * inter));
      case Algorithm::kCollNetDirect:
        return rounded(base +
                       2 * (static_cast<float>(std::min(1, per_node_ - 1)) * intra +
                            (per_node_ - 1) * (switches_.amd_links ? 0.4 : 0.5)) +
                       inter);
      case Algorithm::kCollNetChain:
        return rounded(base + static_cast<float>(2 * (per_node_ - 1)) * intra + inter);
      case Algorithm::kNvls:
        return (switches_.nvls_min_model ? 0 : base) + (comm_.nodes > 1 ? intra + inter : intra);
      case Algorithm::kNvlsTree:
        return base + (intra + static_cast<float>(
                                   2 * (switches_.nvls_min_model ? log_nodes : comm_.nodes - 1)) *
                                   inter);
      default:
        return rounded(base + (log_nodes * (inter / 3.5) + comm_.ranks * 2.8));
    }
  }

  struct Latencies {
    float intra = 0;
    float inter = 0;
  };
  [[nodiscard]] float ring_latency(Collective collective, Protocol p, float base,
                                   Latencies latencies) const {
    const int all = steps(collective);
    const std::size_t row = comm_.nodes > 1 ? 2 : (comm_.ring.type_intra == PathType::kNvl ? 0 : 1);
    if (collective == Collective::kBroadcast || collective == Collective::kReduce) {
      if (comm_.ring.same_channels)
        return base + rounded(hardware(row, Algorithm::kRing, p));
      const Algorithm source = p == Protocol::kSimple ? Algorithm::kTree : Algorithm::kRing;
      return base + static_cast<float>(all) * rounded(hardware(row, source, p));
    }
    float overhead = 0;
    if (comm_.nodes > 1) {
      overhead = net_overhead();
      if (p == Protocol::kSimple)
        overhead *= 3;
    }
    int between = comm_.nodes == 1 ? 0 : comm_.nodes - 1;
    if (collective == Collective::kAllReduce && comm_.nodes > 1)
      between = switches_.pat ? 2 * (comm_.nodes - 1) : 2 * comm_.nodes;
    return base + (static_cast<float>(all - between) * std::max(latencies.intra, overhead) +
                   static_cast<float>(between) * latencies.inter);
  }

  /// LL128 needs stores of 128 bytes to stay whole on the way.
  [[nodiscard]] bool ll128_safe(const MergedGraph& g) const {
    const int sm = comm_.smallest_sm;
    const bool wide = sm >= 90 && (switches_.version < Version{2, 27, 3} ||
                                   numeric(environment_, "NCCL_LL128_C2C", 1) != 0);
    if (g.type_inter > (wide ? PathType::kPxn : PathType::kPxb) || g.type_intra > PathType::kNvb)
      return false;
    if (comm_.smallest_sm != comm_.largest_sm &&
        !(switches_.version >= Version{2, 30, 3} && sm >= 90))
      return false;
    if (switches_.version >= Version{2, 27, 3})
      return sm >= 70;
    return sm == 70 || sm == 80 || sm == 90 ||
           (sm == 100 && switches_.version >= Version{2, 25, 1});
  }

  [[nodiscard]] bool protocol_enabled(Collective collective, Algorithm a, Protocol p) const {
    const auto function = static_cast<std::size_t>(collective);
    if (p == Protocol::kLl128 && !filter_.protocol_given[function])
      return ll128_safe(graph(a));
    return filter_.protocol[function][number(p)];
  }

  [[nodiscard]] bool enabled(Collective collective, Algorithm a, Protocol p) const {
    bool algorithm = filter_.algorithm[static_cast<std::size_t>(collective)][number(a)];
    if (a == Algorithm::kNvlsTree && comm_.nodes == 1)
      algorithm = false;
    if (!comm_.collnet && (is_collnet(a) || (a == Algorithm::kNvls && comm_.nodes > 1)))
      algorithm = false;
    if (a == Algorithm::kCollNetDirect && !comm_.nvswitch)
      algorithm = false;
    return algorithm && protocol_enabled(collective, a, p);
  }

  /// Before 2.24 a filter that leaves nothing for a collective is passed over for Ring.
  void keep_ring(Tuning& tuning) const {
    if (switches_.version >= Version{2, 24, 3})
      return;
    for (std::size_t c = 0; c < kCollectives; c++) {
      bool any = false;
      for (const auto& algorithm : tuning.costs[c]) {
        for (const Cost& cost : algorithm)
          any = any || cost.bandwidth > 0;
      }
      const auto collective = static_cast<Collective>(c);
      for (std::size_t p = 0; p < kProtocols && !any; p++) {
        const auto protocol = static_cast<Protocol>(p);
        Cost& cost = tuning.cost(collective, Algorithm::kRing, protocol);
        if (protocol_enabled(collective, Algorithm::kRing, protocol))
          cost.bandwidth = bandwidth(collective, Algorithm::kRing, protocol);
      }
    }
  }

  const Communicator& comm_;
  const Environment& environment_;
  const Switches& switches_;
  TuningTables tables_;
  Filter filter_;
  int per_node_;
  std::size_t generation_ = 0;
  std::size_t scale_ = 0;
  bool pat_ = false;
};

}  // namespace

const char* to_string(Collective collective) {
  static constexpr std::array<const char*, kCollectives> kNames{"Broadcast", "Reduce", "AllGather",
                                                                "ReduceScatter", "AllReduce"};
  return kNames.at(static_cast<std::size_t>(collective));
}
const char* to_string(Algorithm algorithm) {
  static constexpr std::array<const char*, kAlgorithms> kNames{
      "Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT"};
  return kNames.at(number(algorithm));
}
const char* to_string(Protocol protocol) {
  static constexpr std::array<const char*, kProtocols> kNames{"LL", "LL128", "Simple"};
  return kNames.at(number(protocol));
}

Tuning tune(const Communicator& comm, const Environment& environment, const Switches& switches) {
  return Model(comm, environment, switches).run();
}

float time_us(const Tuning& tuning, const Communicator& comm, const Switches& switches,
              const Choice& call, Collective collective) {
  const Cost& cost = tuning.cost(collective, call.algorithm, call.protocol);
  float bandwidth = cost.bandwidth;
  float latency = cost.latency_us;
  const bool all_reduce = collective == Collective::kAllReduce;
  const bool too_wide =
      call.algorithm == Algorithm::kNvls && !all_reduce && comm.most_local_gpus > kMostNvlsGpus;
  const bool too_many_for_collnet = comm.most_local_gpus > kMostCollNetGpus &&
                                    (call.algorithm == Algorithm::kCollNetDirect ||
                                     (call.algorithm == Algorithm::kCollNetChain && switches.pat));
  if (bandwidth == 0 || too_wide || too_many_for_collnet)
    return -1;
  if (all_reduce && call.bytes >= 64) {
    const int log = floor_log2(call.bytes / 64);
    const bool nvls_tree = call.algorithm == Algorithm::kNvlsTree && switches.nvls_tree_factor &&
                           comm.smallest_sm >= 100 && comm.cpu.arch == CpuArch::kX86 && log < 24;
    if ((call.algorithm == Algorithm::kTree && log < 23) || nvls_tree) {
      bandwidth *= tuning_tables(switches.version)
                       .tree_correction[number(call.protocol)][static_cast<std::size_t>(log)];
    }
  }
  if (all_reduce && call.algorithm == Algorithm::kRing && call.protocol == Protocol::kSimple &&
      comm.nodes > 1 && call.bytes / (static_cast<std::int64_t>(comm.channels) * comm.ranks) >= 64)
    latency = rounded(latency * (comm.smallest_sm < 80 ? 1.9 : 1.4));
  return latency + static_cast<float>(call.bytes) / (1000 * bandwidth);
}

std::vector<Choice> choices(const Tuning& tuning, const Communicator& comm,
                            const Switches& switches, Collective collective, std::int64_t bytes) {
  std::vector<Choice> found;
  for (std::size_t a = 0; a < kAlgorithms; a++) {
    for (std::size_t p = 0; p < kProtocols; p++) {
      Choice call;
      call.bytes = bytes;
      call.algorithm = static_cast<Algorithm>(a);
      call.protocol = static_cast<Protocol>(p);
      call.time_us = time_us(tuning, comm, switches, call, collective);
      if (call.time_us < 0)
        continue;
      call.channels = channels_for(tuning, comm, switches, call);
      found.push_back(call);
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Choice& x, const Choice& y) { return x.time_us < y.time_us; });
  return found;
}

}  // namespace busbw::nccl::graph
