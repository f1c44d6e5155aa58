// Parameters of a network as micro-benchmarks measure them, in the sense of LogGP: latency L,
// overhead o, gap g and gap a byte G (here its inverse, the bandwidth) of each way between two
// ends. Plain values, their YAML file (docs/formats/parameters.md) and how it is written; how each
// follows from a measurement is in loggp.h.
//
// Beyond LogGP: what the processor does for each byte of a message (O of LogGOPS), how many bytes a
// shaper lets pass at once after a pause, a copy that holds a message up as a whole, and how many
// processors the ends of a machine share.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/errors.h"
#include "sim/core/units.h"

namespace busbw::params {

/// How messages move between two ends.
enum class MoverKind : std::uint8_t { kWrite, kRead, kSend, kTcp, kShared };
/// "write", "read", "send", "tcp", "shm".
std::string to_string(MoverKind kind);
std::optional<MoverKind> parse_mover_kind(std::string_view name);

/// What one benchmark gave.
struct Samples {
  std::string benchmark;   // "ping-pong", "stream", "sender load", "receiver load", "read"
  Bytes bytes;             // of a message
  std::int64_t count = 0;  // samples
  Duration min, median, p99;
};

/// One way from an end to another. All times and rates count payload.
struct MeasuredLink {
  std::string from;
  std::string to;  // equal to `from` for memory and loopback: then no port limits it
  MoverKind mover = MoverKind::kWrite;
  Duration latency;                       // L: from the sender's part done to the receiver's begun
  Duration send_overhead;                 // o of the sender's processor, each message
  Duration receive_overhead;              // o of the receiver's
  std::optional<Bandwidth> send_rate;     // 1/O: bytes that the sender's processor handles a second
  std::optional<Bandwidth> receive_rate;  // the receiver's; nothing: bytes cost it nothing
  Duration gap;                           // g: least time from a message's start to the next one's
  Bandwidth bandwidth;                    // 1/G
  Bytes burst;                            // bytes that pass at once after a pause
  std::optional<Bandwidth> staging;       // rate at which a message is held up as a whole
  std::vector<Samples> samples;           // what they follow from
};

/// Ends whose ranks run on the same processors.
struct MeasuredMachine {
  std::string name;
  std::int32_t processors = 1;    // that work at the same time when all ends' ranks do
  std::vector<std::string> ends;  // devices or interfaces; "memory" for shared memory
};

struct Measured {
  std::string source;  // what measured them, where and when
  std::vector<MeasuredMachine> machines;
  std::vector<MeasuredLink> links;
  std::string file;  // that they were read from; not written
};

/// Reads the file in `path`. Adds every problem of the file to `problems`; the result is usable
/// only when there was none.
Measured load_measured(const std::string& path, Problems& problems);
/// The same from text; `file` names it in messages.
Measured parse_measured(const std::string& text, const std::string& file, Problems& problems);

/// The file: parse_measured() gives the same values back.
std::string to_yaml(const Measured& measured);

/// The machine of an end, or nullptr.
const MeasuredMachine* machine_of(const Measured& measured, std::string_view end);

/// The way from an end to another. One that was not measured is put together from the others of the
/// mover: bandwidth and burst as the best that leave `from` and that reach `to` allow, everything
/// else the mean of those that leave `from` or reach `to`. Throws InputError, with the ends that
/// there are, when an end is unknown for the mover.
MeasuredLink link_between(const Measured& measured, const std::string& from, const std::string& to,
                          MoverKind mover);

/// The best bandwidth and burst of all ways of the mover that leave an end (or reach it): what its
/// port can do. Nothing when there is none.
struct PortLimit {
  Bandwidth bandwidth;
  Bytes burst;
};
std::optional<PortLimit> sending_port(const Measured& measured, std::string_view end,
                                      MoverKind mover);
std::optional<PortLimit> receiving_port(const Measured& measured, std::string_view end,
                                        MoverKind mover);

}  // namespace busbw::params
