// What NCCL decides for a variant: the selection of NICs, and then the graphs, channels, rings,
// trees and costs on the topology that this selection leaves.
#pragma once
#include <optional>

#include "models/nccl/graph/decide.h"
#include "models/nccl/selection.h"
#include "scenarios/spec/scenario.h"
#include "topologies/catalog.h"

namespace busbw::scenarios {

struct Job {
  nccl::Decision selection;                    // channels are those of the graph
  std::optional<nccl::graph::Decision> graph;  // nothing when the job does not run
};

/// Decides for `variant`. Throws InputError for words that NCCL refuses and for a topology that it
/// cannot use.
Job decide(const Variant& variant, const topologies::Catalog& catalog);
/// The same after a selection that is already there.
Job decide(const Variant& variant, nccl::Decision selection, const topologies::Catalog& catalog);

}  // namespace busbw::scenarios
