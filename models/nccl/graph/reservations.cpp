// Taking bandwidth from links. Source: NCCL, src/graph/search.cc.
#include "models/nccl/graph/reservations.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "sim/core/check.h"

namespace busbw::nccl::graph {
namespace {

constexpr int kInexact = std::numeric_limits<int>::min();
constexpr int kMostThousandths = 8'000'000;
constexpr float kMostAmount = 256;
constexpr double kNear = 5e-6;  // GB/s

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

bool is_tree(Pattern pattern) {
  return pattern == Pattern::kBalancedTree || pattern == Pattern::kSplitTree ||
         pattern == Pattern::kTree;
}

float from_thousandths(int thousandths) {
  return static_cast<float>(thousandths / 1000.0);
}

/// Difference rounded to three decimals, in single precision.
float minus_rounded(float bandwidth, float taken) {
  const double thousandths = static_cast<double>(bandwidth - taken) * 1000.0;
  const double whole = std::trunc(thousandths + (thousandths < 0 ? -0.5 : 0.5));
  return static_cast<float>(whole / 1000.0);
}

}  // namespace

Reservations::Reservations(System& system)
    : system_(system),
      first_net_(system.count(NodeType::kGpu)),
      first_nvswitch_(first_net_ + system.count(NodeType::kNet)) {
  for (const NodeType type : {NodeType::kGpu, NodeType::kNet, NodeType::kNvs})
    nodes_.insert(nodes_.end(), system.all(type).begin(), system.all(type).end());
  places_ = nodes_.size();
  routes_.resize(places_ * places_);
}

void Reservations::start(const Graph& wanted) {
  left_.resize(system_.links.size());
  before_.resize(system_.links.size());
  for (std::size_t l = 0; l < system_.links.size(); l++) {
    before_[l] = system_.links[l].bandwidth;
    set_value(static_cast<int>(l), before_[l]);
  }
  part_ = wanted.gpus > 1 ? 1.0F / static_cast<float>(wanted.gpus - 1) : 1.0F;
  for (const bool intra : {false, true}) {
    const float speed = intra ? wanted.bw_intra : wanted.bw_inter;
    rates_[intra ? 1 : 0] = {rate_of(speed), rate_of(speed / 2), rate_of(speed * 2),
                             rate_of(speed * part_)};
  }
  limit_intra_ = wanted.type_intra;
  limit_inter_ = wanted.type_inter;
  both_ways_ = is_tree(wanted.pattern);
  hops_ = wanted.hops;
  stamp_++;
}

bool Reservations::finish() {
  bool same = true;
  for (std::size_t l = 0; l < left_.size(); l++) {
    const float bandwidth = value(static_cast<int>(l));
    same = same && bandwidth == before_[l];
    system_.links[l].bandwidth = bandwidth;
  }
  return same;
}

Reservations::Amount Reservations::amount_of(float bandwidth) {
  Amount amount;
  amount.bandwidth = bandwidth;
  const bool small = bandwidth >= 0 && bandwidth <= kMostAmount;
  const int thousandths = small ? static_cast<int>(std::lround(bandwidth * 1000.0)) : 0;
  if (!small || std::abs(bandwidth - thousandths / 1000.0) > kNear) {
    amount.thousandths = kMostThousandths + 1;
    amount.least = std::numeric_limits<int>::max();
    return amount;
  }
  amount.thousandths = thousandths;
  // Amounts may lie a little above or below the number that a link holds for that thousandth.
  amount.least = from_thousandths(thousandths) < bandwidth ? thousandths + 1 : thousandths;
  return amount;
}

Reservations::Rate Reservations::rate_of(float speed) {
  Rate rate;
  // GPU to GPU through an Intel root complex costs more.
  const std::array<float, 2> forward{speed, speed * 6 / 5};
  for (std::size_t pci = 0; pci < 2; pci++) {
    const float eighth = forward[pci] / 8;
    rate[pci] = amount_of(forward[pci]);
    rate[2 + pci] = amount_of(eighth);
    rate[4 + pci] = amount_of(forward[pci]);
    rate[6 + pci] = amount_of(eighth + forward[pci]);
  }
  return rate;
}

void Reservations::refresh(Route& route, int from, int to) {
  if (!route.known)
    look_up(route, nodes_[at(from)], nodes_[at(to)]);
  route.allowed = near_enough(route, Share::kWhole);
  route.plain = make_plain(route);
  // A route whose links are not rounded yet is looked at again.
  route.stamp = route.plain || !route.allowed ? stamp_ : -1;
}

void Reservations::look_up(Route& route, int from, int to) {
  const auto inside = [&](int node) {
    const NodeType type = system_.nodes[at(node)].type;
    return type == NodeType::kGpu || type == NodeType::kNvs;
  };
  const Path& path = system_.path(from, to);
  const bool from_gpu = system_.nodes[at(from)].type == NodeType::kGpu;
  const bool dear = from_gpu && crosses_intel(path);
  route.known = true;
  route.intra = inside(from) && inside(to);
  route.free = !system_.switches.nvswitch_neighbours && path.hops.empty();
  route.type = path.type;
  route.farther = std::max(path.type, system_.path(to, from).type);
  route.hops = static_cast<int>(path.hops.size());
  route.first = static_cast<int>(ops_.size());
  std::vector<int> links;
  for (const int l : path.hops) {
    const Link& link = system_.links[at(l)];
    const Node& there = system_.nodes[at(link.to)];
    // Reading from a NIC costs a GPU below sm 80 the way back too.
    const bool old_gpu = !from_gpu && there.type == system_.device_type() && there.gpu.sm < 80;
    const bool power = there.type == NodeType::kCpu && there.cpu.arch == CpuArch::kPower &&
                       link.kind == LinkKind::kNvl;
    Op op;
    op.link = l;
    op.amount = dear && link.kind == LinkKind::kPci ? 1 : 0;
    links.push_back(l);
    if (old_gpu || power) {
      op.back_amount = static_cast<std::uint8_t>(op.amount + (old_gpu ? 2 : 0) + (power ? 4 : 0));
      op.back_link = system_.reverse(l);
      CHECK(op.back_link >= 0, "link {} of a path has none back", l);
      links.push_back(op.back_link);
    }
    ops_.push_back(op);
  }
  route.last = static_cast<int>(ops_.size());
  route.first_need = route.last_need = static_cast<int>(needs_.size());
  needs_.resize(needs_.size() + links.size());
  std::sort(links.begin(), links.end());
  route.simple = std::adjacent_find(links.begin(), links.end()) == links.end();
}

bool Reservations::make_plain(Route& route) {
  const Rate& amounts = rate(route.intra, Share::kWhole);
  int end = route.first_need;
  const auto add = [&](int link, const Amount& amount) {
    needs_[at(end++)] = {link, amount.least, amount.thousandths};
    return left_[at(link)] != kInexact && amount.thousandths <= kMostThousandths;
  };
  bool plain = route.simple;
  for (int i = route.first; i < route.last; i++) {
    const Op& op = ops_[at(i)];
    plain = add(op.link, amounts[op.amount]) && plain;
    if (op.back_link >= 0)
      plain = add(op.back_link, amounts[op.back_amount]) && plain;
  }
  route.last_need = end;
  route.suspect = route.first_need;
  return plain;
}

bool Reservations::crosses_intel(const Path& path) const {
  if (path.type != PathType::kPhb)
    return false;
  return std::any_of(path.hops.begin(), path.hops.end(), [&](int l) {
    const Node& node = system_.nodes[at(system_.links[at(l)].to)];
    return node.type == NodeType::kCpu && node.cpu.arch == CpuArch::kX86 &&
           node.cpu.vendor == CpuVendor::kIntel;
  });
}

bool Reservations::near_enough(const Route& route, Share share) const {
  if (route.free)
    return true;
  const PathType limit = route.intra ? limit_intra_ : limit_inter_;
  const PathType type = both_ways_ ? route.farther : route.type;
  // The type counts only for the whole speed (and the halves of a balanced tree).
  const bool asked = share != Share::kDouble && (share != Share::kPart || part_ == 1);
  return route.type != PathType::kDis && (!asked || type <= limit);
}

void Reservations::count_hops(const Route& route, Share share, float sign) {
  const float multiple = share == Share::kDouble ? 2.0F : share == Share::kPart ? part_ : 1.0F;
  hops_ = static_cast<int>(static_cast<float>(hops_) +
                           sign * multiple * static_cast<float>(route.hops));
}

bool Reservations::take(int from, int to, Share share) {
  Route& way = route(from, to);
  if (way.plain && share == Share::kWhole) {
    if (!way.allowed || !has_room(way))
      return false;
    take_plain(way);
    return true;
  }
  if (!near_enough(way, share))
    return false;
  const Rate& amounts = rate(way.intra, share);
  for (int i = way.first; i < way.last; i++) {
    if (!take_one(ops_[at(i)], amounts)) {
      give_back_until(way.first, i, amounts);
      return false;
    }
  }
  count_hops(way, share, 1.0F);
  return true;
}

void Reservations::give_back(int from, int to, Share share) {
  const Route& way = route(from, to);
  if (way.plain && share == Share::kWhole && fits_back(way)) {
    const Need* needs = needs_.data();
    for (int i = way.first_need; i < way.last_need; i++)
      left_[at(needs[i].link)] += needs[i].thousandths;
    hops_ -= way.hops;
    return;
  }
  give_back_until(way.first, way.last, rate(way.intra, share));
  count_hops(way, share, -1.0F);
}

/// Whether giving a plain route back keeps its links within what thousandths may hold.
bool Reservations::fits_back(const Route& route) const {
  const Need* needs = needs_.data();
  for (int i = route.first_need; i < route.last_need; i++) {
    if (left_[at(needs[i].link)] > kMostThousandths - needs[i].thousandths)
      return false;
  }
  return true;
}

/// One link, as NCCL does it.
bool Reservations::take_one(const Op& op, const Rate& rate) {
  const auto has = [&](int link, const Amount& amount) {
    const int left = left_[at(link)];
    return left != kInexact && amount.thousandths <= kMostThousandths
               ? left >= amount.least
               : value(link) >= amount.bandwidth;
  };
  const auto reduce = [&](int link, const Amount& amount) {
    int& left = left_[at(link)];
    if (left != kInexact && amount.thousandths <= kMostThousandths) {
      left -= amount.thousandths;
    } else {
      set_value(link, minus_rounded(value(link), amount.bandwidth));
    }
  };
  const Amount& there = rate[op.amount];
  const Amount& back = rate[op.back_amount];
  if (!has(op.link, there) || (op.back_link >= 0 && !has(op.back_link, back)))
    return false;
  reduce(op.link, there);
  if (op.back_link >= 0)
    reduce(op.back_link, back);
  return true;
}

void Reservations::give_back_until(int first, int last, const Rate& rate) {
  for (int i = first; i < last; i++) {
    const Op& op = ops_[at(i)];
    give(op.link, rate[op.amount]);
    if (op.back_link >= 0)
      give(op.back_link, rate[op.back_amount]);
  }
}

void Reservations::give(int link, const Amount& amount) {
  int& left = left_[at(link)];
  if (left >= 0 && left <= kMostThousandths - amount.thousandths) {
    left += amount.thousandths;
  } else {
    set_value(link, minus_rounded(value(link), -amount.bandwidth));
  }
}

float Reservations::value(int link) const {
  const int left = left_[at(link)];
  return left == kInexact ? system_.links[at(link)].bandwidth : from_thousandths(left);
}

void Reservations::set_value(int link, float bandwidth) {
  if (bandwidth >= 0 && bandwidth <= from_thousandths(kMostThousandths)) {
    const auto thousandths = static_cast<int>(std::lround(bandwidth * 1000.0));
    if (from_thousandths(thousandths) == bandwidth) {
      left_[at(link)] = thousandths;
      return;
    }
  }
  if (left_[at(link)] != kInexact)
    stamp_++;
  left_[at(link)] = kInexact;
  system_.links[at(link)].bandwidth = bandwidth;
}

}  // namespace busbw::nccl::graph
