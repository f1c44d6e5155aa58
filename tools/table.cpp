// Layout of text tables. Assumes that every code point is one column wide, which holds for what
// busbw prints (names, numbers, ×).
#include "tools/table.h"

#include <algorithm>

#include "sim/core/check.h"
#include "tools/console.h"

namespace busbw::tools {
namespace {

std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;  // not a continuation byte
  }));
}

std::string format_line(const std::vector<Column>& columns, const std::vector<std::size_t>& widths,
                        const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string padding(widths[i] - width(cells[i]), ' ');
    line += i == 0 ? "" : "  ";
    line += columns[i].align == Align::kRight ? padding + cells[i] : cells[i] + padding;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

std::string format_table(const std::vector<Column>& columns,
                         const std::vector<std::vector<std::string>>& rows, bool colour) {
  std::vector<std::size_t> widths;
  std::vector<std::string> titles;
  for (const Column& column : columns) {
    widths.push_back(width(column.title));
    titles.push_back(column.title);
  }
  for (const std::vector<std::string>& row : rows) {
    CHECK(row.size() == columns.size(), "{} cells for {} columns", row.size(), columns.size());
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], width(row[i]));
    }
  }
  std::string text = bold(format_line(columns, widths, titles), colour) + "\n";
  for (const std::vector<std::string>& row : rows) {
    text += format_line(columns, widths, row) + "\n";
  }
  return text;
}

}  // namespace busbw::tools
