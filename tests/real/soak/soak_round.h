// A round of the soak: what it does follows from seed and number alone, so that any round can be
// run again by itself.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "models/collectives/make_schedule.h"
#include "real/executor/element.h"
#include "real/movers/verbs_mover.h"
#include "real/movers/waiter.h"
#include "real/verbs/faults.h"

namespace busbw::real {

/// How messages move. The last two: even and odd ranks are two hosts.
enum class SoakMover { kWrite, kRead, kSend, kTcp, kShared, kSharedAndTcp, kSharedAndVerbs };
std::string to_string(SoakMover mover);
bool uses_verbs(SoakMover mover);

/// What happens to the round.
enum class Fate {
  kNone,
  kVanish,    // a rank says nothing more, at any step
  kFail,      // a rank fails by its own account
  kFault,     // something is wrong with a rank's verbs
  kLoss,      // of one request in a hundred
  kKill,      // a rank is a process, and is killed at any step
  kProcesses  // all ranks are processes, and nothing happens
};
std::string to_string(Fate fate);

/// One collective, run some times.
struct SoakPlay {
  collectives::Request request;
  ElementType type = ElementType::kFloat;
  Reduction reduction = Reduction::kSum;
  bool in_place = false;
  std::int32_t runs = 1;
};

struct SoakRound {
  std::int64_t number = 0;
  std::int32_t ranks = 2;
  SoakMover mover = SoakMover::kWrite;
  VerbsMoverOptions verbs;
  Completion completion = Completion::kPoll;
  std::int32_t slots = 4;
  std::vector<SoakPlay> plays;
  Fate fate = Fate::kNone;
  std::int32_t victim = 0;
  std::size_t victim_play = 0;
  std::uint64_t victim_step = 0;  // modulo the steps that the victim has
  verbs::Fault fault;
};

struct SoakLimits {
  bool devices = false;  // RDMA devices of this machine instead of the fake: no loss on order
  std::int32_t most_ranks = 6;
  Bytes most_bytes = Bytes::kib(256);
};

SoakRound draw_round(std::uint64_t seed, std::int64_t number, const SoakLimits& limits);
/// "round 17: 4 ranks, WRITE over 2 queue pairs, event; all_reduce by Ring 4100 B float sum; ...".
std::string describe(const SoakRound& round);

}  // namespace busbw::real
