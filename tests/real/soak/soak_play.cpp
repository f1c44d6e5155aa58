// See soak_play.h. Ranks are threads, or processes where one is to be killed for real.
#include "tests/real/soak/soak_play.h"

#include <algorithm>
#include <csignal>

#include <fmt/format.h>

#include "models/collectives/reduction.h"
#include "real/executor/executor.h"
#include "real/executor/verify.h"
#include "real/movers/host_mover.h"
#include "real/movers/shm_mover.h"
#include "real/movers/tcp_mover.h"
#include "real/verbs/inventory.h"
#include "sim/core/text.h"
#include "tests/real/launch/rank_processes.h"
#include "tests/real/ranks.h"

namespace busbw::real {
namespace {

constexpr Milliseconds kPatience{30000};
constexpr const char* kSilence = "it ended without a word: killed, crashed, or its host is gone";
constexpr const char* kToldTo = "test failed: this rank was told to fail";

/// A wrong element. No std::exception of the code under test reads so.
constexpr const char* kWrong = "WRONG RESULT: ";

class RoundPlayer {
 public:
  RoundPlayer(const SoakRound& round, const SoakDevices& devices)
      : round_(round), devices_(devices), network_(fake_network(round.ranks)) {
    for (const SoakPlay& play : round.plays)
      schedules_.push_back(make_schedule(play.request));
    if (round.fate == Fate::kLoss)
      network_->set_loss(0.01);
  }

  std::optional<std::string> run(SoakCounts& counts) {
    const std::vector<std::string> failures = run_ranks(
        round_.ranks, [&](Session& session) { as_rank(session); }, kPatience);
    if (network_->alive() != 0)
      return fmt::format("{} objects of the fake are left", network_->alive());
    const std::optional<std::string> wrong = judge(failures);
    const bool all_well = std::all_of(failures.begin(), failures.end(),
                                      [](const std::string& text) { return text.empty(); });
    for (std::size_t i = 0; all_well && i < schedules_.size(); ++i) {
      counts.collectives += round_.plays[i].runs;
      counts.bytes += round_.plays[i].runs * schedules_[i].bytes.count();
    }
    return wrong;
  }

 private:
  void as_rank(Session& session) {
    const bool hit = session.rank().value() == round_.victim;
    std::vector<std::unique_ptr<CountingBuffers>> buffers;  // outlive the mover
    const std::unique_ptr<Mover> mover = make_mover(session);
    std::vector<const collectives::Schedule*> list;
    for (std::size_t i = 0; i < schedules_.size(); ++i) {
      list.push_back(&schedules_[i]);
      const bool here = hit && i == round_.victim_play;
      buffers.push_back(std::make_unique<CountingBuffers>(
          schedules_[i], session.rank(), here ? step_of_fate(session.rank(), i) : -1,
          [this] { end_rank(); }, round_.plays[i].in_place));
      buffers.back()->add_to(*mover);
    }
    tell_others(session, [&] {
      session.connect(*mover, links_of(list, round_.slots));
      Waiter waiter(*mover, session, round_.completion, kPatience);
      for (std::size_t i = 0; i < schedules_.size(); ++i)
        play(session, i, *mover, *buffers[i], waiter);
      session.barrier();
    });
  }

  void play(Session& session, std::size_t index, Mover& mover, HostBuffers& buffers,
            Waiter& waiter) {
    const SoakPlay& what = round_.plays[index];
    const collectives::Schedule& schedule = schedules_[index];
    Executor executor(schedule, session.rank(), mover, buffers);
    for (std::int32_t run = 0; run < what.runs; ++run) {
      const CheckedCollective checked{
          schedule.collective, round_.ranks,
          schedule.root,       what.type,
          what.reduction,      static_cast<std::uint64_t>(round_.number * 64 + run)};
      if (!what.in_place)
        std::fill(buffers.output().begin(), buffers.output().end(), std::byte{0x7e});
      fill_input(checked, session.rank(), buffers.input());
      static_cast<void>(executor.run({what.type, what.reduction}, waiter));
      if (const auto difference = find_difference(checked, session.rank(), buffers.output()))
        throw std::logic_error(kWrong + *difference);
    }
  }

  /// -1: not at any.
  [[nodiscard]] std::int64_t step_of_fate(RankId rank, std::size_t play) const {
    if (round_.fate != Fate::kVanish && round_.fate != Fate::kFail)
      return -1;
    const std::int64_t steps = steps_of(schedules_[play], rank) * round_.plays[play].runs;
    return steps == 0
               ? -1
               : static_cast<std::int64_t>(round_.victim_step % static_cast<std::uint64_t>(steps));
  }
  void end_rank() const {
    if (round_.fate == Fate::kVanish)
      throw Vanish();
    throw SystemError({"test", "this rank was told to fail", "", ""});
  }

  std::unique_ptr<Mover> make_mover(const Session& session) {
    std::vector<bool> same;
    for (std::int32_t rank = 0; rank < session.size(); ++rank)
      same.push_back((rank - session.rank().value()) % 2 == 0);
    switch (round_.mover) {
      case SoakMover::kWrite:
      case SoakMover::kRead:
      case SoakMover::kSend:
        return make_verbs(session);
      case SoakMover::kTcp:
        return make_tcp_mover({"127.0.0.1", ""});
      case SoakMover::kShared:
        return make_shm_mover();
      case SoakMover::kSharedAndTcp:
        return make_host_mover(make_shm_mover(), make_tcp_mover({"127.0.0.1", ""}), same);
      case SoakMover::kSharedAndVerbs:
        return make_host_mover(make_shm_mover(), make_verbs(session), same);
    }
    throw std::logic_error("no mover");
  }

