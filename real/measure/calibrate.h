// Calibration: the micro-benchmarks between pairs of ranks, and the LogGP parameters that follow.
//
// Each network of the order has an end a rank: its device, its interface, or memory. Measured are
// all ordered pairs of up to kAllPairs ends; of more ends each to the next in order of the ranks,
// the last to the first, so that each sends once and receives once, unless the order asks for all.
// Ranks that have the same device of one machine are one end, measured once. Pairs are measured one
// after the other; the other ranks sleep.
//
// For each pair: ping-pong, stream and load (pair.h) with messages of kSmall, kMedium and kLarge
// bytes; the fit is models/params/loggp.h. A load is a computation that takes kLoadFactor times the
// interval of the stream for each message, so that the link never waits for the processor.
#pragma once
#include <memory>

#include "models/params/measured.h"
#include "real/launch/session.h"
#include "real/measure/task.h"
#include "real/verbs/api.h"

namespace busbw::real {

constexpr std::int32_t kAllPairs = 4;
constexpr Bytes kSmall = Bytes(8);
constexpr Bytes kMedium = Bytes::kib(8);
constexpr Bytes kLarge = Bytes::kib(64);
constexpr double kLoadFactor = 1.5;

/// Every rank calls it with the same task and gets the same parameters. `order.iterations` round
/// trips of kSmall a pair, the longer messages fewer times. Throws SystemError as session and
/// movers do.
params::Measured calibrate(Session& session, const Task& order,
                           const std::shared_ptr<verbs::Api>& api, const Progress& progress);

/// Ordered pairs of `ends` ends that are measured; see above.
std::vector<std::pair<std::int32_t, std::int32_t>> calibrated_pairs(std::int32_t ends,
                                                                    bool all_pairs);

/// The mover of a network order of one kind (not kAuto).
params::MoverKind mover_of(const NetworkOrder& order);

}  // namespace busbw::real
