// A case under other variables: what stays, what is no evidence any more, what changes nothing.
#include "models/diagnosis/changed.h"

#include <gtest/gtest.h>

#include "models/diagnosis/derive.h"
#include "tests/models/diagnosis/diagnose_texts.h"

namespace busbw::diagnosis {
namespace {

facts::FactStore read(const Files& files) {
  facts::FactStore store;
  for (const auto& [name, text] : files) {
    facts::FileReader reader(name, facts::host_of_file(name), store);
    reader.text(text);
    reader.finish();
  }
  return store;
}

const Files kCase = {
    {"log.txt",
     log_of("w0", {"NCCL version 2.28.9+cuda12.8", "Bootstrap : Using eth0:10.0.0.1<0>",
                   "NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:10.0.0.1<0>",
                   "Channel 00/0 : 8[0] -> 0[0] [receive] via NET/IB/0/GDRDMA",
                   "!NET/IB : Got completion from peer 10.0.0.2<4791> with status=12 opcode=0 "
                   "len=0 vendor err 129 (Send)"})},
    {"env.txt", "NCCL_IB_GID_INDEX=1\nNCCL_SOCKET_IFNAME=eth0\n"},
    {"counters.txt", "out_of_sequence: 12\n"}};

std::string value_of(const facts::FactStore& store, std::string_view name) {
  std::string value;
  for (const facts::Fact* fact : store.named("env"))
    if (fact->get("name") == name)
      value += std::string(fact->get("value")) + ' ';
  return value;
}

TEST(Changed, DropsWhatTheVariableBearsOnAndNothingElse) {
  const facts::FactStore store = read(kCase);
  ASSERT_TRUE(store.has("nccl.completion") && store.has("nccl.hca") && store.has("counter"));
  const Changed gid = with_changes(store, {{"NCCL_IB_GID_INDEX", "3"}});
  EXPECT_EQ(value_of(gid.store, "NCCL_IB_GID_INDEX"), "3 ");
  EXPECT_FALSE(gid.store.has("nccl.completion"));
  EXPECT_TRUE(gid.store.has("nccl.hca") && gid.store.has("nccl.bootstrap"));
  EXPECT_TRUE(gid.store.has("counter"));
  EXPECT_FALSE(gid.selects_anew);

  const Changed interface = with_changes(store, {{"NCCL_SOCKET_IFNAME", "eth1"}});
  EXPECT_TRUE(interface.selects_anew);
  EXPECT_FALSE(interface.store.has("nccl.bootstrap") || interface.store.has("nccl.hca"));
  EXPECT_TRUE(interface.store.has("nccl.completion"));
  EXPECT_EQ(value_of(interface.store, "NCCL_IB_GID_INDEX"), "1 ");

  const Changed hca = with_changes(store, {{"NCCL_IB_HCA", "=mlx5_1"}});
  EXPECT_FALSE(hca.store.has("nccl.hca") || hca.store.has("nccl.completion"));
  EXPECT_FALSE(hca.store.has("nccl.channel"));
}

TEST(Changed, SeveralNodesStaySeveral) {
  Changed changed = with_changes(read(kCase), {{"NCCL_IB_HCA", "=mlx5_1"}});
  derive(changed.store);
  EXPECT_TRUE(changed.store.has("is.several_hosts"));
}

TEST(Changed, WhatIsSetAlreadyOrByDefaultChangesNothing) {
  const facts::FactStore store = read(kCase);
  for (const Change& change :
       {Change{"NCCL_IB_GID_INDEX", "1"}, Change{"NCCL_PXN_DISABLE", "0"},
        Change{"NCCL_DEBUG", "WARN"}, Change{"NCCL_P2P_NET_CHUNKSIZE", "262144"}}) {
    const Changed changed = with_changes(store, {change});
    EXPECT_TRUE(changed.store.has("nccl.completion") && changed.store.has("nccl.channel"))
        << change.name;
    EXPECT_EQ(value_of(changed.store, change.name), *change.value + ' ');
  }
}

TEST(Changed, UnsetTakesTheVariableAway) {
  const Changed changed = with_changes(read(kCase), {{"NCCL_IB_GID_INDEX", std::nullopt}});
  EXPECT_EQ(value_of(changed.store, "NCCL_IB_GID_INDEX"), "");
  EXPECT_FALSE(changed.store.has("nccl.completion"));
}

TEST(Changed, AReleaseThatDoesNotReadItIsNotMoved) {
  // NCCL_CUMEM_HOST_ENABLE came with 2.23.
  for (const auto& [release, reads] :
       {std::pair<const char*, bool>{"2.22.3", false}, {"2.23.4", true}}) {
    const facts::FactStore store =
        read({{"log.txt", log_of("w0", {std::string("NCCL version ") + release,
                                        "!Error while creating shared memory segment "
                                        "/dev/shm/nccl-aB (size 7340384)"})}});
    const Changed changed = with_changes(store, {{"NCCL_CUMEM_HOST_ENABLE", "1"}});
    EXPECT_EQ(changed.store.has("nccl.shm_failed"), !reads) << release;
  }
}

}  // namespace
}  // namespace busbw::diagnosis
