// Text tables for people: columns as wide as their widest cell, two blanks between them.
#pragma once
#include <string>
#include <vector>

namespace busbw::tools {

enum class Align { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kLeft;
};

/// Columns with these titles; those that hold only numbers, with a unit or not, or "-", to the
/// right.
std::vector<Column> numbers_right(const std::vector<std::string>& titles,
                                  const std::vector<std::vector<std::string>>& rows);

/// One line for the titles (bold when `colour`), one a row; no blanks at line ends. Widths count
/// code points of UTF-8. CHECKs that every row has one cell a column.
std::string format_table(const std::vector<Column>& columns,
                         const std::vector<std::vector<std::string>>& rows, bool colour);

}  // namespace busbw::tools
