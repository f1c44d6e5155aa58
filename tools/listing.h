// The lists of `busbw list`: tables for people and the same as plain data, made from the catalogue.
#pragma once
#include <vector>

#include "sim/core/value.h"
#include "topologies/catalog.h"
#include "topologies/catalog_tables.h"
#include "topologies/machine.h"

namespace busbw::tools {

/// One list. `items` is an array of objects; rates carry their unit in the key.
struct Listing {
  std::vector<topologies::CatalogTable> tables;
  Value items = Value::array();
};

Listing list_machines(const std::vector<topologies::Machine>& machines);
Listing list_gpus(const topologies::Catalog& catalog);
Listing list_nics(const topologies::Catalog& catalog);
Listing list_cpus(const topologies::Catalog& catalog);
Listing list_switches(const topologies::Catalog& catalog);

/// Generations of InfiniBand, Ethernet, PCIe and NVLink. An item is one width of one generation:
/// one-way data rate, and the latency of one message end to end (networks) or one hop (PCIe,
/// NVLink).
Listing list_rates(const topologies::Catalog& catalog);

}  // namespace busbw::tools
