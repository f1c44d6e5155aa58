// What simulate() found: plain values, printed by tools as tables, JSON and CSV.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/collectives/schedule.h"
#include "models/nccl/selection.h"
#include "models/params/params.h"
#include "scenarios/spec/scenario.h"
#include "sim/core/units.h"

namespace busbw::scenarios {

/// The link that carried most of what it could.
struct Bottleneck {
  std::string link;        // name of the engine link; empty when nothing moved
  Bandwidth capacity;      // payload rate
  double utilization = 0;  // carried / (capacity x time), 0 to 1
};

/// A link with what it carried during a call.
struct HotLink {
  std::string link;    // name of the engine link
  Bandwidth capacity;  // payload rate
  Bytes carried;
  double utilization = 0;                        // carried / (capacity x time)
  std::vector<std::pair<RankId, RankId>> users;  // connections that share it, from and to
};

/// Something that happened, for people.
struct Happening {
  Duration at;  // after the call
  std::string text;
};

/// A line that a rank prints.
struct TimedLine {
  Duration at;  // after the call
  std::int32_t rank = 0;
  std::string text;
};

/// What a call came to during which something went wrong. asked == arrived + lost.
struct FaultOutcome {
  bool completed = true;
  bool hangs = false;  // nobody ends it
  Duration end;        // of the call, or when it was given up; of one that hangs, the first failure
  Bytes asked;         // payload of all messages of the schedule
  Bytes arrived;
  Bytes lost;
  std::vector<Happening> happenings;
  std::vector<TimedLine> lines;
};

/// One collective played with one algorithm and protocol.
struct Run {
  collectives::Algorithm algorithm = collectives::Algorithm::kRing;
  params::Protocol protocol = params::Protocol::kSimple;
  std::int32_t channels = 1;
  Duration time;     // of one call of many back to back, as nccl-tests takes it
  Duration latency;  // of one call alone, to the end of the last rank
  Bottleneck bottleneck;
  std::vector<HotLink> hottest;  // as many as were asked for, see Context
  std::int64_t messages = 0;
  Bytes leaving_host;  // payload that goes to other hosts, from the host with the most
  std::optional<std::string> failure;  // a connection over a link that is down
  std::optional<FaultOutcome> faults;  // where the variant has events
  /// From what the time was extrapolated, "4 and 8 hosts, 1 GiB and 2 GiB"; empty: every message
  /// was played.
  std::string steady;
  /// Why the engine did the one or the other: "72 ranks are more than 64".
  std::string level_why;
};

/// One size: the run that NCCL chooses, and the others beside it.
struct SizeResult {
  collectives::Collective collective = collectives::Collective::kAllReduce;
  Bytes bytes;
  std::int64_t count = 0;  // elements
  Run chosen;
  std::vector<Run> runs;                   // the chosen one first
  std::optional<std::string> passed_over;  // what NCCL takes when that is not played
  double algbw_GBps = 0;
  double busbw_GBps = 0;
  std::optional<Duration> measured;
  bool measured_noisy = false;
  std::optional<double> difference_percent;  // predicted time / measured time - 1
};

struct TrainingResult {
  std::string name;  // "" or the name of the alternative assumption
  double samples_per_second = 0;
  Duration step;
  Duration compute;
  Duration communication;          // of one sync, alone
  Duration exposed_communication;  // of a whole step
  double scaling_efficiency = 0;   // samples/s over ranks x samples/s of one GPU
};

/// A bound that the file names and the run missed, or met.
struct Check {
  std::string what;  // "outcome", "time of 1 GiB"
  bool met = false;
  std::string text;  // "912.4 ms, 6.9 % below the measured 980.5 ms; allowed 12 %"
};

struct VariantResult {
  std::string name;
  std::string title;
  nccl::Environment environment;
  nccl::Version version;
  nccl::Decision decision;
  std::string outcome;  // runs, error, hang
  std::optional<std::string> error;
  std::string type;                        // of the elements, for the table
  std::vector<std::string> channel_rings;  // "0 3 2 1 4 7 6 5" per channel
  std::string nccl_log;                    // start-up log of rank 0, when asked for
  std::optional<std::string> parameters;   // file with the measured parameters that were used
  std::vector<SizeResult> results;
  std::vector<SizeResult> failed;  // sizes whose call did not end well
  std::optional<Bytes> crossover;  // see crossover.h
  std::optional<TrainingResult> training;
  std::vector<TrainingResult> alternatives;
  std::vector<std::string> remarks;  // facts about this run for people
  std::vector<Check> checks;
  std::vector<Note> notes;
  std::optional<Measured> measured;
};

/// One variant against the first one that runs.
struct Comparison {
  std::string variant;
  std::string outcome;
  std::string network;
  std::string devices;
  std::optional<Bytes> bytes;  // the largest size
  std::optional<Duration> time;
  std::optional<double> busbw_GBps;
  std::optional<double> speedup;  // against the base
  std::optional<double> samples_per_second;
  std::optional<double> scaling_efficiency;
};

struct Result {
  std::string scenario;
  std::string title;
  std::string file;
  std::string description;
  std::string estimate;
  std::string engine;
  std::string engine_line;  // as engine_text() says it, of all variants
  std::uint64_t seed = 0;
  std::vector<VariantResult> variants;
  std::vector<Comparison> comparison;
  std::optional<Bytes> solved_bytes_per_sync;
  std::vector<std::string> training_assumptions;
  std::vector<std::string> training_remarks;
  std::vector<Note> notes;
  std::string fingerprint;
};

}  // namespace busbw::scenarios
