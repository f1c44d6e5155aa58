// From a record to a variant that can be simulated.
#pragma once
#include <string>
#include <vector>

#include "scenarios/accuracy/record.h"
#include "scenarios/spec/load.h"
#include "scenarios/spec/scenario.h"

namespace busbw::scenarios::accuracy {

struct BuiltSystem {
  bool modelled = false;
  std::string reason;   // why not
  Variant variant;      // without sizes
  std::string machine;  // "8 x H100-SXM5-80GB, 8 x ConnectX-7 400 Gb/s"
  std::vector<std::string> assumptions;
};

/// Builds the system of a record of a collective. Release of NCCL: suffix dropped, a range is its
/// first, outside 2.18 to 2.30 the nearest; none given: 2.27, 2.18 with V100, A100 and RTX 2080 Ti.
BuiltSystem build_system(const Record& record, const Library& library);

/// The release by that rule; adds what was assumed. `gpu` is a name of the catalogue.
nccl::Version release_of(const std::string& text, const std::string& gpu,
                         std::vector<std::string>& assumptions);

}  // namespace busbw::scenarios::accuracy
