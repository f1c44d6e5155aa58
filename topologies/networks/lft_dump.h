// Forwarding tables as OpenSM dumps them (opensm-lfts.dump, ibroute): a block a switch, a line a
// LID. LIDs of the text may differ from those of the subnet: nodes are found by GUID.
#pragma once
#include <string>
#include <string_view>

#include "sim/core/errors.h"
#include "topologies/networks/lfts.h"

namespace busbw::networks {

/// Adds a problem for each line that is none, or names a switch or port that the subnet lacks.
Lfts read_lft_dump(std::string_view text, const std::string& file, const Subnet& subnet,
                   Problems& problems);

/// The same form, LIDs as in the subnet.
std::string write_lft_dump(const Subnet& subnet, const Lfts& lfts);

}  // namespace busbw::networks
