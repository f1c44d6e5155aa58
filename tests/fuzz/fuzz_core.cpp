// Fuzzers of sim/core: quantities and the YAML reader.
#include <cstdint>
#include <limits>
#include <string>
#include <variant>

#include "sim/core/quantity.h"
#include "sim/core/text.h"
#include "sim/core/yaml.h"
#include "tests/fuzz/registry.h"

namespace busbw::fuzz {
namespace {

template <class Quantity>
using Parser = std::variant<Quantity, QuantityError> (*)(std::string_view);

template <class Quantity>
void require_round_trip(Quantity quantity, Parser<Quantity> parse) {
  const std::string text = to_string(quantity);
  const auto result = parse(text);
  require(result.index() == 0, "a printed quantity does not parse", text);
  require(std::get<Quantity>(result) == quantity, "parse(to_string(x)) is not x", text);
}

void quantity_round_trip(Random& random) {
  // All magnitudes equally often; every second value has few digits, as people write them.
  auto value = static_cast<std::int64_t>(random.next() >> (1 + random.below(63)));
  if (random.chance(1, 2)) {
    std::int64_t power = 1;
    while (power <= value / 1'000) {
      power *= 10;
    }
    value -= value % power;
  }
  require_round_trip<Bytes>(Bytes(value), &parse_bytes);
  require_round_trip<Bandwidth>(Bandwidth::bits_per_second(value), &parse_bandwidth);
  require_round_trip<Duration>(Duration::picoseconds(value), &parse_duration);
}

template <class Quantity>
void require_sane(const std::string& text, Parser<Quantity> parse, Parser<Quantity> back) {
  const auto result = parse(text);
  if (const auto* error = std::get_if<QuantityError>(&result)) {
    const std::string& message = error->message;
    require(!message.empty() && message.back() != '.', "message without form: " + message, text);
    require(message.find(text) != std::string::npos, "message without the text: " + message, text);
    return;
  }
  require(std::get<Quantity>(result) >= Quantity(), "a negative quantity was accepted", text);
  require_round_trip<Quantity>(std::get<Quantity>(result), back);
}

void quantity_text(Random& random) {
  const std::string text = mutate(
      random, {"1 GiB", "12.5 GB/s", "1.5 us", "0", "100 Gb/s", "9223372036854775807 B", "128M"},
      {"0", "00", ".", "-", "e9", " ", "GB", "Gb/s", "KiB", "us", "ps", "h", "99999999999999999999",
       ".000000000000000001", "\u00b5", "nan", "inf"});
  require_sane<Bytes>(text, &parse_bytes, &parse_bytes);
  require_sane<Bandwidth>(text, &parse_bandwidth, &parse_bandwidth);
  require_sane<Duration>(text, &parse_duration, &parse_duration);
  require_sane<Bytes>(text, &parse_nccl_tests_size, &parse_bytes);
}

constexpr const char* kFile = "fuzz.yaml";

/// Reads every key with a random accessor, all that the tree holds down to `depth` levels.
void read_all(Random& random, const YamlNode& node, Problems& problems, int depth) {
  if (depth == 0) {
    return;
  }
  if (node.is_sequence()) {
    for (const YamlNode& element : node.elements()) {
      read_all(random, element, problems, depth - 1);
    }
    return;
  }
  MappingReader reader(node, "mapping", problems);
  if (!node.is_mapping()) {
    return;
  }
  for (const YamlNode::Entry& entry : node.entries()) {
    switch (random.below(12)) {
      case 0:
        reader.required_text(entry.key);
        break;
      case 1:
        reader.required_integer(entry.key, -5, std::numeric_limits<std::int64_t>::max());
        break;
      case 2:
        reader.required_number(entry.key, 0, 1);
        break;
      case 3:
        reader.required_boolean(entry.key);
        break;
      case 4:
        reader.required_bytes(entry.key);
        break;
      case 5:
        reader.required_bandwidth(entry.key);
        break;
      case 6:
        reader.required_duration(entry.key);
        break;
      case 7:
        reader.required_choice(entry.key, {"ring", "tree"});
        break;
      case 8:
        reader.required_texts(entry.key);
        break;
      case 9:
        break;  // left for finish() to report
      case 10:
        read_all(random, reader.required_sequence(entry.key), problems, depth - 1);
        break;
      default:
        read_all(random, reader.required_mapping(entry.key), problems, depth - 1);
        break;
    }
  }
  reader.required_text("name");
  reader.finish();
}

std::string all_lines(const Problems& problems) {
  try {
    problems.throw_if_any();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

void yaml_reader(Random& random) {
  const std::string text =
      mutate(random,
             {"name: dgx\ngpus: 8\nlinks:\n  - {from: a, to: b, bandwidth: 300 GB/s}\n  - from: "
              "c\n    to: d\n",
              "a: &x [1, 2.5, true, ~]\nb: *x\nc: 'quoted ''text'''\nd: \"esc\\n\\u00e9\"\n",
              "# comment\r\nvariants:\r\n  - name: before\r\n    environment:\r\n      "
              "NCCL_IB_DISABLE: 1\r\n",
              "text: |\n  block\n  lines\nfolded: >-\n  a\n  b\n? complex\n: value\nempty:\n",
              "{a: {b: [c, {d: e}]}, f: !!str 1, <<: {g: h}}\n---\nsecond: 1\n"},
             {"\n",          "\n  ",
              "\t",          ": ",
              "- ",          "? ",
              "[",           "]",
              "{",           "}",
              "&x ",         "*x",
              "!t ",         "|",
              ">",           "'",
              "\"",          "#",
              " #",          "---\n",
              "...\n",       "%YAML 1.2\n",
              "<<: ",        "~",
              "null",        "010",
              "1 GiB",       "\r",
              "\r\n",        "\xef\xbb\xbf",
              "\xc3",        "\u2028",
              "\\x",         "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
              "*x, *x, *x, "});
  Problems problems;
  const YamlNode root = parse_yaml(text, kFile, problems);
  require_good_problems(problems, kFile, text);
  require(root.where().line > 0 || !problems.empty(), "no tree and no problem", text);
  Problems again;
  parse_yaml(text, kFile, again);
  require(all_lines(again) == all_lines(problems), "the second parse differs", text);
  read_all(random, root, problems, 5);
  require_good_problems(problems, kFile, text);
}

}  // namespace

std::vector<Fuzzer> core_fuzzers() {
  return {
      {"quantity_round_trip", "parse(to_string(x)) is x", 20'000, &quantity_round_trip},
      {"quantity_text", "any text parses or gets a message; what parses prints and parses back",
       10'000, &quantity_text},
      {"yaml_reader", "any text gives a tree or problems with places, twice the same", 5'000,
       &yaml_reader},
  };
}

}  // namespace busbw::fuzz
