// The training part of a result: solves the one unknown, then predicts the step of every variant.
//
// The time of a synchronisation comes from the simulated sizes of the variant: linear between two
// of them, beyond the largest in proportion to it, below the smallest its time. So a scenario with
// training should list a size near its bytes per synchronisation.
#pragma once
#include "scenarios/result.h"
#include "scenarios/spec/scenario.h"

namespace busbw::scenarios {

/// Fills training, alternatives and the solved bytes of `result`, whose variants stand in the order
/// of the scenario's. Variants that do not run get none. Throws InputError when the observation
/// cannot be met by any number of bytes.
void train(const Scenario& scenario, Result& result);

}  // namespace busbw::scenarios
