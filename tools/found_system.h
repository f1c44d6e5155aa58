// The system that a user's files show, as a measurement record of that system would describe it, so
// that the model can build it.
#pragma once
#include <optional>

#include "models/facts/fact.h"
#include "scenarios/accuracy/record.h"
#include "scenarios/spec/load.h"

namespace busbw::tools {

/// How many GPUs of how many hosts take part: from the ranks that nccl-tests lists, from NCCL's own
/// counts, or from its ranks and the GPUs of `nvidia-smi topo -m` or the hosts of the logs.
/// Nothing when the files do not say, or contradict each other.
struct FoundRanks {
  std::int32_t hosts = 0;
  std::int32_t gpus = 0;  // of each
};
std::optional<FoundRanks> found_ranks(const facts::FactStore& store);

/// GPUs, NVLink, PCIe, HCAs in use, conditions and environment as they were found, with one point:
/// the largest size of nccl-tests' table, or 1 GiB without figures. GPUs that are not named are
/// those of the first machine of the catalogue with as many and an HCA; `notes` says so.
/// Nothing without ranks, on several hosts without a port's rate, and for networks that are not
/// RDMA.
std::optional<scenarios::accuracy::Record> found_system(const facts::FactStore& store,
                                                        const scenarios::Library& library);

/// Of the HCA ports of a host, the largest number over hosts: in use by NCCL's log (or active), and
/// there at all with the link layer of those.
struct FoundPorts {
  std::int32_t used = 0;
  std::int32_t there = 0;
};
FoundPorts found_ports(const facts::FactStore& store);

}  // namespace busbw::tools
