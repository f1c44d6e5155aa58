// See soak_round.h.
#include "tests/real/soak/soak_round.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "models/collectives/reduction.h"
#include "sim/core/random.h"
#include "tests/real/ranks.h"

namespace busbw::real {
namespace {

using collectives::Algorithm;
using collectives::Collective;

constexpr std::array kCollectives = {
    Collective::kAllReduce, Collective::kReduce,        Collective::kBroadcast,
    Collective::kAllGather, Collective::kReduceScatter, Collective::kAllToAll,
    Collective::kSendRecv,  Collective::kGather,        Collective::kScatter};

template <class List>
auto any_of_list(Random& random, const List& list) {
  return list[random.below(list.size())];
}

/// Ranks alone can play it.
std::vector<Algorithm> algorithms_for(Collective collective) {
  std::vector<Algorithm> list;
  for (const Algorithm algorithm : collectives::algorithms_of(collective)) {
    if (algorithm <= Algorithm::kDirect)
      list.push_back(algorithm);
  }
  return list;
}

/// As many small sizes as large ones: the exponent is uniform.
Bytes draw_size(Random& random, Bytes most) {
  std::int64_t bits = 2;
  while ((std::int64_t{1} << bits) < most.count())
    ++bits;
  const std::int64_t top = std::int64_t{1} << random.between(2, bits);
  return Bytes(std::min(most.count(), random.between(top / 2, top) + random.between(0, 16)));
}

SoakPlay draw_play(Random& random, std::int32_t ranks, std::int32_t slots, Bytes most) {
  SoakPlay play;
  play.type = *parse_element_type(any_of_list(random, element_type_names()));
  play.reduction = *collectives::parse_reduction(any_of_list(random, reduction_names()));
  play.runs = static_cast<std::int32_t>(random.between(1, 3));
  collectives::Request& request = play.request;
  request.collective = any_of_list(random, kCollectives);
  request.algorithm = any_of_list(random, algorithms_for(request.collective));
  const std::int32_t channels = 1 << random.between(0, 2);
  request.shape = shape_of(ranks, channels, ranks % 2 == 0 && random.chance(1, 2) ? 2 : 1);
  request.options.element = size_of(play.type);
  request.options.bytes = collectives::rounded_bytes(request.collective, draw_size(random, most),
                                                     request.options.element, ranks);
  request.options.chunk = Bytes::kib(std::int64_t{1} << random.between(0, 4));
  request.options.slots = slots;
  request.options.root = RankId(static_cast<std::int32_t>(random.between(0, ranks - 1)));
  request.options.channels = channels;
  const bool slices = request.collective == Collective::kAllReduce &&
                      request.algorithm == Algorithm::kRing && slots > 1 && random.chance(1, 2);
  request.options.slices = slices ? 2 : 1;
  play.in_place = collectives::allows_in_place(request.collective) && random.chance(1, 3);
  return play;
}

VerbsMoverOptions draw_verbs(Random& random, SoakMover mover) {
  VerbsMoverOptions options = fake_options(mover == SoakMover::kRead   ? VerbsMethod::kRead
                                           : mover == SoakMover::kSend ? VerbsMethod::kSend
                                                                       : VerbsMethod::kWrite);
  options.settings.queue_pairs = static_cast<int>(random.between(1, 3));
  options.settings.split_data = random.chance(1, 3);
  options.signal_every = static_cast<std::int32_t>(random.between(1, 9));
  options.inline_bytes = random.chance(1, 2) ? 64 : 0;
  options.shared_receives = random.chance(2, 3);
  return options;
}

/// More than half of the rounds end well.
Fate draw_fate(Random& random, const SoakRound& round, const SoakLimits& limits) {
  const std::uint64_t dice = random.below(100);
  if (dice < 50)
    return Fate::kNone;
  if (dice < 70)
    return Fate::kVanish;
  if (dice < 78)
    return Fate::kFail;
  if (dice < 86)
    return uses_verbs(round.mover) ? Fate::kFault : Fate::kVanish;
  if (dice < 92)
    return uses_verbs(round.mover) && !limits.devices ? Fate::kLoss : Fate::kNone;
  return dice < 97 ? Fate::kKill : Fate::kProcesses;
}

}  // namespace

std::string to_string(SoakMover mover) {
  static constexpr std::array<const char*, 7> kNames = {"WRITE",
                                                        "READ",
                                                        "SEND",
                                                        "TCP",
                                                        "shared memory",
                                                        "shared memory and TCP",
                                                        "shared memory and WRITE"};
  return kNames.at(static_cast<std::size_t>(mover));
}

bool uses_verbs(SoakMover mover) {
  return mover <= SoakMover::kSend || mover == SoakMover::kSharedAndVerbs;
}

std::string to_string(Fate fate) {
  static constexpr std::array<const char*, 7> kNames = {
      "no fault", "vanished rank",  "failing rank", "verbs fault",
      "1 % loss", "killed process", "processes"};
  return kNames.at(static_cast<std::size_t>(fate));
}

SoakRound draw_round(std::uint64_t seed, std::int64_t number, const SoakLimits& limits) {
  constexpr std::uint64_t kFar = 0x9e3779b97f4a7c15;  // neighbouring rounds have distant seeds
  Random random(seed + static_cast<std::uint64_t>(number) * kFar);
  SoakRound round;
  round.number = number;
  round.ranks = static_cast<std::int32_t>(random.between(2, limits.most_ranks));
  constexpr std::array kMovers = {
      SoakMover::kWrite,  SoakMover::kRead,         SoakMover::kSend,          SoakMover::kTcp,
      SoakMover::kShared, SoakMover::kSharedAndTcp, SoakMover::kSharedAndVerbs};
  round.mover = any_of_list(random, kMovers);
  round.verbs = draw_verbs(random, round.mover);
  round.completion = random.chance(1, 2) ? Completion::kEvent : Completion::kPoll;
  round.slots = static_cast<std::int32_t>(random.between(1, 8));
  for (std::int64_t plays = random.between(1, 4); plays > 0; --plays)
    round.plays.push_back(draw_play(random, round.ranks, round.slots, limits.most_bytes));
  round.fate = draw_fate(random, round, limits);
  round.victim = static_cast<std::int32_t>(random.between(0, round.ranks - 1));
  round.victim_play = random.below(round.plays.size());
  round.victim_step = random.next();
  round.fault.kind = static_cast<verbs::FaultKind>(random.below(4));  // all but the kill
  round.fault.at = random.between(1, 40);
  return round;
}

std::string describe(const SoakRound& round) {
  std::string text =
      fmt::format("round {}: {} ranks, {}", round.number, round.ranks, to_string(round.mover));
  if (uses_verbs(round.mover)) {
    const VerbsMoverOptions& verbs = round.verbs;
    text += fmt::format(" over {} queue pairs{}, signalled every {}, inline {}{}",
                        verbs.settings.queue_pairs,
                        verbs.settings.split_data ? " that share messages" : "", verbs.signal_every,
                        verbs.inline_bytes, verbs.shared_receives ? ", shared receive queue" : "");
  }
  text += round.completion == Completion::kEvent ? ", event" : ", poll";
  text += fmt::format(", {} slots", round.slots);
  for (const SoakPlay& play : round.plays) {
    const collectives::Request& request = play.request;
    text += fmt::format("; {} by {} {} B {} {}{}, {} runs", to_string(request.collective),
                        to_string(request.algorithm), request.options.bytes.count(),
                        to_string(play.type), to_string(play.reduction),
                        play.in_place ? " in place" : "", play.runs);
  }
  text += "; " + to_string(round.fate);
  if (round.fate == Fate::kFault)
    text += fmt::format(" {} at {}", static_cast<int>(round.fault.kind), round.fault.at);
  if (round.fate != Fate::kNone && round.fate != Fate::kLoss && round.fate != Fate::kProcesses)
    text += fmt::format(" of rank {}, play {}", round.victim, round.victim_play);
  return text;
}

}  // namespace busbw::real
