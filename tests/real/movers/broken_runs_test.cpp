// A run that breaks ends on both ranks within the time-out, with the whole sentence: who, where,
// what, and why. Everything is freed, and no result is wrong. Over the fake; real devices:
// tests/tools/soft_roce_faults_test.py.
#include <cerrno>
#include <regex>
#include <sys/resource.h>
#include <thread>

#include <gtest/gtest.h>

#include "real/verbs/status.h"
#include "tests/real/movers/two_ranks.h"

namespace busbw::real {
namespace {

/// Runs it, and sees to what holds for every fault.
std::vector<std::string> failures_of(const TwoRanks& setting) {
  const std::size_t before = open_descriptors();
  const Clock::time_point start = Clock::now();
  const std::vector<std::string> failures = run_two(setting);
  EXPECT_LT(Clock::now() - start, setting.patience + Milliseconds(3000));
  EXPECT_EQ(setting.network->alive(), 0);
  EXPECT_LE(open_descriptors(), before);
  return failures;
}

constexpr const char* kOfRank0 =
    " (on fake0 port 1 QP 0x#, link 0 -> 1 channel 0) (peer rank 1 (host:pid) QP 0x# GID "
    "::ffff:10.0.0.2)";
constexpr const char* kOfRank1 =
    " (on fake1 port 1 QP 0x#, link 0 -> 1 channel 0) (peer rank 0 (host:pid) QP 0x# GID "
    "::ffff:10.0.0.1)";

class EachCompletion : public testing::TestWithParam<Completion> {};
INSTANTIATE_TEST_SUITE_P(Completions, EachCompletion,
                         testing::Values(Completion::kEvent, Completion::kPoll),
                         [](const auto& info) {
                           return info.param == Completion::kEvent ? "Event" : "Poll";
                         });

TEST_P(EachCompletion, WrongKeyOfAWrite) {
  TwoRanks setting;
  setting.completion = GetParam();
  setting.fault = verbs::Fault{verbs::FaultKind::kWrongKey, 2};
  // The device of the peer says so; the rank whose request was refused adds that if it sees it.
  expect_causes(failures_of(setting),
                {std::string("rank 1 (host:pid) failed: device event failed: "
                             "IBV_EVENT_QP_ACCESS_ERR (3): the peer used a wrong rkey, or wrote or "
                             "read outside what this side registered") +
                 kOfRank1});
}

TEST_P(EachCompletion, WrongKeyOfAWriteWithoutAnEvent) {
  TwoRanks setting;
  setting.completion = GetParam();
  setting.network->set_events(false);  // as soft-RoCE does it
  setting.fault = verbs::Fault{verbs::FaultKind::kWrongKey, 2};
  expect_causes(failures_of(setting),
                {std::string("rank 0 (host:pid) failed: RDMA WRITE with immediate failed: "
                             "IBV_WC_REM_ACCESS_ERR (10): the peer refuses the access: wrong rkey, "
                             "range outside its registered memory, or memory freed there (vendor "
                             "code 0x81)") +
                 kOfRank0});
}

TEST_P(EachCompletion, WrongKeyOfARead) {
  for (const bool events : {true, false}) {
    TwoRanks setting;
    setting.completion = GetParam();
    setting.options = fake_options(VerbsMethod::kRead);
    setting.network->set_events(events);
    setting.fault = verbs::Fault{verbs::FaultKind::kWrongKey, 1};
    expect_causes(
        failures_of(setting),
        {events
             ? "rank 1 (host:pid) failed: device event failed: IBV_EVENT_QP_ACCESS_ERR (3): the "
               "peer used a wrong rkey, or wrote or read outside what this side registered (on "
               "fake1 port 1 QP 0x#, link 1 -> 0 channel 0) (peer rank 0 (host:pid) QP 0x# GID "
               "::ffff:10.0.0.1)"
             : "rank 0 (host:pid) failed: RDMA READ failed: IBV_WC_REM_ACCESS_ERR (10): the peer "
               "refuses the access: wrong rkey, range outside its registered memory, or memory "
               "freed there (vendor code 0x81) (on fake0 port 1 QP 0x#, link 1 -> 0 channel 0) "
               "(peer rank 1 (host:pid) QP 0x# GID ::ffff:10.0.0.2)"});
  }
}

TEST_P(EachCompletion, KeyOfAnotherProtectionDomain) {
  for (const VerbsMethod method : {VerbsMethod::kWrite, VerbsMethod::kSend}) {
    TwoRanks setting;
    setting.completion = GetParam();
    setting.options = fake_options(method);
    setting.fault = verbs::Fault{verbs::FaultKind::kForeignDomain, 2};
    expect_causes(
        failures_of(setting),
        {std::string("rank 0 (host:pid) failed: ") +
         (method == VerbsMethod::kWrite ? "RDMA WRITE with immediate" : "SEND of data") +
         " failed: IBV_WC_LOC_PROT_ERR (4): local protection error: the local buffer is not "
         "registered (any more) with this key or in this protection domain, or its memory is gone "
         "(vendor code 0x81)" +
         kOfRank0});
  }
}

TEST_P(EachCompletion, CompletionQueueOverflow) {
  TwoRanks setting;
  setting.completion = GetParam();
  setting.options.signal_every = 1;
  // Two sends are posted before the first wait, so that one entry cannot hold what completes.
  setting.fault = verbs::Fault{verbs::FaultKind::kQueueOverflow, 1};
  expect_causes(failures_of(setting),
                {"rank 0 (host:pid) failed: device event failed: IBV_EVENT_CQ_ERR (0): the "
                 "completion queue overflowed: more completions came than it has entries (on fake0 "
                 "port 1)"});
}

TEST_P(EachCompletion, QueuePairInErrorInMidRun) {
  TwoRanks setting;
  setting.completion = GetParam();
  setting.runs = 3;
  setting.fault = verbs::Fault{verbs::FaultKind::kQueuePairError, 1};
  // Rank 0 has only flushed requests to show, and lets others speak first: rank 1 may get no answer
  // from the queue pair, or may have nothing on its way to it.
  expect_causes(
      failures_of(setting),
      {"rank 1 (host:pid) failed: RDMA WRITE with immediate failed: IBV_WC_RETRY_EXC_ERR (12): "
       "peer unreachable: link down, wrong GID index, another P_Key, QP time-out too short for the "
       "path (NCCL_IB_TIMEOUT), or the peer's queue pair is gone (vendor code 0x81) (on fake1 port "
       "1 QP 0x#, link 1 -> 0 channel 0) (peer rank 0 (host:pid) QP 0x# GID ::ffff:10.0.0.1)",
       "rank 0 (host:pid) failed: RDMA WRITE with immediate failed: IBV_WC_WR_FLUSH_ERR (5): "
       "flushed: the queue pair was in error already; look for the first other status on any rank" +
           std::string(kOfRank0)});
}

TEST_P(EachCompletion, LinkDownForGood) {
  TwoRanks setting;
  setting.completion = GetParam();
  setting.connected = [&] { setting.network->set_link("fake1", false); };
  const std::string sentence =
      " failed: RDMA WRITE with immediate failed: IBV_WC_RETRY_EXC_ERR (12): peer unreachable: "
      "link "
      "down, wrong GID index, another P_Key, QP time-out too short for the path (NCCL_IB_TIMEOUT), "
      "or the peer's queue pair is gone (vendor code 0x81)";
  const std::string back =
      "; the port is Down: link down (on fake1 port 1 QP 0x#, link 1 -> 0 channel 0) (peer rank 0 "
      "(host:pid) QP 0x# GID "
      "::ffff:10.0.0.1)";
  // Neither rank gets an answer.
  expect_causes(failures_of(setting),
                {"rank 0 (host:pid)" + sentence + kOfRank0, "rank 1 (host:pid)" + sentence + back});
}

TEST(BrokenRun, LinkDownForTwoSecondsIsSurvived) {
  TwoRanks setting;
  setting.network->set_retry_time(Milliseconds(8000));
  setting.runs = 2;
  std::thread later;
  Clock::time_point start;
  setting.connected = [&] {
    start = Clock::now();
    setting.network->set_link("fake1", false);
    later = std::thread([&] {
      std::this_thread::sleep_for(Milliseconds(2000));
      setting.network->set_link("fake1", true);
    });
  };
  EXPECT_EQ(plain_lines(failures_of(setting)), "\n\n");
  EXPECT_GE(Clock::now() - start, Milliseconds(2000));
  later.join();
}

TEST(BrokenRun, NobodyAnswersWithinTheTimeOut) {
  TwoRanks setting;
  setting.network->set_retry_time(Milliseconds(60000));  // the device would try for longer
  setting.patience = Milliseconds(500);
  setting.options.signal_every = 1;
  setting.connected = [&] { setting.network->set_link("fake1", false); };
  std::vector<std::string> failures = failures_of(setting);
  for (std::string& failure : failures)
    failure = std::regex_replace(failure, std::regex("lane [01]"), "lane #");
  const auto of = [](const std::string& rank, const std::string& cause, const std::string& link,
                     const std::string& peer) {
    return "rank " + rank +
           " (host:pid) failed: receive failed: nothing within 500 ms: the port is " + cause +
           " (on rank " + rank + " channel 0 lane # (ring) step 1 (receive), fake" + rank +
           " port 1 QP 0x#, link " + link + " channel 0) (peer rank " + peer +
           " (host:pid) QP 0x# GID ::ffff:10.0.0." + (peer == "0" ? "1" : "2") + ")";
  };
  expect_causes(
      failures,
      {of("0",
          "Active, but the peer's device acknowledges nothing: link down behind it, wrong "
          "GID index, another P_Key, or the peer's host is gone",
          "1 -> 0", "1"),
       of("1", "Down: link down", "0 -> 1", "0")});
}

TEST(BrokenRun, OnePercentLossCostsTimeOnly) {
  for (const VerbsMethod method : {VerbsMethod::kWrite, VerbsMethod::kRead, VerbsMethod::kSend}) {
    TwoRanks setting;
    setting.options = fake_options(method);
    setting.network->set_loss(0.01);
    setting.runs = 40;
    EXPECT_EQ(plain_lines(failures_of(setting)), "\n\n");
    const verbs::FakeNetwork::Requests requests = setting.network->requests();
    EXPECT_GT(requests.lost, requests.posted / 400);
    EXPECT_LT(requests.lost, requests.posted / 25);
  }
}

/// A soft limit of locked memory while it lives.
class MemoryLimit {
 public:
  explicit MemoryLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_MEMLOCK, &before_);
    const rlimit lower{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_MEMLOCK, &lower);
  }
  ~MemoryLimit() { ::setrlimit(RLIMIT_MEMLOCK, &before_); }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

