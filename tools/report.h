// A result as text for people: per variant the decision, the table in nccl-tests columns and the
// training step, then the comparison.
#pragma once
#include <string>

#include "scenarios/result.h"

namespace busbw::tools {

struct ReportOptions {
  bool colour = false;
  bool log = false;          // the lines that NCCL would log
  bool brief = false;        // the comparison alone
  bool all_hottest = false;  // the busiest links of each size; else of the largest alone
};

std::string format_report(const scenarios::Result& result, const ReportOptions& options);

}  // namespace busbw::tools
