// A plot as SVG text: logarithmic axes, lines and marks, a legend. Enough to look at a curve of bus
// bandwidth over size without another program.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace busbw::tools {

struct PlotSeries {
  std::string name;                               // in the legend
  std::vector<std::pair<double, double>> points;  // values above 0; others are left out
  bool line = true;                               // joined in order, else marks alone
};

struct Plot {
  std::string title;
  std::string x_label;
  std::string y_label;
  bool x_is_bytes = false;  // ticks at powers of 2 with KiB, MiB, GiB; else powers of 10
  std::vector<PlotSeries> series;
};

/// The plot; the same input gives the same bytes. Text is escaped. Nothing to draw gives axes of
/// one decade and no marks.
std::string svg_plot(const Plot& plot);

}  // namespace busbw::tools
