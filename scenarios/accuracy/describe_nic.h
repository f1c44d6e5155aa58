// Internal to scenarios/accuracy: the NICs of a record's system.
#pragma once
#include <string>
#include <vector>

#include "scenarios/accuracy/describe.h"

namespace busbw::scenarios::accuracy {

struct NicDescription {
  NicFacts facts;
  std::string reason;  // not empty: the system cannot be modelled
  std::vector<std::string> assumptions;
};

NicDescription describe_nic(const RecordSystem& system, std::int32_t hosts,
                            const topologies::Catalog& catalog);

}  // namespace busbw::scenarios::accuracy
