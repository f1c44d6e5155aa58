// A scenario as plain values: what to run, on what, under which settings. Read from YAML by load.h;
// the format is documented in docs/formats/scenario.md.
//
// Every variant is complete: the loader has merged what the file says once with what the variant
// changes, so that simulate() and real measure() need nothing else.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/collectives/schedule.h"
#include "models/nccl/environment.h"
#include "models/nccl/inventory.h"
#include "models/nccl/version.h"
#include "models/params/measured.h"
#include "models/params/traffic.h"
#include "scenarios/spec/fault.h"
#include "sim/core/errors.h"
#include "sim/core/units.h"
#include "topologies/build.h"

namespace busbw::scenarios {

/// The collective to run and its sizes, as nccl-tests would.
struct Workload {
  collectives::Collective collective = collectives::Collective::kAllReduce;
  std::string type = "float";  // nccl-tests' name of the element type
  Bytes element = Bytes(4);
  std::vector<Bytes> sizes;                         // S of nccl-tests, ascending
  std::optional<collectives::Algorithm> algorithm;  // asked for; nothing: as NCCL chooses
  std::int32_t gpus_per_process = 1;                // that one process drives, nccl-tests' -g
  bool timed_alone = false;                         // by a framework's events, not many in a row
  Location where;
};

/// Data-parallel training, one optimizer step = `accumulation` micro-steps.
struct Training {
  std::int64_t batch_per_gpu = 1;         // samples of a micro-step
  std::int64_t accumulation = 1;          // micro-steps per optimizer step
  double samples_per_second_per_gpu = 0;  // one GPU alone, without communication
  bool sync_every_micro_step = true;      // false: no_sync on all but the last
  Ratio overlap{1, 1};  // share of the micro-step behind which communication may hide
  std::optional<Bytes> bytes_per_sync;   // nothing: solved, see below
  std::string solve_variant;             // the variant with the observation
  double solve_samples_per_second = 0;   // the observation
  std::vector<std::string> assumptions;  // said in the report
  Location where;

  /// The same training under another assumption, printed beside it.
  struct Alternative {
    std::string name;
    bool sync_every_micro_step = true;
    Ratio overlap{1, 1};
  };
  std::vector<Alternative> alternatives;
};

/// One value that somebody measured, printed beside the prediction.
struct MeasuredPoint {
  Bytes bytes;
  Duration time;
  bool noisy = false;  // shown, not judged
};

struct Measured {
  std::string source;
  std::vector<MeasuredPoint> points;
  std::optional<double> samples_per_second;
  std::optional<double>
      within_percent;  // a bound on |predicted / measured - 1|; nothing: shown only
  Bytes from;          // the bound holds from this size on
};

/// How real mode runs a variant, where that does not follow from NCCL's rules on the machine.
struct RealRun {
  std::vector<std::string> devices;  // HCA or interface of each host's ranks; empty: NCCL's choice
  std::string method = "write";      // over verbs: write, read, send
  std::string completion = "auto";   // auto, event, poll
  std::optional<std::int32_t> iterations;
  std::optional<std::int32_t> warmup;
  Location where;
};

/// Emulated hosts as tools/soft-roce makes them.
struct SoftRoce {
  struct Shape {
    std::string device;
    Bandwidth rate;
  };
  std::int32_t hosts = 2;
  std::vector<Shape> shapes;
};

/// How near a prediction from measured parameters must come to what is measured.
struct Validation {
  bool judged = true;                 // false: differences are reported only
  Bytes from;                         // points from this size on are judged
  std::vector<std::string> reported;  // variants of which nothing is judged
  double median_percent = 0;          // bounds of |predicted / measured - 1| over the judged points
  double worst_percent = 0;
  struct TimeRatio {  // of two variants, at every judged size that both have
    std::string of;
    std::string over;
    double within_percent = 0;
    Location where;
  };
  std::vector<TimeRatio> ratios;
  std::optional<SoftRoce> soft_roce;  // what the measurement needs
  Location where;
};

/// What the author of the scenario says must come out; a miss gives exit code 1.
struct Expectation {
  std::optional<std::string> outcome;  // runs, error, hang
  std::optional<std::string> network;
  std::optional<std::string> bootstrap_interface;
  std::optional<std::vector<std::string>> data_devices;
  std::optional<std::string> algorithm;
  std::optional<std::string> error_contains;
  Location where;
};

/// Where a claim of somebody's story and NCCL's rules differ.
struct Note {
  std::string story;   // the claim, in our words
  std::string rule;    // what NCCL does
  std::string source;  // public source of the rule
};

struct Variant {
  std::string name;
  std::string title;
  nccl::Environment environment;
  nccl::Version version;
  topologies::Cluster cluster;
  std::vector<nccl::Inventory> inventories;  // per host
  bool collnet = false;                      // the network reduces (SHARP)
  Workload workload;
  std::optional<Training> training;
  std::optional<Measured> measured;
  std::optional<params::Measured> parameters;  // of the network between hosts; else the catalogue's
  std::vector<params::Traffic> traffic;        // by number of Cluster::networks
  std::vector<Fault> events;                   // what goes wrong during a call
  std::optional<Duration> watchdog;            // of the framework; nothing: the catalogue's
  RealRun real;
  Expectation expect;
  std::vector<Note> notes;
  std::vector<std::string>
      remarks;  // contradictions in the tool output that the inventory comes from
  Location where;
};

struct Scenario {
  std::string name;
  std::string title;
  std::string file;
  std::string description;
  std::string estimate;  // back of the envelope: what time to expect and why
  std::vector<Variant> variants;
  std::optional<Validation> validation;
  std::vector<Note> notes;
};

}  // namespace busbw::scenarios
