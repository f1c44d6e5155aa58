// parse_yaml and load_yaml: the tree, its places, and every refusal with its whole message.
#include "sim/core/yaml.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "sim/core/check.h"

namespace busbw {
namespace {

/// All problems of `text` as lines, in order.
std::string problems_of(const std::string& text) {
  Problems problems;
  parse_yaml(text, "f.yaml", problems);
  try {
    problems.throw_if_any();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

YamlNode parse_good(const std::string& text) {
  Problems problems;
  YamlNode node = parse_yaml(text, "f.yaml", problems);
  EXPECT_EQ(problems_of(text), "") << text;
  return node;
}

Location at(int line, int column) {
  return {"f.yaml", line, column};
}

TEST(Yaml, TreeAndPlaces) {
  const YamlNode root = parse_good(
      "# a comment\n"
      "name: 'a b'\n"
      "gpus: [x, {y: 1}, \"z\"]\n"
      "links:\n"
      "  - from: 1\n"
      "    to: 2\n");
  ASSERT_TRUE(root.is_mapping());
  EXPECT_EQ(root.where(), at(2, 1));
  ASSERT_EQ(root.entries().size(), 3U);
  EXPECT_EQ(root.entries()[1].key, "gpus");
  EXPECT_EQ(root.entries()[1].key_where, at(3, 1));
  const YamlNode* name = root.find("name");
  EXPECT_EQ(name->text(), "a b");
  EXPECT_TRUE(name->quoted());
  EXPECT_EQ(name->where(), at(2, 7));
  const std::vector<YamlNode>& gpus = root.find("gpus")->elements();
  ASSERT_EQ(gpus.size(), 3U);
  EXPECT_EQ(gpus[0].where(), at(3, 8));
  EXPECT_FALSE(gpus[0].quoted());
  EXPECT_EQ(gpus[1].find("y")->where(), at(3, 15));
  EXPECT_TRUE(gpus[2].quoted());
  EXPECT_EQ(root.find("links")->where(), at(5, 3));
  EXPECT_EQ(root.find("links")->elements()[0].find("to")->where(), at(6, 9));
  EXPECT_EQ(root.find("nothing"), nullptr);
  EXPECT_EQ(name->find("a"), nullptr);
}

TEST(Yaml, WindowsLineEndsAndByteOrderMark) {
  const YamlNode root = parse_good(
      "\xef\xbb\xbf"
      "a: 1\r\nb:\r\n  c: x y\r\nd: |\r\n  t\r\n");
  EXPECT_EQ(root.where(), at(1, 1));
  EXPECT_EQ(root.find("a")->text(), "1");
  EXPECT_EQ(root.find("b")->find("c")->text(), "x y");
  EXPECT_EQ(root.find("b")->find("c")->where(), at(3, 6));
  EXPECT_EQ(root.find("d")->text(), "t\n");
  EXPECT_TRUE(root.find("d")->quoted());
}

TEST(Yaml, Nulls) {
  const YamlNode root = parse_good("a:\nb: ~\nc: null\nd: '~'\ne: ''\nf: [~, null]\n");
  EXPECT_TRUE(root.find("a")->is_null());
  EXPECT_EQ(root.find("a")->where(), at(1, 1));  // nothing is there: the place of its key
  EXPECT_TRUE(root.find("b")->is_null());
  EXPECT_EQ(root.find("b")->where(), at(2, 4));
  EXPECT_TRUE(root.find("c")->is_null());
  EXPECT_EQ(root.find("c")->where(), at(3, 4));
  EXPECT_EQ(root.find("d")->text(), "~");
  EXPECT_EQ(root.find("e")->text(), "");
  EXPECT_EQ(root.find("f")->elements()[1].where(), at(6, 8));
  const YamlNode list = parse_good("- 1\n-\n\n- 2\n");
  EXPECT_TRUE(list.elements()[1].is_null());
  EXPECT_EQ(list.elements()[1].where(), at(2, 1));  // its dash
}

TEST(Yaml, EmptyDocuments) {
  for (const char* text :
       {"", "\n\n", "# only a comment\n", "---\n", "%YAML 1.2\n---\n", "\xef\xbb\xbf"}) {
    const YamlNode root = parse_good(text);
    EXPECT_TRUE(root.is_null()) << text;
    EXPECT_GT(root.where().line, 0) << text;
  }
}

TEST(Yaml, Describe) {
  EXPECT_EQ(parse_good("a: 1").describe(), "a mapping");
  EXPECT_EQ(parse_good("[1]").describe(), "a list");
  EXPECT_EQ(parse_good("x").describe(), "the text 'x'");
  EXPECT_EQ(parse_good("").describe(), "nothing");
  EXPECT_EQ(YamlNode().describe(), "nothing");
  EXPECT_EQ(YamlNode().where(), Location{});
}

TEST(Yaml, TheWrongKindIsOurBug) {
  const YamlNode text = parse_good("x");
  EXPECT_THROW((void)text.elements(), CheckFailure);
  EXPECT_THROW((void)text.entries(), CheckFailure);
  EXPECT_THROW((void)parse_good("[1]").text(), CheckFailure);
}

TEST(Yaml, AnchorsAndAliasesAreFollowed) {
  const YamlNode root =
      parse_good("base: &b {rate: 10 Gb/s}\nport: *b\nsame: [&x 1, *x]\n&k key: *k\n");
  EXPECT_EQ(root.find("port")->find("rate")->text(), "10 Gb/s");
  EXPECT_EQ(root.find("port")->where(), at(1, 7));  // its anchor, where it is written
  EXPECT_EQ(root.find("same")->elements()[1].text(), "1");
  EXPECT_EQ(root.find("key")->text(), "key");
}

TEST(Yaml, AllProblemsOfAFileAreReportedInOrder) {
  EXPECT_EQ(problems_of("a: 1\n"
                        "b: !!int 2\n"
                        "a: 3\n"
                        "c: {x: 1, x: 2, x: 3}\n"
                        "<<: {y: 1}\n"
                        "? [k]\n"
                        ": 1\n"
                        "~: 1\n"),
            "f.yaml:2:4: error: tags are not allowed, found 'tag:yaml.org,2002:int'\n"
            "f.yaml:3:1: error: duplicate key 'a'; it stands on line 1 already\n"
            "f.yaml:4:11: error: duplicate key 'x'; it stands on line 4 already\n"
            "f.yaml:4:17: error: duplicate key 'x'; it stands on line 4 already\n"
            "f.yaml:5:1: error: merge keys ('<<') are not allowed; write the keys out\n"
            "f.yaml:6:3: error: a key must be a text, found a list\n"
            "f.yaml:8:1: error: a key must be a text, found nothing");
}

TEST(Yaml, AfterAProblemTheRestIsStillThere) {
  Problems problems;
  const YamlNode root = parse_yaml("a: 1\na: 2\n'<<': 4\n<<: 3\nb: 5\n", "f.yaml", problems);
  EXPECT_EQ(problems.all().size(), 2U);
  ASSERT_EQ(root.entries().size(), 3U);
  EXPECT_EQ(root.find("a")->text(), "1");
  EXPECT_EQ(root.find("<<")->text(), "4");  // quoted, it is an ordinary key
  EXPECT_EQ(root.find("b")->text(), "5");
}

TEST(Yaml, SyntaxErrorsNameTheirPlaceAndGiveANullWithoutOne) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"a: b: c\n", "1:5: error: bad YAML: illegal map value"},
      {"a: 'x", "1:6: error: bad YAML: illegal EOF in scalar"},
      {"a: [1, 2\nb: 3\n", "2:2: error: bad YAML: end of sequence flow not found"},
      {"a: {b: 1\n", "2:1: error: bad YAML: end of map flow not found"},
      {"a: [1]]\n", "1:7: error: bad YAML: illegal flow end"},
      {"a: @x\n", "1:4: error: bad YAML: unknown token"},
      {"a: \"\\q\"\n", "1:7: error: bad YAML: unknown escape '\\q'"},
      {"a: *b\n", "1:4: error: bad YAML: the referenced anchor is not defined"},
      {"a:\n\tb: 1\n", "2:3: error: tabs are not allowed in the indentation"},
      {"a:\n  b: 1\n\tc: 2\n", "3:1: error: tabs are not allowed in the indentation"},
      {"a: 1\n---\nb: 2\n", "2:1: error: a second document starts here; a file holds one document"},
      {"a: 1\n---\n", "2:1: error: a second document starts here; a file holds one document"},
      {"- a\nb: 1\n",
       "2:1: error: this does not belong to the value before it; check the indentation"},
  };
  for (const auto& row : cases) {
    EXPECT_EQ(problems_of(row.first), "f.yaml:" + row.second) << row.first;
    Problems problems;
    const YamlNode root = parse_yaml(row.first, "f.yaml", problems);
    EXPECT_TRUE(root.is_null()) << row.first;
    EXPECT_EQ(root.where(), Location{}) << row.first;
  }
}

TEST(Yaml, ProblemsBeforeASyntaxErrorAreReportedToo) {
  EXPECT_EQ(problems_of("a: 1\na: 2\nb: [\n"),
            "f.yaml:2:1: error: duplicate key 'a'; it stands on line 1 already\n"
            "f.yaml:4:1: error: bad YAML: end of sequence flow not found");
}

TEST(Yaml, BytesThatAreNoText) {
  EXPECT_EQ(problems_of("a: 1\nb: \xff\n"), "f.yaml:2:4: error: byte 0xff is not UTF-8 text");
  EXPECT_EQ(problems_of(std::string("a: \0b\n", 6)),
            "f.yaml:1:4: error: control character 0x00 is not allowed");
  EXPECT_EQ(problems_of("a: 1\rb: 2\n"),
            "f.yaml:1:5: error: control character 0x0d is not allowed");
  EXPECT_EQ(problems_of("\xff\xfe"
                        "a"),
            "f.yaml:1:1: error: byte 0xff is not UTF-8 text");
  EXPECT_EQ(parse_good("a: \u00e9\n").find("a")->text(), "\u00e9");
}

TEST(Yaml, NestingIsLimited) {
  parse_good(std::string(64, '[') + std::string(64, ']'));
  EXPECT_EQ(problems_of(std::string(65, '[') + std::string(65, ']')),
            "f.yaml:1:65: error: nested deeper than 64 levels");
  // Never closed, each bracket is taken for the key of a mapping too: two levels a bracket.
  EXPECT_EQ(problems_of(std::string(100'000, '[')),
            "f.yaml:1:33: error: nested deeper than 64 levels");
  // 32 levels of its own and 40 through an alias.
  EXPECT_EQ(problems_of("- &a " + std::string(40, '[') + std::string(40, ']') + "\n- " +
                        std::string(32, '[') + "*a" + std::string(32, ']') + "\n"),
            "f.yaml:2:35: error: nested deeper than 64 levels");
}

TEST(Yaml, AliasesCannotRunAway) {
  EXPECT_EQ(problems_of("a: &x [1, *x]\n"),
            "f.yaml:1:11: error: an alias may not stand inside the value that it refers to");
  EXPECT_EQ(problems_of("&x a: &y {b: *y}\n"),
            "f.yaml:1:14: error: an alias may not stand inside the value that it refers to");
  // Each line stands for ten of the line before. Sizes (list and elements): a0 11, a1 111, ... a4
  // 111111. Lines 2 to 5 expand to 110 + 1110 + 11110 + 111110 = 123440; seven more a4 stay below a
  // million, the eighth on line 6 does not.
  std::string text = "a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n";
  for (int i = 1; i < 9; i++) {
    const std::string alias = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + alias;
    for (int k = 1; k < 10; k++) {
      text += "," + alias;
    }
    text += "]\n";
  }
  EXPECT_EQ(problems_of(text),
            "f.yaml:6:38: error: the aliases up to here stand for more than 1000000 values");
}

TEST(Yaml, LoadReportsWhatCannotBeRead) {
  const auto load = [](const std::string& path) -> std::string {
    Problems problems;
    const YamlNode node = load_yaml(path, problems);
    EXPECT_EQ(node.where(), Location{});
    return problems.all().size() == 1 ? to_string(problems.all().front()) : "";
  };
  EXPECT_EQ(load("/nonexistent/x.yaml"),
            "/nonexistent/x.yaml: error: cannot be read: No such file or directory");
  EXPECT_EQ(load("/"), "/: error: cannot be read: Is a directory");
  const std::string path = testing::TempDir() + "busbw_yaml_test.yaml";
  std::ofstream(path, std::ios::binary) << "a: |\n";
  std::filesystem::resize_file(path, (std::uintmax_t{16} << 20U) + 1);
  EXPECT_EQ(load(path), path + ": error: larger than 16 MiB");
  std::filesystem::remove(path);
}

TEST(Yaml, LoadReadsAFile) {
  const std::string path = testing::TempDir() + "busbw_yaml_load_test.yaml";
  std::ofstream(path, std::ios::binary) << "a: 1\n";
  Problems problems;
  const YamlNode node = load_yaml(path, problems);
  EXPECT_TRUE(problems.empty());
  EXPECT_EQ(node.find("a")->where(), (Location{path, 1, 4}));
  std::filesystem::remove(path);
}

TEST(Yaml, ALargeMappingIsReadInReasonableTime) {
  std::string text;
  for (int i = 0; i < 50'000; i++) {
    text += "k" + std::to_string(i) + ": 1\n";
  }
  EXPECT_EQ(parse_good(text).entries().size(), 50'000U);
}

}  // namespace
}  // namespace busbw
