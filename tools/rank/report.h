// What rank 0 prints: nccl-tests' table for collectives, perftest's for two ranks, and JSON.
#pragma once
#include <string>
#include <vector>

#include "models/params/measured.h"
#include "real/measure/measure.h"
#include "real/measure/micro.h"
#include "real/measure/task.h"
#include "sim/core/value.h"

namespace busbw::tools {

std::string format_measured(const real::Task& task,
                            const std::vector<real::SectionResult>& results);
std::string format_micro(const real::Task& task, const real::MicroResult& result);
std::string format_calibration(const real::Task& task, const params::Measured& measured);

/// Schema busbw.measure/1: warmup, iterations, barrier, in_place, remarks[], sections[] {title,
/// network, collective, ranks, type, redop, results[] {bytes, count, root, algorithm, channels,
/// time_us {min, median, max}, algbw_GBps, busbw_GBps, wrong}}.
Value measured_value(const real::Task& task, const std::vector<real::SectionResult>& results);
/// Schema busbw.micro/1: benchmark, network, results[] {bytes, iterations, min_us, median_us,
/// p99_us, GBps, messages_per_s}; the last two are null but for write-bw.
Value micro_value(const real::Task& task, const real::MicroResult& result);
/// Schema busbw.calibrate/1: source, machines[] {name, processors, ends[]}, links[] {from, to,
/// mover, latency_us, send_overhead_us, receive_overhead_us, send_GBps, receive_GBps, gap_us,
/// bandwidth_GBps, burst_bytes, staging_GBps, samples[] {benchmark, bytes, count, min_us,
/// median_us, p99_us}}; rates that were not found are null.
Value calibration_value(const params::Measured& measured);

}  // namespace busbw::tools
