// Threads of a block and the channels that a call's data is worth.
//
// Source: NCCL 2.18 to 2.30.7, src/graph/tuning.cc (threads, thresholds) and src/enqueue.cc
// (channels of a call).
#pragma once
#include "models/nccl/environment.h"
#include "models/nccl/graph/tuning.h"

namespace busbw::nccl::graph {

bool is_collnet(Algorithm algorithm);

/// Fills most_threads and bytes_per_thread: NCCL_NTHREADS, NCCL_LL128_NTHREADS,
/// NCCL_THREAD_THRESHOLDS.
void set_threads(Tuning& tuning, const Communicator& comm, const Environment& environment);

/// Channels that the call's bytes are worth: each thread wants its share.
int channels_for(const Tuning& tuning, const Communicator& comm, const Switches& switches,
                 const Choice& call);

}  // namespace busbw::nccl::graph
