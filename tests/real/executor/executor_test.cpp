// Schedules of models/collectives played for real: every mover x algorithm x number of ranks x
// size, each element compared with its exact value.
#include "real/executor/executor.h"

#include <regex>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "models/collectives/make_schedule.h"
#include "real/executor/verify.h"
#include "tests/real/ranks.h"

namespace busbw::real {
namespace {

using collectives::Schedule;

constexpr std::int32_t kSlots = 4;

/// Few bytes a chunk, so that there are many loops.
collectives::Request request_of(collectives::Collective collective,
                                collectives::Algorithm algorithm, std::int32_t ranks, Bytes bytes,
                                Bytes element) {
  collectives::Request request;
  request.collective = collective;
  request.algorithm = algorithm;
  request.shape = shape_of(ranks, 2, ranks % 2 == 0 ? 2 : 1);
  request.options.bytes = bytes;
  request.options.element = element;
  request.options.chunk = Bytes::kib(8);
  request.options.slices = algorithm == collectives::Algorithm::kRing &&
                                   collective == collectives::Collective::kAllReduce
                               ? 2
                               : 1;
  request.options.slots = kSlots;
  request.options.root = RankId(ranks * 2 / 3);
  request.options.channels = 2;
  return request;
}

Schedule ring_of(std::int32_t ranks, Bytes bytes, Bytes element) {
  return make_schedule(request_of(collectives::Collective::kAllReduce,
                                  collectives::Algorithm::kRing, ranks, bytes, element));
}

struct Play {
  Schedule schedule;
  ElementType type = ElementType::kFloat;
  Reduction reduction = Reduction::kSum;
  bool in_place = false;
};

/// Plays `runs` one after the other over one set of links, as one rank. Wrong results throw.
void play(Session& session, Mover& mover, const std::vector<Play>& runs, Completion completion) {
  std::vector<const Schedule*> schedules;
  for (const Play& run : runs)
    schedules.push_back(&run.schedule);
  std::vector<std::unique_ptr<HostBuffers>> buffers;
  for (const Play& run : runs) {
    buffers.push_back(std::make_unique<HostBuffers>(run.schedule, session.rank(), run.in_place));
    buffers.back()->add_to(mover);
  }
  session.connect(mover, links_of(schedules, kSlots));
  Waiter waiter(mover, session, completion, Milliseconds(20000));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    CheckedCollective checked;
    checked.collective = runs[i].schedule.collective;
    checked.root = runs[i].schedule.root;
    checked.ranks = session.size();
    checked.type = runs[i].type;
    checked.reduction = runs[i].reduction;
    checked.salt = i;
    Executor executor(runs[i].schedule, session.rank(), mover, *buffers[i]);
    const int repeats = runs[i].schedule.bytes < Bytes::kib(8) ? 2 : 1;
    for (int repeat = 0; repeat < repeats; ++repeat) {
      fill_input(checked, session.rank(), buffers[i]->input());
      const ExecutorCounts counts = executor.run({runs[i].type, runs[i].reduction}, waiter);
      const auto difference = find_difference(checked, session.rank(), buffers[i]->output());
      if (difference)
        throw std::runtime_error(*difference);
      if (counts.bytes_sent != sent_bytes(runs[i].schedule, session.rank()))
        throw std::runtime_error("another number of bytes was sent");
    }
  }
  session.barrier();
}

std::string failures_of(const std::vector<std::string>& failures) {
  std::string text;
  for (std::size_t rank = 0; rank < failures.size(); ++rank) {
    if (!failures[rank].empty())
      text += fmt::format("rank {}: {}\n", rank, failures[rank]);
  }
  return text;
}

/// Every collective by every algorithm that ranks can play alone, of 4 and 4100 bytes and
/// `largest`.
std::vector<Play> matrix(std::int32_t ranks, std::int64_t largest) {
  std::vector<Play> plays;
  for (const auto collective :
       {collectives::Collective::kAllReduce, collectives::Collective::kReduce,
        collectives::Collective::kBroadcast, collectives::Collective::kAllGather,
        collectives::Collective::kReduceScatter, collectives::Collective::kAllToAll,
        collectives::Collective::kSendRecv, collectives::Collective::kGather,
        collectives::Collective::kScatter}) {
    for (const collectives::Algorithm algorithm : collectives::algorithms_of(collective)) {
      if (algorithm > collectives::Algorithm::kDirect)
        continue;
      for (const std::int64_t bytes : {std::int64_t{4}, std::int64_t{4100}, largest}) {
        const Bytes rounded = collectives::rounded_bytes(collective, Bytes(bytes), Bytes(4), ranks);
        Play play;
        play.schedule = make_schedule(request_of(collective, algorithm, ranks, rounded, Bytes(4)));
        play.in_place = bytes == 4100 && collectives::allows_in_place(collective);
        plays.push_back(std::move(play));
      }
    }
  }
  return plays;
}

class EveryCollective : public testing::TestWithParam<std::int32_t> {};

TEST_P(EveryCollective, IsExactOverEveryMover) {
  const std::int32_t ranks = GetParam();
  const std::vector<Play> full = matrix(ranks, ranks == 4 ? 1048588 : 131084);
  const std::vector<Play> less = matrix(ranks, 20012);  // for variations of a mover
  const auto network = fake_network(ranks);
  bool poll = ranks % 2 == 0;  // so that every transport meets both
  for (const Transport& transport : transports(network)) {
    poll = !poll;
    const std::vector<std::string> failures = run_ranks(ranks, [&](Session& session) {
      const std::unique_ptr<Mover> mover = transport.make(session);
      play(session, *mover, transport.variation ? less : full,
           poll ? Completion::kPoll : Completion::kEvent);
    });
    EXPECT_EQ(failures_of(failures), "") << transport.name;
  }
  EXPECT_EQ(network->alive(), 0);
}

INSTANTIATE_TEST_SUITE_P(Ranks, EveryCollective, testing::Values(2, 3, 4, 5, 6, 7, 8));

TEST(AllReduceTypes, EveryTypeAndReductionIsExact) {
  constexpr std::int32_t kRanks = 4;
  std::vector<Play> runs;
  for (const std::string& type_name : element_type_names()) {
    const ElementType type = *parse_element_type(type_name);
    for (const std::string& reduction : reduction_names()) {
      const Bytes bytes = size_of(type) * 1001;
      runs.push_back({ring_of(kRanks, bytes, size_of(type)), type,
                      *collectives::parse_reduction(reduction), false});
    }
  }
  const std::vector<std::string> failures = run_ranks(kRanks, [&](Session& session) {
    const std::vector<Transport> list = transports(fake_network(kRanks));
    const std::unique_ptr<Mover> mover = list[list.size() - 2].make(session);
    play(session, *mover, runs, Completion::kEvent);
  });
  EXPECT_EQ(failures_of(failures), "");
}

TEST(AllReduceAlone, OneRankCopies) {
  std::vector<Play> runs;
  runs.push_back({ring_of(1, Bytes(40), Bytes(4)), ElementType::kInt32, Reduction::kSum, false});
  const auto network = fake_network(1);
  for (const Transport& transport : transports(network)) {
    const std::vector<std::string> failures = run_ranks(1, [&](Session& session) {
      const std::unique_ptr<Mover> mover = transport.make(session);
      play(session, *mover, runs, Completion::kPoll);
    });
    EXPECT_EQ(failures_of(failures), "") << transport.name;
  }
}

TEST(Executor, NamesTheStepThatGetsNothing) {
  // Rank 1 never runs its part.
  const Schedule schedule = ring_of(2, Bytes(4100), Bytes(4));
  const std::vector<std::string> failures = run_ranks(2, [&](Session& session) {
    HostBuffers buffers(schedule, session.rank(), false);
    const std::unique_ptr<Mover> mover = transports(fake_network(2))[9].make(session);
    buffers.add_to(*mover);
    session.connect(*mover, links_of({&schedule}, kSlots));
    Waiter waiter(*mover, session, Completion::kEvent, Milliseconds(300));
    if (session.rank().value() == 0)
      Executor(schedule, session.rank(), *mover, buffers).run({}, waiter);
    session.barrier();
  });
  // Steps 0 and 1 send the two slices of the first chunk.
  for (const std::string& failure : failures) {
    EXPECT_EQ(plain(failure),
              "rank 0 (host:pid) failed: receive failed: nothing within 300 ms: the connection "
              "stands and is idle: the peer hangs or waits (on rank 0 channel 0 lane 0 (ring) step "
              "2 (receive), link 1 -> 0 channel 0 over TCP from 127.0.0.1 on lo) (peer rank 1 "
              "(host:pid))");
  }
}

TEST(Executor, RefusesAnotherByteCount) {
  for (std::size_t transport = 0; transport < 12; ++transport) {
    const auto network = fake_network(2);
    const std::vector<std::string> failures = run_ranks(2, [&](Session& session) {
      const std::int64_t bytes = session.rank().value() == 0 ? 4096 : 8192;
      // Slots are large enough on both sides: the messages themselves have to be compared.
      const Schedule large = ring_of(2, Bytes::kib(256), Bytes(4));
      const Schedule schedule = ring_of(2, Bytes(bytes), Bytes(4));
      HostBuffers buffers(schedule, session.rank(), false);
      const std::unique_ptr<Mover> mover = transports(network)[transport].make(session);
      buffers.add_to(*mover);
      session.connect(*mover, links_of({&large}, kSlots));
      Waiter waiter(*mover, session, Completion::kEvent, Milliseconds(10000));
      Executor(schedule, session.rank(), *mover, buffers).run({}, waiter);
      session.barrier();
    });
    // Either rank meets the other's message first.
    const auto sentence = [&](int rank, int got, int expected) {
      const std::string link = fmt::format("link {} -> {} channel #", 1 - rank, rank);
      const std::string where = transport < 9 ? fmt::format("fake{} port 1 QP 0x#, {}", rank, link)
                                : transport == 9  ? link + " over TCP from 127.0.0.1 on lo"
                                : transport == 10 ? link + " in shared memory"
                                                  : link + " over TCP from 127.0.0.1";
      return fmt::format(
          "rank {0} (host:pid) failed: receive failed: a message of {1} bytes where {2} were "
          "expected: the ranks do not run the same collective with the same byte count (on rank "
          "{0} channel # lane # (ring) step # (receive), {3}) (peer rank {4} (host:pid){5})",
          rank, got, expected, where, 1 - rank,
          transport < 9 ? fmt::format(" QP 0x# GID ::ffff:10.0.0.{}", 2 - rank) : "");
    };
    for (const std::string& failure : failures) {
      const std::string text =
          std::regex_replace(plain(failure), std::regex("(channel|lane|\\) step) \\d"), "$1 #");
      const auto is = [&](int rank, int got, int expected) {
        const std::string wanted = sentence(rank, got, expected);
        // Where both have failed before either was told, the other's failure stands behind it.
        return text == wanted ||
               text.starts_with(fmt::format("{}; rank {} (host:pid) saw: ", wanted, 1 - rank));
      };
      EXPECT_TRUE(is(0, 1024, 512) || is(1, 512, 1024))
          << transport << ": " << text << sentence(0, 1024, 512);
    }
    EXPECT_EQ(network->alive(), 0);
  }
}

TEST(Links, OfDifferentSizesAreRefused) {
  for (std::size_t transport = 0; transport < 12; ++transport) {
    const std::vector<std::string> failures = run_ranks(2, [&](Session& session) {
      const std::unique_ptr<Mover> mover = transports(fake_network(2))[transport].make(session);
      const Bytes bytes(session.rank().value() == 0 ? 4096 : 8192);
      session.connect(*mover, {{{RankId(0), RankId(1), ChannelId(0), 0}, bytes, 4}});
    });
    EXPECT_NE((failures[0] + failures[1]).find("the ranks do not run the same collective"),
              std::string::npos)
        << transport << ": " << failures[0] << failures[1];
  }
}

}  // namespace
}  // namespace busbw::real
