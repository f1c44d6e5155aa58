// A task comes back from its bytes as it went; other bytes are refused.
#include "real/measure/task.h"

#include <gtest/gtest.h>

#include "sim/core/errors.h"

namespace busbw::real {
namespace {

Task full_task() {
  Task task;
  Section& section = task.sections.emplace_back();
  section.title = "a title";
  section.network.kind = NetworkKind::kVerbs;
  section.network.method = VerbsMethod::kRead;
  section.network.completion = Completion::kEvent;
  section.network.shared_inside = false;
  section.network.host_of = {0, 0, 1};
  section.network.environment = {{"NCCL_IB_HCA", "mlx5_0"}, {"NCCL_IB_TC", "106"}};
  section.network.version = {2, 18, 6};
  section.collective = collectives::Collective::kReduceScatter;
  section.type = ElementType::kBfloat16;
  section.reduction = Reduction::kMax;
  section.shape.ranks = 3;
  section.shape.rings = {{RankId(2), RankId(0), RankId(1)}};
  section.shape.trees = {{std::nullopt, RankId(0), RankId(1)}};
  section.shape.host_of = {0, 0, 1};
  MeasurePoint& point = section.points.emplace_back();
  point.algorithm = collectives::Algorithm::kHierarchical;
  point.options.bytes = Bytes(12);
  point.options.element = Bytes(2);
  point.options.chunk = Bytes(1024);
  point.options.slices = 2;
  point.options.slots = 4;
  point.options.channel_bytes = {Bytes(8), Bytes(4)};
  point.options.root = RankId(2);
  point.options.channels = 2;
  point.options.channels_per_peer = 2;
  point.channels = 2;
  point.slots = 4;
  section.warmup = 0;
  section.iterations = 9;
  section.network.device_of = {"mlx5_0", "mlx5_1", "mlx5_0"};
  task.remarks = {"left out"};
  task.warmup = 3;
  task.iterations = 7;
  task.barrier = true;
  task.in_place = true;
  task.timeout_ms = 1234;
  task.json = "file.json";
  task.colour = true;
  return task;
}

TEST(Task, ComesBackFromItsBytes) {
  const Task task = full_task();
  const Task read = task_from_bytes(to_bytes(task), "here");
  ASSERT_EQ(read.sections.size(), 1U);
  const Section& section = read.sections.front();
  EXPECT_EQ(section.title, "a title");
  EXPECT_EQ(section.network.kind, NetworkKind::kVerbs);
  EXPECT_EQ(section.network.method, VerbsMethod::kRead);
  EXPECT_EQ(section.network.completion, Completion::kEvent);
  EXPECT_FALSE(section.network.shared_inside);
  EXPECT_EQ(section.network.host_of, (std::vector<std::int32_t>{0, 0, 1}));
  EXPECT_EQ(section.network.environment, task.sections.front().network.environment);
  EXPECT_EQ(section.network.version, (nccl::Version{2, 18, 6}));
  EXPECT_EQ(section.collective, collectives::Collective::kReduceScatter);
  EXPECT_EQ(section.type, ElementType::kBfloat16);
  EXPECT_EQ(section.reduction, Reduction::kMax);
  EXPECT_EQ(section.shape.rings, task.sections.front().shape.rings);
  EXPECT_EQ(section.shape.trees, task.sections.front().shape.trees);
  EXPECT_EQ(section.shape.host_of, task.sections.front().shape.host_of);
  ASSERT_EQ(section.points.size(), 1U);
  const collectives::Options& options = section.points.front().options;
  EXPECT_EQ(options.channel_bytes, (std::vector<Bytes>{Bytes(8), Bytes(4)}));
  EXPECT_EQ(options.root, RankId(2));
  EXPECT_EQ(options.slices, 2);
  EXPECT_EQ(section.warmup, 0);
  EXPECT_EQ(section.iterations, 9);
  EXPECT_EQ(section.network.device_of, task.sections.front().network.device_of);
  // Everything else: the same bytes again.
  EXPECT_EQ(to_bytes(read), to_bytes(task));
  EXPECT_NE(to_bytes(read), to_bytes(Task()));
}

TEST(Task, MicroBenchmarkComesBack) {
  Task task;
  task.micro.emplace();
  task.micro->kind = MicroKind::kWriteBandwidth;
  task.micro->sizes = {Bytes(1), Bytes(4096)};
  task.micro->depth = 17;
  const Task read = task_from_bytes(to_bytes(task), "here");
  ASSERT_TRUE(read.micro.has_value());
  EXPECT_EQ(read.micro->kind, MicroKind::kWriteBandwidth);
  EXPECT_EQ(read.micro->sizes, task.micro->sizes);
  EXPECT_EQ(read.micro->depth, 17);
}

TEST(Task, CalibrationComesBack) {
  Task task;
  task.calibration.emplace();
  task.calibration->networks.resize(2);
  task.calibration->networks[1].kind = NetworkKind::kSocket;
  task.calibration->networks[1].device_of = {"eth0", "eth1"};
  task.calibration->all_pairs = true;
  task.calibration->output = "p.yaml";
  task.quiet = true;
  task.progress = true;
  const Task read = task_from_bytes(to_bytes(task), "here");
  ASSERT_TRUE(read.calibration.has_value());
  ASSERT_EQ(read.calibration->networks.size(), 2U);
  EXPECT_EQ(read.calibration->networks[1].kind, NetworkKind::kSocket);
  EXPECT_EQ(read.calibration->networks[1].device_of, (std::vector<std::string>{"eth0", "eth1"}));
  EXPECT_TRUE(read.calibration->all_pairs);
  EXPECT_EQ(read.calibration->output, "p.yaml");
  EXPECT_TRUE(read.quiet && read.progress);
}

TEST(Task, OtherBytesAreRefused) {
  const std::string bytes = to_bytes(full_task());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_THROW(static_cast<void>(task_from_bytes(bytes.substr(0, size), "here")), SystemError);
  EXPECT_THROW(static_cast<void>(task_from_bytes(bytes + "x", "here")), SystemError);
  std::string other = bytes;
  other[5] = 'X';
  try {
    static_cast<void>(task_from_bytes(other, "/tmp/task"));
    FAIL();
  } catch (const SystemError& error) {
    EXPECT_STREQ(error.what(), "read failed: not a task of this version of busbw (on /tmp/task)");
  }
}

}  // namespace
}  // namespace busbw::real
