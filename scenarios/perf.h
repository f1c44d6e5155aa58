// A collective over equal hosts, size by size, as nccl-tests runs it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/equal_hosts.h"
#include "scenarios/result.h"
#include "scenarios/simulate.h"

namespace busbw::scenarios {

struct PerfRequest {
  topologies::Machine machine;
  HostsOptions hosts;
  nccl::Environment environment;
  nccl::Version version = nccl::kNewest;
  collectives::Collective collective = collectives::Collective::kAllReduce;
  std::string type = "float";
  Bytes element = Bytes(4);
  std::vector<Bytes> sizes;  // as asked for: ascending
  EngineChoice engine;
};

struct PerfResult {
  Variant variant;
  nccl::Decision decision;
  std::int32_t ranks = 1;
  std::vector<SizeResult> sizes;
  std::vector<Bytes> empty;          // asked for, but nothing is left of them
  std::optional<std::string> error;  // the job does not run
  std::vector<std::string> remarks;  // sizes whose choice is not played
  double average_busbw_GBps = 0;     // over the sizes, as nccl-tests gives it
};

/// The size and count that nccl-tests runs when `bytes` is asked for: with one part a rank
/// (all_gather, reduce_scatter, alltoall, gather, scatter) the part is rounded down to 16 bytes.
/// Count is that of one part there. Source: nccl-tests 2.13 to 2.17, src/*.cu, GetCollByteCount.
struct TestSize {
  Bytes bytes;  // may be 0
  std::int64_t count = 0;
};
TestSize test_size(collectives::Collective collective, Bytes bytes, Bytes element,
                   std::int32_t ranks);

/// Decides and predicts. Throws InputError for what cannot be played.
PerfResult perf(const PerfRequest& request, const Context& context);

}  // namespace busbw::scenarios
