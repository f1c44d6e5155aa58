// What NCCL takes for one size, alone.
#pragma once
#include "scenarios/plan.h"
#include "scenarios/simulate.h"

namespace busbw::scenarios {

/// Larger sizes are in a steady state: they take as much more as the second half of this size.
constexpr Bytes kLargestPlayed = Bytes::gib(2);

/// Plays the candidate that NCCL chooses for `bytes`, without the ones beside it, which saves half
/// of the time; `passed_over` says what NCCL takes when that is not played. Elements of one byte
/// when the size is no whole number of the workload's. Throws InputError as simulate_sizes() does.
SizeResult simulate_choice(const Variant& variant, const Plan& plan, const Context& context,
                           engine::Kind engine, Bytes bytes);

}  // namespace busbw::scenarios
