// Chunks of NVLS and NVLSTree, channels of point-to-point data, against NCCL's source, computed by
// hand.
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

struct PerPeer {
  const char* version;
  std::int32_t hosts;
  Bytes bytes;  // to a peer
  params::Protocol protocol;
  std::int32_t channels;
};

// DGX H100: 32 channels, 32 at most for a peer of the host. One channel an operation is 32 / 8 = 4;
// a channel's part is 64 KiB to 16 MiB (512 KiB by 8, times 32), with LL of 2.22 to 2.27 8 KiB to 2
// MiB. 2.18 keeps 8 GPUs to 4 operations a channel. Two hosts: 16 channels for 16 ranks are 1 each,
// at most 2 for a peer behind one NIC, parts of at most 128 KiB.
TEST(PointToPoint, ChannelsOfAPeer) {
  const params::Protocol simple = params::Protocol::kSimple;
  const params::Protocol ll = params::Protocol::kLowLatency;
  for (const PerPeer& each :
       {PerPeer{"2.28.9", 1, Bytes::kib(64), simple, 1},
        PerPeer{"2.28.9", 1, Bytes::kib(128), simple, 2},
        PerPeer{"2.28.9", 1, Bytes::mib(64), simple, 4},
        PerPeer{"2.28.9", 1, Bytes::mib(65), simple, 8},
        PerPeer{"2.28.9", 1, Bytes::mib(256), simple, 16},
        PerPeer{"2.28.9", 1, Bytes::mib(512), simple, 32},
        PerPeer{"2.28.9", 1, Bytes::gib(8), simple, 32},
        PerPeer{"2.28.9", 1, Bytes::kib(64), ll, 1}, PerPeer{"2.26.2", 1, Bytes::kib(64), ll, 4},
        PerPeer{"2.26.2", 1, Bytes::kib(16), ll, 2},
        PerPeer{"2.18.6", 1, Bytes::gib(8), simple, 16},
        PerPeer{"2.28.9", 2, Bytes::kib(128), simple, 1},
        PerPeer{"2.28.9", 2, Bytes::kib(129), simple, 2},
        PerPeer{"2.28.9", 2, Bytes::gib(1), simple, 2}}) {
    Variant variant;
    variant.version = *nccl::parse_version(each.version);
    variant.workload.collective = collectives::Collective::kSendRecv;
    HostsOptions options;
    options.hosts = each.hosts;
    set_equal_hosts(machine("dgx-h100"), options, library().catalog, variant);
    const Plan plan = make_plan(variant, decide(variant, library().catalog));
    const Cut cut = cut_of(plan, variant, {Algorithm::kDirect, each.protocol}, each.bytes);
    EXPECT_EQ(cut.options.channels_per_peer, each.channels)
        << each.version << " " << each.bytes.count();
    EXPECT_EQ(cut.options.chunk, Bytes::kib(each.hosts > 1 ? 128 : 512));
  }
}

}  // namespace
}  // namespace busbw::scenarios
