// What `busbw diagnose` prints.
#pragma once
#include <string>
#include <vector>

#include "models/diagnosis/finding.h"
#include "sim/core/value.h"
#include "tools/fact_files.h"

namespace busbw::tools {

/// Verdict in three lines, then each finding with quoted lines, fix, expected gain and
/// alternatives, then what was checked, what could not be read.
std::string diagnosis_text(const std::vector<diagnosis::Finding>& findings, const FactFiles& files,
                           bool colour);

/// The findings alone, numbered; "" without one.
std::string findings_text(const std::vector<diagnosis::Finding>& findings, bool colour);
Value findings_value(const std::vector<diagnosis::Finding>& findings);

/// Schema "busbw.diagnosis/1" (docs/diagnose.md).
Value diagnosis_value(const std::vector<diagnosis::Finding>& findings, const FactFiles& files);

/// Every kind: layer, cause.
std::string kinds_table(bool colour);
Value kinds_value();

}  // namespace busbw::tools
