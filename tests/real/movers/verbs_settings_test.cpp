// What NCCL's variables and the mover's options do to queue pairs, requests and registrations.
#include <gtest/gtest.h>

#include "models/nccl/connection_settings.h"
#include "tests/real/movers/two_ranks.h"

namespace busbw::real {
namespace {

TEST(VerbsSettings, VariablesReachEveryQueuePair) {
  TwoRanks setting;
  setting.network = std::make_shared<verbs::FakeNetwork>();
  for (int rank = 0; rank < 2; ++rank) {
    verbs::FakeDevice device = verbs::roce_device(rank);
    device.pkeys = {0xffff, 0x8001, 0x8002};
    setting.network->add(device);
  }
  setting.options.settings = nccl::connection_settings({{"NCCL_IB_TIMEOUT", "14"},
                                                        {"NCCL_IB_RETRY_CNT", "3"},
                                                        {"NCCL_IB_SL", "5"},
                                                        {"NCCL_IB_TC", "106"},
                                                        {"NCCL_IB_PKEY", "2"},
                                                        {"NCCL_IB_QPS_PER_CONNECTION", "3"}},
                                                       nccl::kNewest);
  std::vector<verbs::ConnectOptions> connections;
  setting.connected = [&] { connections = setting.network->connections(); };
  EXPECT_EQ(plain_lines(run_two(setting)), "\n\n");
  ASSERT_EQ(connections.size(), 2U * 2U * 3U);  // links x ends x queue pairs
  for (const verbs::ConnectOptions& connection : connections) {
    EXPECT_EQ(connection.timeout, 14);
    EXPECT_EQ(connection.retry_count, 3);
    EXPECT_EQ(connection.service_level, 5);
    EXPECT_EQ(connection.traffic_class, 106);
    EXPECT_EQ(connection.pkey_index, 2);
    EXPECT_EQ(connection.gid_index, 3);
    EXPECT_TRUE(connection.global);
    EXPECT_EQ(connection.mtu, 1024);
  }
}

TEST(VerbsSettings, EveryNthRequestIsSignalled) {
  for (const std::int32_t every : {1, 4, 8}) {
    TwoRanks setting;
    setting.options.signal_every = every;
    setting.options.inline_bytes = 0;
    setting.runs = 50;
    EXPECT_EQ(plain_lines(run_two(setting)), "\n\n");
    const verbs::FakeNetwork::Requests requests = setting.network->requests();
    EXPECT_EQ(requests.inlined, 0);
    // Each of the four ends may have begun a group that it did not fill.
    EXPECT_LE(requests.signalled * every, requests.posted);
    EXPECT_GE((requests.signalled + 4) * every, requests.posted);
  }
}

TEST(VerbsSettings, ReadsAreAlwaysSignalled) {
  TwoRanks setting;
  setting.options = fake_options(VerbsMethod::kRead);
  setting.options.signal_every = 64;
  setting.runs = 5;
  EXPECT_EQ(plain_lines(run_two(setting)), "\n\n");
  // A READ, a control message for it, and fewer credits: more than a third are READs.
  const verbs::FakeNetwork::Requests requests = setting.network->requests();
  EXPECT_GT(requests.signalled * 3, requests.posted);
}

TEST(VerbsSettings, ShortMessagesAreInlined) {
  TwoRanks setting;
  setting.options = fake_options(VerbsMethod::kRead);  // control messages of 24 bytes
  EXPECT_EQ(plain_lines(run_two(setting)), "\n\n");
  EXPECT_GT(setting.network->requests().inlined, 0);
  TwoRanks none;
  none.options = fake_options(VerbsMethod::kRead);
  none.options.inline_bytes = 16;
  EXPECT_EQ(plain_lines(run_two(none)), "\n\n");
  EXPECT_EQ(none.network->requests().inlined, 0);
}

TEST(VerbsSettings, MemoryIsRegisteredOnceAndBeforeTheFirstRun) {
  for (const VerbsMethod method : {VerbsMethod::kWrite, VerbsMethod::kRead, VerbsMethod::kSend}) {
    TwoRanks setting;
    setting.options = fake_options(method);
    setting.runs = 20;
    int connected = 0;
    setting.connected = [&] { connected = setting.network->calls()["register_memory"]; };
    EXPECT_EQ(plain_lines(run_two(setting)), "\n\n");
    std::map<std::string, int> calls = setting.network->calls();
    EXPECT_EQ(calls["register_memory"], connected);
    EXPECT_EQ(calls["deregister_memory"], connected);
    EXPECT_GE(connected, 2 * 2);
  }
}

TEST(VerbsSettings, RegistrationIsCounted) {
  const auto network = fake_network(1);
  const auto device = verbs::Device::open(verbs::make_fake_verbs(network), "fake0");
  std::vector<std::byte> memory(10000);
  const std::unique_ptr<Mover> mover = make_verbs_mover(device, fake_options(VerbsMethod::kWrite));
  EXPECT_EQ(mover->registration().regions, 0);
  mover->add_memory(memory.data(), 4000);
  mover->add_memory(memory.data() + 4000, 6000);
  EXPECT_EQ(mover->registration().regions, 2);
  EXPECT_EQ(mover->registration().bytes, 10000);
  EXPECT_GT(mover->registration().us, 0);
}

TEST(VerbsSettings, OneSharedReceiveQueueServesAllQueuePairs) {
  TwoRanks setting;
  EXPECT_EQ(plain_lines(run_two(setting)), "\n\n");
  std::map<std::string, int> calls = setting.network->calls();
  EXPECT_EQ(calls["create_shared_queue"], 2);
  EXPECT_EQ(calls["post_receive"], 0);
  setting.network = fake_network(2);
  setting.options.shared_receives = false;
  EXPECT_EQ(plain_lines(run_two(setting)), "\n\n");
  calls = setting.network->calls();
  EXPECT_EQ(calls["create_shared_queue"], 0);
  EXPECT_GT(calls["post_receive"], 0);
}

}  // namespace
}  // namespace busbw::real
