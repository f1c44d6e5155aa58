// What `busbw fabric` prints: text for people, plain data for JSON.
#pragma once
#include <string>
#include <vector>

#include "sim/core/value.h"
#include "tools/fabric_study.h"

namespace busbw::tools {

/// Summary, rates of the tiers, subnets, bill of material, remarks.
std::string fabric_text(const FabricFile& file, const std::vector<SubnetStudy>& studies,
                        bool colour);
/// {"schema": "busbw.fabric-report/1", ...}: docs/models/fabrics.md.
Value fabric_value(const FabricFile& file, const std::vector<SubnetStudy>& studies);

/// One line a finding of --check: pairs that do not connect, circles of credits.
std::vector<std::string> fabric_findings(const FabricFile& file,
                                         const std::vector<SubnetStudy>& studies);

}  // namespace busbw::tools
