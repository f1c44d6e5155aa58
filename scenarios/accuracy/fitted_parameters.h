// The parameters of the model that were fitted on records (docs/models/transport.md), and which of
// the records' sizes each can change. refit.h fits them anew.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/params/params.h"
#include "scenarios/accuracy/record.h"
#include "topologies/catalog.h"

namespace busbw::scenarios::accuracy {

/// A parameter that was fitted on records, and which of their points it can change.
struct FittedParameter {
  std::string name;  // as in the catalogue: "host.launch"
  std::function<void(double factor, params::Transports& transports, topologies::Catalog& catalog)>
      scale;
  std::function<bool(const Record& record, Bytes bytes)> concerns;
  /// It changes what goes by this protocol alone; nothing: by each. NCCL's choices do not depend on
  /// these parameters.
  std::optional<params::Protocol> protocol = std::nullopt;
};

/// Those of docs/models/transport.md. Keeps a reference to `catalog`, which names the GPUs.
std::vector<FittedParameter> fitted_parameters(const topologies::Catalog& catalog);

}  // namespace busbw::scenarios::accuracy
