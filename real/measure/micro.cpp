// Ping-pong and stream over a mover, and the table's figures. See micro.h.
#include "real/measure/micro.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "real/base/wire.h"
#include "real/measure/measure.h"
#include "real/measure/network.h"
#include "sim/core/check.h"
#include "sim/core/errors.h"

namespace busbw::real {
namespace {

double us_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

const LinkId kForth{RankId(0), RankId(1), ChannelId(0), 0};
const LinkId kBack{RankId(1), RankId(0), ChannelId(0), 0};

/// `depth` messages in flight, fewer where their slots would take more than this much memory.
constexpr std::int64_t kMostSlotBytes = 64 << 20;
std::int32_t slots_of(std::int32_t depth, Bytes size) {
  return static_cast<std::int32_t>(
      std::clamp<std::int64_t>(kMostSlotBytes / size.count(), 2, std::max(2, depth)));
}

/// Two ranks with a link each way, for messages of one size.
class Pair {
 public:
  Pair(Session& session, const Task& task, const std::shared_ptr<verbs::Api>& api, Bytes size)
      : session_(session), task_(task) {
    const MicroOrder& micro = *task.micro;
    NetworkOrder order = micro.network;
    if (micro.kind == MicroKind::kSendLatency)
      order.method = VerbsMethod::kSend;
    if (micro.kind == MicroKind::kWriteBandwidth)
      order.method = VerbsMethod::kWrite;
    memory_.assign(static_cast<std::size_t>(size.count()), std::byte{1});
    mover_ = make_mover(session, order, api);
    mover_->add_memory(memory_.data(), memory_.size());
    const std::int32_t slots =
        micro.kind == MicroKind::kWriteBandwidth ? slots_of(micro.depth, size) : 2;
    session.connect(*mover_, {{kForth, size, slots}, {kBack, size, 2}});
    waiter_.emplace(*mover_, session, order.completion, Milliseconds(task.timeout_ms));
    first_ = session.rank() == RankId(0);
    sender_ = &mover_->sender(first_ ? kForth : kBack);
    receiver_ = &mover_->receiver(first_ ? kBack : kForth);
  }

  [[nodiscard]] std::string network() { return describe_movers(session_, *mover_); }

  /// Half round trips of rank 0; empty at rank 1.
  std::vector<double> ping_pong(Bytes size) {
    start_together();
    std::vector<double> times;
    for (std::int32_t i = -task_.warmup; i < task_.iterations; ++i) {
      const Clock::time_point start = Clock::now();
      if (first_)
        send(size);
      receive(size);
      if (!first_)
        send(size);
      if (first_ && i >= 0)
        times.push_back(us_since(start) / 2);
    }
    settle();
    return times;
  }

  struct Stream {
    std::vector<double> times_us;  // of a message, by groups of messages
    double total_us = 0;           // of all timed messages
  };
  /// Rank 0 sends, rank 1 receives. The clock is rank 1's and starts when it has received the last
  /// message of the warm-up: what the sender has put into a queue by then does not count.
  Stream stream(Bytes size) {
    start_together();
    Stream result;
    const std::int32_t group = std::max(1, task_.iterations / 100);
    Clock::time_point start = Clock::now();
    Clock::time_point mark = start;
    for (std::int32_t i = -task_.warmup; i < task_.iterations; ++i) {
      if (first_) {
        send(size);
        continue;
      }
      receive(size);
      if (i == -1)
        start = mark = Clock::now();
      if (i >= 0 && (i + 1) % group == 0) {
        result.times_us.push_back(us_since(mark) / group);
        mark = Clock::now();
      }
    }
    result.total_us = us_since(start);
    settle();
    return from_wire(session_.exchange(to_wire(result))[1], session_.group().names[1]);
  }

  void end() { session_.barrier(); }

