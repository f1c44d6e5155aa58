// The IB plugin's list of devices: HCA ports that NCCL keeps, in NCCL's order, fused where the
// release fuses ports.
//
// Source: NCCL 2.18 to 2.28 src/transport/net_ib.cc, 2.29 and 2.30 src/transport/net_ib/init.cc;
// fusing from 2.24 on src/graph/topo.cc. Left out: data-direct functions of ConnectX-8, fusing by a
// distance above PORT (needs the PCI tree).
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "models/nccl/interfaces.h"

namespace busbw::nccl {

struct IbDevices {
  bool usable = false;             // initialised with at least one device
  std::vector<NetDevice> devices;  // what the topology sees: fused ones in place of their parts
  std::vector<Reason> reasons;
  std::vector<LogLine> log;
  std::optional<ChosenInterface> oob;
};

/// What the IB plugin of `host` comes up with.
IbDevices find_ib_devices(const SelectionInput& input, const Inventory& host);

}  // namespace busbw::nccl
