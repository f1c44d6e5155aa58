// Internal to scenarios/accuracy: gives a machine the NICs that a record says.
#pragma once
#include "scenarios/accuracy/describe.h"
#include "topologies/machine.h"

namespace busbw::scenarios::accuracy {

/// Replaces the machine's data NICs unless they are already as said. The new ones hang beside the
/// GPUs, shared out evenly over the places where these hang; on a far socket or CPU when the path
/// from GPU to NIC is said. Sockets get plain interfaces, virtual NICs the names they have in the
/// record.
void place_nics(const SystemFacts& facts, const topologies::Catalog& catalog,
                topologies::Machine& machine);

}  // namespace busbw::scenarios::accuracy
