// What fails in verbs is named, ends both ranks and frees everything: each call, each completion
// status. Without a device, over the fake.
#include <cerrno>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "real/executor/executor.h"
#include "real/verbs/status.h"
#include "tests/real/movers/two_ranks.h"

namespace busbw::real {
namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

struct FailingCall {
  const char* method;  // of Api
  const char* named;   // in the failure
};
// Every call that can fail on the way to a result. Calls that destroy only happen afterwards.
constexpr FailingCall kCalls[] = {
    {"list_devices", "ibv_get_device_list"},
    {"open_device", "ibv_open_device"},
    {"query_device", "ibv_query_device"},
    {"query_port", "ibv_query_port"},
    {"query_gid", "ibv_query_gid"},
    {"alloc_domain", "ibv_alloc_pd"},
    {"register_memory", "ibv_reg_mr"},
    {"create_channel", "ibv_create_comp_channel"},
    {"create_completion_queue", "ibv_create_cq"},
    {"create_shared_queue", "ibv_create_srq"},
    {"create_queue_pair", "ibv_create_qp"},
    {"to_init", "ibv_modify_qp (RESET to INIT)"},
    {"to_ready_to_receive", "ibv_modify_qp (INIT to RTR)"},
    {"to_ready_to_send", "ibv_modify_qp (RTR to RTS)"},
    {"post_send", "ibv_post_send"},
    {"post_shared_receive", "ibv_post_srq_recv"},
    {"poll", "ibv_poll_cq"},
    {"request_notification", "ibv_req_notify_cq"},
    {"take_notifications", "ibv_get_cq_event"},
    {"async_descriptor", "async_fd"},
    {"take_async_event", "ibv_get_async_event"},
};

TEST(VerbsFaults, EachCallIsNamedAndEverythingIsFreed) {
  for (const FailingCall& call : kCalls) {
    // The first, second and fourth call: at different points of setting up.
    for (const int nth : {1, 2, 4}) {
      TwoRanks setting;
      setting.network->fail_call(call.method, EIO, nth);
      const std::vector<std::string> failures = run_two(setting);
      const std::string both = failures[0] + "\n" + failures[1];
      if (setting.network->calls()[call.method] < nth)
        continue;  // so often it is not called
      if (std::string(call.method) == "take_notifications" && both == "\n")
        continue;  // the last use of it, on the way out
      EXPECT_TRUE(contains(both, std::string(call.named) + " failed: Input/output error (errno 5)"))
          << call.method << " " << nth << ": " << both;
      EXPECT_TRUE(contains(both, "fake") || contains(both, "ibv_get_device_list")) << both;
      // The other rank ends with the same words.
      EXPECT_TRUE(contains(failures[0], call.named) && contains(failures[1], call.named)) << both;
      EXPECT_EQ(setting.network->alive(), 0) << call.method;
    }
  }
}

TEST(VerbsFaults, EachReceiveCallWithoutSharedQueue) {
  TwoRanks setting;
  setting.options.shared_receives = false;
  setting.network->fail_call("post_receive", ENOMEM, 3);
  const std::vector<std::string> failures = run_two(setting);
  EXPECT_TRUE(contains(failures[0] + failures[1],
                       "ibv_post_recv failed: Cannot allocate memory "
                       "(errno 12): the receive queue is full"))
      << failures[0] << failures[1];
  EXPECT_EQ(setting.network->alive(), 0);
}

class VerbsStatus : public testing::TestWithParam<VerbsMethod> {};
INSTANTIATE_TEST_SUITE_P(Methods, VerbsStatus,
                         testing::Values(VerbsMethod::kWrite, VerbsMethod::kRead,
                                         VerbsMethod::kSend),
                         [](const auto& info) { return to_string(info.param); });

TEST_P(VerbsStatus, EachInWords) {
  for (const int status : {1, 2, 4, 5, 9, 10, 11, 12, 13, 21}) {
    TwoRanks setting;
    setting.options = fake_options(GetParam());
    setting.network->fail_completion(status, 3);
    const std::vector<std::string> failures = run_two(setting);
    const std::string both = failures[0] + "\n" + failures[1];
    EXPECT_TRUE(contains(both, verbs::status_text(status))) << both;
    // Rank, device, port, QP and link of this side; QP and GID of the peer.
    EXPECT_TRUE(contains(both, " port 1 QP 0x") && contains(both, "link ") &&
                contains(both, " GID ::ffff:10.0.0."))
        << both;
    EXPECT_FALSE(failures[0].empty() || failures[1].empty()) << both;
    EXPECT_EQ(setting.network->alive(), 0);
  }
}

// Statuses that the end of a peer brings, IBTA volume 1, 11.6.2: the rank waits then for who knows
// more. Those of the own side are causes themselves.
TEST(VerbsFaults, WhatAPeerThatEndedLooksLike) {
  for (const char* const name :
       {"IBV_WC_WR_FLUSH_ERR (5)", "IBV_WC_REM_INV_REQ_ERR (9)", "IBV_WC_REM_ACCESS_ERR (10)",
        "IBV_WC_REM_OP_ERR (11)", "IBV_WC_RETRY_EXC_ERR (12)", "IBV_WC_LOC_LEN_ERR (1)",
        "IBV_WC_LOC_PROT_ERR (4)", "IBV_WC_MW_BIND_ERR (6)"}) {
    int status = 0;
    while (status < 22 && verbs::status_text(status).rfind(name, 0) != 0) {
      ++status;
    }
    ASSERT_LT(status, 22) << name;
    const bool own = status == 1 || status == 4 || status == 6;
    EXPECT_EQ(verbs::peer_may_be_gone(status), !own) << name;
  }
}

TEST(VerbsFaults, DeviceIsMissing) {
  try {
    static_cast<void>(verbs::Device::open(verbs::make_fake_verbs(fake_network(2)), "fake7"));
    FAIL();
  } catch (const SystemError& error) {
    EXPECT_STREQ(error.what(),
                 "ibv_open_device failed: no such device; there are fake0, fake1; did you mean "
                 "'fake0'? (on fake7)");
  }
}

TEST(VerbsFaults, PortIsDown) {
  TwoRanks setting;
  verbs::FakeDevice down = verbs::roce_device(1);
  down.port.state = 1;
  setting.network->add(down);
  EXPECT_EQ(
      plain_lines(run_two(setting)),
      "rank 1 (host:pid) failed: open failed: the port is Down: link down, or no subnet manager "
      "(on fake1 port 1)\nrank 1 (host:pid) failed: open failed: the port is Down: link down, or "
      "no subnet manager (on fake1 port 1)\n");
}

TEST(VerbsFaults, DifferentSettingsOfTheRanks) {
  collectives::Options options;
  options.bytes = Bytes(40000);
  options.chunk = Bytes::kib(4);
  const collectives::Schedule schedule = ring_all_reduce(shape_of(2, 1, 1), options);
  const auto run = [&](const std::function<void(VerbsMoverOptions&)>& change) {
    const auto network = fake_network(2);
    return run_ranks(2, [&](Session& session) {
      VerbsMoverOptions own = fake_options(VerbsMethod::kWrite);
      if (session.rank().value() == 1)
        change(own);
      const std::unique_ptr<Mover> mover = fake_mover(network, session, own);
      session.connect(*mover, links_of({&schedule}, 4));
    });
  };
  std::vector<std::string> failures =
      run([](VerbsMoverOptions& options) { options.settings.queue_pairs = 2; });
  EXPECT_TRUE(contains(failures[0] + failures[1], "set NCCL_IB_QPS_PER_CONNECTION alike"));
  failures = run([](VerbsMoverOptions& options) { options.method = VerbsMethod::kRead; });
  EXPECT_TRUE(contains(failures[0] + failures[1], "there RDMA"));
}

TEST(VerbsFaults, FatalEventOfTheDevice) {
  TwoRanks setting;
  setting.connected = [&] {
    setting.network->add_event("fake0", {verbs::kDeviceFatal, 0});
    setting.network->set_link("fake1", false);
    setting.network->set_retry_time(Milliseconds(5000));
  };
  const std::vector<std::string> failures = run_two(setting);
  const std::string sentence =
      "rank 0 (host:pid) failed: device event failed: IBV_EVENT_DEVICE_FATAL (8): the device "
      "failed: "
      "see the kernel log (on fake0 port 1)\n";
  EXPECT_EQ(plain_lines(failures), sentence + sentence);
}

TEST(VerbsMover, InfinibandIsAddressedByLid) {
  TwoRanks setting;
  setting.network = std::make_shared<verbs::FakeNetwork>();
  for (int rank = 0; rank < 2; ++rank) {
    verbs::FakeDevice device = verbs::infiniband_device(rank);
    setting.network->add(device);
  }
  setting.options.gid_index = 0;
  const std::vector<std::string> failures = run_two(setting);
  EXPECT_EQ(failures[0] + failures[1], "");
}

}  // namespace
}  // namespace busbw::real
