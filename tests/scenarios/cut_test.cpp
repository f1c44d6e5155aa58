// Chunks of NVLS and NVLSTree against NCCL's source, computed by hand.
#include "scenarios/cut.h"

#include <gtest/gtest.h>

#include "scenarios/equal_hosts.h"
#include "tests/scenarios/library.h"

namespace busbw::scenarios {
namespace {

using collectives::Algorithm;

/// Chunk of 16 GiB, for which nothing is halved: heads x channels x 32 x 512 KiB is 2 GiB.
std::int64_t chunk_kib(const char* version, std::int32_t hosts, Algorithm algorithm,
                       const nccl::Environment& environment = {}) {
  Variant variant;
  variant.version = *nccl::parse_version(version);
  variant.environment = environment;
  variant.workload.collective = collectives::Collective::kAllReduce;
  HostsOptions options;
  options.hosts = hosts;
  set_equal_hosts(machine("dgx-h100"), options, library().catalog, variant);
  const Plan plan = make_plan(variant, decide(variant, library().catalog));
  const Cut cut = cut_of(plan, variant, {algorithm, params::Protocol::kSimple}, Bytes::gib(16));
  return cut.options.chunk.count() / 1024;
}

TEST(Cut, NvlsTreeTakesTheSlotsOfNvls) {
  EXPECT_EQ(chunk_kib("2.28.9", 2, Algorithm::kNvlsTree), 128);
  EXPECT_EQ(chunk_kib("2.20.5", 2, Algorithm::kNvlsTree), 512);  // those of the other algorithms
}

TEST(Cut, NvlsTreeOnFourNodesTakesHalfOfThat) {
  EXPECT_EQ(chunk_kib("2.28.9", 3, Algorithm::kNvlsTree), 128);
  EXPECT_EQ(chunk_kib("2.28.9", 4, Algorithm::kNvlsTree), 64);
  EXPECT_EQ(chunk_kib("2.18.6", 4, Algorithm::kNvlsTree), 512);  // not yet
}

TEST(Cut, VariablesSetTheChunksOfNvls) {
  const nccl::Environment large = {{"NCCL_NVLS_CHUNKSIZE", "524288"}};
  EXPECT_EQ(chunk_kib("2.28.9", 2, Algorithm::kNvlsTree, large), 512);
  EXPECT_EQ(chunk_kib("2.28.9", 1, Algorithm::kNvls), 128);
  EXPECT_EQ(chunk_kib("2.28.9", 1, Algorithm::kNvls, {{"NCCL_NVLS_CHUNKSIZE", "65536"}}), 64);
  // The largest chunk of the tree stays at most a slot.
  EXPECT_EQ(
      chunk_kib("2.28.9", 4, Algorithm::kNvlsTree, {{"NCCL_NVLSTREE_MAX_CHUNKSIZE", "524288"}}),
      128);
  EXPECT_EQ(
      chunk_kib("2.28.9", 4, Algorithm::kNvlsTree, {{"NCCL_NVLSTREE_MAX_CHUNKSIZE", "32768"}}), 32);
}

}  // namespace
}  // namespace busbw::scenarios
