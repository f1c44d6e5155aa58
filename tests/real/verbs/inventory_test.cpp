// Devices, ports and GID indices that real mode uses: read from (fake) devices, decided by the NCCL
// model. Status words.
#include "real/verbs/inventory.h"

#include <cerrno>

#include <gtest/gtest.h>

#include "real/verbs/status.h"
#include "sim/core/errors.h"
#include "tests/real/verbs/fake_verbs.h"

namespace busbw::real::verbs {
namespace {

std::shared_ptr<FakeNetwork> three_devices() {
  auto network = std::make_shared<FakeNetwork>();
  network->add(roce_device(0));
  FakeDevice down = roce_device(1);
  down.port.state = 1;
  network->add(down);
  network->add(infiniband_device(2));
  return network;
}

/// The IB plugin wants one IP interface; loopback is always there.
nccl::Environment with(nccl::Environment environment) {
  environment.emplace("NCCL_SOCKET_IFNAME", "lo");
  return environment;
}

PortSelection select(const nccl::Environment& environment) {
  return select_ports(make_fake_verbs(three_devices()), with(environment), nccl::kNewest);
}

TEST(SelectPorts, ActiveOnesWithTheirGidIndex) {
  const PortSelection selection = select({});
  ASSERT_EQ(selection.ports.size(), 2U);
  EXPECT_EQ(selection.ports[0].device, "fake0");
  EXPECT_EQ(selection.ports[0].gid_index, 3);  // IPv4, RoCE v2
  EXPECT_EQ(selection.ports[0].speed_mbit, 100000);
  EXPECT_EQ(selection.ports[1].device, "fake2");
  EXPECT_EQ(selection.ports[1].gid_index, 0);  // InfiniBand
  EXPECT_EQ(port_of(selection, 0).device, "fake0");
  EXPECT_EQ(port_of(selection, 1).device, "fake2");
  EXPECT_EQ(port_of(selection, 2).device, "fake0");
}

TEST(SelectPorts, ByTheVariablesOfNccl) {
  EXPECT_EQ(select({{"NCCL_IB_HCA", "=fake2"}}).ports.at(0).device, "fake2");
  EXPECT_EQ(select({{"NCCL_IB_HCA", "^fake2"}}).ports.at(0).device, "fake0");
  EXPECT_EQ(select({{"NCCL_IB_GID_INDEX", "1"}}).ports.at(0).gid_index, 1);
  EXPECT_EQ(select({{"NCCL_IB_ROCE_VERSION_NUM", "1"}}).ports.at(0).gid_index, 2);
  EXPECT_TRUE(select({{"NCCL_IB_DISABLE", "1"}}).ports.empty());
}

TEST(SelectPorts, NoneSaysWhy) {
  try {
    static_cast<void>(port_of(select({{"NCCL_IB_HCA", "mlx5"}}), 0));
    FAIL();
  } catch (const SystemError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("fake1:1 is Down"), std::string::npos) << text;
    EXPECT_NE(text.find("fake0:1 is refused: NCCL_IB_HCA=mlx5 admits"), std::string::npos) << text;
  }
}

TEST(SelectPorts, FreesWhatItOpens) {
  const auto network = three_devices();
  static_cast<void>(select_ports(make_fake_verbs(network), with({}), nccl::kNewest));
  EXPECT_EQ(network->alive(), 0);
}

TEST(ReadHcas, AKernelWithoutRdmaHasNone) {
  const auto network = three_devices();
  network->fail_call("list_devices", ENOSYS);
  EXPECT_TRUE(read_hcas(make_fake_verbs(network)).empty());
}

TEST(ReadInterfaces, FindsLoopback) {
  bool found = false;
  for (const nccl::Interface& interface : read_interfaces()) {
    if (interface.name != "lo")
      continue;
    found = true;
    EXPECT_TRUE(interface.loopback);
    ASSERT_FALSE(interface.addresses.empty());
    EXPECT_EQ(interface.addresses.front().text, "127.0.0.1");
    EXPECT_EQ(interface.addresses.front().prefix_length, 8);
  }
  EXPECT_TRUE(found);
}

TEST(SystemVerbs, OpensAndListsOrSaysThatItIsNotThere) {
  if (!has_system_verbs()) {
    EXPECT_THROW(open_system_verbs(), SystemError);
    GTEST_SKIP() << "built without libibverbs";
  }
  std::vector<std::string> names;
  const int status = open_system_verbs()->list_devices(names);
  EXPECT_TRUE(status == 0 || status == ENOSYS) << status;
}

TEST(StatusText, NamesNumberAndCause) {
  EXPECT_EQ(
      status_text(12),
      "IBV_WC_RETRY_EXC_ERR (12): peer unreachable: link down, wrong GID index, another P_Key, "
      "QP time-out too short for the path (NCCL_IB_TIMEOUT), or the peer's queue pair is "
      "gone");
  EXPECT_EQ(status_text(10).substr(0, 27), "IBV_WC_REM_ACCESS_ERR (10):");
  EXPECT_EQ(status_text(99), "work completion status 99");
  EXPECT_EQ(likely_cause("ibv_modify_qp (INIT to RTR)", ETIMEDOUT).substr(0, 26),
            "the peer's GID did not res");
  EXPECT_EQ(likely_cause("ibv_modify_qp", EIO), "");
}

}  // namespace
}  // namespace busbw::real::verbs
