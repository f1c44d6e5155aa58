// Sections of `busbw measure` from its flags.
#include <algorithm>

#include <fmt/format.h>

#include "models/collectives/reduction.h"
#include "models/collectives/shapes.h"
#include "sim/core/quantity.h"
#include "sim/core/text.h"
#include "tools/command_measure.h"
#include "tools/start_ranks.h"

namespace busbw::tools {
namespace {

using collectives::Algorithm;
using collectives::Collective;

constexpr std::int64_t kMostRanks = 4096;
constexpr std::int64_t kMostChannels = 64;

constexpr Collective kCollectives[] = {
    Collective::kAllReduce, Collective::kReduce,        Collective::kBroadcast,
    Collective::kAllGather, Collective::kReduceScatter, Collective::kAllToAll,
    Collective::kSendRecv,  Collective::kGather,        Collective::kScatter};

/// Ranks alone can play them.
bool plays(Algorithm algorithm) {
  return algorithm <= Algorithm::kDirect || algorithm == Algorithm::kPat;
}

std::vector<Collective> read_collectives(const MeasureOptions& options, Problems& problems) {
  std::vector<std::string> known;
  for (const Collective collective : kCollectives)
    known.push_back(collectives::to_string(collective));
  std::vector<Collective> list;
  for (const std::string& text : options.collectives) {
    if (text == "all") {
      list.insert(list.end(), std::begin(kCollectives), std::end(kCollectives));
    } else if (const auto collective = collectives::parse_collective(text)) {
      list.push_back(*collective);
    } else {
      problems.add({}, fmt::format("unknown collective '{}'; allowed: {}, or 'all'{}", text,
                                   quoted_list(known), did_you_mean(text, known)));
    }
  }
  if (options.collectives.empty())
    list.push_back(Collective::kAllReduce);
  return list;
}

/// Names of the algorithms that real mode plays for a collective.
std::vector<std::string> algorithm_names(Collective collective) {
  std::vector<std::string> names;
  for (const Algorithm algorithm : collectives::algorithms_of(collective)) {
    if (plays(algorithm))
      names.push_back(collectives::to_string(algorithm));
  }
  return names;
}

bool is_asked(const MeasureOptions& options, const std::string& name) {
  return std::any_of(
      options.algorithms.begin(), options.algorithms.end(),
      [&](const std::string& text) { return text == "all" || lower(text) == lower(name); });
}

/// The algorithms asked for that the collective has; its first when none was asked for.
std::vector<Algorithm> algorithms_for(Collective collective, const MeasureOptions& options) {
  std::vector<Algorithm> list;
  for (const Algorithm algorithm : collectives::algorithms_of(collective)) {
    const bool first = options.algorithms.empty() && list.empty();
    if (plays(algorithm) && (first || is_asked(options, collectives::to_string(algorithm))))
      list.push_back(algorithm);
  }
  return list;
}

/// Each word must name an algorithm of one of the collectives, and each collective have one.
void check_algorithms(const std::vector<Collective>& wanted, const MeasureOptions& options,
                      Problems& problems) {
  std::vector<std::string> known;
  for (const Collective collective : wanted) {
    const std::vector<std::string> names = algorithm_names(collective);
    known.insert(known.end(), names.begin(), names.end());
    if (algorithms_for(collective, options).empty()) {
      problems.add({}, fmt::format("{} has none of the algorithms asked for; allowed: {}, or 'all'",
                                   collectives::to_string(collective), quoted_list(names)));
    }
  }
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  for (const std::string& text : options.algorithms) {
    const bool found =
        text == "all" || std::any_of(known.begin(), known.end(), [&](const std::string& name) {
          return lower(name) == lower(text);
        });
    if (!found) {
      problems.add({}, fmt::format("unknown algorithm '{}'; allowed: {}, or 'all'{}", text,
                                   quoted_list(known), did_you_mean(text, known)));
    }
  }
}

/// The numbers and words that hold for all sections.
struct Common {
  std::int32_t ranks = 2;
  std::int32_t hosts = 1;
  bool hosts_given = false;
  std::int32_t channels = 1;
  std::int32_t slots = 8;
  Bytes chunk = Bytes::kib(128);
  std::int32_t root = 0;
  real::ElementType type = real::ElementType::kFloat;
  collectives::Reduction reduction = collectives::Reduction::kSum;
  std::vector<Bytes> sizes;
};

struct Whole {
  std::int64_t fallback = 0;  // when the option is not given
  std::int64_t least = 0;
  std::int64_t most = 0;
};

std::int32_t number_or(const char* option, const std::string& text, const Whole& whole,
                       Problems& problems) {
  return static_cast<std::int32_t>(
      text.empty() ? whole.fallback : read_number(option, text, whole.least, whole.most, problems));
}

Common read_common(const MeasureOptions& options, Problems& problems) {
  Common common;
  const auto place = launched_place();
  common.ranks =
      number_or("--ranks", options.ranks, {place ? place->size : 2, 1, kMostRanks}, problems);
  if (place && place->size != common.ranks) {
    problems.add(
        {}, fmt::format("--ranks {}: {} started {}", common.ranks, place->launcher, place->size));
  }
  common.hosts_given = !options.hosts.empty();
  common.hosts = number_or("--hosts", options.hosts, {1, 1, kMostRanks}, problems);
  if (common.ranks % common.hosts != 0) {
    problems.add({},
                 fmt::format("--hosts {} does not divide {} ranks", common.hosts, common.ranks));
    common.hosts = 1;
  }
  common.channels = number_or("--channels", options.channels, {1, 1, kMostChannels}, problems);
  common.slots = number_or("--slots", options.slots, {8, 1, 1024}, problems);
  common.root = number_or("--root", options.root, {0, 0, common.ranks - 1}, problems);
  if (!options.chunk.empty()) {
    const auto chunk = parse_nccl_tests_size(options.chunk);
    const auto* bytes = std::get_if<Bytes>(&chunk);
    if (bytes != nullptr && Bytes(16) <= *bytes && *bytes <= Bytes::mib(64)) {
      common.chunk = *bytes;
    } else {
      problems.add({}, fmt::format("--chunk '{}': allowed are 16 to 64M", options.chunk));
    }
  }
  if (!options.type.empty()) {
    if (const auto type = real::parse_element_type(options.type)) {
      common.type = *type;
    } else {
      problems.add({}, fmt::format("unknown type '{}'; allowed: {}{}", options.type,
                                   quoted_list(real::element_type_names()),
                                   did_you_mean(options.type, real::element_type_names())));
    }
  }
  if (!options.redop.empty()) {
    if (const auto reduction = collectives::parse_reduction(options.redop)) {
      common.reduction = *reduction;
    } else {
      problems.add({}, fmt::format("unknown operator '{}'; allowed: {}{}", options.redop,
                                   quoted_list(real::reduction_names()),
                                   did_you_mean(options.redop, real::reduction_names())));
    }
  }
  common.sizes = read_sizes(options.real, problems);
  if (common.sizes.empty()) {
    for (std::int64_t size = 1 << 10; size <= 4 << 20; size *= 4)
      common.sizes.emplace_back(size);
  }
  return common;
}

/// Rings and trees in order of the ranks, host by host; odd channels run backwards in a host.
collectives::Shape shape_of(const Common& common, Collective collective) {
  const std::int32_t locals = common.ranks / common.hosts;
  collectives::LocalOrders orders;
  for (std::int32_t channel = 0; channel < common.channels; ++channel) {
    std::vector<std::int32_t>& order = orders.emplace_back();
    for (std::int32_t local = 0; local < locals; ++local)
      order.push_back(channel % 2 == 0 ? local : locals - 1 - local);
  }
  collectives::Shape shape;
  shape.ranks = common.ranks;
  shape.rings = collectives::rings_over_hosts(orders, common.hosts);
  // Two trees an order, tree 0 over all orders first: half the orders make all channels.
  orders.resize((orders.size() + 1) / 2);
  const bool rooted = collective == Collective::kBroadcast || collective == Collective::kReduce;
  shape.trees =
      rooted ? collectives::trees_over_hosts_from(
                   orders, common.hosts, collectives::TreePattern::kBalanced, RankId(common.root))
             : collectives::trees_over_hosts(orders, common.hosts,
                                             collectives::TreePattern::kBalanced);
  shape.trees.resize(static_cast<std::size_t>(common.channels));
  for (std::int32_t rank = 0; rank < common.ranks; ++rank)
    shape.host_of.push_back(rank / locals);
  return shape;
}

real::MeasurePoint point_of(const Common& common, Collective collective, Algorithm algorithm,
                            Bytes size) {
  real::MeasurePoint point;
  point.algorithm = algorithm;
  point.channels = common.channels;
  point.slots = common.slots;
  point.options.element = real::size_of(common.type);
  point.options.bytes = rounded_bytes(collective, size, point.options.element, common.ranks);
  point.options.chunk = common.chunk;
  point.options.slots = common.slots;
  point.options.root = RankId(common.root);
  point.options.channels = common.channels;
  return point;
}

}  // namespace

std::vector<real::Section> sections_of_flags(const MeasureOptions& options, Problems& problems) {
  const Common common = read_common(options, problems);
  std::vector<real::VerbsMethod> methods = read_methods(options, problems);
  if (methods.empty())
    methods.push_back(real::VerbsMethod::kWrite);
  real::NetworkOrder network = read_network(options.real, {}, real::NetworkKind::kAuto, problems);
  const std::vector<Collective> wanted = read_collectives(options, problems);
  check_algorithms(wanted, options, problems);
  std::vector<real::Section> sections;
  if (!problems.empty())
    return sections;
  for (const Collective collective : wanted) {
    for (const Algorithm algorithm : algorithms_for(collective, options)) {
      for (const real::VerbsMethod method : methods) {
        real::Section& section = sections.emplace_back();
        section.title = fmt::format("{} by {}", collectives::to_string(collective),
                                    collectives::to_string(algorithm));
        section.network = network;
        section.network.method = method;
        section.collective = collective;
        section.type = common.type;
        section.reduction = common.reduction;
        section.shape = shape_of(common, collective);
        if (common.hosts_given && network.kind != real::NetworkKind::kShared) {
          section.network.host_of = section.shape.host_of;
        } else if (network.kind == real::NetworkKind::kVerbs ||
                   network.kind == real::NetworkKind::kSocket) {
          section.network.shared_inside = false;
        }
        for (const Bytes size : common.sizes)
          section.points.push_back(point_of(common, collective, algorithm, size));
      }
    }
  }
  return sections;
}

}  // namespace busbw::tools
