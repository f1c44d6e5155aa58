// See accuracy_plots.h.
#include "tools/accuracy_plots.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "sim/core/text.h"
#include "tools/svg_plot.h"

namespace busbw::tools {
namespace {

using scenarios::accuracy::ClassResult;
using scenarios::accuracy::PointResult;
using scenarios::accuracy::RecordResult;
using scenarios::accuracy::Report;

bool is_drawn(const PointResult& point) {
  return point.predicted_GBps.has_value() && !point.noisy;
}

NamedPlot overview(const Report& report) {
  Plot plot;
  plot.title = "predicted over measured bus bandwidth, judged sizes";
  plot.x_label = "size";
  plot.y_label = "predicted / measured";
  plot.x_is_bytes = true;
  std::map<std::string, PlotSeries> series;
  for (const RecordResult& record : report.records) {
    for (const PointResult& point : record.points) {
      if (record.judged && is_drawn(point)) {
        PlotSeries& of_collective = series[record.collective];
        of_collective.name = record.collective;
        of_collective.line = false;
        of_collective.points.emplace_back(static_cast<double>(point.bytes.count()),
                                          *point.predicted_GBps / point.measured_GBps);
      }
    }
  }
  for (auto& [name, each] : series) {
    plot.series.push_back(std::move(each));
  }
  return {"overview.svg", plot.title, svg_plot(plot)};
}

/// Lower case letters and digits, everything else one '-'.
std::string slug(const std::string& text) {
  std::string result;
  for (const char c : lower(text)) {
    const bool kept = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (kept) {
      result += c;
    } else if (!result.empty() && result.back() != '-') {
      result += '-';
    }
  }
  return result;
}

/// Curves of one class; nothing to draw when it has few sizes.
Plot plot_of(const ClassResult& each, const Report& report) {
  Plot plot;
  plot.title = fmt::format("{}, {}, {} node{}", each.machine, each.collective, each.nodes,
                           each.nodes == 1 ? "" : "s");
  plot.x_label = "size";
  plot.y_label = "bus bandwidth, GB/s";
  plot.x_is_bytes = true;
  PlotSeries measured{"measured", {}, false};
  PlotSeries predicted{"predicted", {}, each.records.size() == 1};
  for (const RecordResult& record : report.records) {
    if (std::find(each.records.begin(), each.records.end(), record.id) == each.records.end()) {
      continue;
    }
    for (const PointResult& point : record.points) {
      if (is_drawn(point)) {
        const auto bytes = static_cast<double>(point.bytes.count());
        measured.points.emplace_back(bytes, point.measured_GBps);
        predicted.points.emplace_back(bytes, *point.predicted_GBps);
      }
    }
  }
  plot.series = {std::move(predicted), std::move(measured)};
  return plot;
}

}  // namespace

std::vector<NamedPlot> accuracy_plots(const Report& report) {
  constexpr std::size_t kLeastSizes = 6;
  std::vector<NamedPlot> plots = {overview(report)};
  for (const ClassResult& each : report.classes) {
    const Plot plot = plot_of(each, report);
    if (plot.series.front().points.size() >= kLeastSizes) {
      plots.push_back({slug(plot.title) + ".svg", plot.title, svg_plot(plot)});
    }
  }
  return plots;
}

}  // namespace busbw::tools
