// The bucket of a shaper, by hand: a link of 1 byte a nanosecond and a bucket of 100 bytes.
#include "models/transport/token_bucket.h"

#include <functional>
#include <memory>

#include <gtest/gtest.h>

#include "sim/core/check.h"

namespace busbw::transport {
namespace {

constexpr Bandwidth kRate = Bandwidth::gigabytes_per_second(1);

class Bucket : public testing::TestWithParam<engine::Kind> {
 protected:
  /// Calls `look` when `time` has passed from the start.
  void at(Duration time, const std::function<void()>& look) { engine_->after(time, look); }
  void move(std::int64_t bytes) {
    engine::FlowSpec flow;
    flow.path = {link_};
    flow.size = Bytes(bytes);
    engine_->start_flow(flow, [](engine::FlowEnd) {});
  }

  std::unique_ptr<engine::Engine> engine_ = engine::make_engine(GetParam());
  engine::LinkId link_ = engine_->add_link("wire", kRate);
  TokenBucket bucket_{link_, kRate, Bytes(100)};
};

TEST_P(Bucket, FillsAtTheRateAndNotAboveItsSize) {
  EXPECT_EQ(bucket_.available(*engine_), Bytes(100));
  bucket_.take(Bytes(100));
  EXPECT_EQ(bucket_.available(*engine_), Bytes(0));
  at(Duration::nanoseconds(30), [&] { EXPECT_EQ(bucket_.available(*engine_), Bytes(30)); });
  at(Duration::nanoseconds(50), [&] {
    EXPECT_EQ(bucket_.available(*engine_), Bytes(50));
    bucket_.take(Bytes(20));
  });
  at(Duration::nanoseconds(60), [&] { EXPECT_EQ(bucket_.available(*engine_), Bytes(40)); });
  at(Duration::seconds(100'000), [&] { EXPECT_EQ(bucket_.available(*engine_), Bytes(100)); });
  engine_->run();
}

TEST_P(Bucket, GetsNothingWhileTheLinkIsBusy) {
  bucket_.take(bucket_.available(*engine_));
  move(200);  // to 200 ns
  at(Duration::nanoseconds(120), [&] { EXPECT_EQ(bucket_.available(*engine_), Bytes(0)); });
  at(Duration::nanoseconds(225), [&] { EXPECT_EQ(bucket_.available(*engine_), Bytes(25)); });
  engine_->run();
}

TEST_P(Bucket, KeepsItsTokensOverABusyTime) {
  bucket_.take(Bytes(60));
  move(500);
  at(Duration::nanoseconds(400), [&] { EXPECT_EQ(bucket_.available(*engine_), Bytes(40)); });
  engine_->run();
}

TEST_P(Bucket, GivesNoMoreThanItHas) {
  bucket_.take(Bytes(90));
  EXPECT_THROW(bucket_.take(Bytes(11)), CheckFailure);
  EXPECT_THROW(TokenBucket(link_, kRate, Bytes(0)), CheckFailure);
}

INSTANTIATE_TEST_SUITE_P(Engines, Bucket,
                         testing::Values(engine::Kind::kFluid, engine::Kind::kReference));

}  // namespace
}  // namespace busbw::transport
