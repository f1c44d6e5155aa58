// Quantities as text. A number is read as decimal digits into 128-bit integers and multiplied by
// the size of its unit, so that no value passes through binary floating point.
//
// Leaves out: signs (no quantity of an input is negative), exponents, and more than 18 decimals.
#include "sim/core/quantity.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "sim/core/text.h"

namespace busbw {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t size;  // in bytes, bit/s or picoseconds
  bool canonical;     // used for printing
};

/// Units of one dimension, in the order in which messages list them.
struct Dimension {
  std::string_view noun;  // "a size"
  std::string_view base;  // "bytes"
  std::string_view base_unit;
  std::string_view example;  // "1 GiB"
  std::vector<Unit> units;
};

constexpr std::int64_t kKilo = 1'000;
constexpr std::int64_t kMega = 1'000'000;
constexpr std::int64_t kGiga = 1'000'000'000;
constexpr std::int64_t kTera = 1'000'000'000'000;
constexpr std::int64_t kKibi = 1'024;
constexpr std::int64_t kMebi = kKibi * 1'024;
constexpr std::int64_t kGibi = kMebi * 1'024;
constexpr std::int64_t kTebi = kGibi * 1'024;
constexpr int kMaxDecimals = 18;

const Dimension& size_dimension() {
  static const Dimension kSize = {"a size",
                                  "bytes",
                                  "B",
                                  "1 GiB",
                                  {{"B", 1, true},
                                   {"kB", kKilo, false},
                                   {"MB", kMega, false},
                                   {"GB", kGiga, false},
                                   {"TB", kTera, false},
                                   {"KiB", kKibi, true},
                                   {"MiB", kMebi, true},
                                   {"GiB", kGibi, true},
                                   {"TiB", kTebi, true}}};
  return kSize;
}

const Dimension& bandwidth_dimension() {
  static const Dimension kBandwidth = {"a bandwidth",
                                       "bit/s",
                                       "bit/s",
                                       "100 Gb/s",
                                       {{"bit/s", 1, true},
                                        {"b/s", 1, false},
                                        {"kb/s", kKilo, true},
                                        {"Mb/s", kMega, true},
                                        {"Gb/s", kGiga, true},
                                        {"Tb/s", kTera, true},
                                        {"kbit/s", kKilo, false},
                                        {"Mbit/s", kMega, false},
                                        {"Gbit/s", kGiga, false},
                                        {"Tbit/s", kTera, false},
                                        {"B/s", 8, false},
                                        {"kB/s", 8 * kKilo, false},
                                        {"MB/s", 8 * kMega, false},
                                        {"GB/s", 8 * kGiga, false},
                                        {"TB/s", 8 * kTera, false},
                                        {"KiB/s", 8 * kKibi, false},
                                        {"MiB/s", 8 * kMebi, false},
                                        {"GiB/s", 8 * kGibi, false}}};
  return kBandwidth;
}

const Dimension& duration_dimension() {
  static const Dimension kDuration = {"a duration",
                                      "picoseconds",
                                      "ps",
                                      "1.5 us",
                                      {{"ps", 1, true},
                                       {"ns", kKilo, true},
                                       {"us", kMega, true},
                                       {"ms", kGiga, true},
                                       {"s", kTera, true},
                                       {"min", 60 * kTera, false},
                                       {"h", 3600 * kTera, false}}};
  return kDuration;
}

/// nccl-tests' -b and -e: K, M and G are binary, in either case.
const Dimension& nccl_tests_dimension() {
  static const Dimension kSize = {"a size",
                                  "bytes",
                                  "B",
                                  "128M",
                                  {{"B", 1, true},
                                   {"K", kKibi, false},
                                   {"M", kMebi, false},
                                   {"G", kGibi, false},
                                   {"k", kKibi, false},
                                   {"m", kMebi, false},
                                   {"g", kGibi, false},
                                   {"KiB", kKibi, false},
                                   {"MiB", kMebi, false},
                                   {"GiB", kGibi, false}}};
  return kSize;
}

std::vector<std::string> names(const Dimension& dimension) {
  std::vector<std::string> result;
  for (const Unit& unit : dimension.units) {
    result.emplace_back(unit.name);
  }
  return result;
}

