// Fuzzer of models/params: the parameter file.
#include <string>
#include <vector>

#include "models/params/measured.h"
#include "sim/core/check.h"
#include "tests/fuzz/registry.h"

namespace busbw::fuzz {
namespace {

using params::Measured;

const std::vector<std::string>& documents() {
  static const std::vector<std::string> texts = {
      R"(schema: busbw.parameters/1
source: a test
machines:
  - {name: one, processors: 1, ends: [a, b]}
  - {name: two, processors: 8, ends: ["two:a"]}
links:
  - from: a
    to: b
    mover: write
    latency: 60 us
    send_overhead: 20 us
    receive_overhead: 30.5 us
    send_rate: 100 MB/s
    gap: 55 us
    bandwidth: 5 MB/s
    burst: 9 kB
    samples:
      - {benchmark: ping-pong, bytes: 8 B, count: 100, min: 100 us, median: 110 us, p99: 150 us}
  - {from: b, to: "two:a", mover: tcp, latency: 0, send_overhead: 0, receive_overhead: 0, gap: 0,
     bandwidth: 1 Gb/s, staging: 1 GB/s}
)"};
  return texts;
}

/// Every way between ends of the file that have the mover can be asked for.
void require_ways(const Measured& measured, const std::string& text) {
  for (const params::MeasuredLink& one : measured.links) {
    for (const params::MeasuredLink& other : measured.links) {
      if (one.mover == other.mover) {
        const params::MeasuredLink way = link_between(measured, one.from, other.to, one.mover);
        require(way.bandwidth > Bandwidth(), "a way without bandwidth", text);
        require(way.latency >= Duration() && way.burst >= Bytes(), "a way below nothing", text);
      }
    }
  }
}

void parameters_text(Random& random) {
  const std::string text = mutate(random, documents(),
                                  {"links",
                                   "machines",
                                   "- ",
                                   "{",
                                   "}",
                                   "[",
                                   "]",
                                   ": ",
                                   "\n",
                                   "\"",
                                   "a",
                                   "b",
                                   "two:a",
                                   "0",
                                   "1 h",
                                   "1 b/s",
                                   "9223372036854775807 B",
                                   "write",
                                   "shm",
                                   "burst",
                                   "staging"});
  Problems problems;
  const Measured measured = params::parse_measured(text, "f.yaml", problems);
  require_good_problems(problems, "f.yaml", text);
  if (!problems.empty()) {
    return;
  }
  Problems again;
  const std::string written = to_yaml(measured);
  const Measured back = params::parse_measured(written, "f.yaml", again);
  require(again.empty(), "a written file is refused", written);
  require(to_yaml(back) == written, "a written file comes back otherwise", written);
  require_ways(measured, text);
}

}  // namespace

std::vector<Fuzzer> params_fuzzers() {
  return {{"parameters_text",
           "a parameter file is refused with places, or comes back as it was written", 3000,
           &parameters_text}};
}

}  // namespace busbw::fuzz
