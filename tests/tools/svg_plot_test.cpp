// SVG plots: places worked out by hand, escaping, empty and odd input.
#include "tools/svg_plot.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace busbw::tools {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

// The frame is 70 to 840 across and 424 up to 40. 1 KiB and 1 MiB are the ends of ten powers of
// two, 32 KiB is in the middle: 455. 1 to 100 are two decades, 10 in the middle: 232.
TEST(SvgPlot, LogarithmicPlaces) {
  Plot plot;
  plot.x_is_bytes = true;
  plot.series = {{"s", {{1024, 1}, {32768, 10}, {1048576, 100}}, true}};
  const std::string svg = svg_plot(plot);
  EXPECT_NE(svg.find("points=\"70.0,424.0 455.0,232.0 840.0,40.0\""), std::string::npos) << svg;
  EXPECT_NE(svg.find(">32 KiB<"), std::string::npos);
  EXPECT_NE(svg.find(">100<"), std::string::npos);
}

TEST(SvgPlot, MarksWithoutALine) {
  Plot plot;
  plot.series = {{"a", {{1, 1}, {10, 5}}, false}, {"b", {{2, 2}}, true}};
  const std::string svg = svg_plot(plot);
  EXPECT_EQ(count(svg, "<polyline"), 1U);
  EXPECT_EQ(count(svg, "r=\"3\""), 3U);  // points
  EXPECT_EQ(count(svg, "r=\"4\""), 2U);  // legend
}

TEST(SvgPlot, TextIsEscaped) {
  Plot plot;
  plot.title = "a < b & c";
  const std::string svg = svg_plot(plot);
  EXPECT_NE(svg.find("a &lt; b &amp; c"), std::string::npos);
}

TEST(SvgPlot, WhatHasNoPlaceIsLeftOut) {
  Plot plot;
  plot.series = {{"s", {{0, 1}, {-1, 2}, {5, 0}, {3, 3}}, true}};
  EXPECT_EQ(count(svg_plot(plot), "r=\"3\""), 1U);
  EXPECT_EQ(count(svg_plot({}), "<svg"), 1U);
}

}  // namespace
}  // namespace busbw::tools
