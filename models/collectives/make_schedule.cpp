// From a request to its generator. See make_schedule.h.
#include "models/collectives/make_schedule.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/collectives/generate_switch.h"
#include "sim/core/errors.h"

namespace busbw::collectives {
namespace {

using Generator = Schedule (*)(const Shape&, const Options&);

struct Entry {
  Collective collective;
  Algorithm algorithm;
  Generator generate;
};

/// What exists. NCCL has the same but for Hierarchical and the trees of broadcast and reduce; it
/// also has all_gather and reduce_scatter by CollNetDirect, and by NVLS on several hosts with it.
constexpr std::array kEntries = {
    Entry{Collective::kAllReduce, Algorithm::kRing, ring_all_reduce},
    Entry{Collective::kAllReduce, Algorithm::kTree, tree_all_reduce},
    Entry{Collective::kAllReduce, Algorithm::kHierarchical, hierarchical_all_reduce},
    Entry{Collective::kAllReduce, Algorithm::kNvls, nvls_all_reduce},
    Entry{Collective::kAllReduce, Algorithm::kNvlsTree, nvls_tree_all_reduce},
    Entry{Collective::kAllReduce, Algorithm::kCollNetDirect, collnet_direct_all_reduce},
    Entry{Collective::kAllReduce, Algorithm::kCollNetChain, collnet_chain_all_reduce},
    Entry{Collective::kReduce, Algorithm::kRing, ring_reduce},
    Entry{Collective::kReduce, Algorithm::kTree, tree_reduce},
    Entry{Collective::kBroadcast, Algorithm::kRing, ring_broadcast},
    Entry{Collective::kBroadcast, Algorithm::kTree, tree_broadcast},
    Entry{Collective::kAllGather, Algorithm::kRing, ring_all_gather},
    Entry{Collective::kAllGather, Algorithm::kHierarchical, hierarchical_all_gather},
    Entry{Collective::kAllGather, Algorithm::kNvls, nvls_all_gather},
    Entry{Collective::kAllGather, Algorithm::kPat, pat_all_gather},
    Entry{Collective::kReduceScatter, Algorithm::kRing, ring_reduce_scatter},
    Entry{Collective::kReduceScatter, Algorithm::kHierarchical, hierarchical_reduce_scatter},
    Entry{Collective::kReduceScatter, Algorithm::kNvls, nvls_reduce_scatter},
    Entry{Collective::kReduceScatter, Algorithm::kPat, pat_reduce_scatter},
    Entry{Collective::kAllToAll, Algorithm::kDirect, direct_all_to_all},
    Entry{Collective::kSendRecv, Algorithm::kDirect, direct_send_recv},
    Entry{Collective::kGather, Algorithm::kDirect, direct_gather},
    Entry{Collective::kScatter, Algorithm::kDirect, direct_scatter},
};

bool has_root(Collective collective) {
  return collective == Collective::kBroadcast || collective == Collective::kReduce ||
         collective == Collective::kGather || collective == Collective::kScatter;
}

/// Whether the algorithm's chunks may have several slices.
bool cuts_chunks(Algorithm algorithm) {
  return algorithm == Algorithm::kRing || algorithm == Algorithm::kHierarchical;
}

/// Number of ranks on each host; empty unless host_of names one for every rank.
std::vector<std::int32_t> host_sizes(const Shape& shape) {
  std::vector<std::int32_t> sizes;
  if (static_cast<std::int64_t>(shape.host_of.size()) != shape.ranks) {
    return sizes;
  }
  for (const std::int32_t host : shape.host_of) {
    if (host < 0 || host >= shape.ranks) {
      return {};
    }
    sizes.resize(std::max(sizes.size(), static_cast<std::size_t>(host) + 1));
    ++sizes[static_cast<std::size_t>(host)];
  }
  return sizes;
}

bool all_equal(const std::vector<std::int32_t>& sizes) {
  return std::all_of(sizes.begin(), sizes.end(),
                     [&](std::int32_t size) { return size == sizes.front(); });
}

/// Collects what is wrong with the shape and the options for the request's algorithm.
class RequestProblems {
 public:
  explicit RequestProblems(const Request& request) : request_(request) {}

  void throw_if_any() {
    const Shape& shape = request_.shape;
    if (shape.ranks < 1) {
      add("found {} ranks; allowed: 1 and more", shape.ranks);
    }
    const std::int32_t root = request_.options.root.value();
    if (has_root(request_.collective) && (root < 0 || root >= shape.ranks)) {
      add("found root {}; allowed: 0 to {}", root, shape.ranks - 1);
    }
    if (request_.options.bytes < Bytes()) {
      add("found {} bytes; allowed: 0 and more", request_.options.bytes.count());
    }
    if (request_.options.slices != 1 && !cuts_chunks(request_.algorithm)) {
      add("found {} slices a chunk; allowed: 1 (only rings cut chunks)", request_.options.slices);
    }
    switch (request_.algorithm) {
      case Algorithm::kRing:
        check_orders("ring", shape.rings.size());
        break;
      case Algorithm::kTree:
        check_orders("tree", shape.trees.size());
        break;
      case Algorithm::kHierarchical:
        check_orders("ring", shape.rings.size());
        check_hosts({.equal = true});
        break;
      case Algorithm::kDirect:
        check_powers_of_two();
        break;
      case Algorithm::kNvls:
        check_nvls();
        break;
      case Algorithm::kNvlsTree:
        check_hosts({.fewest_hosts = 2, .fewest_ranks = 2});
        check_heads();
        break;
      case Algorithm::kCollNetDirect:
        check_hosts({.fewest_hosts = 2});
        check_heads();
        break;
      case Algorithm::kCollNetChain:
        check_orders("ring", shape.rings.size());
        check_hosts({.fewest_hosts = 2, .equal = true});
        break;
      case Algorithm::kPat:
        break;
    }
    problems_.throw_if_any();
  }

