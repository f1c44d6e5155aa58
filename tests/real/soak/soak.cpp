// The soak: random collectives, sizes, movers, faults and kills for some time. After every round
// each result was right, every cause named, nothing is left: no queue pair, no memory region, no
// file descriptor, no shared memory; and no round took longer than its time-outs.
//
// Usage: soak [--seconds N] [--seed N] [--round N] [--devices]. --round: that one alone. --devices:
// the RDMA devices of this machine in place of the fake. Exit status 0, or 1 with the round and
// what went wrong.
#include <filesystem>
#include <iostream>
#include <malloc.h>
#include <map>

#include <fmt/format.h>

#include "real/base/signals.h"
#include "sim/core/text.h"
#include "tests/real/soak/soak_play.h"

namespace busbw::real {
namespace {

constexpr Milliseconds kLongestRound{60000};
/// What malloc keeps for its threads.
constexpr std::size_t kHeapNoise = 1 << 19;

struct Orders {
  std::int64_t seconds = 15;
  std::uint64_t seed = 1;
  std::optional<std::int64_t> round;
  bool devices = false;
};

/// Names of what this process holds open; those of /proc/self/fd itself left out.
std::size_t open_files() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    ++count;
  return count;
}
std::size_t threads() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/task"))
    ++count;
  return count;
}
/// Bytes that malloc has handed out and not got back, of all threads; 0 under sanitizers.
std::size_t heap_bytes() {
  return ::mallinfo2().uordblks;
}

class Soak {
 public:
  explicit Soak(const Orders& orders) : orders_(orders) {
    if (orders.devices) {
      devices_.api = verbs::open_system_verbs();
      limits_.devices = true;
      limits_.most_ranks = 4;
      limits_.most_bytes = Bytes::kib(64);
    }
  }

  int run() {
    std::int64_t number = orders_.round.value_or(0);
    const Deadline end = Deadline::in(Milliseconds(1000 * orders_.seconds));
    const std::int64_t first = number;
    do {
      const SoakRound round = draw_round(orders_.seed, number, limits_);
      if (const auto wrong = try_round(round)) {
        std::cout << fmt::format("seed {}, {}\n{}\n", orders_.seed, describe(round), *wrong);
        return 1;
      }
      ++done_[to_string(round.fate)];
      if (number++ == first) {
        // What the first round leaves for good belongs to the libraries.
        files_ = open_files();
        threads_ = threads();
        heap_ = heap_bytes();
      }
    } while (!orders_.round && !end.passed() && SignalWatch::pending() == 0);
    report(number - first);
    return 0;
  }

 private:
  std::optional<std::string> try_round(const SoakRound& round) {
    const Clock::time_point start = Clock::now();
    if (auto wrong = play_round(round, devices_, counts_))
      return wrong;
    if (Clock::now() - start > kLongestRound)
      return "it took more than " + to_string(kLongestRound);
    if (files_ != 0 && open_files() != files_)
      return fmt::format("{} files are open, {} were", open_files(), files_);
    // A thread that was joined may be seen for a moment yet.
    const auto left = [&] { return threads_ != 0 && threads() != threads_; };
    for (int tries = 0; left() && tries < 100; ++tries)
      sleep_on({}, Milliseconds(10));
    if (left())
      return fmt::format("{} threads are left, {} were", threads(), threads_);
    if (heap_ != 0 && heap_bytes() > heap_ + kHeapNoise)
      return fmt::format("{} bytes of memory are in use, {} were", heap_bytes(), heap_);
    return std::nullopt;
  }

  void report(std::int64_t rounds) const {
    std::string fates;
    for (const auto& [fate, count] : done_)
      fates += fmt::format("{}{} {}", fates.empty() ? "" : ", ", count, fate);
    std::cout << fmt::format(
        "soak: seed {}, {} rounds ({}): {} collectives of {} bytes right; {} open files, {} bytes "
        "of "
        "memory, {} after the first round\n",
        orders_.seed, rounds, fates, counts_.collectives, counts_.bytes, open_files(), heap_bytes(),
        heap_);
  }

  Orders orders_;
  SoakDevices devices_;
  SoakLimits limits_;
  SoakCounts counts_;
  std::map<std::string, std::int64_t> done_;
  std::size_t threads_ = 0;  // this one; the thread sanitizer starts one of its own
  std::size_t files_ = 0;
  std::size_t heap_ = 0;
};

int run(int argc, char** argv) {
  Orders orders;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--devices") {
      orders.devices = true;
      continue;
    }
    const auto number = i + 1 < argc ? parse_integer(argv[++i]) : std::nullopt;
    if (!number || *number < 0 ||
        (option != "--seconds" && option != "--seed" && option != "--round")) {
      std::cerr << "usage: soak [--seconds N] [--seed N] [--round N] [--devices]\n";
      return 2;
    }
    if (option == "--seconds")
      orders.seconds = *number;
    else if (option == "--seed")
      orders.seed = static_cast<std::uint64_t>(*number);
    else
      orders.round = *number;
  }
  return Soak(orders).run();
}

}  // namespace
}  // namespace busbw::real

int main(int argc, char** argv) {
  return busbw::real::run(argc, argv);
}
