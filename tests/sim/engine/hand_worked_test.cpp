// Small cases whose rates and times are worked out by hand, run on both engines.
//
// Notation: capacities in Gbit/s, sizes in bytes; 1 Gbit/s moves 125 MB in 1 s, so 1.25 MB take 10
// ms. Each case shows the shares before the assertion.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "sim/core/check.h"
#include "sim/engine/engine.h"

namespace busbw::engine {
namespace {

constexpr Bandwidth gbps(std::int64_t n) {
  return Bandwidth::gigabits_per_second(n);
}
constexpr Duration us(std::int64_t n) {
  return Duration::microseconds(n);
}
constexpr Bytes kb(std::int64_t n) {
  return Bytes(n * 1000);
}

/// An engine and what happened in it: one line an event, "time_ps name end".
class Recorder {
 public:
  explicit Recorder(Kind kind) : engine_(make_engine(kind)) {}
  Engine& engine() { return *engine_; }
  LinkId link(std::int64_t gbit) {
    return engine_->add_link("l" + std::to_string(engine_->link_count()), gbps(gbit));
  }
  void flow(std::string name, std::vector<LinkId> path, Bytes size) {
    FlowSpec spec;
    spec.path = std::move(path);
    spec.size = size;
    flow(std::move(name), std::move(spec));
  }
  void flow(std::string name, FlowSpec spec) {
    engine_->start_flow(std::move(spec), [this, name = std::move(name)](FlowEnd end) {
      note(name + (end == FlowEnd::kDone ? "" : " down"));
    });
  }
  void note(const std::string& what) {
    log_.push_back(std::to_string(engine_->now().ps()) + " " + what);
  }
  std::vector<std::string> run() {
    engine_->run();
    return std::exchange(log_, {});
  }

 private:
  std::unique_ptr<Engine> engine_;
  std::vector<std::string> log_;
};

using Log = std::vector<std::string>;

std::string kind_name(const testing::TestParamInfo<Kind>& info) {
  return info.param == Kind::kFluid ? "fluid" : "reference";
}

class HandWorked : public testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(Engines, HandWorked, testing::Values(Kind::kFluid, Kind::kReference),
                         kind_name);

TEST_P(HandWorked, OneFlowTakesLatencyPlusSizeOverCapacity) {
  Recorder r(GetParam());
  const LinkId a = r.link(100);
  // 125 kB = 1 Mbit; 1 Mbit / 100 Gbit/s = 10 us; after 2 us latency: 12 us.
  FlowSpec spec;
  spec.path = {a};
  spec.size = kb(125);
  spec.latency = us(2);
  r.flow("f", std::move(spec));
  EXPECT_EQ(r.run(), (Log{"12000000 f"}));
  EXPECT_EQ(r.engine().usage(a).carried, kb(125));
  EXPECT_EQ(r.engine().usage(a).busy, us(10));
  EXPECT_EQ(r.engine().event_count(), 1);
}

TEST_P(HandWorked, DumbbellSharesTheMiddleEqually) {
  Recorder r(GetParam());
  const LinkId middle = r.link(100);
  const LinkId left1 = r.link(400);
  const LinkId left2 = r.link(400);
  // Both at 50 until the shorter (125 kB) ends at 1 Mbit / 50 = 20 us. The longer (250 kB = 2 Mbit)
  // has 1 Mbit left, now at 100: 10 us more.
  r.flow("long", {left1, middle}, kb(250));
  r.flow("short", {left2, middle}, kb(125));
  EXPECT_EQ(r.run(), (Log{"20000000 short", "30000000 long"}));
  EXPECT_EQ(r.engine().usage(middle).carried, kb(375));
  EXPECT_EQ(r.engine().usage(middle).busy, us(30));
  EXPECT_EQ(r.engine().usage(left2).busy, us(20));
}

TEST_P(HandWorked, ParkingLotGivesTheLongFlowTheTightestShare) {
  Recorder r(GetParam());
  const LinkId a = r.link(100);
  const LinkId b = r.link(60);
  // through crosses a and b, one local flow on each. b is tightest: 60 / 2 = 30 each. a: 100 - 30 =
  // 70 for its local flow. Ends: local a 700 kbit / 70 = 10 us. Then through still 30 (b binds),
  // local b 600 kbit / 30 = 20 us; by then through moved 600 kbit of 1200; alone on b it gets 60:
  // 10 us more.
  r.flow("through", {a, b}, Bytes(150'000));
  r.flow("local a", {a}, Bytes(87'500));
  r.flow("local b", {b}, Bytes(75'000));
  EXPECT_EQ(r.run(), (Log{"10000000 local a", "20000000 local b", "30000000 through"}));
}

}  // namespace
}  // namespace busbw::engine
