// See pair.h.
#include "real/measure/pair.h"

#include <algorithm>
#include <bit>

#include "real/base/wire.h"
#include "real/measure/network.h"
#include "sim/core/errors.h"

namespace busbw::real {
namespace {

LinkId forth_of(const PairOptions& options) {
  return {options.first, options.second, ChannelId(0), 0};
}
LinkId back_of(const PairOptions& options) {
  return {options.second, options.first, ChannelId(0), 0};
}

/// Rounds of compute_piece(): 16384 multiplications that wait for each other.
constexpr int kRounds = 1 << 14;

}  // namespace

double us_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

std::uint64_t compute_piece(std::uint64_t seed) {
  // Knuth's MMIX generator: the next state needs the one before, so no compiler shortens it.
  std::uint64_t state = seed;
  for (int round = 0; round < kRounds; ++round)
    state = state * 6364136223846793005U + 1442695040888963407U;
  return state;
}

Pair::Pair(Session& session, const PairOptions& options, const std::shared_ptr<verbs::Api>& api)
    : session_(session), options_(options) {
  memory_.assign(static_cast<std::size_t>(options.largest.count()), std::byte{1});
  mover_ = make_mover(session, options.network, api);
  mover_->add_memory(memory_.data(), memory_.size());
  tell_others(session, [&] {
    session.connect(*mover_, {{forth_of(options), options.largest, options.slots},
                              {back_of(options), options.largest, 2}});
  });
  waiter_.emplace(*mover_, session, options.network.completion, Milliseconds(options.timeout_ms));
  if (is_first() || is_second()) {
    sender_ = &mover_->sender(outgoing());
    receiver_ = &mover_->receiver(is_first() ? back_of(options) : forth_of(options));
  }
}

std::string Pair::network() {
  return describe_movers(session_, *mover_, options_.network.completion);
}

LinkId Pair::outgoing() const {
  return is_first() ? forth_of(options_) : back_of(options_);
}

std::string Pair::peer_name() const {
  return session_.group().names[(is_first() ? options_.second : options_.first).index()];
}

void Pair::start_together() {
  session_.barrier();
  waiter_->moved();
}

template <class Done>
void Pair::wait(const char* what, bool sends, Done done) {
  while (!done()) {
    if (mover_->progress()) {
      waiter_->moved();
    } else if (!done() && waiter_->idle()) {
      waiter_->fail(what, sends == is_first() ? forth_of(options_) : back_of(options_));
    }
  }
}

void Pair::send(Bytes size) {
  wait("send", true, [&] { return sender_->ready(); });
  sender_->send({memory_.data(), static_cast<std::size_t>(size.count())});
}

void Pair::receive(Bytes size) {
  wait("receive", false, [&] { return receiver_->front() != nullptr; });
  const std::size_t bytes = receiver_->front()->bytes;
  if (bytes != static_cast<std::size_t>(size.count())) {
    throw SystemError({"receive",
                       std::to_string(bytes) + " bytes where " + std::to_string(size.count()) +
                           " were expected: both sides need the same sizes and iterations",
                       "", peer_name()});
  }
  receiver_->pop();
}

void Pair::settle() {
  wait("wait for the last messages to be received", true, [&] {
    const bool settled = receiver_->settle();
    return sender_->drained() && settled;
  });
}

std::vector<double> Pair::tell(RankId from, const std::vector<double>& values) {
  WireWriter writer;
  for (const double value : values)
    writer.number(std::bit_cast<std::uint64_t>(value));
  const std::string bytes = session_.exchange(writer.take())[from.index()];
  WireReader reader(bytes, session_.group().names[from.index()]);
  std::vector<double> told;
  for (std::size_t left = bytes.size() / sizeof(std::uint64_t); left > 0; --left)
    told.push_back(std::bit_cast<double>(reader.number<std::uint64_t>()));
  reader.end();
  return told;
}

std::vector<double> Pair::ping_pong(Bytes size, Repeats repeats) {
  start_together();
  std::vector<double> times;
  for (std::int32_t i = -repeats.warmup; sender_ != nullptr && i < repeats.timed; ++i) {
    const Clock::time_point start = Clock::now();
    if (is_first())
      send(size);
    receive(size);
    if (is_second())
      send(size);
    if (is_first() && i >= 0)
      times.push_back(us_since(start) / 2);
  }
  if (sender_ != nullptr)
    settle();
  return tell(options_.first, times);
}

Pair::Stream Pair::stream(Bytes size, Repeats repeats) {
  start_together();
  const std::int32_t group = std::max(1, repeats.timed / 100);
  std::vector<double> figures = {0};  // the total, then the groups
  Clock::time_point start = Clock::now();
  Clock::time_point mark = start;
  for (std::int32_t i = -repeats.warmup; sender_ != nullptr && i < repeats.timed; ++i) {
    if (is_first()) {
      send(size);
      continue;
    }
    receive(size);
    if (i == -1)
      start = mark = Clock::now();
    if (i >= 0 && (i + 1) % group == 0) {
      figures.push_back(us_since(mark) / group);
      mark = Clock::now();
    }
  }
  figures.front() = us_since(start);
  if (sender_ != nullptr)
    settle();
  const std::vector<double> told = tell(options_.second, figures);
  return {{told.begin() + 1, told.end()}, told.front()};
}

void Pair::compute(std::int32_t pieces) {
  for (std::int32_t piece = 0; piece < pieces; ++piece) {
    computed_ = compute_piece(computed_);
    static_cast<void>(mover_->progress());
  }
  waiter_->moved();
}

std::vector<double> Pair::computing(const Load& load, Bytes size, Repeats repeats) {
  std::vector<double> times;
  for (std::int32_t i = -repeats.warmup; i < repeats.timed; ++i) {
    const Clock::time_point start = Clock::now();
    if (load.messages && is_first()) {
      send(size);
    } else if (load.messages) {
      receive(size);
    }
    compute(load.pieces);
    if (i >= 0)
      times.push_back(us_since(start));
  }
  if (!load.messages)
    send(size);
  return times;
}

std::vector<double> Pair::loaded(const Load& load, Bytes size, Repeats repeats) {
  start_together();
  const RankId computes = load.side == Side::kFirst ? options_.first : options_.second;
  std::vector<double> times;
  if (session_.rank() == computes) {
    times = computing(load, size, repeats);
  } else if (sender_ != nullptr && !load.messages) {
    receive(size);
  } else if (sender_ != nullptr) {
    for (std::int32_t i = -repeats.warmup; i < repeats.timed; ++i) {
      if (is_first()) {
        send(size);
      } else {
        receive(size);
      }
    }
  }
  if (sender_ != nullptr)
    settle();
  return tell(computes, times);
}

}  // namespace busbw::real
