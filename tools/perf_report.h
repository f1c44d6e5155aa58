// The answer of `busbw perf` as text, JSON, CSV and plot.
#pragma once
#include <string>

#include "scenarios/perf.h"
#include "sim/core/value.h"

namespace busbw::tools {

/// A head in '#' lines, nccl-tests' table with choice and bottleneck, the average.
std::string perf_text(const scenarios::PerfRequest& request, const scenarios::PerfResult& result,
                      bool colour);
/// Schema busbw.perf/1: machine, nodes, ranks, nccl_version, environment, network, devices,
/// collective, type, error, results[] (as busbw.run/1), average_busbw_GBps, empty_bytes[],
/// remarks[].
Value perf_value(const scenarios::PerfRequest& request, const scenarios::PerfResult& result);
/// collective, bytes, count, time_us, algbw_GBps, busbw_GBps, algorithm, protocol, channels,
/// bottleneck, utilization.
std::string perf_csv(const scenarios::PerfResult& result);
/// SVG of bus bandwidth over size, a series for each choice.
std::string perf_plot(const scenarios::PerfRequest& request, const scenarios::PerfResult& result);

}  // namespace busbw::tools
