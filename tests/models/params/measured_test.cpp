// The parameter file: what is read, written and refused, and ways that were not measured.
#include "models/params/measured.h"

#include <gtest/gtest.h>

namespace busbw::params {
namespace {

constexpr Duration us(std::int64_t count) {
  return Duration::microseconds(count);
}

constexpr const char* kFile = R"(schema: busbw.parameters/1
source: by hand
machines:
  - {name: node1, processors: 1, ends: [rxe0, rxe1]}
  - {name: node2, processors: 8, ends: [rxe2]}
links:
  - from: rxe0
    to: rxe1
    mover: write
    latency: 60 us
    send_overhead: 20 us
    receive_overhead: 30 us
    send_rate: 100 MB/s
    gap: 55 us
    bandwidth: 5 MB/s
    burst: 9 kB
    samples:
      - {benchmark: ping-pong, bytes: 8 B, count: 100, min: 100 us, median: 110 us, p99: 150 us}
  - {from: rxe0, to: rxe2, mover: write, latency: 80 us, send_overhead: 40 us, receive_overhead: 0,
     gap: 65 us, bandwidth: 500 kB/s, send_rate: 50 MB/s, burst: 3 kB}
  - {from: rxe2, to: rxe0, mover: write, latency: 70 us, send_overhead: 1 us,
     receive_overhead: 2 us, gap: 75 us, bandwidth: 2 MB/s, staging: 1 GB/s}
)";

Measured read(const std::string& text) {
  Problems problems;
  Measured measured = parse_measured(text, "p.yaml", problems);
  problems.throw_if_any();
  return measured;
}

std::string problems_of(const std::string& text) {
  Problems problems;
  static_cast<void>(parse_measured(text, "p.yaml", problems));
  try {
    problems.throw_if_any();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(MeasuredFile, IsRead) {
  const Measured measured = read(kFile);
  EXPECT_EQ(measured.source, "by hand");
  EXPECT_EQ(measured.file, "p.yaml");
  ASSERT_EQ(measured.machines.size(), 2U);
  EXPECT_EQ(measured.machines[1].processors, 8);
  ASSERT_EQ(measured.links.size(), 3U);
  const MeasuredLink& link = measured.links.front();
  EXPECT_EQ(link.from, "rxe0");
  EXPECT_EQ(link.to, "rxe1");
  EXPECT_EQ(link.mover, MoverKind::kWrite);
  EXPECT_EQ(link.latency, us(60));
  EXPECT_EQ(link.send_overhead, us(20));
  EXPECT_EQ(link.receive_overhead, us(30));
  EXPECT_EQ(link.send_rate, Bandwidth::megabits_per_second(800));
  EXPECT_EQ(link.receive_rate, std::nullopt);
  EXPECT_EQ(link.gap, us(55));
  EXPECT_EQ(link.bandwidth, Bandwidth::megabits_per_second(40));
  EXPECT_EQ(link.burst, Bytes(9000));
  EXPECT_EQ(link.staging, std::nullopt);
  ASSERT_EQ(link.samples.size(), 1U);
  EXPECT_EQ(link.samples.front().count, 100);
  EXPECT_EQ(link.samples.front().p99, us(150));
  EXPECT_EQ(measured.links[2].staging, Bandwidth::megabits_per_second(8000));
}

TEST(MeasuredFile, ComesBackAsItWasWritten) {
  Measured measured = read(kFile);
  measured.source = "a \"quoted\" \\ text:\n# with all that YAML minds";
  measured.machines.front().name = "- {x}";
  measured.links.front().latency = Duration::picoseconds(60'123'457);
  measured.links.front().bandwidth = Bandwidth::bits_per_second(39'876'543);
  const Measured again = read(to_yaml(measured));
  EXPECT_EQ(again.source, measured.source);
  EXPECT_EQ(again.machines.front().name, "- {x}");
  EXPECT_EQ(again.links.front().latency.ps(), 60'123'457);
  EXPECT_EQ(again.links.front().bandwidth.bps(), 39'876'543);
  EXPECT_EQ(again.links.front().samples.front().benchmark, "ping-pong");
  EXPECT_EQ(to_yaml(again), to_yaml(measured));
}

TEST(MeasuredFile, EveryProblemIsSaidAtItsPlace) {
  EXPECT_EQ(problems_of(R"(schema: busbw.parameters/2
machines:
  - {name: a, processors: 0, ends: [rxe0, rxe1, rxe0]}
  - {name: b, processors: 1, ends: [rxe1]}
links:
  - {from: rxe0, to: rxe7, mover: wriet, latency: 5, send_overhead: 1 us, receive_overhead: 1 us,
     gap: 1 us, bandwith: 1 Gb/s}
  - {from: rxe0, to: rxe1, mover: tcp, latency: 1 us, send_overhead: 1 us, receive_overhead: 1 us,
     gap: -1 us, bandwidth: 0, send_rate: 0}
  - {from: rxe0, to: rxe1, mover: tcp, latency: 1 us, send_overhead: 1 us, receive_overhead: 1 us,
     gap: 1 us, bandwidth: 1 Gb/s, samples: [{benchmark: x, bytes: 1 B, count: 0, min: 0, max: 0}]}
)"),
            "p.yaml:1:1: error: missing key 'source' in the parameter file\n"
            "p.yaml:1:9: error: 'schema' in the parameter file must be 'busbw.parameters/1', "
            "found 'busbw.parameters/2'; did you mean 'busbw.parameters/1'?\n"
            "p.yaml:3:27: error: 'processors' in a machine must be a whole number from 1 to "
            "65536, found '0'\n"
            "p.yaml:3:36: error: the end 'rxe0' stands in 'machines' twice\n"
            "p.yaml:4:36: error: the end 'rxe1' stands in 'machines' twice\n"
            "p.yaml:6:5: error: missing key 'bandwidth' in a link\n"
            "p.yaml:6:22: error: no machine has the end 'rxe7'; allowed: 'rxe0' or 'rxe1'; "
            "did you mean 'rxe0'?\n"
            "p.yaml:6:35: error: 'mover' in a link must be 'write', 'read', 'send', 'tcp' or "
            "'shm', found 'wriet'; did you mean 'write'?\n"
            "p.yaml:6:51: error: 'latency' in a link: '5' has no unit; allowed: ps ns us ms "
            "s min h\n"
            "p.yaml:7:17: error: unknown key 'bandwith' in a link; did you mean 'bandwidth'?\n"
            "p.yaml:9:11: error: 'gap' in a link: '-1 us' is negative\n"
            "p.yaml:9:29: error: 'bandwidth' in a link must be from 1 kb/s to 1000 Tb/s, found 0 "
            "bit/s\n"
            "p.yaml:9:43: error: 'send_rate' in a link must be from 1 kb/s to 1000 Tb/s, found 0 "
            "bit/s\n"
            "p.yaml:10:5: error: second link from 'rxe0' to 'rxe1' by 'tcp'\n"
            "p.yaml:11:46: error: missing key 'median' in a row of 'samples'\n"
            "p.yaml:11:46: error: missing key 'p99' in a row of 'samples'\n"
            "p.yaml:11:80: error: 'count' in a row of 'samples' must be a whole number from "
            "1 to 1000000000, found '0'\n"
            "p.yaml:11:91: error: unknown key 'max' in a row of 'samples'");
}

TEST(MeasuredFile, TimesThatNoNetworkTakes) {
  std::string text = kFile;
  text.replace(text.find("latency: 60 us"), 14, "latency: 61 min");
  EXPECT_EQ(problems_of(text),
            "p.yaml:10:14: error: 'latency' in a link must be at most 3600 s, found 3660 s");
}

TEST(MeasuredFile, WhatIsNoMapping) {
  EXPECT_EQ(problems_of("[1]"),
            "p.yaml:1:1: error: the parameter file must be a mapping, found a list");
  EXPECT_EQ(problems_of(""),
            "p.yaml:1:1: error: the parameter file must be a mapping, found nothing");
}

TEST(MeasuredWays, AreTakenAsMeasured) {
  const Measured measured = read(kFile);
  EXPECT_EQ(link_between(measured, "rxe0", "rxe2", MoverKind::kWrite).gap, us(65));
  EXPECT_EQ(machine_of(measured, "rxe2")->name, "node2");
  EXPECT_EQ(machine_of(measured, "eth0"), nullptr);
}

TEST(MeasuredWays, PortsDoTheBestOfTheirWays) {
  const Measured measured = read(kFile);
  const auto out = sending_port(measured, "rxe0", MoverKind::kWrite);
  ASSERT_TRUE(out.has_value());
  EXPECT_EQ(out->bandwidth, Bandwidth::megabits_per_second(40));
  EXPECT_EQ(out->burst, Bytes(9000));
  const auto in = receiving_port(measured, "rxe2", MoverKind::kWrite);
  ASSERT_TRUE(in.has_value());
  EXPECT_EQ(in->bandwidth, Bandwidth::megabits_per_second(4));
  EXPECT_FALSE(sending_port(measured, "rxe1", MoverKind::kWrite).has_value());
  EXPECT_FALSE(sending_port(measured, "rxe0", MoverKind::kTcp).has_value());
}

TEST(MeasuredWays, ThatWereNotMeasuredArePutTogether) {
  const Measured measured = read(kFile);
  // Not measured: rxe2 -> rxe1. Of rxe2's sending and rxe1's receiving: rxe2 -> rxe0, rxe0 -> rxe1.
  const MeasuredLink link = link_between(measured, "rxe2", "rxe1", MoverKind::kWrite);
  EXPECT_EQ(link.from, "rxe2");
  EXPECT_EQ(link.to, "rxe1");
  EXPECT_EQ(link.latency, us(65));
  EXPECT_EQ(link.gap, us(65));
  EXPECT_EQ(link.receive_overhead, us(16));
  EXPECT_EQ(link.bandwidth, Bandwidth::megabits_per_second(16));  // 2 MB/s against 5 MB/s
  EXPECT_EQ(link.burst, Bytes(0));                                // of rxe2; rxe1's is 9 kB
  // One of the two has a rate: a byte costs half of it in the mean.
  EXPECT_EQ(link.send_rate, Bandwidth::megabits_per_second(1600));
  EXPECT_EQ(link.staging, Bandwidth::megabits_per_second(16000));
  // rxe1 has never sent: what it received stands for it.
  EXPECT_EQ(link_between(measured, "rxe1", "rxe0", MoverKind::kWrite).bandwidth,
            Bandwidth::megabits_per_second(16));
}

TEST(MeasuredWays, UnknownEndsAndMoversAreNamed) {
  const Measured measured = read(kFile);
  const auto message = [&](const char* from, const char* to, MoverKind mover) {
    try {
      static_cast<void>(link_between(measured, from, to, mover));
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message("rxe0", "rxe3", MoverKind::kWrite),
            "error: p.yaml has no parameters of 'rxe3' for the mover 'write'; allowed: 'rxe0', "
            "'rxe1' or 'rxe2'; did you mean 'rxe0'?");
  EXPECT_EQ(message("rxe0", "rxe1", MoverKind::kTcp),
            "error: p.yaml has no parameters of the mover 'tcp'; it has those of 'write'");
}

TEST(Movers, HaveNames) {
  for (const char* name : {"write", "read", "send", "tcp", "shm"}) {
    EXPECT_EQ(to_string(parse_mover_kind(name).value()), name);
  }
  EXPECT_FALSE(parse_mover_kind("WRITE").has_value());
}

}  // namespace
}  // namespace busbw::params
