// Two ranks of a session with a link each way: what the micro-benchmarks and the calibration have
// in common. Every rank of the session makes the pair and calls its functions in the same order;
// ranks that are not of the pair only take part in the barriers.
#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "real/launch/session.h"
#include "real/measure/task.h"
#include "real/verbs/api.h"

namespace busbw::real {

struct PairOptions {
  NetworkOrder network;
  RankId first = RankId(0);  // sends first, and sends the stream
  RankId second = RankId(1);
  Bytes largest;           // message
  std::int32_t slots = 2;  // messages of first that may wait at second
  std::int64_t timeout_ms = 30000;
};

/// Messages to warm up with, and then to time.
struct Repeats {
  std::int32_t warmup = 0;
  std::int32_t timed = 1;
};

class Pair {
 public:
  Pair(Session& session, const PairOptions& options, const std::shared_ptr<verbs::Api>& api);

  /// What every rank of the session uses, in words.
  [[nodiscard]] std::string network();

  /// Half round trips in us, measured by the first rank and told to all.
  std::vector<double> ping_pong(Bytes size, Repeats repeats);

  struct Stream {
    std::vector<double> times_us;  // of a message, by groups of messages
    double total_us = 0;           // of all timed messages
  };
  /// The first rank sends, the second receives. The clock is the second's and starts when it has
  /// received the last message of the warm-up: what the sender has put into a queue by then does
  /// not count. Told to all.
  Stream stream(Bytes size, Repeats repeats);

  enum class Side { kFirst, kSecond };
  struct Load {
    Side side = Side::kFirst;  // which of the two computes after each of its messages
    std::int32_t pieces = 1;   // of computation (compute_piece()); the mover goes on between them
    bool messages = true;      // false: it computes alone, and the other waits
  };
  /// The stream with a load: us of each message with its computation, by the clock of that side.
  /// Told to all.
  std::vector<double> loaded(const Load& load, Bytes size, Repeats repeats);

 private:
  [[nodiscard]] bool is_first() const { return session_.rank() == options_.first; }
  [[nodiscard]] bool is_second() const { return session_.rank() == options_.second; }
  [[nodiscard]] std::string peer_name() const;
  [[nodiscard]] LinkId outgoing() const;
  void start_together();
  template <class Done>
  void wait(const char* what, bool sends, Done done);
  void send(Bytes size);
  void receive(Bytes size);
  void settle();
  void compute(std::int32_t pieces);
  std::vector<double> computing(const Load& load, Bytes size, Repeats repeats);
  [[nodiscard]] std::vector<double> tell(RankId from, const std::vector<double>& values);

  Session& session_;
  PairOptions options_;
  std::vector<std::byte> memory_;
  std::unique_ptr<Mover> mover_;
  std::optional<Waiter> waiter_;
  Sender* sender_ = nullptr;
  Receiver* receiver_ = nullptr;
  std::uint64_t computed_ = 1;  // what came out of it, so that it is not left out
};

/// A fixed amount of computation, some 10 us on a processor of today: the unit of loaded(). Returns
/// a value that depends on all of it.
std::uint64_t compute_piece(std::uint64_t seed);

/// Microseconds from `start` to now.
double us_since(Clock::time_point start);

}  // namespace busbw::real
