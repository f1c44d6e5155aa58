// The micro-benchmarks of a pair, and the table's figures. See micro.h.
#include "real/measure/micro.h"

#include <algorithm>

#include "real/measure/measure.h"
#include "real/measure/network.h"
#include "real/measure/pair.h"
#include "sim/core/check.h"
#include "sim/core/errors.h"

namespace busbw::real {
namespace {

/// `depth` messages in flight, fewer where their slots would take more than this much memory.
constexpr std::int64_t kMostSlotBytes = 64 << 20;
std::int32_t slots_of(std::int32_t depth, Bytes size) {
  return static_cast<std::int32_t>(
      std::clamp<std::int64_t>(kMostSlotBytes / size.count(), 2, std::max(2, depth)));
}

/// Two ranks, for messages of one size.
Pair make_pair(Session& session, const Task& task, const std::shared_ptr<verbs::Api>& api,
               Bytes size) {
  const MicroOrder& micro = *task.micro;
  PairOptions options;
  options.network = micro.network;
  if (micro.kind == MicroKind::kSendLatency)
    options.network.method = VerbsMethod::kSend;
  if (micro.kind == MicroKind::kWriteBandwidth) {
    options.network.method = VerbsMethod::kWrite;
    options.slots = slots_of(micro.depth, size);
  }
  options.largest = size;
  options.timeout_ms = task.timeout_ms;
  return {session, options, api};
}

MicroPoint point_of(Bytes size, std::int32_t iterations, const std::vector<double>& times) {
  MicroPoint point;
  point.bytes = size;
  point.iterations = iterations;
  if (!times.empty()) {
    point.min_us = quantile(times, 0);
    point.median_us = quantile(times, 0.5);
    point.p99_us = quantile(times, 0.99);
  }
  return point;
}

}  // namespace

MicroResult run_micro(Session& session, const Task& order, const std::shared_ptr<verbs::Api>& api) {
  const Task task = settle_completion(session, order);
  CHECK(task.micro.has_value() && !task.micro->sizes.empty(), "no micro-benchmark");
  const MicroOrder& micro = *task.micro;
  MicroResult result;
  result.kind = micro.kind;
  if (session.size() != 2) {
    throw InputError(to_string(micro.kind) + " needs 2 ranks, " + std::to_string(session.size()) +
                     " were started");
  }
  if (micro.kind == MicroKind::kReadLatency) {
    const ReadLatencies found = read_latencies(session, task, api);
    result.network = found.network;
    for (std::size_t size = 0; size < found.times_us.size(); ++size)
      result.points.push_back(point_of(micro.sizes[size], task.iterations, found.times_us[size]));
    return result;
  }
  const Repeats repeats{task.warmup, task.iterations};
  for (const Bytes size : micro.sizes) {
    Pair pair = make_pair(session, task, api, size);
    tell_others(session, [&] {
      result.network = pair.network();
      if (micro.kind != MicroKind::kWriteBandwidth) {
        result.points.push_back(point_of(size, task.iterations, pair.ping_pong(size, repeats)));
      } else {
        const Pair::Stream stream = pair.stream(size, repeats);
        MicroPoint point = point_of(size, task.iterations, stream.times_us);
        point.GBps = static_cast<double>(size.count()) * task.iterations / stream.total_us / 1e3;
        result.points.push_back(point);
      }
      session.barrier();  // before the mover goes
    });
  }
  return result;
}

}  // namespace busbw::real
