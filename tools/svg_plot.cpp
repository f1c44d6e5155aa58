// See svg_plot.h. Coordinates are pixels with one decimal.
#include "tools/svg_plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#include "sim/core/quantity.h"
#include "sim/core/xml_text.h"

namespace busbw::tools {
namespace {

constexpr double kWidth = 860;
constexpr double kHeight = 480;
constexpr double kLeft = 70;
constexpr double kRight = 20;
constexpr double kTop = 40;
constexpr double kBottom = 56;
constexpr double kLegendLine = 18;
// Distinct in grey print too (Okabe and Ito's palette, without yellow).
constexpr std::array<const char*, 7> kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                 "#56b4e9", "#e69f00", "#000000"};

/// A logarithmic axis between two powers of its base.
class Axis {
 public:
  Axis(double least, double most, double base, double from, double to)
      : base_(base), from_(from), to_(to) {
    low_ = std::floor(std::log(least) / std::log(base) + 1e-9);
    high_ = std::ceil(std::log(most) / std::log(base) - 1e-9);
    high_ = std::max(high_, low_ + 1);
  }
  [[nodiscard]] double place(double value) const {
    const double power = std::log(value) / std::log(base_);
    return from_ + (to_ - from_) * (power - low_) / (high_ - low_);
  }
  /// Values of the ticks, at most about a dozen.
  [[nodiscard]] std::vector<double> ticks() const {
    constexpr double kMost = 12;
    const double step = std::max(1.0, std::ceil((high_ - low_) / kMost));
    const int steps = static_cast<int>((high_ - low_) / step);  // both are whole numbers
    std::vector<double> values;
    for (int i = 0; i <= steps; i++) {
      values.push_back(std::pow(base_, low_ + step * i));
    }
    return values;
  }

 private:
  double base_, from_, to_;
  double low_ = 0, high_ = 1;
};

struct Range {
  double least = 0;
  double most = 0;
  void add(double value) {
    least = least == 0 ? value : std::min(least, value);
    most = std::max(most, value);
  }
};

bool drawable(const std::pair<double, double>& point) {
  return point.first > 0 && point.second > 0 && std::isfinite(point.first) &&
         std::isfinite(point.second);
}

std::string tick_text(double value, bool bytes) {
  return bytes ? to_string(Bytes(std::llround(value))) : fmt::format("{:g}", value);
}

std::string text_at(double x, double y, const char* anchor, const std::string& text,
                    const std::string& more = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y,
                     anchor, more, xml_text(text));
}

std::string line_at(double x1, double y1, double x2, double y2, const char* colour) {
  return fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n", x1, y1, x2,
      y2, colour);
}

std::string draw_axes(const Plot& plot, const Axis& x, const Axis& y) {
  const double bottom = kHeight - kBottom;
  const double right = kWidth - kRight;
  std::string out;
  for (const double value : x.ticks()) {
    out += line_at(x.place(value), kTop, x.place(value), bottom, "#dddddd");
    out += text_at(x.place(value), bottom + 18, "middle", tick_text(value, plot.x_is_bytes));
  }
  for (const double value : y.ticks()) {
    out += line_at(kLeft, y.place(value), right, y.place(value), "#dddddd");
    out += text_at(kLeft - 6, y.place(value) + 4, "end", tick_text(value, false));
  }
  out += line_at(kLeft, bottom, right, bottom, "#000000");
  out += line_at(kLeft, kTop, kLeft, bottom, "#000000");
  out += text_at((kLeft + right) / 2, kHeight - 14, "middle", plot.x_label);
  const double middle = (kTop + bottom) / 2;
  out += text_at(16, middle, "middle", plot.y_label,
                 fmt::format(" transform=\"rotate(-90 16 {:.1f})\"", middle));
  return out + text_at(kLeft, 24, "start", plot.title, " font-weight=\"bold\"");
}

std::string draw_series(const PlotSeries& series, const Axis& x, const Axis& y,
                        const char* colour) {
  std::string path;
  std::string marks;
  for (const auto& point : series.points) {
    if (!drawable(point)) {
      continue;
    }
    const double px = x.place(point.first);
    const double py = y.place(point.second);
    path += fmt::format("{}{:.1f},{:.1f}", path.empty() ? "" : " ", px, py);
    marks +=
        fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n", px, py, colour);
  }
  if (!series.line || path.empty()) {
    return marks;
  }
  return fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/>\n",
                     path, colour) +
         marks;
}

}  // namespace

std::string svg_plot(const Plot& plot) {
  Range xs;
  Range ys;
  for (const PlotSeries& series : plot.series) {
    for (const auto& point : series.points) {
      if (drawable(point)) {
        xs.add(point.first);
        ys.add(point.second);
      }
    }
  }
  if (xs.most == 0) {
    xs.add(1);
    ys.add(1);
  }
  const Axis x(xs.least, xs.most, plot.x_is_bytes ? 2 : 10, kLeft, kWidth - kRight);
  const Axis y(ys.least, ys.most, 10, kHeight - kBottom, kTop);
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:g}\" height=\"{1:g}\" viewBox=\"0 0 "
      "{0:g} {1:g}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"{0:g}\" height=\"{1:g}\" fill=\"#ffffff\"/>\n",
      kWidth, kHeight);
  out += draw_axes(plot, x, y);
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    out += draw_series(plot.series[i], x, y, kColours.at(i % kColours.size()));
  }
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const double row = kTop + 14 + kLegendLine * static_cast<double>(i);
    out += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\"/>\n", kLeft + 14,
                       row - 4, kColours.at(i % kColours.size()));
    out += text_at(kLeft + 24, row, "start", plot.series[i].name);
  }
  return out + "</svg>\n";
}

}  // namespace busbw::tools
