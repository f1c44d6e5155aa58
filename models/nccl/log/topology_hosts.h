// The host behind a topology: what NCCL would say of its interfaces and HCAs.
//
// A topology names NICs and not addresses. Assumed: the NICs are as listed and work. The plugin is
// Socket when all NICs look as that plugin describes them (port 0, guid equal to the device
// number), else IB, over InfiniBand. Host k has 10.i.x.y with x.y = k + 1 on interface i, i
// counting from 0; without interfaces among the NICs there is one, eth0.
#pragma once
#include <optional>
#include <string>

#include "models/nccl/environment.h"
#include "models/nccl/graph/xml.h"
#include "models/nccl/selection.h"

namespace busbw::nccl::log {

struct TopologyHost {
  int host = 0;                        // counts from 0; named node1, node2 ...
  std::optional<std::string> network;  // an external plugin claims the job under this name
};

HostDecision host_decision(const graph::Element& topology, const TopologyHost& host,
                           const Environment& environment, Version version);

/// The devices of the decision are the NICs of the topology, if it lists any; an external plugin's
/// always are.
bool same_devices(const graph::Element& topology, const HostDecision& decision);

}  // namespace busbw::nccl::log
