// Layout of text tables. Assumes that every code point is one column wide, which holds for what
// busbw prints (names, numbers, ×).
#include "tools/table.h"

#include <algorithm>

#include "sim/core/check.h"
#include "sim/core/text.h"
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

/// "12.5", "100 Gb/s", "-": what lines up at the right.
bool is_number(const std::string& cell) {
  const std::vector<std::string_view> words = split_blanks(cell);
  return cell == "-" ||
         (!words.empty() && words.size() <= 2 && parse_number(words.front()).has_value());
}

}  // namespace

std::vector<Column> numbers_right(const std::vector<std::string>& titles,
                                  const std::vector<std::vector<std::string>>& rows) {
  std::vector<Column> columns;
  for (std::size_t i = 0; i < titles.size(); ++i) {
    const bool numbers =
        !rows.empty() && std::all_of(rows.begin(), rows.end(), [i](const auto& row) {
          return i < row.size() && is_number(row[i]);
        });
    columns.push_back({titles[i], numbers ? Align::kRight : Align::kLeft});
  }
  return columns;
}

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
