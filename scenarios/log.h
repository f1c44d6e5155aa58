// The log that NCCL would print about its decision.
#pragma once
#include <cstddef>
#include <string>

#include "scenarios/job.h"
#include "scenarios/spec/scenario.h"

namespace busbw::scenarios {

/// Start-up lines of rank 0 as NCCL_DEBUG=INFO shows them ("node0:1:1 [0] NCCL INFO ..."), filtered
/// by NCCL_DEBUG and NCCL_DEBUG_SUBSYS of the variant, up to the error if the job does not run.
/// Process numbers are fixed: nothing of a real run is claimed.
std::string nccl_log(const Variant& variant, const Job& job);

/// The same of every rank of host `host` (from 0), one rank after the other.
std::string host_log(const Variant& variant, const Job& job, std::size_t host);

}  // namespace busbw::scenarios
