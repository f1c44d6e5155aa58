// A rank for the tests of launching: all-reduces over TCP or shared memory, and on request dies,
// fails or stops at a given round.
//
// Usage: rank_program MOVER ROUNDS [HOW RANK WHEN], MOVER tcp, shm or both (even and odd ranks as
// two hosts), HOW kill, fail or hang before round WHEN, or kill-step before step WHEN of the second
// round. Exit status 0 done, 3 failed with the reason on standard error, 128 + n interrupted by
// signal n.
#include <csignal>
#include <cstdio>
#include <unistd.h>

#include <fmt/format.h>

#include "real/base/signals.h"
#include "real/executor/executor.h"
#include "real/executor/verify.h"
#include "real/launch/place.h"
#include "real/launch/session.h"
#include "real/movers/host_mover.h"
#include "real/movers/shm_mover.h"
#include "real/movers/tcp_mover.h"
#include "sim/core/text.h"
#include "tests/real/ranks.h"

namespace busbw::real {
namespace {

struct Orders {
  std::string mover;
  std::int64_t rounds = 1;
  std::string how;
  std::int64_t rank = -1;
  std::int64_t when = -1;
};

void misbehave(const Orders& orders) {
  if (orders.how == "kill")
    ::raise(SIGKILL);
  if (orders.how == "fail")
    throw SystemError({"test", "this rank was told to fail", "", ""});
  while (orders.how == "hang")
    ::pause();
}

std::unique_ptr<Mover> make_mover(const Session& session, const std::string& name) {
  if (name == "shm")
    return make_shm_mover();
  std::unique_ptr<Mover> tcp = make_tcp_mover({"127.0.0.1", ""});
  if (name == "tcp")
    return tcp;
  std::vector<bool> same;
  for (std::int32_t rank = 0; rank < session.size(); ++rank)
    same.push_back((rank - session.rank().value()) % 2 == 0);
  return make_host_mover(make_shm_mover(), std::move(tcp), same);
}

void work(Session& session, const Orders& orders) {
  const collectives::Schedule schedule = rank_program_schedule(session.size());
  const bool dies = orders.how == "kill-step" && session.rank().value() == orders.rank;
  const std::int64_t steps = steps_of(schedule, session.rank());
  CountingBuffers buffers(schedule, session.rank(), dies ? steps + orders.when : -1,
                          [] { ::raise(SIGKILL); });  // outlives the mover
  const std::unique_ptr<Mover> mover = make_mover(session, orders.mover);
  buffers.add_to(*mover);
  session.connect(*mover, links_of({&schedule}, 8));
  Waiter waiter(*mover, session, Completion::kEvent, Milliseconds(5000));
  Executor executor(schedule, session.rank(), *mover, buffers);
  CheckedCollective checked;
  checked.ranks = session.size();
  for (std::int64_t round = 0; round < orders.rounds; ++round) {
    if (session.rank().value() == orders.rank && round == orders.when)
      misbehave(orders);
    checked.salt = static_cast<std::uint64_t>(round);
    fill_input(checked, session.rank(), buffers.input());
    static_cast<void>(executor.run({}, waiter));
    if (const auto difference = find_difference(checked, session.rank(), buffers.output()))
      throw std::runtime_error(*difference);
  }
  session.barrier();
}

int run(int argc, char** argv) {
  Orders orders;
  orders.mover = argv[1];
  orders.rounds = *parse_integer(argv[2]);
  if (argc > 5) {
    orders.how = argv[3];
    orders.rank = *parse_integer(argv[4]);
    orders.when = *parse_integer(argv[5]);
  }
  std::string text;
  int status = 3;
  try {
    SignalWatch signals;
    const auto place = place_from_environment(process_environment());
    const auto session = Session::join(*place, Milliseconds(10000), signals);
    run_rank(*session, [&] { work(*session, orders); });
    return 0;
  } catch (const Interrupted& interrupted) {
    text = interrupted.what();
    status = 128 + interrupted.signal();
  } catch (const std::exception& error) {
    text = error.what();
  }
  text += '\n';
  static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
  return status;
}

}  // namespace
}  // namespace busbw::real

int main(int argc, char** argv) {
  return busbw::real::run(argc, argv);
}
