// Benchmarks of two ranks in the manner of perftest: latency and bandwidth by message size.
//
// pingpong: half a round trip of one message over any mover. send-lat: the same by SEND/RECV
// (ib_send_lat). read-lat: one RDMA READ of the peer's memory, post to completion, the peer idle
// (ib_read_lat). write-bw: messages one way by RDMA WRITE, `depth` of them in flight (ib_write_bw);
// over TCP and shared memory a stream of the same messages. Its clock is the receiver's, from the
// end of the warm-up on. Received bytes stay in their slots. Differences from perftest: WRITE
// carries an immediate and slots come back by credits, as in the collectives; ranks that share a
// processor sleep, and polling yields it.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "real/launch/session.h"
#include "real/measure/task.h"
#include "real/verbs/api.h"

namespace busbw::real {

struct MicroPoint {
  Bytes bytes;
  std::int32_t iterations = 0;
  double min_us = 0;  // a message: half a round trip, a READ, or its share of the stream
  double median_us = 0;
  double p99_us = 0;
  double GBps = 0;  // write-bw: all bytes over all the time; else 0
};

struct MicroResult {
  MicroKind kind = MicroKind::kPingPong;
  std::string network;
  std::vector<MicroPoint> points;
};

/// Both ranks call it; the figures are rank 0's and complete there only. Throws SystemError.
MicroResult run_micro(Session& session, const Task& order, const std::shared_ptr<verbs::Api>& api);

/// RDMA READ latencies of rank 0 in us, `iterations` a size; see micro.h. Used by run_micro().
struct ReadLatencies {
  std::string network;
  std::vector<std::vector<double>> times_us;  // [size]; nothing in them at rank 1
};
ReadLatencies read_latencies(Session& session, const Task& task,
                             const std::shared_ptr<verbs::Api>& api);

}  // namespace busbw::real
