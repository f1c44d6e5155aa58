// busbw_fuzz: runs the fuzzers of the registry.
//
//   busbw_fuzz list
//   busbw_fuzz smoke                                      every fuzzer briefly, seed 1
//   busbw_fuzz run NAME [--seed S] [--iterations N]       default seed 1, 1000000 iterations
//   busbw_fuzz canary throw|crash|hang                    fails on purpose: proves that the alarm
//   works
//
// A failure prints the fuzzer, the input, and the command that repeats that iteration alone; exit
// code 1. A crash and a hang (20 s in one iteration) are reported from a signal handler.
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "sim/core/text.h"
#include "tests/fuzz/registry.h"

namespace busbw::fuzz {
namespace {

constexpr unsigned kHangSeconds = 20;
constexpr std::int64_t kDefaultIterations = 1'000'000;

/// What the signal handler prints; made before each iteration.
std::string current_report;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

void on_signal(int signal) {
  const char* what = signal == SIGALRM ? "hung in: " : "crashed in: ";
  // The results are of no use here: there is no other way left to report.
  [[maybe_unused]] ssize_t done = write(STDERR_FILENO, what, std::char_traits<char>::length(what));
  done = write(STDERR_FILENO, current_report.data(), current_report.size());
  _exit(1);
}

void watch_signals() {
  struct sigaction action {};
  action.sa_handler = &on_signal;
  for (const int signal : {SIGALRM, SIGABRT}) {
    sigaction(signal, &action, nullptr);
  }
#if !defined(__SANITIZE_ADDRESS__)  // which has a better report of its own
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
    sigaction(signal, &action, nullptr);
  }
#endif
}

/// Iteration i of seed S is the only iteration of seed S + i.
bool run(const Fuzzer& fuzzer, std::int64_t seed, std::int64_t iterations) {
  for (std::int64_t i = 0; i < iterations; i++) {
    const std::int64_t this_seed = seed + i;
    current_report =
        fmt::format("busbw_fuzz run {} --seed {} --iterations 1\n", fuzzer.name, this_seed);
    alarm(kHangSeconds);
    Random random(static_cast<std::uint64_t>(this_seed));
    try {
      fuzzer.once(random);
    } catch (const std::exception& error) {
      fmt::print(stderr, "{}: failed: {}\nrepeat with: {}", fuzzer.name, error.what(),
                 current_report);
      return false;
    }
  }
  alarm(0);
  fmt::print("{}: {} iterations from seed {}, all hold\n", fuzzer.name, iterations, seed);
  return true;
}

// The canaries go wrong in one case of eight.
void throwing_canary(Random& random) {
  const std::uint64_t draw = random.below(8);
  require(draw != 0, "the canary sings", std::to_string(draw));
}

void crashing_canary(Random& random) {
  if (random.below(8) == 0) {
    std::abort();
  }
}

void hanging_canary(Random& random) {
  if (random.below(8) == 0) {
    raise(SIGALRM);  // what the alarm does after 20 s, without the wait
  }
}

int usage() {
  fmt::print(stderr,
             "usage: busbw_fuzz list | smoke | run NAME [--seed S] [--iterations N] | canary "
             "throw|crash|hang\n");
  return 2;
}

int list() {
  for (const Fuzzer& fuzzer : all_fuzzers()) {
    fmt::print("{:24} {}\n", fuzzer.name, fuzzer.property);
  }
  return 0;
}

int smoke() {
  bool good = true;
  for (const Fuzzer& fuzzer : all_fuzzers()) {
    good = run(fuzzer, 1, fuzzer.smoke_iterations) && good;
  }
  return good ? 0 : 1;
}

int canary(const std::string& kind) {
  for (const Fuzzer& fuzzer :
       {Fuzzer{"throw", "", 0, &throwing_canary}, Fuzzer{"crash", "", 0, &crashing_canary},
        Fuzzer{"hang", "", 0, &hanging_canary}}) {
    if (fuzzer.name == kind) {
      return run(fuzzer, 1, 1'000) ? 0 : 1;
    }
  }
  return usage();
}

int run_named(const std::vector<std::string>& arguments) {
  std::int64_t seed = 1;
  std::int64_t iterations = kDefaultIterations;
  for (std::size_t i = 2; i < arguments.size(); i += 2) {
    const std::optional<std::int64_t> value =
        i + 1 < arguments.size() ? parse_integer(arguments[i + 1]) : std::nullopt;
    if (!value || *value < 0 || (arguments[i] != "--seed" && arguments[i] != "--iterations")) {
      return usage();
    }
    (arguments[i] == "--seed" ? seed : iterations) = *value;
  }
  std::vector<std::string> names;
  for (const Fuzzer& fuzzer : all_fuzzers()) {
    if (fuzzer.name == arguments[1]) {
      return run(fuzzer, seed, iterations) ? 0 : 1;
    }
    names.push_back(fuzzer.name);
  }
  fmt::print(stderr, "error: unknown fuzzer '{}'; allowed: {}{}\n", arguments[1], join(names, " "),
             did_you_mean(arguments[1], names));
  return 2;
}

int run_command(const std::vector<std::string>& arguments) {
  watch_signals();
  const std::string command = arguments.empty() ? "" : arguments[0];
  if (command == "list" && arguments.size() == 1) {
    return list();
  }
  if (command == "smoke" && arguments.size() == 1) {
    return smoke();
  }
  if (command == "canary" && arguments.size() == 2) {
    return canary(arguments[1]);
  }
  return command == "run" && arguments.size() >= 2 ? run_named(arguments) : usage();
}

}  // namespace
}  // namespace busbw::fuzz

int main(int argc, char** argv) {
  return busbw::fuzz::run_command(std::vector<std::string>(argv + 1, argv + argc));
}
