// The report of `busbw accuracy` for people: text, and a page in Markdown.
#pragma once
#include <string>
#include <vector>

#include "scenarios/accuracy/assess.h"

namespace busbw::tools {

struct AccuracyTextOptions {
  bool colour = false;
  bool brief = false;  // without the table of records
};

std::string accuracy_text(const scenarios::accuracy::Report& report,
                          const AccuracyTextOptions& options);

/// A plot to show on the page: text and path as the page refers to it.
struct PageImage {
  std::string title;
  std::string path;
};

/// Figures per class and in all, groups, folds, what is not modelled and why.
std::string accuracy_markdown(const scenarios::accuracy::Report& report,
                              const std::vector<PageImage>& images);

}  // namespace busbw::tools
