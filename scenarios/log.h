// The log that NCCL would print about its decision with NCCL_DEBUG=INFO.
#pragma once
#include <string>

#include "scenarios/result.h"

namespace busbw::scenarios {

/// Lines of rank 0's host "node0:1:1 [0] NCCL INFO ...": what the selection logs, then the
/// channels' rings and the trees of rank 0. Process numbers are 1: nothing of a real run is
/// claimed.
std::string nccl_log(const VariantResult& variant);

}  // namespace busbw::scenarios
