// What follows from several facts.
#include "models/diagnosis/derive.h"

#include <gtest/gtest.h>

#include "tests/models/diagnosis/diagnose_texts.h"

namespace busbw::diagnosis {
namespace {

std::string field(const Diagnosed& result, const std::string& name, const std::string& key) {
  const std::vector<const facts::Fact*> facts = result.store.named(name);
  return facts.empty() ? "(absent)" : std::string(facts.front()->get(key));
}

TEST(Derive, SlowHostIsTheOneThatIsSlowWithAFastOne) {
  // a-2 is slow with a-1, which reaches the best with a-3; a-4 and a-5 are slow only with each
  // other.
  const Diagnosed result = diagnose({{"p.txt", "a-1,a-2 40.0\na-1,a-3 90.0\na-4,a-5 41.0\n"}});
  ASSERT_EQ(result.store.named("is.slow_host").size(), 1U);
  EXPECT_EQ(field(result, "is.slow_host", "slow"), "a-2");
  EXPECT_EQ(field(result, "is.slow_host", "others"), "90.00");
}

TEST(Derive, LimitedMembersOfAPartition) {
  const std::string first = "/sys/class/infiniband/m0/ports/1/pkeys/0: ";
  const std::string second = "/sys/class/infiniband/m0/ports/1/pkeys/1: ";
  EXPECT_EQ(field(diagnose({{"p", first + "0x7fff\n" + second + "0x8001\n"}}), "is.pkey_limited",
                  "index"),
            "1");
  EXPECT_FALSE(
      diagnose({{"p", first + "0xffff\n" + second + "0x8001\n"}}).store.has("is.pkey_limited"));
  EXPECT_FALSE(
      diagnose({{"p", first + "0x7fff\n" + second + "0x0001\n"}}).store.has("is.pkey_limited"));
  EXPECT_FALSE(diagnose({{"p", first + "0x7fff\n" + second + "0x8001\nNCCL_IB_PKEY=1\n"}})
                   .store.has("is.pkey_limited"));
}

TEST(Derive, PriorityOfTheTrafficClass) {
  const std::string qos =
      "prio:3 dscp:26,\nprio:0 dscp:00,\npriority 0 1 2 3 4 5 6 7\n"
      "enabled 0 0 0 1 0 0 0 0\n";
  // 106 / 4 = 26 -> priority 3, lossless; unset is 0 -> priority 0; 40 / 4 = 10 -> 10 / 8 = 1.
  EXPECT_FALSE(diagnose({{"q", qos + "NCCL_IB_TC=106\n"}}).store.has("is.pfc_mismatch"));
  EXPECT_EQ(field(diagnose({{"q", qos}}), "is.pfc_mismatch", "priority"), "0");
  EXPECT_EQ(field(diagnose({{"q", qos + "NCCL_IB_TC=40\n"}}), "is.pfc_mismatch", "priority"), "1");
}

TEST(Derive, FiltersAsNcclReadsThem) {
  const std::string ip =
      "2: eno1: <UP,LOWER_UP> mtu 1500 state UP\n    inet 10.1.0.1/24 scope global eno1\n";
  EXPECT_TRUE(
      diagnose({{"i", ip + "NCCL_SOCKET_IFNAME=eth\n"}}).store.has("is.ifname_matches_none"));
  EXPECT_FALSE(
      diagnose({{"i", ip + "NCCL_SOCKET_IFNAME=en\n"}}).store.has("is.ifname_matches_none"));
  EXPECT_TRUE(
      diagnose({{"i", ip + "NCCL_SOCKET_IFNAME=^eno1\n"}}).store.has("is.ifname_admits_loopback"));
  EXPECT_FALSE(diagnose({{"i", ip + "NCCL_SOCKET_IFNAME=^eno1,lo\n"}})
                   .store.has("is.ifname_admits_loopback"));
  EXPECT_FALSE(diagnose({{"i", "NCCL_SOCKET_IFNAME=x\n"}}).store.has("is.ifname_matches_none"));
  const std::string hcas = "link mlx5_1/1 state ACTIVE\nlink mlx5_11/1 state ACTIVE\n";
  EXPECT_EQ(field(diagnose({{"h", hcas + "NCCL_IB_HCA=mlx5_1\n"}}), "is.hca_prefix_trap", "also"),
            "mlx5_11");
  EXPECT_FALSE(diagnose({{"h", hcas + "NCCL_IB_HCA==mlx5_1\n"}}).store.has("is.hca_prefix_trap"));
  EXPECT_FALSE(diagnose({{"h", hcas + "NCCL_IB_HCA=mlx5\n"}}).store.has("is.hca_prefix_trap"));
}

TEST(Derive, ComparesOnlyWhatBelongsTogether) {
  // Two ports of one node with different MTUs, one of them down, are no mismatch.
  EXPECT_FALSE(
      diagnose({{"ibv_devinfo.w0.txt",
                 "hca_id: m0\n port: 1\n  state: PORT_ACTIVE (4)\n  active_mtu: 4096 (5)\n"
                 "hca_id: m1\n port: 1\n  state: PORT_DOWN (1)\n  active_mtu: 1024 (3)\n"}})
          .store.has("is.mtu_differs"));
  // InfiniBand and Ethernet ports may have different rates.
  EXPECT_FALSE(
      diagnose({{"s",
                 "CA 'm0'\n Port 1:\n  State: Active\n  Rate: 200\n  Link layer: InfiniBand\n"
                 "CA 'm1'\n Port 1:\n  State: Active\n  Rate: 40\n  Link layer: Ethernet\n"}})
          .store.has("is.rates_differ"));
}

TEST(Derive, VariablesOfLogAndFile) {
  const Diagnosed result =
      diagnose({{"env.txt", "NCCL_ALGO=Ring\nPYTHONPATH=/x\n"},
                {"a.log", log_of("w0", {"NCCL_IB_TC set by environment to 106."})}});
  EXPECT_EQ(variable(result.store, "NCCL_ALGO"), "Ring");
  EXPECT_EQ(variable(result.store, "NCCL_IB_TC"), "106");
  EXPECT_EQ(variable(result.store, "PYTHONPATH"), "");
}

}  // namespace
}  // namespace busbw::diagnosis