bool digit(char c) {
  return c >= '0' && c <= '9';
}
bool letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Cuts the leading digits off `text`.
std::string_view take_digits(std::string_view& text) {
  std::size_t count = 0;
  while (count < text.size() && digit(text[count])) {
    count++;
  }
  const std::string_view digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

/// Value of at most 18 + 19 digits; text that is longer has been refused before.
Int128 value_of(std::string_view digits) {
  Int128 value = 0;
  for (const char c : digits) {
    value = value * 10 + (c - '0');
  }
  return value;
}

struct Parts {
  std::string_view whole;
  std::string_view fraction;  // without trailing zeros
  std::string_view unit;
};

/// Splits "12.50 GB" into its parts; nothing when it does not have that form.
std::optional<Parts> split_quantity(std::string_view text) {
  Parts parts;
  text = trim(text);
  parts.whole = take_digits(text);
  if (parts.whole.empty()) {
    return std::nullopt;
  }
  if (!text.empty() && text.front() == '.') {
    text.remove_prefix(1);
    parts.fraction = take_digits(text);
    if (parts.fraction.empty()) {
      return std::nullopt;
    }
    while (!parts.fraction.empty() && parts.fraction.back() == '0') {
      parts.fraction.remove_suffix(1);
    }
  }
  parts.unit = trim(text);
  const bool has_unit = !parts.unit.empty();
  if (has_unit && !letter(parts.unit.front()) && static_cast<signed char>(parts.unit.front()) > 0) {
    return std::nullopt;  // "1,000 B"; bytes of UTF-8 such as the mu of "µs" stay for the unit's
                          // message
  }
  return parts;
}

std::string unknown_unit(const Dimension& dimension, std::string_view unit, std::string_view text) {
  const std::vector<std::string> allowed = names(dimension);
  const bool micro = unit == "\u00b5s" || unit == "\u03bcs";
  return fmt::format("unknown unit '{}' in '{}'; allowed: {}{}", unit, text, join(allowed, " "),
                     did_you_mean(micro ? "us" : unit, allowed));
}

/// Value of `parts` in the base unit, or why there is none.
std::variant<std::int64_t, QuantityError> evaluate(const Parts& parts, std::int64_t unit_size,
                                                   const Dimension& dimension,
                                                   std::string_view text) {
  if (parts.whole.size() > 1 && parts.whole.front() == '0') {
    return QuantityError{fmt::format("leading zeros are not allowed, found '{}'", text)};
  }
  if (parts.fraction.size() > kMaxDecimals) {
    return QuantityError{fmt::format("'{}' has more than {} decimals", text, kMaxDecimals)};
  }
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  const QuantityError too_large{
      fmt::format("'{}' is too large; at most {} {}", text, kMax, dimension.base_unit)};
  if (parts.whole.size() > 19) {
    return too_large;
  }
  Int128 power = 1;
  for (std::size_t i = 0; i < parts.fraction.size(); i++) {
    power *= 10;
  }
  const Int128 fraction = value_of(parts.fraction) * unit_size;
  if (fraction % power != 0) {
    return QuantityError{fmt::format("'{}' is not a whole number of {}", text, dimension.base)};
  }
  const Int128 value = value_of(parts.whole) * unit_size + fraction / power;
  if (value > kMax) {
    return too_large;
  }
  return static_cast<std::int64_t>(value);
}

std::variant<std::int64_t, QuantityError> parse(const Dimension& dimension, std::string_view text,
                                                bool unit_needed) {
  const std::optional<Parts> parts = split_quantity(text);
  if (!parts) {
    const std::string_view shown = trim(text);
    if (shown.size() > 1 && shown.front() == '-' && split_quantity(shown.substr(1))) {
      return QuantityError{fmt::format("'{}' is negative", text)};
    }
    return QuantityError{fmt::format("'{}' is not {}; write a number and a unit, e.g. '{}'", text,
                                     dimension.noun, dimension.example)};
  }
  if (parts->unit.empty()) {
    const bool zero = parts->whole == "0" && parts->fraction.empty();
    if (unit_needed && !zero) {
      return QuantityError{
          fmt::format("'{}' has no unit; allowed: {}", text, join(names(dimension), " "))};
    }
    return evaluate(*parts, 1, dimension, text);
  }
  for (const Unit& unit : dimension.units) {
    if (unit.name == parts->unit) {
      return evaluate(*parts, unit.size, dimension, text);
    }
  }
  return QuantityError{unknown_unit(dimension, parts->unit, text)};
}

/// "2.5 us": the largest canonical unit not above the value, with the decimals that it takes; or,
/// when `whole` is set, the largest one that divides the value.
std::string print(const Dimension& dimension, std::int64_t value, bool whole) {
  const Int128 magnitude = value < 0 ? -static_cast<Int128>(value) : static_cast<Int128>(value);
  const Unit* best = &dimension.units.front();
  for (const Unit& unit : dimension.units) {
    const bool fits = magnitude >= unit.size && (!whole || magnitude % unit.size == 0);
    if (unit.canonical && fits && unit.size > best->size) {
      best = &unit;
    }
  }
  const auto integer = static_cast<std::uint64_t>(magnitude / best->size);
  auto rest = static_cast<std::int64_t>(magnitude % best->size);
  std::string decimals;
  for (std::int64_t place = best->size / 10; rest > 0; place /= 10) {
    decimals += static_cast<char>('0' + rest / place);
    rest %= place;
  }
  return fmt::format("{}{}{}{} {}", value < 0 ? "-" : "", integer, decimals.empty() ? "" : ".",
                     decimals, best->name);
}

}  // namespace

std::variant<Bytes, QuantityError> parse_bytes(std::string_view text) {
  const auto result = parse(size_dimension(), text, true);
  if (const auto* error = std::get_if<QuantityError>(&result)) {
    return *error;
  }
  return Bytes(std::get<std::int64_t>(result));
}

std::variant<Bandwidth, QuantityError> parse_bandwidth(std::string_view text) {
  const auto result = parse(bandwidth_dimension(), text, true);
  if (const auto* error = std::get_if<QuantityError>(&result)) {
    return *error;
  }
  return Bandwidth::bits_per_second(std::get<std::int64_t>(result));
}

std::variant<Duration, QuantityError> parse_duration(std::string_view text) {
  const auto result = parse(duration_dimension(), text, true);
  if (const auto* error = std::get_if<QuantityError>(&result)) {
    return *error;
  }
  return Duration::picoseconds(std::get<std::int64_t>(result));
}

std::variant<Bytes, QuantityError> parse_nccl_tests_size(std::string_view text) {
  const auto result = parse(nccl_tests_dimension(), text, false);
  if (const auto* error = std::get_if<QuantityError>(&result)) {
    return *error;
  }
  return Bytes(std::get<std::int64_t>(result));
}

// Sizes in the binary units that messages are measured in, without decimals.
std::string to_string(Bytes bytes) {
  return print(size_dimension(), bytes.count(), true);
}
std::string to_string(Bandwidth rate) {
  return print(bandwidth_dimension(), rate.bps(), false);
}
std::string to_string(Duration time) {
  return print(duration_dimension(), time.ps(), false);
}

}  // namespace busbw
