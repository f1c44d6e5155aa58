// Tests of the text tables.
#include "tools/table.h"

#include <gtest/gtest.h>

#include "sim/core/check.h"

namespace busbw::tools {
namespace {

TEST(Table, AlignsColumnsAndLeavesNoBlanksAtLineEnds) {
  EXPECT_EQ(format_table({{"name"}, {"size", Align::kRight}, {"note"}},
                         {{"a", "8", "x"}, {"longer", "1024", ""}}, false),
            "name    size  note\n"
            "a          8  x\n"
            "longer  1024\n");
}

TEST(Table, CountsCodePointsNotBytes) {
  EXPECT_EQ(format_table({{"n"}, {"x"}}, {{"2×", "a"}, {"22", "b"}}, false),
            "n   x\n2×  a\n22  b\n");
}

TEST(Table, TitlesAreBoldInColour) {
  EXPECT_EQ(format_table({{"n"}}, {{"1"}}, true), "\033[1mn\033[0m\n1\n");
}

TEST(Table, NumbersGoRight) {
  const std::vector<Column> columns =
      numbers_right({"name", "rate", "count", "mixed", "text"},
                    {{"a", "10 Gb/s", "-", "1", "8 x A100 40"}, {"b", "1.5 GB/s", "3", "x", "-"}});
  const std::vector<Align> expected = {Align::kLeft, Align::kRight, Align::kRight, Align::kLeft,
                                       Align::kLeft};
  for (std::size_t i = 0; i < columns.size(); ++i) {
    EXPECT_EQ(columns[i].align, expected[i]) << columns[i].title;
  }
}

TEST(Table, RowOfAnotherLengthIsABug) {
  EXPECT_THROW(format_table({{"a"}, {"b"}}, {{"1"}}, false), CheckFailure);
}

}  // namespace
}  // namespace busbw::tools
