// What the CPU adds to a call: kernels of a process's GPUs one after the other, and a framework's
// events. Times worked by hand from the catalogue, beside public logs.
#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "scenarios/plan.h"
#include "tests/scenarios/library.h"

namespace busbw::scenarios {
namespace {

/// Time of one call on one host.
Duration time_of(const std::string& release, const std::string& machine,
                 const std::string& workload) {
  Problems problems;
  const Scenario scenario = parse_scenario(
      fmt::format(
          "schema: busbw.scenario/1\nname: s\nnccl: {}\ncluster: {{hosts: 1, machine: {}}}\n"
          "workload: {{{}}}\n",
          release, machine, workload),
      "s.yaml", library(), problems);
  problems.throw_if_any();
  const Variant& variant = scenario.variants.front();
  const Plan plan = make_plan(variant, decide(variant, library().catalog));
  Fingerprint unused;
  return simulate_sizes(variant, plan, context(), EngineChoice{}, unused).front().chosen.time;
}

double off(Duration time, double measured_us) {
  return std::abs(time.as_us() / measured_us - 1);
}

// Eight kernels of 4.6 us and, before 2.22, 0.25 us for each channel of each: 38.8 us with one
// channel, 84.8 with 24. SuperBench's log of eight A100 has 34.8 us for 8 bytes, 36.0 for 8 KiB and
// 75.5 for 1 MiB: its CPU is one of the quickest of seven sites.
TEST(HostWork, OneProcessHandsItsKernelsOverOneAfterTheOther) {
  const std::string one = ", gpus_per_process: 8";
  const Duration small =
      time_of("2.18.6", "dgx-a100", "collective: all_reduce, sizes: [8 B]" + one);
  EXPECT_EQ(small.ps(), 38'800'000);
  EXPECT_LE(off(small, 34.8), 0.12);
  EXPECT_EQ(time_of("2.18.6", "dgx-a100", "collective: all_reduce, sizes: [8 KiB]" + one), small);
  const Duration large =
      time_of("2.18.6", "dgx-a100", "collective: all_reduce, sizes: [1 MiB]" + one);
  EXPECT_EQ(large.ps(), 84'800'000);
  EXPECT_LE(off(large, 75.5), 0.13);
  // Later releases have the work in the kernel's arguments: 8 x 4.63 us, measured 34.0 on H100.
  const Duration newer =
      time_of("2.28.9", "dgx-h100", "collective: all_reduce, sizes: [8 B]" + one);
  EXPECT_EQ(newer.ps(), 37'040'000);
  EXPECT_LE(off(newer, 34.0), 0.10);
}

// Behind a call that takes longer the kernels hide, but not the work that is uploaded: 48 us of 24
// channels on eight GPUs, 6 on one. SuperBench's broadcast of 64 MiB takes 374.6 us, its all-reduce
// of 8 MiB 161.
TEST(HostWork, UploadsOfOlderReleasesDoNotHide) {
  const auto both = [](const std::string& workload) {
    const Duration side_by_side = time_of("2.18.6", "dgx-a100", workload);
    const Duration one = time_of("2.18.6", "dgx-a100", workload + ", gpus_per_process: 8");
    EXPECT_EQ((one - side_by_side).ps(), std::int64_t{24} * 250'000 * 7) << workload;
    return one;
  };
  EXPECT_LE(off(both("collective: broadcast, sizes: [64 MiB]"), 374.6), 0.07);
  EXPECT_LE(off(both("collective: all_reduce, sizes: [8 MiB]"), 161.0), 0.07);
}

// One process a GPU has 12.9 us on eight H100 (AWS, p5), and a large call hides the launch.
TEST(HostWork, ProcessesLaunchSideBySideAndBehindALargeCall) {
  EXPECT_LE(off(time_of("2.28.9", "dgx-h100", "collective: all_reduce, sizes: [8 B]"), 12.9), 0.05);
  EXPECT_EQ(
      time_of("2.28.9", "dgx-h100", "collective: all_reduce, sizes: [64 MiB], gpus_per_process: 8"),
      time_of("2.28.9", "dgx-h100", "collective: all_reduce, sizes: [64 MiB]"));
}

TEST(HostWork, EventsAroundOneCallComeOnTop) {
  const std::string size = "collective: all_reduce, sizes: [64 KiB]";
  const Duration in_a_row = time_of("2.28.9", "dgx-h100", size + ", timing: back to back");
  EXPECT_EQ(time_of("2.28.9", "dgx-h100", size + ", timing: alone") - in_a_row,
            Duration::microseconds(23));
}

// NVLS on eight B200 (Google's A4): 80.3 us for 8 MiB, 110.5 for 16, 714.7 for 256.
TEST(Steps, OfANewerGenerationTakeLonger) {
  EXPECT_LE(off(time_of("2.27.7", "dgx-b200", "collective: all_reduce, sizes: [8 MiB]"), 80.3),
            0.06);
  EXPECT_LE(off(time_of("2.27.7", "dgx-b200", "collective: all_reduce, sizes: [16 MiB]"), 110.5),
            0.06);
  EXPECT_LE(off(time_of("2.27.7", "dgx-b200", "collective: all_reduce, sizes: [256 MiB]"), 714.7),
            0.06);
}

}  // namespace
}  // namespace busbw::scenarios
