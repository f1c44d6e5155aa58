// What a fix is worth: the found system is played as it is and as it would be.
//
// Modelled here: equal hosts whose data goes over the sockets of one interface although an HCA is
// there. What the files of a user do not say (the GPUs, the PCIe tree) is taken from the first
// machine of the catalogue with as many GPUs and an InfiniBand HCA; with the network as the limit
// it hardly matters (docs/diagnose.md). Rates of both NICs, hosts, ranks and size are the user's.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "models/nccl/version.h"
#include "scenarios/simulate.h"
#include "scenarios/spec/load.h"

namespace busbw::scenarios {

struct SocketJob {
  std::int32_t hosts = 2;
  std::int32_t gpus = 1;  // of each host
  std::string interface;  // that carries the data
  Bandwidth socket_rate;  // its rate
  Bandwidth hca_rate;     // the HCA's
  Bytes bytes;            // of the all-reduce
  nccl::Version version = nccl::kNewest;
};

struct SocketWorth {
  double sockets_algbw_GBps = 0;
  double rdma_algbw_GBps = 0;
  std::string machine;  // whose GPUs stand for the user's
};

/// Nothing when the catalogue has no such machine, or NCCL does not run the job.
std::optional<SocketWorth> worth_of_rdma(const SocketJob& job, const Library& library,
                                         const Context& context);

}  // namespace busbw::scenarios