 private:
  rlimit before_{};
};

TEST(BrokenRun, MemlockTooLow) {
  // Input and output have 40000 bytes each; one rank's input fits.
  const MemoryLimit limit(65536);
  TwoRanks setting;
  setting.network->limit_memory();
  const std::string sentence =
      " (host:pid) failed: ibv_reg_mr failed: Cannot allocate memory (errno 12): the locked-memory "
      "limit is too low (ulimit -l: 64; needs unlimited or CAP_IPC_LOCK), or the device has none "
      "left (on fake";
  expect_causes(failures_of(setting),
                {"rank 0" + sentence + "0 40000 bytes)", "rank 1" + sentence + "1 40000 bytes)"});
}

TEST(BrokenRun, MemlockThatSuffices) {
  const MemoryLimit limit(1 << 20);
  TwoRanks setting;
  setting.network->limit_memory();
  EXPECT_EQ(plain_lines(failures_of(setting)), "\n\n");
}

TEST(BrokenRun, GidIndexOfAnEmptyEntry) {
  TwoRanks setting;
  setting.options.gid_index = 4;
  const std::string sentence =
      " (host:pid) failed: ibv_query_gid failed: No data available (errno 61): the GID table entry "
      "is empty (on fake";
  expect_causes(failures_of(setting), {"rank 0" + sentence + "0 port 1 GID index 4)",
                                       "rank 1" + sentence + "1 port 1 GID index 4)"});
  setting.options.gid_index = 9;
  const std::string beyond =
      " (host:pid) failed: ibv_query_gid failed: Invalid argument (errno 22): the GID index is "
      "beyond the table of the port (on fake";
  expect_causes(failures_of(setting), {"rank 0" + beyond + "0 port 1 GID index 9)",
                                       "rank 1" + beyond + "1 port 1 GID index 9)"});
}

