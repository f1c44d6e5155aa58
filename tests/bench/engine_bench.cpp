// Speed and memory of the engines on chunk-level ring all-reduces, the pattern that scenarios run
// most.
//
// Sizes: 8 ranks are one machine, 64 a rack, 256 and 1024 the largest rings that are worth
// simulating chunk by chunk; 2 (n - 1) steps with one flow a rank and step make 112, 8,064, 130,560
// and 2,095,104 flows. Each flow crosses three links (out of its machine, through a switch port,
// into the next), as a flow over a leaf switch does. The `jitter` rings have link speeds that
// differ by up to 10 %, so that every end is an event of its own; the `channels` rings run 8 rings
// over the same links, so that flows share them. Prints flows per second and a hash of all end
// times, which must not change when the code only gets faster. Peak memory is that of the process:
// for a true figure run one case alone
// (--benchmark_filter).
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <sys/resource.h>
#include <vector>

#include <benchmark/benchmark.h>

#include "sim/core/fingerprint.h"
#include "sim/core/random.h"
#include "sim/engine/engine.h"

namespace busbw::engine {
namespace {

struct RingOptions {
  Kind kind = Kind::kFluid;
  int ranks = 8;
  int channels = 1;
  bool jitter = false;
};

/// Runs `channels` rings of `ranks` over the same links; a rank sends its next chunk on when the
/// one of the rank before has arrived.
class Ring {
 public:
  explicit Ring(const RingOptions& options)
      : options_(options), engine_(make_engine(options.kind)) {
    Random random(1);
    for (int rank = 0; rank < options.ranks; ++rank) {
      for (const char* part : {"out", "port", "in"}) {
        const std::int64_t mbps = options.jitter ? random.between(360'000, 400'000) : 400'000;
        links_.push_back(
            engine_->add_link(part + std::to_string(rank), Bandwidth::megabits_per_second(mbps)));
      }
    }
  }
  void run() {
    for (int channel = 0; channel < options_.channels; ++channel) {
      for (int rank = 0; rank < options_.ranks; ++rank) {
        send(rank, 0);
      }
    }
    engine_->run();
  }
  [[nodiscard]] std::string hash() const { return fingerprint_.hex(); }
  [[nodiscard]] std::int64_t flows() const { return engine_->event_count(); }

 private:
  void send(int rank, int step) {
    const std::size_t first = 3 * static_cast<std::size_t>(rank);
    FlowSpec spec;
    spec.path = {links_[first], links_[first + 1], links_[first + 2]};
    spec.size = Bytes::kib(512);
    spec.latency = Duration::nanoseconds(2000);
    engine_->start_flow(std::move(spec), [this, rank, step](FlowEnd) { arrived(rank, step); });
  }
  void arrived(int rank, int step) {
    fingerprint_.add(engine_->now().ps());
    const int next = rank + 1 == options_.ranks ? 0 : rank + 1;
    if (step + 1 < 2 * (options_.ranks - 1)) {
      send(next, step + 1);
    }
  }

  RingOptions options_;
  std::unique_ptr<Engine> engine_;
  std::vector<LinkId> links_;
  Fingerprint fingerprint_;
};

void run_rings(benchmark::State& state, RingOptions options) {
  options.ranks = static_cast<int>(state.range(0));
  std::int64_t flows = 0;
  for (auto _ : state) {
    Ring ring(options);
    ring.run();
    flows += ring.flows();
    state.SetLabel("hash " + ring.hash());
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["flows/s"] =
      benchmark::Counter(static_cast<double>(flows), benchmark::Counter::kIsRate);
  state.counters["peak_MiB"] = static_cast<double>(usage.ru_maxrss) / 1024;
}

void fluid_ring(benchmark::State& state) {
  run_rings(state, {});
}
void fluid_ring_jitter(benchmark::State& state) {
  run_rings(state, {Kind::kFluid, 0, 1, true});
}
void fluid_ring_channels(benchmark::State& state) {
  run_rings(state, {Kind::kFluid, 0, 8, true});
}
void reference_ring(benchmark::State& state) {
  run_rings(state, {Kind::kReference, 0, 1, false});
}

// The reference engine first and not often: every SimGrid instance leaves its signal handlers
// behind, and after thousands of instances its transfers are slowed down by all of them.
BENCHMARK(reference_ring)->Arg(8)->Arg(64)->Iterations(3)->Unit(benchmark::kMillisecond);
BENCHMARK(fluid_ring)->Arg(8)->Arg(64)->Arg(256)->Arg(1024)->Unit(benchmark::kMillisecond);
BENCHMARK(fluid_ring_jitter)->Arg(8)->Arg(64)->Arg(256)->Unit(benchmark::kMillisecond);
BENCHMARK(fluid_ring_channels)->Arg(8)->Arg(64)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace busbw::engine

BENCHMARK_MAIN();
