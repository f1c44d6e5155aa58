// Text helpers and files.
#include "sim/core/text.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "sim/core/errors.h"

namespace busbw {
namespace {

using Parts = std::vector<std::string_view>;

TEST(Text, Trim) {
  EXPECT_EQ(trim(" \t a b \r\n"), "a b");
  EXPECT_EQ(trim(""), "");
  EXPECT_EQ(trim(" \n"), "");
}

TEST(Text, Split) {
  EXPECT_EQ(split("a,,b", ','), (Parts{"a", "", "b"}));
  EXPECT_EQ(split("a,", ','), (Parts{"a", ""}));
  EXPECT_EQ(split("a", ','), (Parts{"a"}));
  EXPECT_EQ(split("", ','), Parts{});
  EXPECT_EQ(split_blanks("  a \t b\nc "), (Parts{"a", "b", "c"}));
  EXPECT_EQ(split_blanks(" \n"), Parts{});
}

TEST(Text, SplitLines) {
  EXPECT_EQ(split_lines("a\r\n\nb"), (Parts{"a", "", "b"}));
  EXPECT_EQ(split_lines("a\n"), (Parts{"a"}));
  EXPECT_EQ(split_lines("\n"), (Parts{""}));
  EXPECT_EQ(split_lines(""), Parts{});
}

TEST(Text, LowerAndJoin) {
  EXPECT_EQ(lower("NCCL_IB_HCA=mlx5_0 \u00c9"), "nccl_ib_hca=mlx5_0 \u00c9");
  EXPECT_EQ(join({"a", "", "b"}, ", "), "a, , b");
  EXPECT_EQ(join({}, ", "), "");
}

TEST(Text, ParseInteger) {
  EXPECT_EQ(parse_integer("-42"), -42);
  EXPECT_EQ(parse_integer("9223372036854775807"), INT64_MAX);
  for (const std::string_view bad :
       {"", "-", "+1", " 1", "1 ", "1.0", "0x10", "9223372036854775808"}) {
    EXPECT_FALSE(parse_integer(bad)) << bad;
  }
}

TEST(Text, ParseNumber) {
  EXPECT_EQ(parse_number("-2.5e1"), -25.0);
  EXPECT_EQ(parse_number("0.1"), 0.1);
  for (const std::string_view bad : {"", "nan", "inf", "-inf", "1e999", "1,5", "1 ", "0x1p3"}) {
    EXPECT_FALSE(parse_number(bad)) << bad;
  }
}

TEST(Text, EditDistance) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("abc", ""), 3);
  EXPECT_EQ(edit_distance("bandwith", "bandwidth"), 1);  // insert d
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);      // k/s, e/i, insert g
  EXPECT_EQ(edit_distance("rnak", "rank"), 1);           // swap
  EXPECT_EQ(edit_distance("ca", "abc"), 3);  // no letter is edited twice (full Damerau gives 2)
}

TEST(Text, NearestIsNearEnoughAndMindsTheCaseOnlyAmongEquals) {
  EXPECT_EQ(nearest("bandwith", {"latency", "bandwidth"}), "bandwidth");
  EXPECT_EQ(nearest("BANDWIDTH", {"bandwidth"}), "bandwidth");
  EXPECT_EQ(nearest("Gbs", {"GB/s", "Gb/s"}), "Gb/s");
  EXPECT_EQ(nearest("GBs", {"Gb/s", "GB/s"}), "GB/s");
  EXPECT_EQ(nearest("ax", {"bx", "cx"}), "bx");  // a tie keeps the first
  EXPECT_FALSE(nearest("x", {"y"}));             // a letter is not near another letter
  EXPECT_FALSE(nearest("gpus", {"fabric"}));
  EXPECT_FALSE(nearest("", {"a", "ab"}));
  EXPECT_FALSE(nearest("a", {}));
  EXPECT_FALSE(nearest(std::string(1'000'000, 'a'), {"a"}));
}

TEST(Text, DidYouMeanAndQuotedList) {
  EXPECT_EQ(did_you_mean("rign", {"ring", "tree"}), "; did you mean 'ring'?");
  EXPECT_EQ(did_you_mean("zzz", {"ring", "tree"}), "");
  EXPECT_EQ(quoted_list({"a"}), "'a'");
  EXPECT_EQ(quoted_list({"a", "b"}), "'a' or 'b'");
  EXPECT_EQ(quoted_list({"a", "b", "c"}), "'a', 'b' or 'c'");
  EXPECT_EQ(quoted_list({}), "");
}

TEST(Text, Utf8Length) {
  EXPECT_EQ(utf8_length("a"), 1U);
  EXPECT_EQ(utf8_length("\u00e9x"), 2U);
  EXPECT_EQ(utf8_length("\u4e2d"), 3U);
  EXPECT_EQ(utf8_length("\U0001f600"), 4U);
  EXPECT_EQ(utf8_length("\x80"), 0U);              // stray continuation
  EXPECT_EQ(utf8_length("\xc3"), 0U);              // cut off
  EXPECT_EQ(utf8_length("\xc3("), 0U);             // not continued
  EXPECT_EQ(utf8_length("\xc0\xaf"), 0U);          // overlong
  EXPECT_EQ(utf8_length("\xe0\x80\x80"), 0U);      // overlong
  EXPECT_EQ(utf8_length("\xed\xa0\x80"), 0U);      // surrogate
  EXPECT_EQ(utf8_length("\xf0\x80\x80\x80"), 0U);  // overlong
  EXPECT_EQ(utf8_length("\xf4\x90\x80\x80"), 0U);  // above U+10FFFF
  EXPECT_EQ(utf8_length("\xff"), 0U);
}

TEST(Text, ReadFile) {
  const std::string path = testing::TempDir() + "busbw_text_test.txt";
  const std::string content = std::string("a\0b\r\n", 5) + std::string(100'000, 'x');
  std::ofstream(path, std::ios::binary) << content;
  EXPECT_EQ(read_file(path), content);
  EXPECT_EQ(read_file(path, 3), content.substr(0, 3));
  std::ofstream(path, std::ios::binary | std::ios::trunc) << "";
  EXPECT_EQ(read_file(path), "");
  std::filesystem::remove(path);
}

TEST(Text, ReadFileNamesCallPathAndReason) {
  const auto message = [](const std::string& path) -> std::string {
    try {
      read_file(path);
    } catch (const SystemError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message("/nonexistent/x.yaml"),
            "open failed: No such file or directory (on /nonexistent/x.yaml)");
  EXPECT_EQ(message("/"), "read failed: Is a directory (on /)");
}

}  // namespace
}  // namespace busbw