 private:
  static std::string to_wire(const Stream& stream) {
    WireWriter writer;
    writer.number(std::bit_cast<std::uint64_t>(stream.total_us));
    for (const double time : stream.times_us)
      writer.number(std::bit_cast<std::uint64_t>(time));
    return writer.take();
  }
  static Stream from_wire(const std::string& bytes, const std::string& from) {
    WireReader reader(bytes, from);
    Stream stream;
    stream.total_us = std::bit_cast<double>(reader.number<std::uint64_t>());
    for (std::size_t left = bytes.size() / sizeof(std::uint64_t) - 1; left > 0; --left)
      stream.times_us.push_back(std::bit_cast<double>(reader.number<std::uint64_t>()));
    reader.end();
    return stream;
  }
  void start_together() {
    session_.barrier();
    waiter_->moved();
  }

  template <class Done>
  void wait(const char* what, bool sends, Done done) {
    while (!done()) {
      if (mover_->progress()) {
        waiter_->moved();
      } else if (!done() && waiter_->idle()) {
        waiter_->fail(what, sends == first_ ? kForth : kBack);
      }
    }
  }
  void send(Bytes size) {
    wait("send", true, [&] { return sender_->ready(); });
    sender_->send({memory_.data(), static_cast<std::size_t>(size.count())});
  }
  void receive(Bytes size) {
    wait("receive", false, [&] { return receiver_->front() != nullptr; });
    const std::size_t bytes = receiver_->front()->bytes;
    if (bytes != static_cast<std::size_t>(size.count())) {
      throw SystemError({"receive",
                         std::to_string(bytes) + " bytes where " + std::to_string(size.count()) +
                             " were expected: both sides need the same sizes and iterations",
                         "", session_.group().names[peer()]});
    }
    receiver_->pop();
  }
  void settle() {
    wait("wait for the last messages to be received", true, [&] {
      const bool settled = receiver_->settle();
      return sender_->drained() && settled;
    });
  }
  [[nodiscard]] std::size_t peer() const { return first_ ? 1 : 0; }

  Session& session_;
  const Task& task_;
  std::vector<std::byte> memory_;
  std::unique_ptr<Mover> mover_;
  std::optional<Waiter> waiter_;
  Sender* sender_ = nullptr;
  Receiver* receiver_ = nullptr;
  bool first_ = false;
};

MicroPoint point_of(Bytes size, std::int32_t iterations, const std::vector<double>& times) {
  MicroPoint point;
  point.bytes = size;
  point.iterations = iterations;
  if (!times.empty()) {
    point.min_us = quantile(times, 0);
    point.median_us = quantile(times, 0.5);
    point.p99_us = quantile(times, 0.99);
  }
  return point;
}

}  // namespace

MicroResult run_micro(Session& session, const Task& task, const std::shared_ptr<verbs::Api>& api) {
  CHECK(task.micro.has_value() && !task.micro->sizes.empty(), "no micro-benchmark");
  const MicroOrder& micro = *task.micro;
  MicroResult result;
  result.kind = micro.kind;
  if (session.size() != 2) {
    throw InputError(to_string(micro.kind) + " needs 2 ranks, " + std::to_string(session.size()) +
                     " were started");
  }
  if (micro.kind == MicroKind::kReadLatency) {
    const ReadLatencies found = read_latencies(session, task, api);
    result.network = found.network;
    for (std::size_t size = 0; size < found.times_us.size(); ++size)
      result.points.push_back(point_of(micro.sizes[size], task.iterations, found.times_us[size]));
    return result;
  }
  for (const Bytes size : micro.sizes) {
    Pair pair(session, task, api, size);
    result.network = pair.network();
    if (micro.kind != MicroKind::kWriteBandwidth) {
      result.points.push_back(point_of(size, task.iterations, pair.ping_pong(size)));
    } else {
      const Pair::Stream stream = pair.stream(size);
      MicroPoint point = point_of(size, task.iterations, stream.times_us);
      point.GBps = static_cast<double>(size.count()) * task.iterations / stream.total_us / 1e3;
      result.points.push_back(point);
    }
    pair.end();  // before the mover goes
  }
  return result;
}

}  // namespace busbw::real