  std::unique_ptr<Mover> make_verbs(const Session& session) {
    const std::int32_t rank = session.rank().value();
    std::shared_ptr<verbs::Api> api =
        devices_.api != nullptr ? devices_.api : verbs::make_fake_verbs(network_);
    VerbsMoverOptions options = round_.verbs;
    std::string device = fmt::format("fake{}", rank);
    if (devices_.api != nullptr) {
      const verbs::PortSelection selection = verbs::select_ports(api, {}, nccl::kNewest);
      const verbs::UsablePort& port = verbs::port_of(selection, rank);
      device = port.device;
      options.port = port.port;
      options.gid_index = port.gid_index;
      options.settings.timeout = 18;  // a second a try: emulated devices are slow
    }
    if (round_.fate == Fate::kFault && rank == round_.victim)
      api = verbs::with_fault(api, round_.fault);
    return make_verbs_mover(verbs::Device::open(api, device), options);
  }

  [[nodiscard]] std::optional<std::string> judge(const std::vector<std::string>& failures) const {
    std::string all;
    std::size_t well = 0;
    for (std::size_t rank = 0; rank < failures.size(); ++rank) {
      well += failures[rank].empty() ? 1 : 0;
      all += fmt::format("\n  rank {}: {}", rank, failures[rank]);
    }
    if (all.find(kWrong) != std::string::npos || all.find("busbw") != std::string::npos)
      return "a wrong result or a bug:" + all;
    if (well == failures.size())
      return std::nullopt;  // a fault may have been out of reach
    if (well > 0)
      return "some ranks failed and some did not:" + all;
    if (round_.fate == Fate::kFault)
      return std::nullopt;
    if (round_.fate != Fate::kVanish && round_.fate != Fate::kFail)
      return "nothing was broken, but:" + all;
    const std::string cause = fmt::format("rank {} (host:pid) failed: {}", round_.victim,
                                          round_.fate == Fate::kVanish ? kSilence : kToldTo);
    for (std::size_t rank = 0; rank < failures.size(); ++rank) {
      const bool victim = static_cast<std::int32_t>(rank) == round_.victim;
      const std::string text = plain(failures[rank]);
      const bool vanished = victim && round_.fate == Fate::kVanish && text == "vanished";
      if (!vanished && text != cause && text.rfind(cause + "; rank ", 0) != 0)
        return "the cause is not named:" + all;
    }
    return std::nullopt;
  }

  const SoakRound& round_;
  const SoakDevices& devices_;
  std::shared_ptr<verbs::FakeNetwork> network_;
  std::vector<collectives::Schedule> schedules_;
};

/// The round as processes, over TCP, shared memory or both; its plays do not matter.
std::optional<std::string> run_processes(const SoakRound& round, SoakCounts& counts) {
  constexpr std::array<const char*, 3> kMovers = {"tcp", "shm", "both"};
  const char* const mover = kMovers.at(static_cast<std::size_t>(round.number) % kMovers.size());
  const auto ranks = static_cast<std::size_t>(round.ranks);
  const bool kill = round.fate == Fate::kKill;
  std::vector<std::string> arguments = {mover, kill ? "1000000" : "20"};
  if (kill) {
    const std::int64_t steps = steps_of(rank_program_schedule(round.ranks), RankId(round.victim));
    const auto step = round.victim_step % static_cast<std::uint64_t>(steps);
    arguments.insert(arguments.end(),
                     {"kill-step", fmt::format("{}", round.victim), fmt::format("{}", step)});
  }
  const RankOutcome outcome = run_rank_program(ranks, arguments);
  const std::string ends = bad_ends(outcome);
  if (!segments_left(outcome).empty())
    return "shared memory is left behind by " + segments_left(outcome).front();
  if (!kill) {
    counts.collectives += 20;
    counts.bytes += 20 * rank_program_schedule(round.ranks).bytes.count();
    return ends.empty() ? std::nullopt : std::optional("nothing was broken, but:\n" + ends);
  }
  const std::string cause = fmt::format("rank {} (host:pid) failed: {}", round.victim, kSilence);
  std::size_t named = 0;
  for (const std::string_view line : split_lines(outcome.errors))
    named += plain(std::string(line)).rfind(cause, 0) == 0 ? 1 : 0;
  for (const RankExit& exit : outcome.exits) {
    const bool victim = exit.rank == round.victim;
    if (victim ? exit.signal != SIGKILL : exit.signal != 0 || exit.status != 3)
      return "a rank ended otherwise than it should:\n" + ends;
  }
  if (named + 1 != ranks)
    return "the cause is not named:\n" + ends;
  return std::nullopt;
}

}  // namespace

std::optional<std::string> play_round(const SoakRound& round, const SoakDevices& devices,
                                      SoakCounts& counts) {
  if (round.fate == Fate::kKill || round.fate == Fate::kProcesses)
    return run_processes(round, counts);
  return RoundPlayer(round, devices).run(counts);
}

}  // namespace busbw::real
