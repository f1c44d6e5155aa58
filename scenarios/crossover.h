// The size from which the ring is faster than the tree.
#pragma once
#include <optional>
#include <vector>

#include "scenarios/result.h"

namespace busbw::scenarios {

/// The largest size at which the fastest tree and the fastest ring of `sizes` (ascending) change
/// places, tree first: both times are taken as linear between two sizes. Nothing when they do not
/// change places so, or one of them was not played.
std::optional<Bytes> tree_to_ring(const std::vector<SizeResult>& sizes);

}  // namespace busbw::scenarios
