// A host of a variant as its own tools would show it: the values behind `busbw show`.
#pragma once
#include <cstddef>

#include "models/facts/print/emulated.h"
#include "models/nccl/graph/xml.h"
#include "scenarios/job.h"
#include "scenarios/spec/scenario.h"
#include "topologies/catalog.h"

namespace busbw::scenarios {

/// Host `host` (from 0) for the printers of models/facts/print. LIDs count on from host to host.
/// Refers to its arguments.
facts::EmulatedHost emulated_host(const Variant& variant, const topologies::Catalog& catalog,
                                  std::size_t host);

/// The topology that NCCL would dump there. Throws InputError when it finds no network on the host.
nccl::graph::Element emulated_topology(const Variant& variant, const topologies::Catalog& catalog,
                                       const Job& job, std::size_t host);

}  // namespace busbw::scenarios
