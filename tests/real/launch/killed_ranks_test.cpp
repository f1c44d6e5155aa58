// A rank that is killed at any step of a collective: the others end at once with its name, over
// every mover, and everything is freed. Over the fake and in threads a rank vanishes at each step
// in turn; over TCP and shared memory processes are killed for real at seeded steps.
#include <algorithm>
#include <csignal>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "real/executor/executor.h"
#include "real/executor/verify.h"
#include "sim/core/random.h"
#include "sim/core/text.h"
#include "tests/real/launch/rank_processes.h"
#include "tests/real/ranks.h"

namespace busbw::real {
namespace {

constexpr const char* kSilence = "it ended without a word: killed, crashed, or its host is gone";

/// Every rank plays `schedule` twice; `victim` vanishes before step `step` of the first run.
std::vector<std::string> run_with(const collectives::Schedule& schedule, const Transport& transport,
                                  RankId victim, std::int64_t step, Completion completion) {
  return run_ranks(schedule.ranks, [&](Session& session) {
    CountingBuffers buffers(schedule, session.rank(), session.rank() == victim ? step : -1,
                            [] { throw Vanish(); });
    const std::unique_ptr<Mover> mover = transport.make(session);
    buffers.add_to(*mover);
    session.connect(*mover, links_of({&schedule}, 4));
    Waiter waiter(*mover, session, completion, Milliseconds(15000));
    Executor executor(schedule, session.rank(), *mover, buffers);
    CheckedCollective checked;
    checked.ranks = schedule.ranks;
    for (int run = 0; run < 2; ++run) {
      fill_input(checked, session.rank(), buffers.input());
      static_cast<void>(executor.run({}, waiter));
      if (const auto difference = find_difference(checked, session.rank(), buffers.output()))
        throw std::logic_error(*difference);
    }
    session.barrier();
  });
}

class EveryStep : public testing::TestWithParam<std::size_t> {};

TEST_P(EveryStep, OfAVanishingRankIsNamed) {
  constexpr std::int32_t kRanks = 3;
  const auto network = fake_network(kRanks);
  const Transport transport = transports(network).at(GetParam());
  collectives::Options options;
  options.bytes = Bytes(12012);
  options.chunk = Bytes::kib(2);
  const collectives::Schedule schedule = ring_all_reduce(shape_of(kRanks, 1, 1), options);
  const RankId victim(1);
  const std::int64_t steps = steps_of(schedule, victim);
  ASSERT_GT(steps, 10);
  for (std::int64_t step = 0; step < steps; ++step) {
    const std::vector<std::string> failures = run_with(
        schedule, transport, victim, step, step % 2 == 0 ? Completion::kEvent : Completion::kPoll);
    EXPECT_EQ(failures[1], "vanished");
    for (const std::size_t rank : {0U, 2U}) {
      const std::string text = plain(failures[rank]);
      const std::string cause = fmt::format("rank 1 (host:pid) failed: {}", kSilence);
      const std::string own = fmt::format("{}; rank {} (host:pid) saw: ", cause, rank);
      EXPECT_TRUE(text == cause || text.rfind(own, 0) == 0) << "step " << step << ": " << text;
    }
    ASSERT_EQ(network->alive(), 0) << "step " << step;
  }
}

INSTANTIATE_TEST_SUITE_P(Movers, EveryStep, testing::Range(std::size_t{0}, std::size_t{12}),
                         [](const auto& info) {
                           return transports(fake_network(1)).at(info.param).name;
                         });

class KilledProcess : public testing::TestWithParam<std::string> {};

TEST_P(KilledProcess, AtSeededStepsIsNamed) {
  Random random(17);
  // The first and the last step of a round, and some between them.
  const std::int64_t last = steps_of(rank_program_schedule(4), RankId(0)) - 1;
  std::set<std::int64_t> steps = {0, last};
  while (steps.size() < 6)
    steps.insert(random.between(1, last - 1));
  for (const std::int64_t step : steps) {
    const std::int64_t victim = random.between(0, 3);
    const Clock::time_point start = Clock::now();
    const RankOutcome outcome = run_rank_program(
        4, {GetParam(), "1000000", "kill-step", std::to_string(victim), std::to_string(step)});
    ASSERT_EQ(outcome.exits.size(), 4U);
    std::size_t named = 0;
    for (const std::string_view line : split_lines(outcome.errors)) {
      const std::string text = plain(std::string(line));
      const std::string cause = fmt::format("rank {} (host:pid) failed: {}", victim, kSilence);
      EXPECT_TRUE(text == cause || text.rfind(cause + "; rank ", 0) == 0) << text;
      ++named;
    }
    EXPECT_EQ(named, 3U) << outcome.errors;
    for (const RankExit& exit : outcome.exits) {
      EXPECT_EQ(exit.signal, exit.rank == victim ? SIGKILL : 0) << to_string(exit);
      EXPECT_EQ(exit.status, exit.rank == victim ? 0 : 3) << to_string(exit);
    }
    EXPECT_LT(Clock::now() - start, Milliseconds(15000));
  }
}

INSTANTIATE_TEST_SUITE_P(Movers, KilledProcess, testing::Values("tcp", "shm", "both"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace busbw::real
