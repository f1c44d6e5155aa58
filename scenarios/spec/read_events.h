// The section 'events' of a scenario. Internal to this folder.
#pragma once
#include <vector>

#include "scenarios/spec/fault.h"
#include "sim/core/yaml.h"
#include "topologies/build.h"

namespace busbw::scenarios {

/// Which keys an event needs and may have follows from its kind.
std::vector<Fault> read_events(const YamlNode& list, Problems& problems);

/// What of an event can be said before the fabric is built: hosts, GPUs, NICs and networks that
/// `cluster` has not.
void check_events(const std::vector<Fault>& events, const topologies::Cluster& cluster,
                  Problems& problems);

}  // namespace busbw::scenarios
