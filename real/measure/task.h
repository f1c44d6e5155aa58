// What a rank is told to do: collectives to measure over a network, or a micro-benchmark. Plain
// values, made by the program that starts the ranks and read by each of them.
//
// The bytes (to_bytes) go from busbw to a busbw-rank of the same version; they are checked as they
// are read, and another version is refused.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/collectives/make_schedule.h"
#include "models/nccl/environment.h"
#include "real/executor/element.h"
#include "real/movers/verbs_mover.h"
#include "real/movers/waiter.h"

namespace busbw::real {

enum class NetworkKind : std::uint8_t {
  kAuto,    // as NCCL would choose on this machine: IB, else Socket
  kVerbs,   // IB or RoCE
  kSocket,  // TCP
  kShared   // shared memory alone; all ranks on one host
};
std::string to_string(NetworkKind kind);  // "auto", "verbs", "tcp", "shm"

/// How messages move between ranks.
struct NetworkOrder {
  NetworkKind kind = NetworkKind::kAuto;
  VerbsMethod method = VerbsMethod::kWrite;
  Completion completion = Completion::kAuto;
  bool shared_inside = true;           // shared memory between ranks of one host
  std::vector<std::int32_t> host_of;   // hosts as the scenario has them; empty: the real ones
  std::vector<std::string> device_of;  // per rank its HCA or interface; empty: NCCL's rules alone
  nccl::Environment environment;       // NCCL_* variables: devices, GID index, time-outs
  nccl::Version version = nccl::kNewest;
};

/// One size of a section.
struct MeasurePoint {
  collectives::Algorithm algorithm = collectives::Algorithm::kRing;
  collectives::Options options;  // bytes are rounded_bytes()
  std::int32_t channels = 1;     // of the section's rings or trees that are used
  std::int32_t slots = 8;
};

/// Sizes of one collective over one network.
struct Section {
  std::string title;
  NetworkOrder network;
  collectives::Collective collective = collectives::Collective::kAllReduce;
  ElementType type = ElementType::kFloat;
  Reduction reduction = Reduction::kSum;
  collectives::Shape shape;
  std::vector<MeasurePoint> points;
  std::optional<std::int32_t> warmup;  // in place of the task's
  std::optional<std::int32_t> iterations;
};

/// What make_schedule() is asked for a point: its channels of the section's shape.
collectives::Request request_of(const Section& section, const MeasurePoint& point);

enum class MicroKind : std::uint8_t { kPingPong, kSendLatency, kReadLatency, kWriteBandwidth };
std::string to_string(MicroKind kind);  // "pingpong", "send-lat", "read-lat", "write-bw"

/// A benchmark of two ranks in perftest's manner.
struct MicroOrder {
  MicroKind kind = MicroKind::kPingPong;
  NetworkOrder network;
  std::vector<Bytes> sizes;
  std::int32_t depth = 128;  // messages in flight of write-bw
};

/// Micro-benchmarks of many pairs, from which parameters follow (calibrate.h).
struct CalibrationOrder {
  std::vector<NetworkOrder> networks;  // each measured by itself
  bool all_pairs = false;              // else the neighbours of more than kAllPairs ends
  std::string output;                  // file for the parameters, "-" standard output, "" none
};

struct Task {
  std::vector<Section> sections;
  std::vector<std::string> remarks;  // printed before the results
  std::optional<MicroOrder> micro;
  std::optional<CalibrationOrder> calibration;
  std::int32_t warmup = 5;
  std::int32_t iterations = 20;
  bool barrier = false;  // before each iteration, else they run back to back
  bool in_place = false;
  std::int64_t timeout_ms = 30000;  // how long nothing may happen
  std::string json;                 // file for JSON, "-" for standard output, "" none
  bool colour = false;
  bool quiet = false;     // no report for people
  bool progress = false;  // a line on standard error that says what is being measured
};

/// What is being measured now, for people who wait; called by rank 0 only.
using Progress = std::function<void(const std::string&)>;

std::string to_bytes(const Task& task);
/// Throws SystemError naming `from` for anything but the bytes of this version.
Task task_from_bytes(const std::string& bytes, const std::string& from);

}  // namespace busbw::real
