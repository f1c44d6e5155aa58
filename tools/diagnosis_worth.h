// The worth of fixes whose gain can be computed from what the files say.
#pragma once
#include <vector>

#include "models/diagnosis/finding.h"
#include "models/facts/fact.h"

namespace busbw::tools {

/// Fills in `expected` of findings on data that goes over sockets beside an HCA: what was measured
/// with nccl-tests, and that times the ratio of the predictions. Needs the catalogue; leaves out
/// what rates, ranks or sizes are missing for.
void add_worth(std::vector<diagnosis::Finding>& findings, const facts::FactStore& store);

}  // namespace busbw::tools