/// The second ibv_modify_qp to RTR fails so: whichever rank makes it.
void expect_modify_failure(const TwoRanks& setting, const std::string& why) {
  const auto of = [&](const std::string& rank, const std::string& peer, const std::string& gid) {
    return "rank " + rank + " (host:pid) failed: ibv_modify_qp (INIT to RTR) failed: " + why +
           " (on fake" + rank + " port 1 QP 0x# GID index 3) (peer rank " + peer +
           " (host:pid) QP 0x# GID ::ffff:10.0.0." + gid + ")";
  };
  expect_causes(failures_of(setting), {of("0", "1", "2"), of("1", "0", "1")});
}

TEST(BrokenRun, GidThatThePortDoesNotKnow) {
  TwoRanks setting;
  setting.network->fail_call("to_ready_to_receive", EINVAL, 2);
  expect_modify_failure(setting,
                        "Invalid argument (errno 22): empty or foreign GID table entry, GID types "
                        "that differ, or an MTU that the port lacks");
}

TEST(BrokenRun, GidThatDoesNotResolve) {
  TwoRanks setting;
  setting.session_patience = Milliseconds(2000);
  // Both ports are Active, but what the peer tells is not to be found.
  setting.network->set_link("fake1", false);
  setting.network->set_port_state("fake1", 4);
  expect_modify_failure(setting,
                        "Connection timed out (errno 110): the peer's GID did not resolve to a "
                        "hardware address: link down, wrong GID index, VLAN or subnet");
}

