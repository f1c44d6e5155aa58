// Text <-> quantities: "1 GiB", "100 Gb/s", "12.5 GB/s", "1.5 us".
//
// A unit is needed except for 0. Decimal fractions are exact (parsed as decimal digits, never
// through double) and must come out as a whole number of bytes, bit/s or picoseconds, else they are
// an error. Accepted units (case sensitive):
//   bytes      B kB MB GB TB KiB MiB GiB TiB
//   bandwidth  bit/s b/s kb/s Mb/s Gb/s Tb/s (also kbit/s Mbit/s Gbit/s Tbit/s), B/s kB/s MB/s GB/s
//   TB/s KiB/s MiB/s GiB/s duration   ps ns us ms s min h
#pragma once
#include <string>
#include <string_view>
#include <variant>

#include "sim/core/units.h"

namespace busbw {

/// Why a text is no quantity: lower case, no full stop, found value and allowed units, with
/// did-you-mean where one is near, e.g. "unknown unit 'Gbs' in '10 Gbs'; allowed: ...; did you mean
/// 'Gb/s'?"
struct QuantityError {
  std::string message;
};

std::variant<Bytes, QuantityError> parse_bytes(std::string_view text);
std::variant<Bandwidth, QuantityError> parse_bandwidth(std::string_view text);
std::variant<Duration, QuantityError> parse_duration(std::string_view text);

/// nccl-tests' sizes: digits with an optional binary suffix K, M, G (also KiB ... and plain bytes
/// "B").
std::variant<Bytes, QuantityError> parse_nccl_tests_size(std::string_view text);

/// Largest unit that prints the value exactly: "1 GiB", "1500 B", "100 Gb/s", "2.5 us".
std::string to_string(Bytes bytes);
std::string to_string(Bandwidth rate);
std::string to_string(Duration time);

}  // namespace busbw
