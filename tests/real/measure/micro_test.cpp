// The micro-benchmarks between two threads: over the fake verbs, TCP and shared memory.
#include "real/measure/micro.h"

#include <gtest/gtest.h>

#include "tests/real/ranks.h"

namespace busbw::real {
namespace {

Task task_of(MicroKind kind, NetworkKind network) {
  Task task;
  task.iterations = 40;
  task.warmup = 5;
  task.micro.emplace();
  task.micro->kind = kind;
  task.micro->network.kind = network;
  task.micro->network.shared_inside = network == NetworkKind::kShared;
  task.micro->network.environment = {{"NCCL_SOCKET_IFNAME", "lo"}};
  task.micro->sizes = {Bytes(1), Bytes(4096), Bytes(100000)};
  task.micro->depth = 16;
  return task;
}

struct Found {
  MicroResult result;  // rank 0's
  std::vector<std::string> failures;
};
Found run_on(std::int32_t ranks, const Task& task,
             const std::shared_ptr<verbs::FakeNetwork>& network) {
  Found found;
  found.failures = run_ranks(ranks, [&](Session& session) {
    const MicroResult result =
        run_micro(session, task, std::shared_ptr<verbs::Api>(verbs::make_fake_verbs(network)));
    if (session.rank() == RankId(0))
      found.result = result;
  });
  return found;
}

class EveryMicro : public testing::TestWithParam<std::pair<MicroKind, NetworkKind>> {};

TEST_P(EveryMicro, GivesFiguresForEachSize) {
  const auto network = fake_network(2);
  const Found found = run_on(2, task_of(GetParam().first, GetParam().second), network);
  for (const std::string& failure : found.failures)
    EXPECT_EQ(failure, "");
  ASSERT_EQ(found.result.points.size(), 3U);
  for (const MicroPoint& point : found.result.points) {
    EXPECT_EQ(point.iterations, 40);
    EXPECT_GE(point.min_us, 0);
    EXPECT_LE(point.min_us, point.median_us);
    EXPECT_LE(point.median_us, point.p99_us);
    EXPECT_GT(point.p99_us, 0);
    EXPECT_EQ(point.GBps > 0, GetParam().first == MicroKind::kWriteBandwidth);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, EveryMicro,
                         testing::Values(std::pair(MicroKind::kPingPong, NetworkKind::kVerbs),
                                         std::pair(MicroKind::kPingPong, NetworkKind::kSocket),
                                         std::pair(MicroKind::kPingPong, NetworkKind::kShared),
                                         std::pair(MicroKind::kSendLatency, NetworkKind::kVerbs),
                                         std::pair(MicroKind::kReadLatency, NetworkKind::kVerbs),
                                         std::pair(MicroKind::kWriteBandwidth, NetworkKind::kVerbs),
                                         std::pair(MicroKind::kWriteBandwidth,
                                                   NetworkKind::kSocket)));

TEST(Micro, TheMethodIsTheOneOfItsName) {
  const auto network = fake_network(2);
  const auto name = [&](MicroKind kind) {
    Task task = task_of(kind, NetworkKind::kVerbs);
    task.micro->network.method = VerbsMethod::kRead;
    return run_on(2, task, network).result.network;
  };
  EXPECT_NE(name(MicroKind::kSendLatency).find("RDMA SEND"), std::string::npos);
  EXPECT_NE(name(MicroKind::kWriteBandwidth).find("RDMA WRITE"), std::string::npos);
  EXPECT_NE(name(MicroKind::kReadLatency).find("RDMA READ"), std::string::npos);
  EXPECT_NE(name(MicroKind::kPingPong).find("RDMA READ"), std::string::npos);
}

TEST(Micro, NeedsTwoRanksAndRdmaForReads) {
  const auto network = fake_network(3);
  const Found three = run_on(3, task_of(MicroKind::kPingPong, NetworkKind::kShared), network);
  EXPECT_NE(three.failures[0].find("pingpong needs 2 ranks, 3 were started"), std::string::npos);
  const Found tcp = run_on(2, task_of(MicroKind::kReadLatency, NetworkKind::kSocket), network);
  EXPECT_NE(tcp.failures[0].find("read-lat reads by RDMA"), std::string::npos);
}

}  // namespace
}  // namespace busbw::real