TEST(BrokenRun, PkeyMismatch) {
  TwoRanks setting;
  setting.network->set_pkey("fake1", 0, 0x8002);
  const auto of = [](const std::string& rank, const std::string& keys, const std::string& link,
                     const std::string& peer) {
    return "rank " + rank + " (host:pid) failed: connect failed: P_Key " + keys +
           " there: other partitions, and their packets are dropped; choose its index by "
           "NCCL_IB_PKEY (on fake" +
           rank + " port 1 QP 0x#, link " + link + " channel 0) (peer rank " + peer +
           " (host:pid))";
  };
  expect_causes(failures_of(setting), {of("0", "0xffff here, 0x8002", "0 -> 1", "1"),
                                       of("1", "0x8002 here, 0xffff", "0 -> 1", "0")});
}

TEST(BrokenRun, LimitedMembersMayNotTalkToEachOther) {
  TwoRanks setting;
  setting.network->set_pkey("fake0", 0, 0x0001);
  setting.network->set_pkey("fake1", 0, 0x0001);
  EXPECT_NE(plain_lines(failures_of(setting))
                .find("P_Key 0x0001 here, 0x0001 there: both are limited members, which "
                      "may not talk to each other"),
            std::string::npos);
  TwoRanks one_full;
  one_full.network->set_pkey("fake0", 0, 0x0001);
  one_full.network->set_pkey("fake1", 0, 0x8001);
  EXPECT_EQ(plain_lines(failures_of(one_full)), "\n\n");
}

TEST(BrokenRun, PkeyIndexBeyondTheTable) {
  TwoRanks setting;
  setting.options.settings.pkey_index = 5;
  const std::string sentence =
      " (host:pid) failed: ibv_query_pkey failed: Invalid argument (errno 22): the P_Key index is "
      "beyond the table of the port (on fake";
  expect_causes(failures_of(setting), {"rank 0" + sentence + "0 port 1 P_Key index 5)",
                                       "rank 1" + sentence + "1 port 1 P_Key index 5)"});
}

TEST(BrokenRun, PkeyTakenAwayInMidRun) {
  TwoRanks setting;
  setting.connected = [&] { setting.network->set_pkey("fake1", 0, 0x8002); };
  EXPECT_NE(plain_lines(failures_of(setting))
                .find("IBV_WC_RETRY_EXC_ERR (12): peer unreachable: link down, wrong "
                      "GID index, another P_Key"),
            std::string::npos);
}

TEST(BrokenRun, FaultsByText) {
  const verbs::RankFault fault = verbs::parse_fault("3:qp-error:20");
  EXPECT_EQ(fault.rank, 3);
  EXPECT_EQ(fault.fault.kind, verbs::FaultKind::kQueuePairError);
  EXPECT_EQ(fault.fault.at, 20);
  EXPECT_EQ(verbs::parse_fault("0:kill").fault.at, 1);
  for (const char* text : {"", "0", "x:kill", "0:kil", "0:kill:0", "0:kill:1:2", "-1:kill"}) {
    try {
      static_cast<void>(verbs::parse_fault(text));
      ADD_FAILURE() << text;
    } catch (const InputError& error) {
      EXPECT_EQ(error.what(),
                "error: BUSBW_FAULT '" + std::string(text) +
                    "': allowed are RANK:KIND or RANK:KIND:N, KIND 'wrong-rkey', 'foreign-pd', "
                    "'qp-error', 'cq-overflow' or 'kill'");
    }
  }
}

}  // namespace
}  // namespace busbw::real