 private:
  template <class... Values>
  void add(const char* text, const Values&... values) {
    problems_.add({}, fmt::format("{} by {}: ", to_string(request_.collective),
                                  to_string(request_.algorithm)) +
                          fmt::format(fmt::runtime(text), values...));
  }
  void check_orders(const char* name, std::size_t count) {
    if (count == 0) {
      add("found no {}; one for each channel is needed", name);
    }
  }
  void check_powers_of_two() {
    const auto fits = [](std::int32_t value) { return value > 0 && (value & (value - 1)) == 0; };
    const Options& options = request_.options;
    if (!fits(options.channels) || !fits(options.channels_per_peer) ||
        options.channels_per_peer > options.channels) {
      add("found {} channels, {} of them a peer; allowed: powers of two, no more a peer than there "
          "are",
          options.channels, options.channels_per_peer);
    }
  }
  struct HostRules {
    std::size_t fewest_hosts = 1;
    std::int32_t fewest_ranks = 1;  // on each host
    bool equal = false;             // as many on each
  };
  void check_hosts(const HostRules& rules) {
    const std::vector<std::int32_t> sizes = host_sizes(request_.shape);
    if (sizes.empty()) {
      add("the host of each rank is needed");
      return;
    }
    if (sizes.size() < rules.fewest_hosts) {
      add("found {} host; allowed: {} and more", sizes.size(), rules.fewest_hosts);
    }
    if (*std::min_element(sizes.begin(), sizes.end()) < rules.fewest_ranks) {
      add("found hosts of {} ranks; allowed: {} and more on each", fmt::join(sizes, ", "),
          rules.fewest_ranks);
    }
    if (rules.equal && !all_equal(sizes)) {
      add("found hosts of {} ranks; allowed: equally many on each", fmt::join(sizes, ", "));
    }
  }
  void check_nvls() {
    check_hosts({.fewest_ranks = 2});
    if (request_.collective == Collective::kAllReduce) {
      check_heads();
      return;
    }
    const std::size_t hosts = host_sizes(request_.shape).size();
    if (hosts > 1) {
      add("found {} hosts; allowed: 1 (more would need the network's switch)", hosts);
    }
    if (request_.shape.ranks > kMaxHeads) {
      add("found {} ranks; allowed: up to {}", request_.shape.ranks, kMaxHeads);
    }
  }
  /// Equally many heads on each host, each a rank of it.
  void check_heads() {
    const Shape& shape = request_.shape;
    const std::vector<std::int32_t> ranks = host_sizes(shape);
    if (ranks.empty()) {
      return;  // reported
    }
    std::vector<std::int32_t> counts = ranks;
    if (!shape.heads.empty()) {
      counts.clear();
      for (std::size_t host = 0; host < shape.heads.size(); ++host) {
        counts.push_back(static_cast<std::int32_t>(shape.heads[host].size()));
        for (const RankId head : shape.heads[host]) {
          if (head.value() < 0 || head.value() >= shape.ranks ||
              shape.host_of[head.index()] != static_cast<std::int32_t>(host)) {
            add("found head {} on host {}; allowed: ranks of the host", head.value(), host);
          }
        }
      }
    }
    const auto fits = [](std::int32_t count) { return count > 0 && count <= kMaxHeads; };
    if (counts.size() != ranks.size() || !all_equal(counts) ||
        !std::all_of(counts.begin(), counts.end(), fits)) {
      add("found {} heads on {} hosts; allowed: equally many on each, 1 to {}",
          fmt::join(counts, ", "), ranks.size(), kMaxHeads);
    }
  }

  const Request& request_;
  Problems problems_;
};

}  // namespace

std::vector<Algorithm> algorithms_of(Collective collective) {
  std::vector<Algorithm> algorithms;
  for (const Entry& entry : kEntries) {
    if (entry.collective == collective) {
      algorithms.push_back(entry.algorithm);
    }
  }
  return algorithms;
}

Schedule make_schedule(const Request& request) {
  for (const Entry& entry : kEntries) {
    if (entry.collective == request.collective && entry.algorithm == request.algorithm) {
      RequestProblems(request).throw_if_any();
      Options options = request.options;
      options.bytes =
          rounded_bytes(request.collective, options.bytes, options.element, request.shape.ranks);
      if (!has_root(request.collective)) {
        options.root = RankId(0);
      }
      return entry.generate(request.shape, options);
    }
  }
  std::vector<std::string> names;
  for (const Algorithm algorithm : algorithms_of(request.collective)) {
    names.push_back(to_string(algorithm));
  }
  throw InputError(fmt::format("there is no {} by {}; allowed: {}", to_string(request.collective),
                               to_string(request.algorithm), fmt::join(names, ", ")));
}

}  // namespace busbw::collectives
