// Connection settings and GID index by release and variable.
#include "models/nccl/connection_settings.h"

#include <gtest/gtest.h>

namespace busbw::nccl {
namespace {

constexpr Version k218{2, 18, 6};
constexpr Version k222{2, 22, 3};
constexpr Version k230{2, 30, 7};

TEST(ConnectionSettings, DefaultsByRelease) {
  const ConnectionSettings old = connection_settings({}, k218);
  EXPECT_EQ(old.timeout, 18);
  EXPECT_TRUE(old.split_data);
  const ConnectionSettings fresh = connection_settings({}, k230);
  EXPECT_EQ(fresh.timeout, 20);
  EXPECT_EQ(fresh.retry_count, 7);
  EXPECT_EQ(fresh.queue_pairs, 1);
  EXPECT_FALSE(fresh.split_data);
  EXPECT_EQ(fresh.service_level, 0);
  EXPECT_EQ(fresh.traffic_class, 0);
  EXPECT_EQ(connection_settings({}, k222).timeout, 18);
}

TEST(ConnectionSettings, VariablesAsNcclReadsThem) {
  const ConnectionSettings settings = connection_settings({{"NCCL_IB_TIMEOUT", "0x16"},
                                                           {"NCCL_IB_RETRY_CNT", "9"},
                                                           {"NCCL_IB_TC", "106"},
                                                           {"NCCL_IB_SL", "3"},
                                                           {"NCCL_IB_PKEY", "1"},
                                                           {"NCCL_IB_QPS_PER_CONNECTION", "4"},
                                                           {"NCCL_IB_SPLIT_DATA_ON_QPS", "yes"}},
                                                          k230);
  EXPECT_EQ(settings.timeout, 22);
  EXPECT_EQ(settings.retry_count, 7);  // three bits
  EXPECT_EQ(settings.traffic_class, 106);
  EXPECT_EQ(settings.service_level, 3);
  EXPECT_EQ(settings.pkey_index, 1);
  EXPECT_EQ(settings.queue_pairs, 4);
  EXPECT_FALSE(settings.split_data);  // no number: 0
}

GidTableEntry entry(std::array<std::uint8_t, 16> gid, int version) {
  return {true, gid, version};
}
const std::array<std::uint8_t, 16> kLinkLocal = {0xfe, 0x80, 0, 0, 0, 0, 0, 0,
                                                 2,    0,    0, 0, 0, 0, 0, 1};
const std::array<std::uint8_t, 16> kGlobal6 = {0x20, 1, 0xd, 0xb8, 0, 0, 0, 0,
                                               0,    0, 0,   0,    0, 0, 0, 1};
std::array<std::uint8_t, 16> mapped(std::uint8_t last) {
  return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, last, 1};
}

/// The table of a usual mlx5 port with one IPv4 address.
std::vector<GidTableEntry> usual() {
  return {entry(kLinkLocal, 1), entry(kLinkLocal, 2), entry(mapped(0), 1), entry(mapped(0), 2)};
}

TEST(RoceGid, UsualTable) {
  EXPECT_EQ(choose_roce_gid({}, k230, usual()).index, 3);
  EXPECT_EQ(choose_roce_gid({}, k218, usual()).index, 0);  // no search yet
  EXPECT_EQ(choose_roce_gid({{"NCCL_IB_ROCE_VERSION_NUM", "1"}}, k230, usual()).index, 2);
}

TEST(RoceGid, TextIsIndexZero) {
  EXPECT_EQ(choose_roce_gid({{"NCCL_IB_GID_INDEX", "auto"}}, k230, usual()).index, 0);
  EXPECT_EQ(choose_roce_gid({{"NCCL_IB_GID_INDEX", "2"}}, k230, usual()).index, 2);
  EXPECT_EQ(choose_roce_gid({{"NCCL_IB_GID_INDEX", "-1"}}, k230, usual()).index, 3);
}

TEST(RoceGid, WithoutIpv4StaysAtZero) {
  const std::vector<GidTableEntry> table = {entry(kLinkLocal, 1), entry(kLinkLocal, 2)};
  EXPECT_EQ(choose_roce_gid({}, k230, table).index, 0);
  EXPECT_EQ(choose_roce_gid({}, k230, {}).index, 0);
}

TEST(RoceGid, Ipv6ByFamily) {
  std::vector<GidTableEntry> table = usual();
  table.push_back(entry(kGlobal6, 1));
  table.push_back(entry(kGlobal6, 2));
  EXPECT_EQ(choose_roce_gid({{"NCCL_IB_ADDR_FAMILY", "AF_INET6"}}, k230, table).index, 5);
}

TEST(RoceGid, SeveralAddressesAndARange) {
  std::vector<GidTableEntry> table = usual();
  table.push_back(entry(mapped(7), 1));
  table.push_back(entry(mapped(7), 2));
  EXPECT_EQ(choose_roce_gid({}, k230, table).index, 3);  // the first stays
  EXPECT_EQ(choose_roce_gid({{"NCCL_IB_ADDR_RANGE", "10.0.7.0/24"}}, k230, table).index, 5);
  EXPECT_EQ(choose_roce_gid({{"NCCL_IB_ADDR_RANGE", "10.0.0.0/16"}}, k230, table).index, 3);
}

TEST(RoceGid, EntriesOfOtherNameSpacesAreSkipped) {
  std::vector<GidTableEntry> table = usual();
  table[3].readable = false;
  table.push_back(entry(mapped(9), 2));
  EXPECT_EQ(choose_roce_gid({}, k230, table).index, 4);
}

TEST(InfinibandGid, RoutableFlid) {
  std::vector<GidTableEntry> table = {entry(kLinkLocal, 0), entry(kLinkLocal, 0)};
  table[0].gid[8] = table[1].gid[8] = 0;
  EXPECT_EQ(choose_infiniband_gid({}, k230, table).index, 0);
  table[1].gid[9] = 5;
  EXPECT_EQ(choose_infiniband_gid({}, k230, table).index, 1);
  EXPECT_EQ(choose_infiniband_gid({{"NCCL_IB_GID_INDEX", "1"}}, k230, {table[0]}).index, 0);
  EXPECT_EQ(choose_infiniband_gid({{"NCCL_IB_GID_INDEX", "1"}}, k218, table).index, 1);
}

}  // namespace
}  // namespace busbw::nccl
