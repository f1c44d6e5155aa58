// See numbers.h.
#include "real/collect/numbers.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "sim/core/text.h"

namespace busbw::real::collect {

std::optional<std::int64_t> decimal(std::string_view text) {
  return parse_integer(text);
}

std::optional<std::uint64_t> hexadecimal(std::string_view text) {
  if (text.starts_with("0x"))
    text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (text.empty() || result.ec != std::errc() || result.ptr != text.data() + text.size())
    return std::nullopt;
  return value;
}

std::optional<std::uint64_t> grouped(std::string_view text) {
  std::string digits(text);
  digits.erase(std::remove(digits.begin(), digits.end(), ':'), digits.end());
  return hexadecimal(digits);
}

}  // namespace busbw::real::collect
