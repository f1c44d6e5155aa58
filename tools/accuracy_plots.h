// Plots of `busbw accuracy`: every judged size in one, and a curve for each class.
#pragma once
#include <string>
#include <vector>

#include "scenarios/accuracy/assess.h"

namespace busbw::tools {

struct NamedPlot {
  std::string file;  // "overview.svg", "8-x-h200-sxm5-141gb-all-reduce-1.svg"
  std::string title;
  std::string svg;
};

/// First predicted / measured of all judged sizes over size, a series for each collective; then
/// measured and predicted bandwidth of each class that has sizes enough for a curve, in order of
/// the classes.
std::vector<NamedPlot> accuracy_plots(const scenarios::accuracy::Report& report);

}  // namespace busbw::tools
