// Sections measured by ranks as threads, over the fake verbs, TCP and shared memory: results,
// figures, and what is refused.
#include "real/measure/measure.h"

#include <chrono>

#include <gtest/gtest.h>

#include "real/measure/network.h"
#include "real/verbs/faults.h"
#include "tests/real/ranks.h"

namespace busbw::real {
namespace {

Section section_of(std::int32_t ranks, NetworkKind kind) {
  Section section;
  section.title = "test";
  section.network.kind = kind;
  section.network.environment = {{"NCCL_SOCKET_IFNAME", "lo"}};
  section.shape = shape_of(ranks, 2, 1);
  for (const std::int64_t bytes : {4, 4100, 100004}) {
    MeasurePoint& point = section.points.emplace_back();
    point.options.bytes = Bytes(bytes);
    point.options.chunk = Bytes::kib(8);
    point.channels = 2;
    point.slots = 4;
    point.options.slots = 4;
  }
  return section;
}

struct Found {
  std::vector<std::vector<SectionResult>> results;  // by rank
  std::vector<std::string> failures;
};

/// Measures on `ranks` threads. Each has an API of its own over one fake network of one device a
/// rank.
Found measure_on(std::int32_t ranks, const Task& task, bool with_verbs = false) {
  Found found;
  found.results.resize(static_cast<std::size_t>(ranks));
  const auto network = fake_network(ranks);
  found.failures = run_ranks(ranks, [&](Session& session) {
    std::shared_ptr<verbs::Api> api;
    if (with_verbs)
      api = verbs::make_fake_verbs(network);
    found.results[session.rank().index()] = measure(session, task, api);
  });
  return found;
}

void expect_good(const Found& found) {
  for (const std::string& failure : found.failures)
    EXPECT_EQ(failure, "");
}

TEST(Quantile, IsTheSmallestValueWithThatShareBelow) {
  const std::vector<double> values = {5, 1, 4, 2, 3};
  EXPECT_EQ(quantile(values, 0), 1);
  EXPECT_EQ(quantile(values, 0.5), 3);
  EXPECT_EQ(quantile(values, 0.99), 5);
  EXPECT_EQ(quantile(values, 1), 5);
  EXPECT_EQ(quantile({7}, 0.5), 7);
  EXPECT_EQ(quantile({1, 2}, 0.5), 1);
}

TEST(Measure, FiguresFollowFromTheTimes) {
  Task task;
  task.sections = {section_of(4, NetworkKind::kAuto)};
  task.iterations = 5;
  const Found found = measure_on(4, task);
  expect_good(found);
  ASSERT_EQ(found.results[0].size(), 1U);
  const SectionResult& section = found.results[0].front();
  EXPECT_TRUE(section.network.starts_with("shared memory; completion by ")) << section.network;
  EXPECT_EQ(section.ranks, 4);
  ASSERT_EQ(section.points.size(), 3U);
  const PointResult& last = section.points.back();
  EXPECT_EQ(last.bytes, Bytes(100004));
  EXPECT_EQ(last.count, 25001);
  EXPECT_EQ(last.root, -1);
  EXPECT_EQ(last.wrong, 0);
  EXPECT_GT(last.min_us, 0);
  EXPECT_LE(last.min_us, last.median_us);
  EXPECT_LE(last.median_us, last.max_us);
  EXPECT_NEAR(last.algbw_GBps, 100004 / last.median_us / 1000, 1e-9);
  EXPECT_NEAR(last.busbw_GBps, last.algbw_GBps * 1.5, 1e-9);
  // All ranks know the same.
  EXPECT_EQ(found.results[3].front().points.back().median_us, last.median_us);
}

TEST(Measure, EveryNetworkIsExact) {
  const std::vector<std::pair<NetworkKind, std::string>> kinds = {
      {NetworkKind::kSocket, "TCP"},
      {NetworkKind::kShared, "shared memory"},
      {NetworkKind::kVerbs, "RDMA "}};
  for (const auto& [kind, name] : kinds) {
    Task task;
    for (const VerbsMethod method : {VerbsMethod::kWrite, VerbsMethod::kRead, VerbsMethod::kSend}) {
      task.sections.push_back(section_of(3, kind));
      task.sections.back().network.method = method;
      task.sections.back().network.shared_inside = kind == NetworkKind::kShared;
    }
    task.iterations = 3;
    task.warmup = 1;
    task.barrier = kind == NetworkKind::kShared;
    const Found found = measure_on(3, task, kind == NetworkKind::kVerbs);
    expect_good(found);
    ASSERT_EQ(found.results[1].size(), 3U);
    for (const SectionResult& section : found.results[1]) {
      EXPECT_NE(section.network.find(name), std::string::npos) << section.network;
      for (const PointResult& point : section.points)
        EXPECT_EQ(point.wrong, 0) << point.first_wrong;
    }
  }
}

TEST(Measure, HostsOfTheScenarioSeparateSharedMemory) {
  Task task;
  task.sections = {section_of(4, NetworkKind::kSocket)};
  task.sections.front().network.host_of = {0, 0, 1, 1};
  task.iterations = 2;
  const Found found = measure_on(4, task);
  expect_good(found);
  const std::string network = found.results[0].front().network;
  EXPECT_NE(network.find("shared memory"), std::string::npos) << network;
  EXPECT_NE(network.find("TCP"), std::string::npos) << network;
}

TEST(Measure, RanksThatOutnumberTheProcessorsSleep) {
  const auto settled = [](std::int32_t ranks, Completion asked) {
    std::vector<Completion> found(static_cast<std::size_t>(ranks));
    const std::vector<std::string> failures = run_ranks(ranks, [&](Session& session) {
      Task task;
      task.sections.resize(1);
      task.micro.emplace();
      task.calibration.emplace().networks.resize(2);
      task.sections.front().network.completion = asked;
      task.micro->network.completion = asked;
      task.calibration->networks.back().completion = asked;
      task = settle_completion(session, std::move(task));
      found[session.rank().index()] = task.sections.front().network.completion;
      EXPECT_EQ(task.micro->network.completion, task.sections.front().network.completion);
      EXPECT_EQ(task.calibration->networks.back().completion,
                task.sections.front().network.completion);
      EXPECT_NE(task.calibration->networks.front().completion, Completion::kAuto);
      session.barrier();
    });
    EXPECT_EQ(failures, std::vector<std::string>(failures.size()));
    EXPECT_EQ(found, std::vector<Completion>(found.size(), found.front()));
    return found.front();
  };
  const auto processors = static_cast<std::int32_t>(allowed_processors().size());
  ASSERT_GE(processors, 1);
  EXPECT_EQ(settled(processors + 1, Completion::kAuto), Completion::kEvent);
  EXPECT_EQ(settled(processors, Completion::kAuto), Completion::kPoll);
  EXPECT_EQ(settled(processors + 1, Completion::kPoll), Completion::kPoll);
  EXPECT_EQ(settled(processors, Completion::kEvent), Completion::kEvent);
}

TEST(Measure, CompletionByEventsIsExactToo) {
  for (const NetworkKind kind : {NetworkKind::kVerbs, NetworkKind::kSocket, NetworkKind::kShared}) {
    Task task;
    task.sections = {section_of(3, kind)};
    task.sections.front().network.completion = Completion::kEvent;
    task.sections.front().network.shared_inside = kind == NetworkKind::kShared;
    task.iterations = 3;
    const Found found = measure_on(3, task, kind == NetworkKind::kVerbs);
    expect_good(found);
    for (const PointResult& point : found.results[2].at(0).points)
      EXPECT_EQ(point.wrong, 0) << point.first_wrong;
  }
}

TEST(Measure, SaysWhatRegisteringMemoryTook) {
  Task task;
  task.sections = {section_of(2, NetworkKind::kVerbs)};
  task.sections.front().network.shared_inside = false;
  task.iterations = 2;
  const Found found = measure_on(2, task, true);
  expect_good(found);
  const verbs::Registration& memory = found.results[0].at(0).registration;
  // Input, output and scratch of three sizes, slots of two channels.
  EXPECT_EQ(memory.regions, 3 * 3 + 2);
  EXPECT_GT(memory.bytes, 2 * (4 + 4100 + 100004));
  EXPECT_GT(memory.us, 0);
  EXPECT_EQ(found.results[1].at(0).registration.us, memory.us);
  // Nothing is registered without a device.
  task.sections.front().network.kind = NetworkKind::kSocket;
  EXPECT_EQ(measure_on(2, task).results[0].at(0).registration.regions, 0);
}

TEST(Measure, AnotherNumberOfRanksIsRefused) {
  Task task;
  task.sections = {section_of(4, NetworkKind::kAuto)};
  const Found found = measure_on(2, task);
  EXPECT_NE(found.failures[0].find("4 ranks are needed, 2 were started"), std::string::npos)
      << found.failures[0];
}

TEST(Measure, OthersHearOfAFailureBeforeItsMemoryIsFreed) {
  Task task;
  task.sections = {section_of(2, NetworkKind::kVerbs)};
  task.sections.front().network.shared_inside = false;
  const auto network = fake_network(2);
  std::vector<Clock::time_point> ends(2);
  static_cast<void>(run_ranks(2, [&](Session& session) {
    std::shared_ptr<verbs::Api> api = verbs::make_fake_verbs(network);
    if (session.rank() == RankId(0))
      api = with_fault(api, {verbs::FaultKind::kForeignDomain, 3});
    network->slow_call("deregister_memory", Milliseconds(200));
    try {
      static_cast<void>(measure(session, task, api));
    } catch (const SystemError&) {
      ends[session.rank().index()] = Clock::now();
      throw;
    }
  }));
  // Both free six buffers and more in the same time; one after the other would be twice as long.
  EXPECT_LT(std::chrono::abs(ends[1] - ends[0]), Milliseconds(600));
  EXPECT_EQ(network->alive(), 0);
}

TEST(Measure, NoDeviceIsSaidWithNcclsReasons) {
  Task task;
  task.sections = {section_of(2, NetworkKind::kVerbs)};
  task.sections.front().network.shared_inside = false;
  const Found found = measure_on(2, task);
  EXPECT_NE(found.failures[0].find("choice of the network failed: "), std::string::npos)
      << found.failures[0];
}

TEST(Measure, SharedMemoryThatMayNotBeUsedIsRefused) {
  Task task;
  task.sections = {section_of(2, NetworkKind::kShared)};
  task.sections.front().network.shared_inside = false;
  const Found found = measure_on(2, task);
  EXPECT_NE(found.failures[0].find("NCCL_SHM_DISABLE"), std::string::npos) << found.failures[0];
}

}  // namespace
}  // namespace busbw::real
