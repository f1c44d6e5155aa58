// What engine.h promises besides rates: order, no call from inside, life cycle, rejected arguments.
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "sim/core/check.h"
#include "tests/sim/engine/recorder.h"

namespace busbw::engine {
namespace {

class Contract : public testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(Engines, Contract, testing::Values(Kind::kFluid, Kind::kReference),
                         [](const auto& info) { return name_of(info.param); });

/// The text of the CheckFailure that `call` throws, without file and line; "" when it throws none.
template <class Call>
std::string check_text(const Call& call) {
  try {
    call();
  } catch (const CheckFailure& failure) {
    const std::string text = failure.what();
    return text.substr(text.find("check failed"));
  }
  return "";
}

TEST_P(Contract, EventsOfOneInstantComeInOrderOfStart) {
  Recorder r(GetParam());
  const LinkId a = r.link(100);
  const LinkId b = r.link(100);
  // All at 10 us: a timer, two flows of 1 Mbit at 100 started in the other order of their links,
  // and a timer. What the first one starts without delay comes last.
  r.at(us(10), [&r] {
    r.note("timer 1");
    r.at(Duration(), [&r] { r.note("started at this instant"); });
  });
  r.flow("on b", {b}, kb(125));
  r.flow("on a", {a}, kb(125));
  r.at(us(10), [&r] { r.note("timer 2"); });
  EXPECT_EQ(r.run(), (Log{"10000000 timer 1", "10000000 on b", "10000000 on a", "10000000 timer 2",
                          "10000000 started at this instant"}));
}

TEST_P(Contract, ManyFlowsThatEndTogetherComeInOrderOfId) {
  Recorder r(GetParam());
  const LinkId a = r.link(64);
  Log expected;
  // 64 flows of 8 kbit share 64 Gbit/s: 1 each, all at 8 us.
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(r.flow(std::to_string(i), {a}, Bytes(1000)), i);
    expected.push_back("8000000 " + std::to_string(i));
  }
  EXPECT_EQ(r.run(), expected);
}

TEST_P(Contract, RunCanBeCalledAgain) {
  Recorder r(GetParam());
  const LinkId a = r.link(100);
  EXPECT_EQ(r.run(), Log{});
  r.flow("one", {a}, kb(125));
  EXPECT_EQ(r.run(), (Log{"10000000 one"}));
  const LinkId added = r.link(50);
  r.flow("two", {a, added}, kb(125));
  EXPECT_EQ(r.run(), (Log{"30000000 two"}));
  EXPECT_EQ(r.engine().now().ps(), 30'000'000);
  EXPECT_EQ(r.engine().link_count(), 2U);
  EXPECT_EQ(r.engine().name(added), "l1");
}

TEST_P(Contract, CallbacksMayDoEverything) {
  Recorder r(GetParam());
  const LinkId a = r.link(100);
  r.flow("outer", {a}, kb(125));
  r.engine().start_flow(flow_over({}, Bytes(0)), [&r, a](FlowEnd) {
    const LinkId fresh = r.link(10);
    r.engine().set_capacity(a, gbps(50));
    r.flow("inner", {fresh}, kb(125));
  });
  EXPECT_EQ(r.run(), (Log{"20000000 outer", "100000000 inner"}));
}

TEST_P(Contract, ExceptionOfACallbackLeavesRun) {
  {
    Recorder r(GetParam());
    const LinkId a = r.link(100);
    r.engine().start_flow(flow_over({a}, kb(125)),
                          [](FlowEnd) { throw std::runtime_error("from a flow"); });
    EXPECT_THROW(r.run(), std::runtime_error);
  }
  {
    Recorder r(GetParam());
    r.at(us(1), [] { throw std::runtime_error("from a timer"); });
    EXPECT_THROW(r.run(), std::runtime_error);
  }
  Recorder r(GetParam());  // and the next engine is as good as new
  const LinkId a = r.link(100);
  r.flow("f", {a}, kb(125));
  EXPECT_EQ(r.run(), (Log{"10000000 f"}));
}

TEST_P(Contract, EngineDestroyedWithWorkLeftLeavesNoTrace) {
  {
    Recorder r(GetParam());
    r.flow("never", {r.link(100)}, kb(125));
    r.at(us(1), [] { FAIL() << "timer of a destroyed engine"; });
  }
  Recorder r(GetParam());
  r.at(us(2), [&r] { r.note("mine"); });
  EXPECT_EQ(r.run(), (Log{"2000000 mine"}));
}

TEST_P(Contract, TwoEnginesAtOnceAreRefused) {
  for (const Kind second : {Kind::kFluid, Kind::kReference}) {
    Recorder r(GetParam());
    EXPECT_EQ(
        check_text([second] { make_engine(second); }),
        "check failed: !session_alive (two engines at once: destroy the first one, SimGrid has "
        "global state)");
    r.flow("f", {r.link(100)}, kb(125));  // the first one is unharmed
    EXPECT_EQ(r.run(), (Log{"10000000 f"}));
  }
}

TEST_P(Contract, BadArgumentsAreRefused) {
  Recorder r(GetParam());
  const LinkId a = r.link(100);
  Engine& engine = r.engine();
  const auto start = [&engine](const FlowSpec& spec) {
    return check_text([&] { engine.start_flow(spec, [](FlowEnd) {}); });
  };
  FlowSpec spec = flow_over({a, LinkId(5)}, kb(1));
  EXPECT_EQ(start(spec), "check failed: is_link(link) (no link 5)");
  spec = flow_over({a}, Bytes(-1));
  EXPECT_EQ(start(spec), "check failed: spec.size.count() >= 0 (flow of -1 bytes)");
  spec = flow_over({a}, kb(1));
  spec.latency = Duration::picoseconds(-2);
  EXPECT_EQ(start(spec), "check failed: spec.latency.ps() >= 0 (flow with latency -2 ps)");
  spec = flow_over({a}, kb(1));
  spec.rate_cap = Bandwidth();
  EXPECT_EQ(start(spec).substr(0, 12), "check failed");
  spec = flow_over({a}, kb(1));
  spec.weight = 0;
  EXPECT_EQ(start(spec).substr(0, 12), "check failed");
  EXPECT_EQ(check_text([&] { static_cast<void>(engine.usage(LinkId(9))); }),
            "check failed: is_link(link) (no link 9)");
  EXPECT_EQ(check_text([&] { engine.set_capacity(LinkId(9), gbps(1)); }),
            "check failed: is_link(link) (no link 9)");
  EXPECT_EQ(check_text([&] { engine.set_capacity(a, gbps(-1)); }),
            "check failed: capacity.bps() >= 0 (link l0 gets -1000000000 bit/s)");
  EXPECT_EQ(check_text([&] { engine.after(us(-1), [] {}); }),
            "check failed: delay.ps() >= 0 (timer after -1000000 ps)");
  EXPECT_EQ(check_text([&] { engine.after(us(1), nullptr); }), "check failed: callback != nullptr");
  EXPECT_EQ(r.run(), Log{});  // and nothing of it was kept
}

TEST(Reference, HasNoWeights) {
  Recorder r(Kind::kReference);
  FlowSpec spec = flow_over({r.link(100)}, kb(1));
  spec.weight = 2;
  EXPECT_EQ(check_text([&] { r.flow("f", spec); }),
            "check failed: spec.weight == 1 (the reference engine has no weights, flow has 2)");
}

TEST(Fluid, FlowBeyondTheEndOfTimeIsRefused) {
  Recorder r(Kind::kFluid);
  // 1 GB at 1 bit/s are 8e9 s, 253 years.
  const LinkId a = r.engine().add_link("slow", Bandwidth::bits_per_second(1));
  r.flow("f", {a}, Bytes(1'000'000'000));
  EXPECT_EQ(
      check_text([&] { r.run(); }),
      "check failed: queue_.top().time_ps != kNever (a flow would end after more than 106 days)");
}

TEST(Engines, HundredsInOneProcessOfBothKinds) {
  // Each must behave as the first one did, whatever ran before: times start at zero again, to the
  // ps.
  for (int i = 0; i < 400; ++i) {
    Recorder r(i % 3 == 0 ? Kind::kReference : Kind::kFluid);
    const LinkId a = r.link(100);
    FlowSpec spec = flow_over({a}, kb(125));
    spec.latency = us(1);
    spec.rate_cap = gbps(40);
    r.flow("capped", spec);         // 1 us + 1 Mbit / 40
    r.flow("other", {a}, kb(125));  // 100 for 1 us, 60 after: 1 + 0.9 / 60 = 16 us
    r.at(us(50), [&r, a] { r.engine().set_capacity(a, gbps(0)); });
    r.at(us(51), [&r, a] { r.flow("refused", {a}, kb(125)); });
    ASSERT_EQ(r.run(), (Log{"16000000 other", "26000000 capped", "51000000 refused down"}))
        << "engine " << i;
  }
}

}  // namespace
}  // namespace busbw::engine
