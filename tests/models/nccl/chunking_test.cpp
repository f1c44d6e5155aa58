// Channels, threads, chunks and slices: numbers worked by hand, properties, and the channel counts
// that NCCL's own code chose (records in the reference folder, skipped where it is absent).
#include "models/nccl/chunking.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "sim/core/random.h"
#include "sim/core/text.h"

namespace busbw::nccl {
namespace {

constexpr Version kOld{2, 18, 6};
constexpr Version kMiddle{2, 28, 9};

/// The NIC misselection case: 2 nodes x 4 GPUs, two channels, ring of 1 channel x 1.2 GB/s.
Call case_call(Version version, Algorithm algorithm, Protocol protocol, Bytes bytes) {
  Call call;
  call.version = version;
  call.algorithm = algorithm;
  call.protocol = protocol;
  call.bytes = bytes;
  call.channels = 2;
  call.ranks = 8;
  call.nodes = 2;
  call.ring_bandwidth = Bandwidth::megabits_per_second(9600);
  return call;
}

std::vector<std::int64_t> shares(const Call& call) {
  std::vector<std::int64_t> bytes;
  for (const ChannelWork& work : channel_works(call)) {
    bytes.push_back(work.bytes.count());
  }
  return bytes;
}

TEST(Threads, ChannelsDropBelow64BytesAThread) {
  // Ring Simple, 512 threads: 24 channels need 24 * 512 * 64 = 786,432 bytes.
  Call call;
  call.channels = 24;
  call.ranks = 8;
  call.ring_bandwidth = Bandwidth::gigabytes_per_second(240);
  call.bytes = Bytes(786'432);
  EXPECT_EQ(threads_of(call).channels, 24);
  call.bytes = Bytes(786'431);
  EXPECT_EQ(threads_of(call).channels, 23);
  EXPECT_EQ(threads_of(call).threads, 512 + 32);
  // One channel: 512 * 64 = 32 KiB; below it 256, then 128, then 64 threads; 64 + 32 = 96, the
  // least.
  call.bytes = Bytes(16 * 1024);
  EXPECT_EQ(threads_of(call).threads, 256 + 32);
  call.bytes = Bytes(1);
  EXPECT_EQ(threads_of(call).threads, 96);
}

TEST(Threads, SlowRingHas256) {
  Call call = case_call(kOld, Algorithm::kRing, Protocol::kSimple, Bytes::gib(1));
  EXPECT_EQ(threads_of(call).threads, 256 + 32);
  call.ring_bandwidth = Bandwidth::gigabits_per_second(97);
  EXPECT_EQ(threads_of(call).threads, 512 + 32);
}

TEST(Threads, ThresholdsOfProtocols) {
  // Tree LL: 512 threads x 8 bytes = 4 KiB a channel. Ring LL: x 8 ranks = 32 KiB. LL128: 640 x 8 =
  // 5 KiB.
  for (const auto& [algorithm, protocol, bytes] :
       {std::tuple(Algorithm::kTree, Protocol::kLL, 8192),
        std::tuple(Algorithm::kRing, Protocol::kLL, 65536),
        std::tuple(Algorithm::kTree, Protocol::kLL128, 10240)}) {
    EXPECT_EQ(threads_of(case_call(kOld, algorithm, protocol, Bytes(bytes))).channels, 2);
    EXPECT_EQ(threads_of(case_call(kOld, algorithm, protocol, Bytes(bytes - 1))).channels, 1);
  }
  EXPECT_EQ(threads_of(case_call(kOld, Algorithm::kTree, Protocol::kLL, Bytes(1))).threads, 640);
}

TEST(ChunkSize, RingSimpleTakesFourSlotsAndSendsTwo) {
  const Call call = case_call(kOld, Algorithm::kRing, Protocol::kSimple, Bytes::gib(1));
  const std::vector<ChannelWork> works = channel_works(call);
  ASSERT_EQ(works.size(), 2U);
  EXPECT_EQ(works[0].bytes, Bytes::mib(512));
  EXPECT_EQ(works[0].chunk, Bytes::mib(2));
  EXPECT_EQ(works[0].slice, Bytes::mib(1));
  Call broadcast = call;
  broadcast.function = Function::kBroadcast;
  EXPECT_EQ(channel_works(broadcast)[0].chunk, Bytes::kib(512));
  EXPECT_EQ(channel_works(broadcast)[0].slice, Bytes::kib(512));
  Call small = call;
  small.buffer = Bytes::mib(1);
  EXPECT_EQ(channel_works(small)[0].chunk, Bytes::kib(512));
}

TEST(ChunkSize, TreeSimpleShrinksUntil221) {
  // Depth 3 + log2(2) = 4: halve while S / (2 x chunk) < 32, then < 16, then < 4.
  const auto chunk = [](Version version, Bytes bytes) {
    return chunk_size(case_call(version, Algorithm::kTree, Protocol::kSimple, bytes), bytes, 2);
  };
  EXPECT_EQ(chunk(kOld, Bytes::gib(1)), Bytes::kib(512));   // 1024 chunks a channel
  EXPECT_EQ(chunk(kOld, Bytes::mib(32)), Bytes::kib(512));  // 32: enough
  EXPECT_EQ(chunk(kOld, Bytes::mib(16)), Bytes::kib(256));  // 16 < 32; 32
  EXPECT_EQ(chunk(kOld, Bytes::mib(1)), Bytes::kib(64));    // 128 KiB: 4 < 16; 64 KiB: 8 >= 4
  EXPECT_EQ(chunk(kOld, Bytes::kib(256)), Bytes::kib(32));  // 64 KiB: 2 < 4; 32 KiB: 4
  EXPECT_EQ(chunk(kOld, Bytes(1)), Bytes::kib(32));
  EXPECT_EQ(chunk(kMiddle, Bytes(1)), Bytes::kib(512));
}

TEST(ChunkSize, TreeLl128ShrinksInAllReleases) {
  // ppn 4, steps 1 + 1 + 0.4 = 2.4: least 2.4 * 64 / 4 = 38.4 chunks above 128 KiB, then 2.4 * 16 /
  // 4 = 9.6. 1 MiB on 2 channels: 576,000: 0; 288,000: 1; 144,000: 3; 72,000: 7 (below 128 KiB; 7
  // < 9.6); 36,000: 14.
  const Call old = case_call(kOld, Algorithm::kTree, Protocol::kLL128, Bytes::mib(1));
  EXPECT_EQ(chunk_size(old, Bytes::mib(1), 2), Bytes(36'000));
  // Since 2.22.3 whole grains of 1,920: 18 of them.
  const Call middle = case_call(kMiddle, Algorithm::kTree, Protocol::kLL128, Bytes::mib(1));
  EXPECT_EQ(chunk_size(middle, Bytes::mib(1), 2), Bytes(34'560));
  EXPECT_EQ(chunk_size(middle, Bytes::gib(1), 2), Bytes(576'000));
}

TEST(ChunkSize, LlHasHalfASlot) {
  const Call call = case_call(kOld, Algorithm::kRing, Protocol::kLL, Bytes::mib(1));
  EXPECT_EQ(chunk_size(call, call.bytes, 2), Bytes::kib(32));
}

TEST(ChannelWorks, SharesEvenlyUntil221) {
  Call call = case_call(kOld, Algorithm::kTree, Protocol::kSimple, Bytes(400'004));
  EXPECT_EQ(shares(call), (std::vector<std::int64_t>{200'000, 200'004}));
  call.function = Function::kAllGather;  // of 8 x 50,000: one rank's count is dealt
  call.bytes = Bytes(400'000);
  EXPECT_EQ(shares(call), (std::vector<std::int64_t>{25'000, 25'000}));
}

TEST(ChannelWorks, DealsCellsSince2223) {
  // 1 MiB + 4 on 4 channels, Tree Simple: traffic 2 x 1,048,580 / 4 = 524,290 a channel; a cell is
  // 16 KiB / 2 = 8 KiB with 16 KiB of traffic. 129 cells, ceil(524,290 / 16,384) = 33 a channel:
  // 33, 33, 33, 30. The last: 30 x 8,192 - (129 x 8,192 - 1,048,580) = 237,572.
  Call call = case_call(kMiddle, Algorithm::kTree, Protocol::kSimple, Bytes((1 << 20) + 4));
  call.channels = 4;
  EXPECT_EQ(shares(call), (std::vector<std::int64_t>{270'336, 270'336, 270'336, 237'572}));
}

TEST(ChannelWorks, SmallDataUsesFewerChannels) {
  // Tree LL, 20 KiB, 8 channels: 20 KiB / 4 KiB = 5 channels; traffic x2 x4: 160 KiB, 32 KiB a
  // channel. A cell is 16 KiB / 8 = 2 KiB: 10 cells, 2 a channel.
  Call call = case_call(kMiddle, Algorithm::kTree, Protocol::kLL, Bytes::kib(20));
  call.channels = 8;
  EXPECT_EQ(shares(call), std::vector<std::int64_t>(5, 4096));
  // 2 KiB: one cell, one channel.
  call.bytes = Bytes::kib(2);
  EXPECT_EQ(shares(call), std::vector<std::int64_t>(1, 2048));
  call.bytes = Bytes();
  EXPECT_EQ(shares(call), std::vector<std::int64_t>(1, 0));
  // 33 KiB Tree Simple: 1 channel; the same before and after the larger cells of 2.29.2.
  call.protocol = Protocol::kSimple;
  call.bytes = Bytes::kib(33);
  EXPECT_EQ(shares(call), std::vector<std::int64_t>(1, 33 * 1024));
}

TEST(ChannelWorks, AllBytesAreDealtAndChunksHoldThem) {
  Random random(11);
  for (int round = 0; round < 3000; ++round) {
    Call call;
    const std::vector<Version> versions = {{2, 18, 1}, {2, 21, 5}, {2, 22, 3},
                                           kMiddle,    {2, 29, 2}, kNewest};
    call.version = versions[random.below(versions.size())];
    call.algorithm = random.chance(1, 2) ? Algorithm::kRing : Algorithm::kTree;
    call.protocol = static_cast<Protocol>(random.below(3));
    call.nodes = static_cast<std::int32_t>(random.between(1, 16));
    call.ranks = call.nodes * static_cast<std::int32_t>(random.between(1, 8));
    call.channels = static_cast<std::int32_t>(random.between(1, 64));
    call.bytes = Bytes(4 * random.between(0, std::int64_t{1} << random.between(1, 28)));
    std::int64_t sum = 0;
    const std::vector<ChannelWork> works = channel_works(call);
    for (const ChannelWork& work : works) {
      EXPECT_GE(work.bytes, Bytes());
      EXPECT_GE(work.chunk, work.slice);
      EXPECT_GT(work.slice, Bytes());
      sum += work.bytes.count();
    }
    EXPECT_EQ(sum, call.bytes.count());
    EXPECT_LE(works.size(), static_cast<std::size_t>(call.channels));
  }
}

// The channel count after the thresholds, against the records: [bytes, algorithm, protocol, time,
// channels].

/// "2.18.6" of a record.
Version version_of(const std::string& text) {
  const std::vector<std::string_view> parts = split(text, '.');
  const auto part = [&](std::size_t i) {
    return static_cast<int>(parse_integer(parts.at(i)).value());
  };
  return {part(0), part(1), part(2)};
}

std::optional<Call> recorded_call(const nlohmann::json& record, Function function,
                                  const nlohmann::json& choice) {
  Call call;
  call.version = version_of(record["nccl"].get<std::string>());
  call.function = function;
  const std::string algorithm = choice[1];
  if (algorithm != "Ring" && algorithm != "Tree") {
    return std::nullopt;
  }
  call.algorithm = algorithm == "Ring" ? Algorithm::kRing : Algorithm::kTree;
  const std::string protocol = choice[2];
  call.protocol = protocol == "LL"      ? Protocol::kLL
                  : protocol == "LL128" ? Protocol::kLL128
                                        : Protocol::kSimple;
  call.bytes = Bytes(choice[0].get<std::int64_t>());
  call.ranks = record["nRanks"];
  call.nodes = record["nNodes"];
  call.channels = record["comm"][call.version < Version{2, 22, 3} ? "collChannels" : "nChannels"];
  const double ring = record["graphs"]["ring"]["bwIntra"].get<double>() *
                      record["graphs"]["ring"]["nChannels"].get<double>();
  call.ring_bandwidth = Bandwidth::bits_per_second(static_cast<std::int64_t>(ring * 8e9 + 0.5));
  return call;
}

int compare_choices(const std::string& folder) {
  const auto path = std::filesystem::path(BUSBW_SHARED_DIR) / "oracle" / folder;
  int compared = 0;
  if (!std::filesystem::is_directory(path)) {
    return 0;
  }
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    if (entry.path().extension() != ".json") {
      continue;
    }
    std::ifstream file(entry.path());
    const nlohmann::json record = nlohmann::json::parse(file);
    if (record["nRanks"] == 1 || !record.contains("choices")) {
      continue;
    }
    for (const auto& [name, function] : {std::pair("AllReduce", Function::kAllReduce),
                                         std::pair("AllGather", Function::kAllGather),
                                         std::pair("Broadcast", Function::kBroadcast)}) {
      for (const auto& choice : record["choices"][name]) {
        const std::optional<Call> call = recorded_call(record, function, choice);
        if (call) {
          EXPECT_EQ(threads_of(*call).channels, choice[4].get<std::int32_t>())
              << entry.path() << " " << name << " " << choice;
          ++compared;
        }
      }
    }
  }
  return compared;
}

TEST(ThreadsAgainstNccl, ChannelsOfChoices) {
  int compared = 0;
  for (const char* folder :
       {"case-machine", "nccl-2.18.6", "nccl-2.21.5", "nccl-2.26.2", "nccl-2.30.7"}) {
    compared += compare_choices(folder);
  }
  if (compared == 0) {
    GTEST_SKIP() << "no records in the reference folder";
  }
  EXPECT_GT(compared, 5000);
}

}  // namespace
}  // namespace busbw::nccl
