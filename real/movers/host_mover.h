// Two movers as one: shared memory (or another mover) to the ranks of this host, a network to the
// others.
#pragma once
#include <memory>
#include <vector>

#include "real/movers/mover.h"

namespace busbw::real {

/// `same_host[rank]`: the rank lives on this rank's host. All ranks must agree pairwise.
std::unique_ptr<Mover> make_host_mover(std::unique_ptr<Mover> inside,
                                       std::unique_ptr<Mover> between, std::vector<bool> same_host);

}  // namespace busbw::real
