// The worth of fixes whose gain can be computed from what the files say.
#pragma once
#include <vector>

#include "models/diagnosis/finding.h"
#include "models/facts/fact.h"

namespace busbw::tools {

/// Fills in `expected` of the likeliest findings: what was measured with nccl-tests, times the
/// ratio of the predictions for the found system and the fixed one; without a measurement the two
/// predictions. Data on sockets beside an HCA: in algbw; all else in
/// busbw: GPUDirect off, ACS or IOMMU, narrow PCIe, HCAs that are not used, and variables that the
/// fix sets or unsets. Needs the catalogue. Left out: findings for which rates, ranks or GPUs are
/// missing, jobs that do not run, and fixes that the model gives less than 2 % for.
void add_worth(std::vector<diagnosis::Finding>& findings, const facts::FactStore& store);

}  // namespace busbw::tools
