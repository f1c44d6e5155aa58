// The states of HCA ports that follow from their network: a cable that is missing, a subnet manager
// that never came or went too early. NCCL lists no port that is not ACTIVE.
#pragma once
#include "scenarios/spec/scenario.h"
#include "topologies/catalog.h"

namespace busbw::scenarios {

/// DOWN for ports whose cable is missing in the fabric file of their network; INIT where its subnet
/// manager is absent or went before they came up; what `events` say ('ports'). The interface of
/// such a port has no carrier. Other ports keep their state. A fabric that cannot be built changes
/// nothing: topologies::build() reports it.
void set_port_states(const topologies::Catalog& catalog, Variant& variant);

}  // namespace busbw::scenarios
