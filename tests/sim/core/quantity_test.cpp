// Quantities: every unit, whole messages, printing, and parse(to_string(x)) == x as a property.
#include "sim/core/quantity.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "sim/core/random.h"

namespace busbw {
namespace {

template <class Quantity>
std::string outcome(const std::variant<Quantity, QuantityError>& result) {
  const auto* error = std::get_if<QuantityError>(&result);
  return error != nullptr ? error->message : to_string(std::get<Quantity>(result));
}

std::int64_t bytes(std::string_view text) {
  const auto result = parse_bytes(text);
  EXPECT_EQ(result.index(), 0U) << text;
  return result.index() == 0 ? std::get<Bytes>(result).count() : -1;
}

std::int64_t bandwidth(std::string_view text) {
  const auto result = parse_bandwidth(text);
  EXPECT_EQ(result.index(), 0U) << text;
  return result.index() == 0 ? std::get<Bandwidth>(result).bps() : -1;
}

std::int64_t duration(std::string_view text) {
  const auto result = parse_duration(text);
  EXPECT_EQ(result.index(), 0U) << text;
  return result.index() == 0 ? std::get<Duration>(result).ps() : -1;
}

TEST(Quantity, EveryUnitOfBytes) {
  EXPECT_EQ(bytes("1500 B"), 1500);
  EXPECT_EQ(bytes("1 kB"), 1'000);
  EXPECT_EQ(bytes("2 MB"), 2'000'000);
  EXPECT_EQ(bytes("3 GB"), 3'000'000'000);
  EXPECT_EQ(bytes("4 TB"), 4'000'000'000'000);
  EXPECT_EQ(bytes("1 KiB"), 1'024);
  EXPECT_EQ(bytes("1 MiB"), 1'048'576);
  EXPECT_EQ(bytes("1 GiB"), 1'073'741'824);
  EXPECT_EQ(bytes("1 TiB"), 1'099'511'627'776);
}

TEST(Quantity, EveryUnitOfBandwidth) {
  const std::vector<std::pair<std::string, std::int64_t>> cases = {
      {"1 bit/s", 1},
      {"2 b/s", 2},
      {"1 kb/s", 1'000},
      {"1 Mb/s", 1'000'000},
      {"1 Gb/s", 1'000'000'000},
      {"1 Tb/s", 1'000'000'000'000},
      {"1 kbit/s", 1'000},
      {"1 Mbit/s", 1'000'000},
      {"1 Gbit/s", 1'000'000'000},
      {"1 Tbit/s", 1'000'000'000'000},
      {"1 B/s", 8},
      {"1 kB/s", 8'000},
      {"1 MB/s", 8'000'000},
      {"12.5 GB/s", 100'000'000'000},
      {"1 TB/s", 8'000'000'000'000},
      {"1 KiB/s", 8'192},
      {"1 MiB/s", 8'388'608},
      {"1 GiB/s", 8'589'934'592},
  };
  for (const auto& row : cases) {
    EXPECT_EQ(bandwidth(row.first), row.second) << row.first;
  }
}

TEST(Quantity, EveryUnitOfDuration) {
  EXPECT_EQ(duration("7 ps"), 7);
  EXPECT_EQ(duration("7 ns"), 7'000);
  EXPECT_EQ(duration("1.5 us"), 1'500'000);
  EXPECT_EQ(duration("1 ms"), 1'000'000'000);
  EXPECT_EQ(duration("1 s"), 1'000'000'000'000);
  EXPECT_EQ(duration("2 min"), 120'000'000'000'000);
  EXPECT_EQ(duration("1 h"), 3'600'000'000'000'000);
}

TEST(Quantity, FormsThatAreAccepted) {
  EXPECT_EQ(bytes("0"), 0);
  EXPECT_EQ(bytes("0.0"), 0);
  EXPECT_EQ(bytes("0 B"), 0);
  EXPECT_EQ(bytes(" 1GiB\t"), 1'073'741'824);
  EXPECT_EQ(bytes("1.50000000000000000000000000 KiB"), 1'536);
  // 0.1 and 0.3 have no exact double: 0.3 * 10 of them is not 3.
  EXPECT_EQ(bytes("0.3 TB"), 300'000'000'000);
  EXPECT_EQ(duration("0.000000000001 s"), 1);
  EXPECT_EQ(bytes("9223372036854775807 B"), INT64_MAX);
  EXPECT_EQ(bytes("9223372.036854775807 TB"), INT64_MAX);
}

TEST(Quantity, MessagesAreWhole) {
  const std::string sizes = "allowed: B kB MB GB TB KiB MiB GiB TiB";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"5", "'5' has no unit; " + sizes},
      {"5 gb", "unknown unit 'gb' in '5 gb'; " + sizes + "; did you mean 'GB'?"},
      {"5 parsecs", "unknown unit 'parsecs' in '5 parsecs'; " + sizes},
      {"1e3 B", "unknown unit 'e3 B' in '1e3 B'; " + sizes},
      {"010 B", "leading zeros are not allowed, found '010 B'"},
      {"00", "'00' has no unit; " + sizes},
      {"0.5 B", "'0.5 B' is not a whole number of bytes"},
      {"1.0001 KiB", "'1.0001 KiB' is not a whole number of bytes"},
      {"-1 GiB", "'-1 GiB' is negative"},
      {"1,000 B", "'1,000 B' is not a size; write a number and a unit, e.g. '1 GiB'"},
      {"1. B", "'1. B' is not a size; write a number and a unit, e.g. '1 GiB'"},
      {".5 GB", "'.5 GB' is not a size; write a number and a unit, e.g. '1 GiB'"},
      {"+5 GB", "'+5 GB' is not a size; write a number and a unit, e.g. '1 GiB'"},
      {"GiB", "'GiB' is not a size; write a number and a unit, e.g. '1 GiB'"},
      {"", "'' is not a size; write a number and a unit, e.g. '1 GiB'"},
      {"inf B", "'inf B' is not a size; write a number and a unit, e.g. '1 GiB'"},
      {"9223372036854775808 B",
       "'9223372036854775808 B' is too large; at most 9223372036854775807 B"},
      {"9999999999999999999 TiB",
       "'9999999999999999999 TiB' is too large; at most 9223372036854775807 B"},
      {"99999999999999999999999999999999999999999999 B",
       "'99999999999999999999999999999999999999999999 B' is too large; at most "
       "9223372036854775807 B"},
      {"1.0000000000000000001 TB", "'1.0000000000000000001 TB' has more than 18 decimals"},
  };
  for (const auto& row : cases) {
    EXPECT_EQ(outcome(parse_bytes(row.first)), row.second);
  }
}

TEST(Quantity, TheUnitsLetterCaseDecidesBetweenBitsAndBytes) {
  const std::string units =
      "allowed: bit/s b/s kb/s Mb/s Gb/s Tb/s kbit/s Mbit/s Gbit/s Tbit/s B/s kB/s MB/s GB/s TB/s "
      "KiB/s MiB/s GiB/s";
  EXPECT_EQ(outcome(parse_bandwidth("10 Gbs")),
            "unknown unit 'Gbs' in '10 Gbs'; " + units + "; did you mean 'Gb/s'?");
  EXPECT_EQ(outcome(parse_bandwidth("10 GBs")),
            "unknown unit 'GBs' in '10 GBs'; " + units + "; did you mean 'GB/s'?");
  EXPECT_EQ(outcome(parse_bandwidth("10 GB")),
            "unknown unit 'GB' in '10 GB'; " + units + "; did you mean 'GB/s'?");
  EXPECT_EQ(outcome(parse_bandwidth("10 gbps")),
            "unknown unit 'gbps' in '10 gbps'; " + units + "; did you mean 'Gb/s'?");
}

TEST(Quantity, OtherDimensionsNameTheirOwnUnits) {
  EXPECT_EQ(outcome(parse_bandwidth("0.5 b/s")), "'0.5 b/s' is not a whole number of bit/s");
  EXPECT_EQ(outcome(parse_bandwidth("fast")),
            "'fast' is not a bandwidth; write a number and a unit, e.g. '100 Gb/s'");
  EXPECT_EQ(outcome(parse_duration("0.5 ps")), "'0.5 ps' is not a whole number of picoseconds");
  EXPECT_EQ(outcome(parse_duration("3000 h")),
            "'3000 h' is too large; at most 9223372036854775807 ps");
  EXPECT_EQ(
      outcome(parse_duration("2 \u00b5s")),
      "unknown unit '\u00b5s' in '2 \u00b5s'; allowed: ps ns us ms s min h; did you mean 'us'?");
  EXPECT_EQ(outcome(parse_duration("soon")),
            "'soon' is not a duration; write a number and a unit, e.g. '1.5 us'");
}

TEST(Quantity, NcclTestsSizes) {
  EXPECT_EQ(outcome(parse_nccl_tests_size("8")), "8 B");
  EXPECT_EQ(outcome(parse_nccl_tests_size("1000B")), "1000 B");
  EXPECT_EQ(outcome(parse_nccl_tests_size("4K")), "4 KiB");
  EXPECT_EQ(outcome(parse_nccl_tests_size("128m")), "128 MiB");
  EXPECT_EQ(outcome(parse_nccl_tests_size("1G")), "1 GiB");
  EXPECT_EQ(outcome(parse_nccl_tests_size("2 GiB")), "2 GiB");
  EXPECT_EQ(outcome(parse_nccl_tests_size("4T")),
            "unknown unit 'T' in '4T'; allowed: B K M G k m g KiB MiB GiB");
  EXPECT_EQ(outcome(parse_nccl_tests_size("all")),
            "'all' is not a size; write a number and a unit, e.g. '128M'");
}

TEST(Quantity, PrintsTheLargestUnitThatIsExact) {
  EXPECT_EQ(to_string(Bytes(0)), "0 B");
  EXPECT_EQ(to_string(Bytes(1'500)), "1500 B");
  EXPECT_EQ(to_string(Bytes::kib(1536)), "1536 KiB");
  EXPECT_EQ(to_string(Bytes::gib(1)), "1 GiB");
  EXPECT_EQ(to_string(Bytes::gib(2048)), "2 TiB");
  EXPECT_EQ(to_string(Bytes(-4096)), "-4 KiB");
  EXPECT_EQ(to_string(Bytes(INT64_MIN)), "-8388608 TiB");
  EXPECT_EQ(to_string(Bandwidth()), "0 bit/s");
  EXPECT_EQ(to_string(Bandwidth::gigabits_per_second(100)), "100 Gb/s");
  EXPECT_EQ(to_string(Bandwidth::gigabytes_per_second(900)), "7.2 Tb/s");
  EXPECT_EQ(to_string(Bandwidth::bits_per_second(9'414'824'447)), "9.414824447 Gb/s");
  EXPECT_EQ(to_string(Duration::nanoseconds(2'500)), "2.5 us");
  EXPECT_EQ(to_string(Duration::picoseconds(1'000'000'000'001)), "1.000000000001 s");
  EXPECT_EQ(to_string(Duration::seconds(7200)), "7200 s");
}

TEST(Quantity, PrintedValuesParseBackEqual) {
  Random random(20);
  for (int i = 0; i < 20'000; i++) {
    const auto value = static_cast<std::int64_t>(random.next() >> (1 + random.below(63)));
    EXPECT_EQ(bytes(to_string(Bytes(value))), value);
    EXPECT_EQ(bandwidth(to_string(Bandwidth::bits_per_second(value))), value);
    EXPECT_EQ(duration(to_string(Duration::picoseconds(value))), value);
  }
}

}  // namespace
}  // namespace busbw
