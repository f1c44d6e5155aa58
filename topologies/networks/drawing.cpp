// Pictures of a fabric: Graphviz and SVG. See export.h.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "sim/core/quantity.h"
#include "sim/core/xml_text.h"
#include "topologies/networks/export.h"

namespace busbw::networks {
namespace {

constexpr int kHostRow = -1;

/// What is drawn: a host or a switch.
struct Shape {
  std::string name;
  int row = kHostRow;  // tier of a switch
};

/// Parallel cables.
struct Line {
  int count = 0;
  Bandwidth rate;  // of one
};

struct Picture {
  std::vector<Shape> shapes;
  std::map<std::pair<std::size_t, std::size_t>, Line> lines;
};

Picture picture_of(const BuiltFabric& built) {
  Picture picture;
  std::map<std::string, std::size_t> hosts;
  for (const Subnet& subnet : built.subnets) {
    const std::size_t first = picture.shapes.size();
    for (const Switch& node : subnet.switches) {
      picture.shapes.push_back({node.name, node.tier});
    }
    const auto shape = [&](const End& end) {
      if (end.at_switch) {
        return first + static_cast<std::size_t>(end.node);
      }
      const std::string& host = subnet.at(EndpointId(end.node)).host;
      const auto [known, fresh] = hosts.try_emplace(host, picture.shapes.size());
      if (fresh) {
        picture.shapes.push_back({host, kHostRow});
      }
      return known->second;
    };
    for (const Cable& cable : subnet.cables) {
      const std::size_t a = shape(cable.a);
      const std::size_t b = shape(cable.b);
      if (cable.up) {
        Line& line = picture.lines[std::minmax(a, b)];
        line.count++;
        line.rate = std::max(line.rate, cable.rate);
      }
    }
  }
  return picture;
}

std::string label(const Line& line) {
  return line.count == 1 ? to_string(line.rate)
                         : fmt::format("{} x {}", line.count, to_string(line.rate));
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    result += c == '"' || c == '\\' ? std::string{'\\', c} : std::string(1, c);
  }
  return result + "\"";
}

}  // namespace

std::string to_dot(const BuiltFabric& built) {
  const Picture picture = picture_of(built);
  std::string text = fmt::format("graph {} {{\n  rankdir=BT;\n", quoted(built.name));
  std::map<int, std::string> rows;
  for (std::size_t i = 0; i < picture.shapes.size(); i++) {
    const Shape& shape = picture.shapes[i];
    text += fmt::format("  n{} [label={}, shape={}];\n", i, quoted(shape.name),
                        shape.row == kHostRow ? "box" : "ellipse");
    rows[shape.row] += fmt::format(" n{};", i);
  }
  for (const auto& [row, members] : rows) {
    text += fmt::format("  {{ rank=same;{} }}\n", members);
  }
  for (const auto& [ends, line] : picture.lines) {
    text += fmt::format("  n{} -- n{} [label={}];\n", ends.first, ends.second, quoted(label(line)));
  }
  return text + "}\n";
}

std::string to_svg(const BuiltFabric& built) {
  constexpr double kWidth = 1200;
  constexpr double kRowHeight = 140;
  constexpr double kMargin = 50;
  constexpr double kLeastForName = 50;  // px of a place
  const Picture picture = picture_of(built);
  std::map<int, int> in_row;
  for (const Shape& shape : picture.shapes) {
    in_row[shape.row]++;
  }
  std::map<int, double> y;
  double next = kMargin + 30;
  for (auto row = in_row.rbegin(); row != in_row.rend(); ++row) {
    y[row->first] = next;
    next += kRowHeight;
  }
  std::vector<double> x;
  std::map<int, int> seen;
  for (const Shape& shape : picture.shapes) {
    const double place = (kWidth - 2 * kMargin) / in_row[shape.row];
    x.push_back(kMargin + place * (seen[shape.row]++ + 0.5));
  }
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"11\" text-anchor=\"middle\">\n"
      "<rect width=\"{0:.0f}\" height=\"{1:.0f}\" fill=\"white\"/>\n"
      "<text x=\"{2:.0f}\" y=\"25\" font-size=\"15\">{3}</text>\n",
      kWidth, next - kRowHeight + kMargin + 20, kWidth / 2,
      xml_text(built.title.empty() ? built.name : built.title));
  for (const auto& [ends, line] : picture.lines) {
    text += fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#4477aa\" "
        "stroke-width=\"{:.1f}\" stroke-opacity=\"0.5\"><title>{} - {}: {}</title></line>\n",
        x[ends.first], y[picture.shapes[ends.first].row], x[ends.second],
        y[picture.shapes[ends.second].row], std::min(6.0, 0.8 + 0.4 * line.count),
        xml_text(picture.shapes[ends.first].name), xml_text(picture.shapes[ends.second].name),
        label(line));
  }
  for (std::size_t i = 0; i < picture.shapes.size(); i++) {
    const Shape& shape = picture.shapes[i];
    const double place = (kWidth - 2 * kMargin) / in_row[shape.row];
    const double width = std::min(70.0, 0.8 * place);
    text += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"24\" rx=\"4\" "
        "fill=\"{}\" stroke=\"#333333\"><title>{}</title></rect>\n",
        x[i] - width / 2, y[shape.row] - 12, width, shape.row == kHostRow ? "#dddddd" : "#aaccee",
        xml_text(shape.name));
    if (place >= kLeastForName) {
      text += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x[i], y[shape.row] + 4,
                          xml_text(shape.name));
    }
  }
  return text + "</svg>\n";
}

}  // namespace busbw::networks
