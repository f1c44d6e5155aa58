// Weighted shares of the fluid engine, worked out by hand (the reference engine has no weights),
// and properties that any max-min allocation has.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/core/random.h"
#include "sim/engine/max_min.h"
#include "tests/sim/engine/recorder.h"

namespace busbw::engine {
namespace {

FlowSpec weighted(std::vector<LinkId> path, Bytes size, std::int64_t weight) {
  FlowSpec spec = flow_over(std::move(path), size);
  spec.weight = weight;
  return spec;
}

TEST(Weights, ShareOneLinkInProportion) {
  Recorder r(Kind::kFluid);
  const LinkId a = r.link(100);
  // Weights 1 and 4: 20 and 80. heavy 800 kbit / 80 = 10 us; light moved 200 of 1200 kbit, the rest
  // at 100: 10 us more.
  r.flow("light", weighted({a}, Bytes(150'000), 1));
  r.flow("heavy", weighted({a}, Bytes(100'000), 4));
  EXPECT_EQ(r.run(), (Log{"10000000 heavy", "20000000 light"}));
}

TEST(Weights, ParkingLot) {
  Recorder r(Kind::kFluid);
  const LinkId a = r.link(90);
  const LinkId b = r.link(40);
  // x (weight 2) over a and b, y (weight 1) over a, z (weight 6) over b. Levels: b 40 / 8 = 5, a 90
  // / 3 = 30. b first: x 10, z 30. a: 90 - 10 = 80 for y. Sizes are 10 us of each.
  r.flow("x", weighted({a, b}, Bytes(12'500), 2));
  r.flow("y", weighted({a}, Bytes(100'000), 1));
  r.flow("z", weighted({b}, Bytes(37'500), 6));
  EXPECT_EQ(r.run(), (Log{"10000000 x", "10000000 y", "10000000 z"}));
}

TEST(Weights, CapOfAHeavyFlowLeavesTheRestByWeight) {
  Recorder r(Kind::kFluid);
  const LinkId a = r.link(100);
  // Weights 5, 1, 2; without a cap 62.5, 12.5, 25. The cap of 40 binds first (level 8 < 12.5): 60
  // is left for weights 1 and 2: 20 and 40. Sizes are 10 us of each.
  FlowSpec capped = weighted({a}, Bytes(50'000), 5);
  capped.rate_cap = gbps(40);
  r.flow("capped", capped);
  r.flow("one", weighted({a}, Bytes(25'000), 1));
  r.flow("two", weighted({a}, Bytes(50'000), 2));
  EXPECT_EQ(r.run(), (Log{"10000000 capped", "10000000 one", "10000000 two"}));
}

TEST(Weights, TwiceOverALinkWithWeight) {
  Recorder r(Kind::kFluid);
  const LinkId a = r.link(100);
  // twice (weight 2) uses 2 * 2 v, once (weight 1) uses v: v = 20; rates 40 and 20.
  r.flow("twice", weighted({a, a}, Bytes(50'000), 2));
  r.flow("once", weighted({a}, Bytes(25'000), 1));
  EXPECT_EQ(r.run(), (Log{"10000000 twice", "10000000 once"}));
}

TEST(Weights, FlowOfWeightKIsKFlowsOfWeightOne) {
  for (std::int64_t k = 2; k <= 9; ++k) {
    SimTime together;
    SimTime apart;
    for (const bool as_one : {true, false}) {
      Recorder r(Kind::kFluid);
      const LinkId a = r.link(97);
      const LinkId b = r.link(31);
      SimTime& end = as_one ? together : apart;
      for (std::int64_t i = 0; i < (as_one ? 1 : k); ++i) {
        r.engine().start_flow(weighted({a, b}, Bytes(as_one ? k * 10'000 : 10'000), as_one ? k : 1),
                              [&r, &end](FlowEnd) { end = r.engine().now(); });
      }
      r.flow("beside", {a}, kb(500));
      r.flow("beside", {b}, kb(500));
      r.run();
    }
    EXPECT_EQ(together, apart) << "k " << k;
  }
}

/// Rates after random comings and goings, kept by the test from the reported changes.
struct Allocation {
  std::vector<double> capacity;
  std::vector<std::vector<LinkId>> path;  // empty: not there
  std::vector<MaxMin::Terms> terms;
  std::vector<double> rate;

  [[nodiscard]] double used(LinkId link) const {
    double sum = 0;
    for (std::size_t f = 0; f < path.size(); ++f) {
      sum += static_cast<double>(std::count(path[f].begin(), path[f].end(), link)) * rate[f];
    }
    return sum;
  }
  /// Max-min has a test by itself (Bertsekas and Gallager 6.5.2): feasible, and each flow is at its
  /// cap or crosses a full link on which no flow has a higher level.
  void expect_max_min() const {
    constexpr double kSlack = 1e-9;
    for (std::size_t l = 0; l < capacity.size(); ++l) {
      EXPECT_LE(used(LinkId(static_cast<std::int32_t>(l))), capacity[l] * (1 + kSlack));
    }
    for (std::size_t f = 0; f < path.size(); ++f) {
      if (!path[f].empty()) {
        EXPECT_TRUE(is_bound(f, kSlack)) << "flow " << f << " could be faster";
      }
    }
  }
  [[nodiscard]] bool is_bound(std::size_t f, double slack) const {
    if (terms[f].cap > 0 && rate[f] >= terms[f].cap * (1 - slack)) {
      return rate[f] <= terms[f].cap * (1 + slack);
    }
    for (const LinkId link : path[f]) {
      bool is_highest = used(link) >= capacity[link.index()] * (1 - slack);
      for (std::size_t g = 0; g < path.size(); ++g) {
        const bool shares = std::count(path[g].begin(), path[g].end(), link) > 0;
        is_highest &=
            !shares || rate[g] / terms[g].weight <= rate[f] / terms[f].weight * (1 + slack);
      }
      if (is_highest) {
        return true;
      }
    }
    return false;
  }
};

TEST(MaxMin, EveryStateOfARandomHistoryIsMaxMin) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    MaxMin solver;
    Allocation state;
    const std::int64_t links = random.between(1, 12);
    for (std::int64_t l = 0; l < links; ++l) {
      state.capacity.push_back(static_cast<double>(random.between(1, 1000)));
      solver.add_link(state.capacity.back());
    }
    constexpr std::size_t kFlows = 20;
    state.path.resize(kFlows);
    state.terms.resize(kFlows);
    state.rate.resize(kFlows);
    for (int step = 0; step < 60; ++step) {
      const std::size_t f = random.below(kFlows);
      if (random.chance(1, 8)) {
        const std::size_t l = random.below(static_cast<std::uint64_t>(links));
        state.capacity[l] = static_cast<double>(random.between(1, 1000));
        solver.set_capacity(LinkId(static_cast<std::int32_t>(l)), state.capacity[l]);
      } else if (!state.path[f].empty()) {
        solver.leave(static_cast<MaxMin::Flow>(f));
        state.path[f].clear();
        state.rate[f] = 0;
      } else {
        for (std::int64_t hop = random.between(1, 4); hop > 0; --hop) {
          state.path[f].push_back(LinkId(static_cast<std::int32_t>(random.between(0, links - 1))));
        }
        state.terms[f].weight = static_cast<double>(random.between(1, 5));
        state.terms[f].cap = random.chance(1, 3) ? static_cast<double>(random.between(1, 300)) : 0;
        solver.enter(static_cast<MaxMin::Flow>(f), state.path[f], state.terms[f]);
      }
      for (const MaxMin::Change& change : solver.solve()) {
        state.rate[static_cast<std::size_t>(change.flow)] = change.rate;
      }
      state.expect_max_min();
    }
  }
}

}  // namespace
}  // namespace busbw::engine
