// The report of `busbw accuracy` as a tree of plain data, for JSON, and as rows, for CSV.
#pragma once
#include <string>

#include "scenarios/accuracy/assess.h"
#include "sim/core/value.h"

namespace busbw::scenarios::accuracy {

/// Schema busbw.accuracy/1; docs/formats/measurement-records.md has the keys.
Value report_value(const Report& report);

/// One row a point: id, machine, collective, nodes, quality, bytes, measured, predicted, error.
std::string report_csv(const Report& report);

}  // namespace busbw::scenarios::accuracy
