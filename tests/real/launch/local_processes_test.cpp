// Ranks as processes: all-reduces over TCP and shared memory on this host, ranks that are killed,
// fail or hang, and signals to the launcher. Nothing is left behind.
#include "real/launch/local_processes.h"

#include <csignal>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/core/errors.h"
#include "sim/core/text.h"
#include "tests/real/launch/rank_processes.h"

namespace busbw::real {
namespace {

class OverMover : public testing::TestWithParam<std::string> {};

TEST_P(OverMover, ProcessesAgreeExactly) {
  for (const std::size_t ranks : {2U, 5U, 8U}) {
    const RankOutcome outcome = run_rank_program(ranks, {GetParam(), "20"});
    EXPECT_EQ(outcome.exits.size(), ranks);
    EXPECT_EQ(bad_ends(outcome), "");
  }
}

TEST_P(OverMover, AKilledRankEndsAllWithItsName) {
  for (const std::int64_t victim : {0, 2}) {
    const Clock::time_point start = Clock::now();
    const RankOutcome outcome =
        run_rank_program(4, {GetParam(), "1000000", "kill", std::to_string(victim), "3"});
    ASSERT_EQ(outcome.exits.size(), 4U);
    // Each of the three others says so, by itself, well within the time-out.
    std::size_t named = 0;
    for (const std::string_view line : split_lines(outcome.errors)) {
      named += line.find(fmt::format("rank {} (", victim)) == 0 &&
                       line.find("it ended without a word") != std::string_view::npos
                   ? 1
                   : 0;
    }
    EXPECT_EQ(named, 3U) << bad_ends(outcome);
    for (const RankExit& exit : outcome.exits) {
      EXPECT_EQ(exit.signal, exit.rank == victim ? SIGKILL : 0) << bad_ends(outcome);
      EXPECT_EQ(exit.status, exit.rank == victim ? 0 : 3) << bad_ends(outcome);
    }
    EXPECT_LT(Clock::now() - start, Milliseconds(15000));
  }
}

TEST_P(OverMover, AFailingRankTellsTheOthersWhy) {
  const RankOutcome outcome = run_rank_program(3, {GetParam(), "1000000", "fail", "1", "2"});
  std::size_t told = 0;
  for (const std::string_view line : split_lines(outcome.errors))
    told += line.find("this rank was told to fail") != std::string_view::npos ? 1 : 0;
  EXPECT_EQ(told, 3U) << bad_ends(outcome);
}

TEST_P(OverMover, AHangingRankIsNamedAndEnded) {
  const RankOutcome outcome =
      run_rank_program(3, {GetParam(), "1000000", "hang", "2", "2"}, Milliseconds(500));
  ASSERT_EQ(outcome.exits.size(), 3U);
  // It waits for ever: its neighbours time out after 5 s, then the launcher ends it.
  EXPECT_NE(outcome.errors.find("nothing within 5 s"), std::string::npos) << outcome.errors;
  EXPECT_EQ(outcome.exits.back().rank, 2);
  EXPECT_FALSE(outcome.exits.back().good());
}

INSTANTIATE_TEST_SUITE_P(Movers, OverMover, testing::Values("tcp", "shm"),
                         [](const auto& info) { return info.param; });

TEST(LocalProcesses, ASignalEndsAllRanks) {
  std::thread sender([] {
    std::this_thread::sleep_for(Milliseconds(700));
    ::kill(::getpid(), SIGTERM);
  });
  const RankOutcome outcome = run_rank_program(3, {"shm", "1000000"});
  sender.join();
  ASSERT_EQ(outcome.exits.size(), 3U);
  for (const RankExit& exit : outcome.exits) {
    // 128 + SIGTERM by the rank itself; or one that was told by a rank that was quicker.
    EXPECT_TRUE(exit.status == 128 + SIGTERM || exit.status == 3) << bad_ends(outcome);
  }
  EXPECT_NE(outcome.errors.find("interrupted by SIGTERM"), std::string::npos) << outcome.errors;
}

TEST(LocalProcesses, AProgramThatIsNotThere) {
  LocalJob job;
  job.commands.assign(2, {"/nonexistent/program"});
  const SignalWatch signals;
  try {
    static_cast<void>(run_local(job, signals));
    FAIL();
  } catch (const SystemError& error) {
    EXPECT_STREQ(error.what(),
                 "exec failed: No such file or directory (errno 2) (on /nonexistent/program)");
  }
}

TEST(LocalProcesses, NothingIsLeftInSharedMemory) {
  const RankOutcome outcome = run_rank_program(4, {"shm", "1000000", "kill", "1", "3"});
  EXPECT_EQ(segments_left(outcome), std::vector<std::string>());
}

}  // namespace
}  // namespace busbw::real
