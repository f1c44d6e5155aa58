// Sections of transports.yaml about what networks do when they are not well. Internal to this
// folder.
#pragma once
#include "models/params/conditions.h"
#include "sim/core/yaml.h"

namespace busbw::params {

Recovery read_recovery(MappingReader& parent);
Congestion read_congestion(MappingReader& parent);

}  // namespace busbw::params
