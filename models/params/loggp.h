// From the figures of micro-benchmarks to the parameters of a way between two ends.
//
// LogP: D. Culler et al., "LogP: Towards a Realistic Model of Parallel Computation", PPoPP 1993.
// LogGP, which adds the gap a byte G for long messages: A. Alexandrov et al., "LogGP: Incorporating
// Long Messages into the LogP Model", SPAA 1995. Overhead a byte O: T. Hoefler et al., "LogGOPSim -
// Simulating Large-Scale Applications in the LogGOPS Model", HPDC 2010. That the overhead is what a
// message takes from a processor that computes: D. Culler et al., "Assessing Fast Network
// Interfaces", IEEE Micro 16(1), 1996.
//
// With T(b) half a round trip of b bytes, S(b) the interval of messages of b bytes in a stream, and
// E(b) what a message adds to a computation at one end; b0 < b1 < b2 the three sizes:
//   1/bandwidth = G = S(b2) / b2
//   gap      g = S(b0)
//   overhead o = E(b0) of each end;         O = (E(b1) - E(b0)) / (b1 - b0), 0 where not above 0
//   latency  L = T(b0) - o(sender) - o(receiver), at least 0
//   burst      = b2 - (T(b2) - T(b0)) / G, when a long message is faster than G says
//   staging    = b2 / (T(b2) - T(b0) - b2 G), when it is slower
// Where both ends run on one processor, E of either end is what both do together: half of it counts
// for each. Derivation, and the limits of it: docs/models/loggp.md.
#pragma once
#include "models/params/measured.h"

namespace busbw::params {

/// A figure for each of the three sizes, in order.
struct BySize {
  Duration small, medium, large;
};

struct LogGpFigures {
  Bytes small, medium, large;     // b0 < b1 < b2
  BySize half_round_trip;         // T; of `medium` it is not used
  BySize interval;                // S
  BySize sender_load;             // E of the sender; of `large` it is not used
  BySize receiver_load;           // E of the receiver; of `large` it is not used
  bool shared_processor = false;  // both ends run on one processor
};

/// The parameters, in a link without names. CHECKs the order of the sizes, and that a stream takes
/// time.
MeasuredLink fit_loggp(const LogGpFigures& figures);

/// Processors that work at the same time: `ranks` of them took `together` for what one alone does
/// in `alone`. Rounded, from 1 to ranks.
std::int32_t count_processors(std::int32_t ranks, Duration alone, Duration together);

}  // namespace busbw::params
