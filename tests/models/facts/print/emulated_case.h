// The case's hosts (four A100, eth0, mlx5_0 behind rdma0) as the tests of this folder change them.
#pragma once
#include "models/facts/print/emulated.h"
#include "models/nccl/machine/inventory.h"
#include "tests/models/nccl/machine/catalog_machine.h"

namespace busbw::facts {

struct EmulatedCase {
  topologies::Machine machine = nccl::testing::machine_called("a100-40gb-x4");
  nccl::Inventory inventory = nccl::machine_inventory(machine, 0, nccl::testing::catalog());

  [[nodiscard]] EmulatedHost host() const {
    return {machine, nccl::testing::catalog(), inventory, 0};
  }
  nccl::Interface& interface(std::size_t position) { return inventory.interfaces.at(position); }
  nccl::HcaPort& port() { return inventory.hcas.at(0).ports.at(0); }
};

}  // namespace busbw::facts
