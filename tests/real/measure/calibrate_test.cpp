// Calibration by ranks as threads, over the fake verbs, TCP and shared memory: which pairs, which
// ends, and that a parameter file comes out. The fit itself: tests/models/params/loggp_test.cpp.
#include "real/measure/calibrate.h"

#include <gtest/gtest.h>

#include "real/measure/pair.h"
#include "tests/real/ranks.h"

namespace busbw::real {
namespace {

using Pairs = std::vector<std::pair<std::int32_t, std::int32_t>>;

NetworkOrder order_of(NetworkKind kind, std::vector<std::string> devices) {
  NetworkOrder order;
  order.kind = kind;
  order.completion = Completion::kEvent;
  order.shared_inside = kind == NetworkKind::kShared;
  order.environment = {{"NCCL_SOCKET_IFNAME", "lo"}};
  order.device_of = std::move(devices);
  return order;
}

struct Found {
  std::vector<params::Measured> measured;  // by rank
  std::vector<std::string> failures;
  std::vector<std::string> progress;
};

Found calibrate_on(std::int32_t ranks, const std::vector<NetworkOrder>& networks) {
  Task task;
  task.iterations = 20;
  task.calibration.emplace();
  task.calibration->networks = networks;
  Found found;
  found.measured.resize(static_cast<std::size_t>(ranks));
  const auto network = fake_network(ranks);
  found.failures = run_ranks(ranks, [&](Session& session) {
    const std::shared_ptr<verbs::Api> api = verbs::make_fake_verbs(network);
    found.measured[session.rank().index()] = calibrate(
        session, task, api, [&](const std::string& text) { found.progress.push_back(text); });
  });
  return found;
}

void expect_good(const Found& found) {
  for (const std::string& failure : found.failures)
    EXPECT_EQ(failure, "");
}

std::vector<std::string> ways_of(const params::Measured& measured) {
  std::vector<std::string> ways;
  for (const params::MeasuredLink& link : measured.links)
    ways.push_back(link.from + " " + link.to + " " + to_string(link.mover));
  return ways;
}

TEST(CalibratedPairs, AllOfAFewAndANeighbourOfMany) {
  EXPECT_EQ(calibrated_pairs(2, false), (Pairs{{0, 1}, {1, 0}}));
  EXPECT_EQ(calibrated_pairs(3, false).size(), 6U);
  EXPECT_EQ(calibrated_pairs(kAllPairs, false).size(), 12U);
  EXPECT_EQ(calibrated_pairs(5, false), (Pairs{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 0}}));
  EXPECT_EQ(calibrated_pairs(5, true).size(), 20U);
}

TEST(Calibrate, EveryPairOfDevices) {
  const Found found = calibrate_on(3, {order_of(NetworkKind::kVerbs, {"fake0", "fake1", "fake2"})});
  expect_good(found);
  const params::Measured& measured = found.measured[0];
  EXPECT_EQ(ways_of(measured), (std::vector<std::string>{
                                   "fake0 fake1 write", "fake0 fake2 write", "fake1 fake0 write",
                                   "fake1 fake2 write", "fake2 fake0 write", "fake2 fake1 write"}));
  ASSERT_EQ(measured.machines.size(), 1U);
  EXPECT_EQ(measured.machines[0].ends, (std::vector<std::string>{"fake0", "fake1", "fake2"}));
  EXPECT_GE(measured.machines[0].processors, 1);
  EXPECT_LE(measured.machines[0].processors, 3);
  for (const params::MeasuredLink& link : measured.links) {
    EXPECT_GT(link.bandwidth, Bandwidth());
    EXPECT_GT(link.gap, Duration());
    ASSERT_EQ(link.samples.size(), 9U);
    EXPECT_EQ(link.samples[0].benchmark, "ping-pong");
    EXPECT_EQ(link.samples[0].bytes, kSmall);
    EXPECT_EQ(link.samples[0].count, 20);
    EXPECT_GT(link.samples[0].min, Duration());
    EXPECT_LE(link.samples[0].min, link.samples[0].median);
    EXPECT_LE(link.samples[0].median, link.samples[0].p99);
  }
  // All ranks know the same links, and the file is one that the simulator reads.
  EXPECT_EQ(ways_of(found.measured[2]), ways_of(measured));
  EXPECT_EQ(found.measured[2].links[3].bandwidth, measured.links[3].bandwidth);
  Problems problems;
  static_cast<void>(params::parse_measured(to_yaml(measured), "written", problems));
  EXPECT_TRUE(problems.empty());
  EXPECT_EQ(found.progress.front(), "counting the processors");
  EXPECT_EQ(found.progress.back(), "calibrating write fake2 -> fake1, 6 of 6");
  EXPECT_EQ(found.progress.size(), 7U);  // rank 0 alone
}

TEST(Calibrate, SeveralMoversInOneFile) {
  NetworkOrder read = order_of(NetworkKind::kVerbs, {"fake0", "fake1"});
  read.method = VerbsMethod::kRead;
  NetworkOrder send = read;
  send.method = VerbsMethod::kSend;
  const Found found = calibrate_on(
      2, {read, send, order_of(NetworkKind::kSocket, {}), order_of(NetworkKind::kShared, {})});
  expect_good(found);
  // Loopback and memory are one end each: the way to itself, once.
  EXPECT_EQ(ways_of(found.measured[0]),
            (std::vector<std::string>{"fake0 fake1 read", "fake1 fake0 read", "fake0 fake1 send",
                                      "fake1 fake0 send", "lo lo tcp", "memory memory shm"}));
  EXPECT_EQ(found.measured[0].machines[0].ends,
            (std::vector<std::string>{"fake0", "fake1", "lo", "memory"}));
}

TEST(Calibrate, RanksWithoutADeviceOfTheirOwnAddNothing) {
  const Found found = calibrate_on(3, {order_of(NetworkKind::kVerbs, {"fake0", "fake1", "fake0"})});
  expect_good(found);
  EXPECT_EQ(ways_of(found.measured[0]),
            (std::vector<std::string>{"fake0 fake1 write", "fake1 fake0 write"}));
}

TEST(Calibrate, AMissingDeviceIsNamed) {
  const Found found = calibrate_on(2, {order_of(NetworkKind::kVerbs, {"fake0", "fake7"})});
  EXPECT_NE(found.failures[0].find("fake7"), std::string::npos) << found.failures[0];
}

TEST(Calibrate, NeedsTwoRanks) {
  const Found found = calibrate_on(1, {order_of(NetworkKind::kSocket, {})});
  EXPECT_NE(found.failures[0].find("a calibration needs at least 2 ranks"), std::string::npos)
      << found.failures[0];
}

TEST(Computation, DependsOnAllOfIt) {
  EXPECT_EQ(compute_piece(1), compute_piece(1));
  EXPECT_NE(compute_piece(1), compute_piece(2));
}

}  // namespace
}  // namespace busbw::real
