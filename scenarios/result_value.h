// A result as a tree of plain data (JSON) and as CSV.
#pragma once
#include <string>

#include "scenarios/result.h"
#include "sim/core/value.h"

namespace busbw::scenarios {

/// Keys, in order: schema, scenario, title, engine, seed, variants[] {name, title, environment,
/// nccl, decision {bootstrap_interface, network, data_devices[], channels, channel_devices[],
/// reasons[], warnings[]}, outcome, error, results[] {collective, bytes, type count, algorithm,
/// protocol, channels, time_us, algbw_GBps, busbw_GBps, bottleneck, candidates[], measured},
/// training, training_alternatives[], checks[], notes[]}, comparison[], training_assumptions[],
/// bytes_per_sync, notes[], fingerprint. What does not exist is null or [].
Value to_value(const Result& result);

/// One of `results[]` above.
Value to_value(const SizeResult& size);

/// One line per variant and size, a header first: variant, outcome, collective, bytes, algorithm,
/// protocol, time_us, algbw_GBps, busbw_GBps, bottleneck, utilization, measured_time_us.
std::string to_csv(const Result& result);

/// A name in CSV: quoted when it holds a comma, a quote or a line end (RFC 4180).
std::string csv_field(const std::string& text);

}  // namespace busbw::scenarios
