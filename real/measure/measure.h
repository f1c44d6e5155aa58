// Runs sections of a task as one rank: each size warmed up, timed, and verified element by element.
//
// Time. Iterations run back to back, as nccl-tests runs them, or each after a barrier. A rank times
// its own call; an iteration takes as long as its slowest rank. Back to back, a rank of a chain
// (broadcast, reduce) may be ahead of the others by the slots of its links: then the time is the
// pipeline's cycle, and with a barrier the way from end to end plus the barrier's spread.
// Left out: GPU buffers; removal of outliers (minimum and median are both given).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "real/launch/session.h"
#include "real/measure/task.h"
#include "real/verbs/api.h"

namespace busbw::real {

struct PointResult {
  collectives::Algorithm algorithm = collectives::Algorithm::kRing;
  Bytes bytes;
  std::int64_t count = 0;  // elements
  std::int32_t root = -1;  // -1: the collective has none
  std::int32_t channels = 1;
  double min_us = 0;  // over the iterations; of an iteration its slowest rank
  double median_us = 0;
  double max_us = 0;
  double algbw_GBps = 0;  // of the median
  double busbw_GBps = 0;
  std::int64_t wrong = 0;   // elements, of all ranks, in the checked runs
  std::string first_wrong;  // "rank 2 element 17 of 1024 is 5, expected 9"
};

struct SectionResult {
  std::string title;
  std::string network;  // "RDMA WRITE on rxe0 port 1 GID index 1"
  collectives::Collective collective = collectives::Collective::kAllReduce;
  ElementType type = ElementType::kFloat;
  Reduction reduction = Reduction::kSum;
  std::int32_t ranks = 1;
  /// Memory registered with the device, once, before the first run: of the rank that took longest.
  verbs::Registration registration;
  std::vector<PointResult> points;
};

/// Every rank calls it with the same task and gets the same results. Throws InputError for shapes
/// that do not fit the ranks, SystemError as session and movers do.
std::vector<SectionResult> measure(Session& session, const Task& order,
                                   const std::shared_ptr<verbs::Api>& api,
                                   const Progress& progress = {});

/// The `share` quantile (0 to 1) of values: the smallest that has at least that share at or below
/// it. Not empty.
double quantile(std::vector<double> values, double share);

}  // namespace busbw::real
