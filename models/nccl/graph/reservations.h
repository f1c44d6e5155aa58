// What is left of the links while the search takes bandwidth along paths and gives it back.
//
// NCCL reduces single-precision bandwidths and rounds each difference to a thousandth of a GB/s.
// The search does little else, so here links hold whole thousandths wherever that is the same: a
// link of at most 8,000 GB/s whose value is the single-precision number nearest to a thousandth,
// and an amount of at most 256 GB/s within 5e-6 of one. Then link and difference are off by at most
// 2^-12 each, in all by less than half a thousandth, so NCCL's rounding finds the same thousandth.
// All else (links not yet rounded, odd amounts) is computed as NCCL does. Units: GB/s.
// Source: NCCL 2.18 to 2.30.7, src/graph/search.cc.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "models/nccl/graph/search.h"
#include "models/nccl/graph/system.h"

namespace busbw::nccl::graph {

/// How much of the try's speed a reservation takes. Half: each of the two GPUs on which a balanced
/// tree meets its NIC. Double: the head of NVLS. Part: what the head of CollNetDirect exchanges
/// with each GPU.
enum class Share : std::uint8_t { kWhole, kHalf, kDouble, kPart };

class Reservations {
 public:
  /// `system` must live longer, with the same paths; its links change.
  explicit Reservations(System& system);

  /// Begins a try. Also reads the links, which the caller may have changed since.
  void start(const Graph& wanted);
  /// Ends it: the links of the system hold what is left. True when that is what it was before.
  bool finish();

  /// Places of the i-th GPU and NIC and of the NVSwitch: ends of paths.
  static int gpu(int index) { return index; }
  [[nodiscard]] int net(int index) const { return first_net_ + index; }
  [[nodiscard]] int nvswitch() const { return first_nvswitch_; }

  /// Takes the share along the path between two places. False, and nothing taken, when a link has
  /// too little or the path is of a farther type than allowed.
  bool take(int from, int to, Share share);
  /// False when take() of the whole share would fail and change nothing. A quick look.
  bool may_take(int from, int to) {
    const Route& way = route(from, to);
    return way.allowed && (!way.plain || has_room(way));
  }
  /// The same for the whole share right after may_take(), which has looked.
  bool take_looked(int from, int to) {
    const Route& way = route(from, to);
    if (!way.plain)
      return take(from, to, Share::kWhole);
    take_plain(way);
    return true;
  }
  void give_back(int from, int to, Share share);
  /// Hops of what is taken times the share (half as whole), cut to whole ones at every step.
  [[nodiscard]] int hops() const { return hops_; }

  [[nodiscard]] float left(int link) const { return value(link); }
  /// The smaller one of two links in whole GB/s.
  [[nodiscard]] int whole_left(int a, int b) const {
    const int left =
        std::min(left_[static_cast<std::size_t>(a)], left_[static_cast<std::size_t>(b)]);
    return left >= 0 ? left / 1000 : whole(std::min(value(a), value(b)));
  }

 private:
  /// A bandwidth to take, and the same in thousandths where links may be kept so.
  struct Amount {
    float bandwidth = 0;
    int thousandths = 0;
    int least = 0;  // thousandths that a link needs to have
  };
  /// Amounts of a speed, [2 x kind + (PCIe ? 1 : 0)]: there (kind 0); back because a GPU below
  /// sm 80 is entered, a POWER CPU, or both.
  static constexpr std::size_t kAmounts = 8;
  using Rate = std::array<Amount, kAmounts>;
  /// One link of a path; entering some nodes costs the way back too.
  struct Op {
    int link = 0;
    int back_link = -1;
    std::uint8_t amount = 0;
    std::uint8_t back_amount = 0;
  };
  /// A link of a plain route, either direction, with the amounts of this try.
  struct Need {
    int link = 0;
    int least = 0;
    int thousandths = 0;
  };
  struct Route {
    bool known = false;
    bool intra = false;  // both ends are GPUs or the NVSwitch
    bool free = false;   // 2.18: a path of no hops always succeeds
    bool simple = true;  // no link counts twice
    PathType type = PathType::kDis;
    PathType farther = PathType::kDis;  // of the types there and back
    int hops = 0;
    int first = 0;  // into ops_
    int last = 0;
    int first_need = 0;  // into needs_
    int last_need = 0;
    // Of the present try (stamp_):
    int stamp = -1;
    bool allowed = false;  // near enough for the whole share
    bool plain = false;  // links and amounts are all in thousandths: one look at each link decides
    mutable int suspect = 0;  // the need that failed last
  };

  static Amount amount_of(float bandwidth);
  static Rate rate_of(float speed);
  Route& route(int from, int to) {
    Route& found = routes_[static_cast<std::size_t>(from) * places_ + static_cast<std::size_t>(to)];
    if (found.stamp != stamp_)
      refresh(found, from, to);
    return found;
  }
  void refresh(Route& route, int from, int to);
  void look_up(Route& route, int from, int to);
  [[nodiscard]] bool crosses_intel(const Path& path) const;
  [[nodiscard]] bool near_enough(const Route& route, Share share) const;
  /// Writes the needs of a route when it is plain.
  [[nodiscard]] bool make_plain(Route& route);
  /// Of a plain route. The link that was short the last time is looked at first.
  [[nodiscard]] bool has_room(const Route& route) const {
    const auto short_of = [&](const Need& need) {
      return left_[static_cast<std::size_t>(need.link)] < need.least;
    };
    if (route.first_need == route.last_need)
      return true;
    const Need* needs = needs_.data();
    if (short_of(needs[route.suspect]))
      return false;
    for (int i = route.first_need; i < route.last_need; i++) {
      if (short_of(needs[i])) {
        route.suspect = i;
        return false;
      }
    }
    return true;
  }
  void take_plain(const Route& route) {
    const Need* needs = needs_.data();
    for (int i = route.first_need; i < route.last_need; i++)
      left_[static_cast<std::size_t>(needs[i].link)] -= needs[i].thousandths;
    hops_ += route.hops;
  }
  void count_hops(const Route& route, Share share, float sign);
  [[nodiscard]] bool fits_back(const Route& route) const;
  bool take_one(const Op& op, const Rate& rate);
  void give_back_until(int first, int last, const Rate& rate);
  void give(int link, const Amount& amount);
  [[nodiscard]] const Rate& rate(bool intra, Share share) const {
    return rates_[intra ? 1 : 0][static_cast<std::size_t>(share)];
  }
  [[nodiscard]] float value(int link) const;
  void set_value(int link, float bandwidth);

  System& system_;
  std::vector<int> nodes_;  // of the places
  std::size_t places_ = 0;
  int first_net_ = 0;
  int first_nvswitch_ = 0;
  std::vector<Route> routes_;  // [from][to]
  std::vector<Op> ops_;
  std::vector<Need> needs_;
  std::vector<int> left_;      // thousandths; kInexact: the link of the system holds the value
  std::vector<float> before_;  // bandwidths at the start of the try
  std::array<std::array<Rate, 4>, 2> rates_;  // [intra][share]
  PathType limit_intra_ = PathType::kLoc;
  PathType limit_inter_ = PathType::kLoc;
  bool both_ways_ = false;  // the type counts in both directions
  int stamp_ = 0;           // changes with each try and when a link ceases to hold thousandths
  int hops_ = 0;
  float part_ = 1;  // of the speed, for Share::kPart
};

}  // namespace busbw::nccl::graph
