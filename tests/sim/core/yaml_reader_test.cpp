// MappingReader: every accessor with good, wrong, null and missing values; whole messages, in
// order.
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/core/yaml.h"

namespace busbw {
namespace {

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr double kLowest = std::numeric_limits<double>::lowest();
constexpr double kHighest = std::numeric_limits<double>::max();

std::string lines(const Problems& problems) {
  try {
    problems.throw_if_any();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

/// A reader over `text`, named "link 'x'", and what it complained about.
struct Reading {
  explicit Reading(const std::string& text)
      : reader(parse_yaml(text, "f.yaml", problems), "link 'x'", problems) {}
  [[nodiscard]] std::string said() const { return lines(problems); }
  Problems problems;
  MappingReader reader;
};

TEST(MappingReader, Text) {
  Reading r("a: one two\nb: '5'\nc: 2.18\nd: [1]\ne: {x: 1}\nf:\n");
  EXPECT_EQ(r.reader.text("a"), "one two");
  EXPECT_EQ(r.reader.text("b"), "5");
  EXPECT_EQ(r.reader.text("c"), "2.18");
  EXPECT_FALSE(r.reader.text("d"));
  EXPECT_FALSE(r.reader.text("e"));
  EXPECT_FALSE(r.reader.text("f"));
  EXPECT_FALSE(r.reader.text("absent"));
  EXPECT_EQ(r.said(),
            "f.yaml:4:4: error: 'd' in link 'x' must be a text, found a list\n"
            "f.yaml:5:4: error: 'e' in link 'x' must be a text, found a mapping\n"
            "f.yaml:6:1: error: 'f' in link 'x' must be a text, found nothing");
}

TEST(MappingReader, Integer) {
  Reading r("a: 16\nb: -3\nc: 0\nd: 9223372036854775807\n");
  EXPECT_EQ(r.reader.integer("a", 1, 16), 16);
  EXPECT_EQ(r.reader.integer("b", -3, 0), -3);
  EXPECT_EQ(r.reader.integer("c", kMin, kMax), 0);
  EXPECT_EQ(r.reader.integer("d", kMin, kMax), kMax);
  EXPECT_FALSE(r.reader.integer("absent", 0, 1));
  EXPECT_EQ(r.said(), "");
}

TEST(MappingReader, IntegerProblems) {
  Reading r(
      "a: 17\nb: 010\nc: x\nd: '5'\ne: 9223372036854775808\nf: 5.0\ng: 0x10\nh: +5\ni: [5]\nj: ~\n"
      "k: -1\nl: 9\nm: -00\nn: 1_000\no: nan\np: 99999999999999999999\n");
  EXPECT_FALSE(r.reader.integer("a", 1, 16));
  for (const char* key : {"b", "c", "d", "e", "f", "g", "h", "i", "j"}) {
    EXPECT_FALSE(r.reader.integer(key, kMin, kMax)) << key;
  }
  EXPECT_FALSE(r.reader.integer("k", 0, kMax));
  EXPECT_FALSE(r.reader.integer("l", kMin, 8));
  EXPECT_FALSE(r.reader.integer("m", 0, 8));
  EXPECT_FALSE(r.reader.integer("n", 0, 8));
  EXPECT_FALSE(r.reader.integer("o", 0, 8));
  EXPECT_FALSE(r.reader.integer("p", 0, 8));
  EXPECT_EQ(
      r.said(),
      "f.yaml:1:4: error: 'a' in link 'x' must be a whole number from 1 to 16, found '17'\n"
      "f.yaml:2:4: error: 'b' in link 'x': leading zeros are not allowed, found '010'\n"
      "f.yaml:3:4: error: 'c' in link 'x' must be a whole number, found 'x'\n"
      "f.yaml:4:4: error: 'd' in link 'x' must be a whole number, found '5' in quotes\n"
      "f.yaml:5:4: error: 'e' in link 'x' must be a whole number of 64 bits, found "
      "'9223372036854775808'\n"
      "f.yaml:6:4: error: 'f' in link 'x' must be a whole number, found '5.0'\n"
      "f.yaml:7:4: error: 'g' in link 'x' must be a whole number, found '0x10'\n"
      "f.yaml:8:4: error: 'h' in link 'x' must be a whole number, found '+5'\n"
      "f.yaml:9:4: error: 'i' in link 'x' must be a whole number, found a list\n"
      "f.yaml:10:4: error: 'j' in link 'x' must be a whole number, found nothing\n"
      "f.yaml:11:4: error: 'k' in link 'x' must be a whole number of at least 0, found '-1'\n"
      "f.yaml:12:4: error: 'l' in link 'x' must be a whole number of at most 8, found '9'\n"
      "f.yaml:13:4: error: 'm' in link 'x': leading zeros are not allowed, found '-00'\n"
      "f.yaml:14:4: error: 'n' in link 'x' must be a whole number from 0 to 8, found '1_000'\n"
      "f.yaml:15:4: error: 'o' in link 'x' must be a whole number from 0 to 8, found 'nan'\n"
      "f.yaml:16:4: error: 'p' in link 'x' must be a whole number from 0 to 8, found "
      "'99999999999999999999'");
}

TEST(MappingReader, Number) {
  Reading r("a: 0.5\nb: 3\nc: -2.5e-3\nd: 1E3\n");
  EXPECT_EQ(r.reader.number("a", 0, 1), 0.5);
  EXPECT_EQ(r.reader.number("b", 0, 3), 3.0);
  EXPECT_EQ(r.reader.number("c", kLowest, kHighest), -0.0025);
  EXPECT_EQ(r.reader.number("d", 0, kHighest), 1000.0);
  EXPECT_FALSE(r.reader.number("absent", 0, 1));
  EXPECT_EQ(r.said(), "");
}

TEST(MappingReader, NumberProblems) {
  Reading r(
      "a: 1.5\nb: .nan\nc: inf\nd: 1e999\ne: 01.5\nf: '1.5'\ng: .5\nh: 1.\ni: 1,5\nj: [1]\nk:\nl: "
      "-1\n"
      "m: 2\nn: 1e\n");
  EXPECT_FALSE(r.reader.number("a", 0, 1));
  for (const char* key : {"b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "n"}) {
    EXPECT_FALSE(r.reader.number(key, kLowest, kHighest)) << key;
  }
  EXPECT_FALSE(r.reader.number("l", 0, kHighest));
  EXPECT_FALSE(r.reader.number("m", kLowest, 1.5));
  EXPECT_EQ(r.said(),
            "f.yaml:1:4: error: 'a' in link 'x' must be a number from 0 to 1, found '1.5'\n"
            "f.yaml:2:4: error: 'b' in link 'x' must be a number, found '.nan'\n"
            "f.yaml:3:4: error: 'c' in link 'x' must be a number, found 'inf'\n"
            "f.yaml:4:4: error: 'd' in link 'x' must be a number, found '1e999'\n"
            "f.yaml:5:4: error: 'e' in link 'x': leading zeros are not allowed, found '01.5'\n"
            "f.yaml:6:4: error: 'f' in link 'x' must be a number, found '1.5' in quotes\n"
            "f.yaml:7:4: error: 'g' in link 'x' must be a number, found '.5'\n"
            "f.yaml:8:4: error: 'h' in link 'x' must be a number, found '1.'\n"
            "f.yaml:9:4: error: 'i' in link 'x' must be a number, found '1,5'\n"
            "f.yaml:10:4: error: 'j' in link 'x' must be a number, found a list\n"
            "f.yaml:11:1: error: 'k' in link 'x' must be a number, found nothing\n"
            "f.yaml:12:4: error: 'l' in link 'x' must be a number of at least 0, found '-1'\n"
            "f.yaml:13:4: error: 'm' in link 'x' must be a number of at most 1.5, found '2'\n"
            "f.yaml:14:4: error: 'n' in link 'x' must be a number, found '1e'");
}

TEST(MappingReader, Boolean) {
  Reading r("a: true\nb: false\nc: yes\nd: 'true'\ne: True\nf: {a: 1}\n");
  EXPECT_EQ(r.reader.boolean("a"), true);
  EXPECT_EQ(r.reader.boolean("b"), false);
  for (const char* key : {"c", "d", "e", "f", "absent"}) {
    EXPECT_FALSE(r.reader.boolean(key)) << key;
  }
  EXPECT_EQ(r.said(),
            "f.yaml:3:4: error: 'c' in link 'x' must be true or false, found 'yes'\n"
            "f.yaml:4:4: error: 'd' in link 'x' must be true or false, found 'true' in quotes\n"
            "f.yaml:5:4: error: 'e' in link 'x' must be true or false, found 'True'\n"
            "f.yaml:6:4: error: 'f' in link 'x' must be true or false, found a mapping");
}

TEST(MappingReader, Quantities) {
  Reading r("size: 1 GiB\nrate: 100 Gb/s\ntime: 1.5 us\nzero: 0\nquoted: '8 B'\n");
  EXPECT_EQ(r.reader.bytes("size"), Bytes::gib(1));
  EXPECT_EQ(r.reader.bandwidth("rate"), Bandwidth::gigabits_per_second(100));
  EXPECT_EQ(r.reader.duration("time"), Duration::nanoseconds(1500));
  EXPECT_EQ(r.reader.duration("zero"), Duration());
  EXPECT_EQ(r.reader.bytes("quoted"), Bytes(8));
  EXPECT_FALSE(r.reader.bytes("absent"));
  EXPECT_FALSE(r.reader.bandwidth("absent"));
  EXPECT_FALSE(r.reader.duration("absent"));
  EXPECT_EQ(r.said(), "");
}

TEST(MappingReader, QuantityProblems) {
  Reading r("size: 8\nrate: 100 GB\ntime: [1 us]\nother: ~\nmore: {a: 1 GiB}\n");
  EXPECT_FALSE(r.reader.bytes("size"));
  EXPECT_FALSE(r.reader.bandwidth("rate"));
  EXPECT_FALSE(r.reader.duration("time"));
  EXPECT_FALSE(r.reader.bandwidth("other"));
  EXPECT_FALSE(r.reader.bytes("more"));
  EXPECT_EQ(
      r.said(),
      "f.yaml:1:7: error: 'size' in link 'x': '8' has no unit; allowed: B kB MB GB TB KiB MiB "
      "GiB TiB\n"
      "f.yaml:2:7: error: 'rate' in link 'x': unknown unit 'GB' in '100 GB'; allowed: bit/s b/s "
      "kb/s Mb/s Gb/s Tb/s kbit/s Mbit/s Gbit/s Tbit/s B/s kB/s MB/s GB/s TB/s KiB/s MiB/s "
      "GiB/s; did you mean 'GB/s'?\n"
      "f.yaml:3:7: error: 'time' in link 'x' must be a duration such as '1.5 us', found a list\n"
      "f.yaml:4:8: error: 'other' in link 'x' must be a bandwidth such as '100 Gb/s', found "
      "nothing\n"
      "f.yaml:5:7: error: 'more' in link 'x' must be a size such as '1 GiB', found a mapping");
}

TEST(MappingReader, Choice) {
  Reading r("a: ring\nb: rign\nc: star\nd: [ring]\n");
  const std::vector<std::string> allowed = {"ring", "tree", "auto"};
  EXPECT_EQ(r.reader.choice("a", allowed), "ring");
  for (const char* key : {"b", "c", "d", "absent"}) {
    EXPECT_FALSE(r.reader.choice(key, allowed)) << key;
  }
  EXPECT_EQ(
      r.said(),
      "f.yaml:2:4: error: 'b' in link 'x' must be 'ring', 'tree' or 'auto', found 'rign'; did "
      "you mean 'ring'?\n"
      "f.yaml:3:4: error: 'c' in link 'x' must be 'ring', 'tree' or 'auto', found 'star'\n"
      "f.yaml:4:4: error: 'd' in link 'x' must be 'ring', 'tree' or 'auto', found a list");
}

TEST(MappingReader, Texts) {
  Reading r("a: [x, '1']\nb: one\nc: []\nd: {x: 1}\ne: [x, [y], ~]\nf:\n");
  using Texts = std::vector<std::string>;
  EXPECT_EQ(r.reader.texts("a"), (Texts{"x", "1"}));
  EXPECT_EQ(r.reader.texts("b"), (Texts{"one"}));
  EXPECT_EQ(r.reader.texts("c"), Texts{});
  for (const char* key : {"d", "e", "f", "absent"}) {
    EXPECT_FALSE(r.reader.texts(key)) << key;
  }
  EXPECT_EQ(r.said(),
            "f.yaml:4:4: error: 'd' in link 'x' must be a list of texts, found a mapping\n"
            "f.yaml:5:8: error: 'e' in link 'x' must be a list of texts, found a list\n"
            "f.yaml:5:13: error: 'e' in link 'x' must be a list of texts, found nothing\n"
            "f.yaml:6:1: error: 'f' in link 'x' must be a list of texts, found nothing");
}

TEST(MappingReader, Nodes) {
  Reading r("a: 1\nb: {x: 1}\nc: [1]\nd:\n");
  EXPECT_TRUE(r.reader.node("a")->is_scalar());
  EXPECT_TRUE(r.reader.node("d")->is_null());
  EXPECT_FALSE(r.reader.node("absent"));
  EXPECT_TRUE(r.reader.mapping("b")->is_mapping());
  EXPECT_TRUE(r.reader.sequence("c")->is_sequence());
  EXPECT_FALSE(r.reader.mapping("c"));
  EXPECT_FALSE(r.reader.sequence("b"));
  EXPECT_FALSE(r.reader.mapping("d"));
  EXPECT_FALSE(r.reader.mapping("absent"));
  EXPECT_FALSE(r.reader.sequence("absent"));
  EXPECT_EQ(r.said(),
            "f.yaml:2:4: error: 'b' in link 'x' must be a list, found a mapping\n"
            "f.yaml:3:4: error: 'c' in link 'x' must be a mapping, found a list\n"
            "f.yaml:4:1: error: 'd' in link 'x' must be a mapping, found nothing");
}

TEST(MappingReader, RequiredValues) {
  Reading r(
      "t: x\ni: 3\nn: 0.5\nb: true\ns: 8 B\nr: 1 b/s\nd: 1 ps\nc: tree\nl: [a]\no: 1\nm: {}\nq: "
      "[]\n");
  EXPECT_EQ(r.reader.required_text("t"), "x");
  EXPECT_EQ(r.reader.required_integer("i", 1, 4), 3);
  EXPECT_EQ(r.reader.required_number("n", 0, 1), 0.5);
  EXPECT_TRUE(r.reader.required_boolean("b"));
  EXPECT_EQ(r.reader.required_bytes("s").count(), 8);
  EXPECT_EQ(r.reader.required_bandwidth("r").bps(), 1);
  EXPECT_EQ(r.reader.required_duration("d").ps(), 1);
  EXPECT_EQ(r.reader.required_choice("c", {"ring", "tree"}), "tree");
  EXPECT_EQ(r.reader.required_texts("l"), std::vector<std::string>{"a"});
  EXPECT_EQ(r.reader.required_node("o").text(), "1");
  EXPECT_TRUE(r.reader.required_mapping("m").is_mapping());
  EXPECT_TRUE(r.reader.required_sequence("q").is_sequence());
  r.reader.finish();
  EXPECT_EQ(r.said(), "");
}

void require_all(MappingReader& reader) {
  EXPECT_EQ(reader.required_text("t"), "");
  EXPECT_EQ(reader.required_integer("i", 1, 4), 1);
  EXPECT_EQ(reader.required_number("n", 0.5, 1), 0.5);
  EXPECT_FALSE(reader.required_boolean("b"));
  EXPECT_EQ(reader.required_bytes("s"), Bytes());
  EXPECT_EQ(reader.required_bandwidth("r"), Bandwidth());
  EXPECT_EQ(reader.required_duration("d"), Duration());
  EXPECT_EQ(reader.required_choice("c", {"ring", "tree"}), "ring");
  EXPECT_TRUE(reader.required_texts("l").empty());
  EXPECT_TRUE(reader.required_node("o").is_null());
  EXPECT_TRUE(reader.required_mapping("m").entries().empty());
  EXPECT_TRUE(reader.required_sequence("q").elements().empty());
  reader.finish();
}

TEST(MappingReader, RequiredValuesThatAreMissing) {
  Reading r("\n  z: 1\n");
  require_all(r.reader);
  std::string expected;
  for (const char* key : {"t", "i", "n", "b", "s", "r", "d", "c", "l", "o", "m", "q"}) {
    expected += "f.yaml:2:3: error: missing key '" + std::string(key) + "' in link 'x'\n";
  }
  EXPECT_EQ(r.said(), expected + "f.yaml:2:3: error: unknown key 'z' in link 'x'");
}

TEST(MappingReader, RequiredValuesThatAreWrongGiveOneProblemEach) {
  Reading r("t: []\ni: x\nn: x\nb: x\ns: x\nr: x\nd: x\nc: x\nl: {}\nm: x\nq: x\no: 1\n");
  EXPECT_EQ(r.reader.required_node("o").text(), "1");
  EXPECT_EQ(r.reader.required_text("t"), "");
  EXPECT_EQ(r.reader.required_integer("i", 1, 4), 1);
  EXPECT_EQ(r.reader.required_number("n", 0.5, 1), 0.5);
  EXPECT_FALSE(r.reader.required_boolean("b"));
  EXPECT_EQ(r.reader.required_bytes("s"), Bytes());
  EXPECT_EQ(r.reader.required_bandwidth("r"), Bandwidth());
  EXPECT_EQ(r.reader.required_duration("d"), Duration());
  EXPECT_EQ(r.reader.required_choice("c", {"ring", "tree"}), "ring");
  EXPECT_TRUE(r.reader.required_texts("l").empty());
  EXPECT_TRUE(r.reader.required_mapping("m").entries().empty());
  EXPECT_TRUE(r.reader.required_sequence("q").elements().empty());
  r.reader.finish();
  EXPECT_EQ(r.problems.all().size(), 11U) << r.said();
}

TEST(MappingReader, WhatIsNoMappingIsOneProblem) {
  Reading r("- 1\n");
  require_all(r.reader);
  EXPECT_FALSE(r.reader.has("t"));
  EXPECT_EQ(r.said(), "f.yaml:1:1: error: link 'x' must be a mapping, found a list");
  Reading empty("");
  require_all(empty.reader);
  EXPECT_EQ(empty.said(), "f.yaml:1:1: error: link 'x' must be a mapping, found nothing");
}

TEST(MappingReader, WhatWasReportedAlreadyIsNotReportedAgain) {
  Reading broken("a: [\n");
  require_all(broken.reader);
  EXPECT_EQ(broken.said(), "f.yaml:2:1: error: bad YAML: end of sequence flow not found");
  Reading missing("{}\n");
  MappingReader inner(missing.reader.required_mapping("m"), "machine", missing.problems);
  require_all(inner);
  EXPECT_EQ(missing.said(), "f.yaml:1:1: error: missing key 'm' in link 'x'");
}

TEST(MappingReader, UnknownKeys) {
  Reading r("bandwith: 1 GB/s\nlatency: 1 us\nzzz: 1\nLatency: 2 us\n");
  r.reader.bandwidth("bandwidth");
  r.reader.duration("latency");
  r.reader.finish();
  EXPECT_EQ(r.said(),
            "f.yaml:1:1: error: unknown key 'bandwith' in link 'x'; did you mean 'bandwidth'?\n"
            "f.yaml:3:1: error: unknown key 'zzz' in link 'x'\n"
            "f.yaml:4:1: error: unknown key 'Latency' in link 'x'; did you mean 'latency'?");
}

TEST(MappingReader, AllProblemsOfAFileAtOnceAndInOrder) {
  Reading r(
      "gpus: 08\n"
      "bandwith: 300 GB/s\n"
      "latency: 1 sec\n"
      "gpus: 8\n"
      "kind: nvlnk\n");
  r.reader.required_choice("kind", {"nvlink", "pcie"});
  r.reader.required_duration("latency");
  r.reader.required_bandwidth("bandwidth");
  r.reader.required_integer("gpus", 1, 16);
  r.reader.problem("kind", "this kind needs a switch");
  r.reader.problem("absent", "no such thing");
  r.reader.finish();
  EXPECT_EQ(
      r.said(),
      "f.yaml:1:1: error: missing key 'bandwidth' in link 'x'\n"
      "f.yaml:1:1: error: no such thing\n"
      "f.yaml:1:7: error: 'gpus' in link 'x': leading zeros are not allowed, found '08'\n"
      "f.yaml:2:1: error: unknown key 'bandwith' in link 'x'; did you mean 'bandwidth'?\n"
      "f.yaml:3:10: error: 'latency' in link 'x': unknown unit 'sec' in '1 sec'; allowed: ps ns "
      "us ms s min h\n"
      "f.yaml:4:1: error: duplicate key 'gpus'; it stands on line 1 already\n"
      "f.yaml:5:7: error: 'kind' in link 'x' must be 'nvlink' or 'pcie', found 'nvlnk'; did you "
      "mean 'nvlink'?\n"
      "f.yaml:5:7: error: this kind needs a switch");
}

TEST(MappingReader, PlacesAndNames) {
  Reading r("\n a: 1\n b:\n");
  EXPECT_TRUE(r.reader.has("a"));
  EXPECT_FALSE(r.reader.has("c"));
  EXPECT_EQ(r.reader.where(), (Location{"f.yaml", 2, 2}));
  EXPECT_EQ(r.reader.where("a"), (Location{"f.yaml", 2, 5}));
  EXPECT_EQ(r.reader.where("b"), (Location{"f.yaml", 3, 2}));
  EXPECT_EQ(r.reader.where("c"), (Location{"f.yaml", 2, 2}));
  EXPECT_EQ(r.reader.what(), "link 'x'");
  EXPECT_EQ(&r.reader.problems(), &r.problems);
}

}  // namespace
}  // namespace busbw
