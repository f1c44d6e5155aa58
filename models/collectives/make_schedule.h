// One entry to all generators: the schedule that a request asks for, or why there is none.
#pragma once
#include <vector>

#include "models/collectives/generate.h"

namespace busbw::collectives {

struct Request {
  Collective collective = Collective::kAllReduce;
  Algorithm algorithm = Algorithm::kRing;
  Shape shape;
  Options options;  // bytes are rounded_bytes()
};

/// The algorithms that there are for a collective, in the order of Algorithm.
std::vector<Algorithm> algorithms_of(Collective collective);

/// Throws InputError with all that is wrong: a collective that the algorithm does not exist for, a
/// shape that lacks what the algorithm walks (rings, trees, hosts), a root that is no rank, hosts
/// of unequal size where they must be equal. Schedule::bytes says the size after rounding. Sizes
/// that no user chooses (chunk, slots, element) are checked as the generators do: CheckFailure.
Schedule make_schedule(const Request& request);

}  // namespace busbw::collectives
