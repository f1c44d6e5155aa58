// The report of `busbw accuracy` for people: text, and a page in Markdown.
#pragma once
#include <string>

#include "scenarios/accuracy/assess.h"

namespace busbw::tools {

struct AccuracyTextOptions {
  bool colour = false;
  bool brief = false;  // without the table of records
};

std::string accuracy_text(const scenarios::accuracy::Report& report,
                          const AccuracyTextOptions& options);

/// Figures per class and in all, groups, folds, what is not modelled and why.
std::string accuracy_markdown(const scenarios::accuracy::Report& report);

}  // namespace busbw::tools
